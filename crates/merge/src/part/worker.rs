//! What is shown of one worker.

use super::Part;
use prony_load::Job;
use prony_records::{CompactHistogram, Histogram};
use serde::{Deserialize, Serialize};

/// What is shown of one worker, beside what all did together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerPart {
    /// Its name.
    pub name: String,
    /// Its threads: those from the number under which it is kept.
    pub threads: u32,
    /// Its connections.
    pub connections: u32,
    /// When its measurement began.
    pub begun: Begun,
    /// Complete replies in the measurement.
    pub completed: u64,
    /// Valid ones.
    pub valid: u64,
    /// Requests that failed, whatever the outcome.
    pub errors: u64,
    /// Response times of valid replies.
    pub response: CompactHistogram,
    /// From the intended to the actual send, where requests have intended times.
    pub lag: Option<CompactHistogram>,
    /// The part of it that is the worker's own.
    pub own_lag: Option<CompactHistogram>,
}

/// When a worker's measurement began, in ns of its own monotonic clock (`CLOCK_MONOTONIC`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The time that it was told (`Command::MeasureAt`), if it was told one.
    pub asked_ns: Option<u64>,
    /// The time from which it counts its measurement and its intervals.
    pub at_ns: u64,
    /// When the last of its threads noticed that.
    pub noticed_ns: u64,
}

impl Begun {
    /// How much later than it was told, ns.
    pub fn late_ns(&self) -> Option<u64> {
        Some(self.at_ns.saturating_sub(self.asked_ns?))
    }
}

impl Part {
    /// Completes the part of one worker: what is shown of it is worked out from what it recorded.
    pub fn close(&mut self, job: &Job, begun: Begun) {
        let name = job.share.as_ref().map_or("", |share| share.worker.as_str());
        let mut response = Histogram::new();
        let mut errors = 0;
        for operation in &self.tally.operations {
            operation.response.add_to(&mut response);
            errors += operation.outcomes.errors();
        }
        let open = self.tally.open.as_ref();
        let worker = WorkerPart {
            name: name.to_owned(),
            threads: job.threads,
            connections: job.own_connections(),
            begun,
            completed: self.tally.window.completed,
            valid: self.tally.window.valid,
            errors,
            response: CompactHistogram::of(&response),
            lag: open.map(|open| CompactHistogram::of(&open.lag)),
            own_lag: open.map(|open| CompactHistogram::of(&open.own_lag)),
        };
        self.workers.insert(job.first_thread(), worker);
    }
}
