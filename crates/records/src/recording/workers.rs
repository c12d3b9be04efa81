//! What each of several workers did.

use serde::{Deserialize, Serialize};

/// One worker's row of a load that several workers made together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerRow {
    /// The worker.
    pub name: String,
    /// Its threads.
    pub threads: u32,
    /// Its connections.
    pub connections: u32,
    /// Complete replies per second.
    pub throughput_per_s: f64,
    /// Valid replies per second.
    pub goodput_per_s: f64,
    /// Requests that failed, whatever the outcome.
    pub errors: u64,
    /// Median response time, ns.
    pub response_time_ns_p50: Option<u64>,
    /// 99th percentile of the response time, ns.
    pub response_time_ns_p99: Option<u64>,
    /// 99th percentile of the time from the intended to the actual send, ns; in a closed loop there is none.
    pub schedule_lag_ns_p99: Option<u64>,
    /// The part of it that is the worker's own: what it noticed late, and what it did not send although there was a place.
    pub own_lag_ns_p99: Option<u64>,
    /// CPU time of its threads in the measurement, s.
    pub cpu_s: f64,
    /// Its busiest thread's share of its CPU in the measurement, 0 to 1.
    pub busiest_thread: f64,
    /// How much later it began than it was told to, ns; absent where no time was told.
    pub late_start_ns: Option<u64>,
}

/// What one worker does while a load goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerNow {
    /// The worker.
    pub name: String,
    /// What it does.
    pub state: WorkerState,
    /// Complete replies per second of late; `None` where it told of none.
    pub throughput_per_s: Option<f64>,
}

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerState {
    /// Its generator has begun no phase yet.
    Starting,
    /// Load that is not part of the result.
    WarmUp,
    /// Load that is.
    Measurement,
    /// It waits for the replies that are still due.
    Drain,
    /// It has told all that it recorded.
    Done,
    /// Nothing came from it for some time, though it makes load.
    Silent,
}

/// How far apart the workers of a load began their measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommonStart {
    /// Between the first and the last begin, as the clocks of the workers say, ns.
    pub spread_ns: u64,
    /// The true spread is not above this: the spread and what the clocks may be wrong, ns.
    pub bound_ns: u64,
}
