//! What the requests of a whole load came to, by operation and status.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What came back for all that was sent, from the first request of the warm-up to the end of the drain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    /// Complete replies by operation, as the contract names it, and status code.
    pub replies: BTreeMap<String, BTreeMap<String, u64>>,
    /// Requests of each operation without a complete reply: nobody knows whether they were carried out.
    pub unknown: BTreeMap<String, u64>,
}

impl Answers {
    /// Complete replies of an operation with a status.
    pub fn replies(&self, operation: &str, status: u16) -> u64 {
        let statuses = self.replies.get(operation);
        let count = statuses.and_then(|statuses| statuses.get(&status.to_string()));
        count.copied().unwrap_or(0)
    }

    /// Requests of an operation of which nobody knows whether they were carried out.
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

    /// Adds what another load of the same service came to.
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

    /// All of them together; `None` where one was not counted.
    pub fn join<'a>(all: impl IntoIterator<Item = Option<&'a Self>>) -> Option<Self> {
        let mut sum = Self::default();
        for one in all {
            sum.merge(one?);
        }
        Some(sum)
    }
}
