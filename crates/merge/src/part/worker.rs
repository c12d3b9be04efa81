//! The results shown for one worker.

use super::Part;
use prony_load::Job;
use prony_records::{CompactHistogram, Histogram};
use serde::{Deserialize, Serialize};

/// The results shown for one worker, in addition to the merged results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerPart {
    pub name: String,
    /// Number of its threads. Their numbers start at the key under which this part is stored.
    pub threads: u32,
    pub connections: u32,
    /// Start of its measurement.
    pub begun: MeasurementStart,
    /// Complete replies in the measurement.
    pub completed: u64,
    /// Valid replies in the measurement.
    pub valid: u64,
    /// Failed requests, whatever the outcome.
    pub errors: u64,
    /// Response times of valid replies.
    pub response: CompactHistogram,
    /// Times from the intended to the actual send, if requests have intended times.
    pub lag: Option<CompactHistogram>,
    /// The part of `lag` that the worker itself caused.
    pub own_lag: Option<CompactHistogram>,
}

/// The start of a worker's measurement, in ns of its own monotonic clock (`CLOCK_MONOTONIC`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasurementStart {
    /// The commanded start time (`Command::MeasureAt`), if there was one.
    pub asked_ns: Option<u64>,
    /// The time from which it counts its measurement and its intervals.
    pub at_ns: u64,
    /// The time when the last of its threads noticed the start.
    pub noticed_ns: u64,
}

impl MeasurementStart {
    /// How long after the commanded time it started, ns; `None` if no time was commanded.
    pub fn late_ns(&self) -> Option<u64> {
        Some(self.at_ns.saturating_sub(self.asked_ns?))
    }
}

impl Part {
    /// Completes the part of one worker by deriving its [`WorkerPart`] from its counts.
    pub fn close(&mut self, job: &Job, begun: MeasurementStart) {
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
