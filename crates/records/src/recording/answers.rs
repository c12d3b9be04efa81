//! Replies to all requests of a load, by operation and status.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
