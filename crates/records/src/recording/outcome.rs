//! Outcomes of requests.

use serde::{Deserialize, Serialize};

/// The outcome of a request. Each request has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The reply is as the contract expects.
    Valid,
    /// Unexpected reply: malformed, or with unexpected headers or body.
    #[serde(alias = "wrong_reply")]
    Unexpected,
    /// Unexpected status (HTTP or gRPC).
    Status,
    /// No complete reply within the timeout.
    Timeout,
    /// Connect error: no connection could be established.
    #[serde(alias = "refused")]
    ConnectError,
    /// The connection ended before the reply was complete.
    Reset,
    /// Dropped: due but never sent, because the backlog was full or the load ended first.
    #[serde(alias = "not_sent")]
    Dropped,
}

impl Outcome {
    /// Every outcome, in the order of [`Outcomes`].
    pub const ALL: [Self; 7] = [
        Self::Valid,
        Self::Unexpected,
        Self::Status,
        Self::Timeout,
        Self::ConnectError,
        Self::Reset,
        Self::Dropped,
    ];
}

/// Number of requests by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcomes {
    /// See [`Outcome::Valid`].
    pub valid: u64,
    /// See [`Outcome::Unexpected`].
    #[serde(alias = "wrong_reply")]
    pub unexpected: u64,
    /// See [`Outcome::Status`].
    pub status: u64,
    /// See [`Outcome::Timeout`].
    pub timeout: u64,
    /// See [`Outcome::ConnectError`].
    #[serde(alias = "refused")]
    pub connect_error: u64,
    /// See [`Outcome::Reset`].
    pub reset: u64,
    /// See [`Outcome::Dropped`].
    #[serde(alias = "not_sent")]
    pub dropped: u64,
}

impl Outcomes {
    /// Counts `count` requests with `outcome`.
    #[inline]
    pub const fn add(&mut self, outcome: Outcome, count: u64) {
        let place = match outcome {
            Outcome::Valid => &mut self.valid,
            Outcome::Unexpected => &mut self.unexpected,
            Outcome::Status => &mut self.status,
            Outcome::Timeout => &mut self.timeout,
            Outcome::ConnectError => &mut self.connect_error,
            Outcome::Reset => &mut self.reset,
            Outcome::Dropped => &mut self.dropped,
        };
        *place += count;
    }

    /// Number of requests with `outcome`.
    pub const fn of(&self, outcome: Outcome) -> u64 {
        match outcome {
            Outcome::Valid => self.valid,
            Outcome::Unexpected => self.unexpected,
            Outcome::Status => self.status,
            Outcome::Timeout => self.timeout,
            Outcome::ConnectError => self.connect_error,
            Outcome::Reset => self.reset,
            Outcome::Dropped => self.dropped,
        }
    }

    /// Number of all requests.
    pub fn total(&self) -> u64 {
        Outcome::ALL.iter().map(|&outcome| self.of(outcome)).sum()
    }

    /// Number of requests that were not `valid`.
    pub fn errors(&self) -> u64 {
        self.total() - self.valid
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for outcome in Outcome::ALL {
            self.add(outcome, other.of(outcome));
        }
    }
}
