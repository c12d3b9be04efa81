//! What a generator and its caller say to each other while it runs: one JSON object a line.

use crate::{Fault, Interval, Recording};
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
    /// End the measurement now and record what there is.
    Stop,
}
