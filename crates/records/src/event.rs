//! What a generator and its caller say to each other while it runs: one JSON object a line.

use crate::{CompactHistogram, Fault, Interval, IntervalPart, Recording, WorkerNow};
use serde::{Deserialize, Serialize};

/// A line of a generator's standard output in streaming mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A phase begins. The times of its intervals count from here.
    Phase {
        /// Which.
        phase: Phase,
        /// Connections established so far.
        established: u64,
    },
    /// An interval of the current phase ended.
    Interval {
        /// Which phase it belongs to.
        phase: Phase,
        /// What happened in it.
        interval: Interval,
        /// Its response times.
        #[serde(default, skip_serializing_if = "CompactHistogram::is_empty")]
        times: CompactHistogram,
    },
    /// The same of a worker whose job is a share of a larger load, instead of [`Event::Interval`]: with all that is needed to
    /// merge the intervals of several workers.
    IntervalPart {
        /// Which phase it belongs to.
        phase: Phase,
        /// What happened in it.
        part: IntervalPart,
    },
    /// What each worker of a lab does now. Said by who leads them, not by a generator.
    Workers {
        /// Each of them.
        workers: Vec<WorkerNow>,
    },
    /// The end of a job that is a share of a larger load, instead of [`Event::Recording`].
    Part {
        /// What the worker recorded, as `Part::encode` of the recording crate writes it.
        part: String,
    },
    /// The end: what the measurement gave.
    Recording {
        /// The recording.
        recording: Box<Recording>,
    },
    /// The end: why there is no recording.
    Failed {
        /// What failed and what to do.
        reason: String,
        /// Whose fault it is.
        #[serde(default)]
        fault: Fault,
    },
}

/// A phase of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Load that is not part of the result.
    WarmUp,
    /// Load that is.
    Measurement,
    /// Waiting for the replies that are still due.
    Drain,
}

/// A line of a generator's standard input in streaming mode. The end of the input means [`Command::Stop`]: a generator
/// whose caller died does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// End the warm-up, begin the measurement.
    Measure,
    /// End the warm-up and begin the measurement at this time of the generator's own monotonic clock (`CLOCK_MONOTONIC` of
    /// its machine). A time that has passed, or is too near, means: at once; the worker's part says how late that was. It
    /// holds instead of the limit of the warm-up; one that comes while the measurement is on changes nothing.
    MeasureAt {
        /// The time, ns.
        at_ns: u64,
    },
    /// End the measurement now and record what there is.
    Stop,
}
