//! Results and states of workers, and the intervals that they record.

use super::{CompactHistogram, Interval, Outcomes};
use serde::{Deserialize, Serialize};

/// The results of one worker, in a load that several workers made together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerRow {
    /// Name of the worker.
    pub name: String,
    /// Number of its threads.
    pub threads: u32,
    /// Number of its connections.
    pub connections: u32,
    /// Complete replies per second.
    pub throughput_per_s: f64,
    /// Valid replies per second.
    pub goodput_per_s: f64,
    /// Number of failed requests, whatever the outcome.
    pub errors: u64,
    /// Median response time, ns.
    pub response_time_ns_p50: Option<u64>,
    /// 99th percentile of the response time, ns.
    pub response_time_ns_p99: Option<u64>,
    /// 99th percentile of the time from the intended to the actual send, ns; `None` in a closed loop.
    pub schedule_lag_ns_p99: Option<u64>,
    /// The part of `schedule_lag_ns_p99` that the worker itself caused: arrivals noticed late, and requests not sent although a
    /// slot was free.
    pub own_lag_ns_p99: Option<u64>,
    /// CPU time of its threads in the measurement, s.
    pub cpu_s: f64,
    /// CPU share of its busiest thread in the measurement, 0 to 1.
    pub busiest_thread: f64,
    /// Delay of its start after the commanded time, ns; `None` if no time was commanded.
    pub late_start_ns: Option<u64>,
}

/// The current state of one worker during a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerNow {
    /// Name of the worker.
    pub name: String,
    /// Current state.
    pub state: WorkerState,
    /// Recent complete replies per second; `None` if it has not reported any.
    pub throughput_per_s: Option<f64>,
}

/// The state of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerState {
    /// Its generator has not started a phase yet.
    Starting,
    /// It makes load that is not part of the result.
    WarmUp,
    /// It makes load that is part of the result.
    Measurement,
    /// It waits for outstanding replies.
    Drain,
    /// It has sent its result.
    Done,
    /// It should be making load, but has sent nothing for some time.
    Silent,
}

/// How far apart the workers of a load started their measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommonStart {
    /// Time between the first and the last start according to the clocks of the workers, ns.
    pub spread_ns: u64,
    /// Upper limit of the true spread: `spread_ns` plus the uncertainty of the clocks, ns.
    pub bound_ns: u64,
}

/// The counts of one or more workers in an interval of a phase: an [`Interval`] with its distribution, so that the intervals of
/// several workers merge without loss. All sums are integers, so the result is the same in any order and grouping.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalPart {
    /// Index in the phase, from 0. Intervals with the same index belong together: each worker counts from the start of its own
    /// phase, and all phases start together.
    pub index: u64,
    /// Start, from the start of the phase, ns.
    pub begin_ns: u64,
    /// End, from the start of the phase, ns.
    pub end_ns: u64,
    /// Number of complete replies.
    pub completed: u64,
    /// Number of valid replies.
    pub valid: u64,
    /// Number of failed requests, whatever the outcome.
    pub errors: u64,
    /// The failed requests, by outcome.
    #[serde(default)]
    pub failures: Box<Outcomes>,
    /// Number of stream messages, if the replies are streams.
    #[serde(default)]
    pub messages: Option<u64>,
    /// Response times of valid replies.
    pub times: CompactHistogram,
}

impl IntervalPart {
    /// Adds what another worker recorded in the same interval.
    pub fn merge(&mut self, other: &Self) {
        self.add_counts(other);
        self.times.merge(&other.times);
    }

    /// Adds everything except the distribution, for callers that add many distributions at once.
    pub fn add_counts(&mut self, other: &Self) {
        self.begin_ns = self.begin_ns.min(other.begin_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        self.completed += other.completed;
        self.valid += other.valid;
        self.errors += other.errors;
        self.failures.merge(&other.failures);
        self.messages = match (self.messages, other.messages) {
            (Some(ours), Some(theirs)) => Some(ours + theirs),
            (ours, theirs) => ours.or(theirs),
        };
    }

    /// Converts it to the form that reports show.
    pub fn interval(&self) -> Interval {
        let quantiles = self.times.quantiles([0.5, 0.99]);
        Interval {
            start_s: self.begin_ns as f64 / 1e9,
            length_s: self.end_ns.saturating_sub(self.begin_ns) as f64 / 1e9,
            completed: self.completed,
            valid: self.valid,
            errors: self.errors,
            messages: self.messages,
            response_time_ns_p50: quantiles.map(|[p50, _]| p50),
            response_time_ns_p99: quantiles.map(|[_, p99]| p99),
        }
    }
}
