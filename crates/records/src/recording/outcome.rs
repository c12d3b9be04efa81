//! Outcomes of requests, and the replies by operation and status.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

    /// The noun for one request with this outcome, and for several.
    pub(crate) const fn nouns(self) -> (&'static str, &'static str) {
        match self {
            Self::Valid => ("valid reply", "valid replies"),
            Self::Unexpected => ("unexpected reply", "unexpected replies"),
            Self::Status => ("unexpected status", "unexpected statuses"),
            Self::Timeout => ("timeout", "timeouts"),
            Self::ConnectError => ("connect error", "connect errors"),
            Self::Reset => ("reset", "resets"),
            Self::Dropped => ("dropped request", "dropped requests"),
        }
    }
}

/// The smallest share of valid requests with which connections and streams count as held.
const HELD: f64 = 0.99;

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

    /// Whether at least 99 % of the requests were valid: then memory divided by the number of connections or streams means something,
    /// since a service that fails them seems to need little.
    pub fn are_held(&self) -> bool {
        self.valid as f64 >= HELD * self.total() as f64
    }

    /// Whether no request was counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for outcome in Outcome::ALL {
            self.add(outcome, other.of(outcome));
        }
    }
}

/// The replies to everything that was sent, from the first request of the warm-up to the end of the drain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    /// Complete replies by operation, as named in the contract, and status code.
    pub replies: BTreeMap<String, BTreeMap<String, u64>>,
    /// Requests of each operation without a complete reply: they may or may not have been executed.
    pub unknown: BTreeMap<String, u64>,
}

impl Answers {
    /// Number of complete replies of an operation with a status.
    pub fn replies(&self, operation: &str, status: u16) -> u64 {
        let statuses = self.replies.get(operation);
        let count = statuses.and_then(|statuses| statuses.get(&status.to_string()));
        count.copied().unwrap_or(0)
    }

    /// Number of requests of an operation that may or may not have been executed.
    pub fn unknown(&self, operation: &str) -> u64 {
        self.unknown.get(operation).copied().unwrap_or(0)
    }

    /// Counts replies of an operation with a status.
    pub fn add_replies(&mut self, operation: &str, status: u16, count: u64) {
        let statuses = self.replies.entry(operation.to_owned()).or_default();
        *statuses.entry(status.to_string()).or_default() += count;
    }

    /// Counts requests of an operation without a complete reply.
    pub fn add_unknown(&mut self, operation: &str, count: u64) {
        *self.unknown.entry(operation.to_owned()).or_default() += count;
    }

    /// Adds the replies of another load of the same service.
    pub fn merge(&mut self, other: &Self) {
        for (operation, statuses) in &other.replies {
            let ours = self.replies.entry(operation.clone()).or_default();
            for (status, count) in statuses {
                *ours.entry(status.clone()).or_default() += count;
            }
        }
        for (operation, &count) in &other.unknown {
            self.add_unknown(operation, count);
        }
    }

    /// The sum of all; `None` if one of them was not counted.
    pub fn join<'a>(all: impl IntoIterator<Item = Option<&'a Self>>) -> Option<Self> {
        let mut sum = Self::default();
        for one in all {
            sum.merge(one?);
        }
        Some(sum)
    }
}
