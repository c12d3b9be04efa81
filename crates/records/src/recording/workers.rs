//! Results and states of workers.

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
