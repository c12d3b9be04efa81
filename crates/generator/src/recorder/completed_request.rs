//! A finished request, as it is recorded and logged.

use crate::log::RequestLogEntry;
use prony_records::Outcome;

/// The phase that a request belongs to, assigned when it is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Epoch(u8);

impl Epoch {
    /// The first phase; the default value is no phase.
    pub(super) const FIRST: Self = Self(1);

    /// The next phase.
    pub(super) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A time relative to the start of the measurement; negative for a request that was due before it.
pub(super) const fn since(begin: u64, at: u64) -> i64 {
    at as i64 - begin as i64
}

/// How a stream of events ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The service ended it, and all of it is valid.
    ByItself,
    /// It reached its end condition.
    AtBound,
    /// The service ended it before its end condition, or in the middle of a message.
    Early,
    /// The load ended.
    Cut,
}

/// A request that has a reply or was given up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompletedRequest {
    pub(crate) epoch: Epoch,
    pub(crate) operation: u16,
    /// When it was due; in a closed load, when it was sent.
    pub(crate) intended: u64,
    /// From when on only the generator delayed it, minus delays of the generator before that.
    pub(crate) ready: u64,
    pub(crate) sent: u64,
    pub(crate) first_byte: u64,
    pub(crate) end: u64,
    pub(crate) outcome: Outcome,
    pub(crate) status: u16,
    /// Length of the reply's body.
    pub(crate) bytes: u64,
}

impl CompletedRequest {
    /// The line in the log of a measurement that began at `begin`.
    pub(super) fn line(&self, complete: bool, begin: u64) -> RequestLogEntry {
        RequestLogEntry {
            operation: self.operation,
            due: since(begin, self.intended),
            sent: Some(since(begin, self.sent)),
            ended: since(begin, self.end),
            outcome: self.outcome,
            status: complete.then_some(self.status),
            bytes: self.bytes,
        }
    }
}
