//! Replies of a whole load by operation and status.

use prony_load::Job;
use prony_records::Answers;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number of requests of a job by result, warm-up included; empty if the job does not count them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusCounts {
    /// By index of the operation in the workload and status; `None`: no complete reply arrived.
    counts: BTreeMap<(u32, Option<u16>), u64>,
}

impl StatusCounts {
    /// Counts requests of an operation; a status of `None` means that no complete reply arrived.
    pub fn add(&mut self, operation: u32, status: Option<u16>, count: u64) {
        if count > 0 {
            *self.counts.entry((operation, status)).or_default() += count;
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (&(operation, status), &count) in &other.counts {
            self.add(operation, status, count);
        }
    }

    /// Converts indices to the operation names of the contract. An operation that a workload sends with its own values counts as
    /// the same operation.
    pub(crate) fn named(&self, job: &Job) -> Option<Answers> {
        let mut named = Answers::default();
        for (&(operation, status), &count) in &self.counts {
            let Some(operation) = job.workload.operations.get(operation as usize) else {
                continue;
            };
            let name = operation.name.split('(').next().unwrap_or_default();
            match status {
                Some(status) => named.add_replies(name, status, count),
                None => named.add_unknown(name, count),
            }
        }
        job.count_replies.then_some(named)
    }
}
