//! Messages between a generator and its caller while it runs: one JSON object per line.

use crate::{CompactHistogram, Fault, Interval, IntervalPart, Outcomes, Recording, Timings, WorkerNow};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A line of a generator's standard output in streaming mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A phase starts. The times of its intervals count from here.
    Phase {
        /// The phase.
        phase: Phase,
        /// Number of connections established so far.
        established: u64,
    },
    /// An interval of the current phase ended.
    Interval {
        /// Phase that the interval belongs to.
        phase: Phase,
        /// Counts of the interval.
        interval: Interval,
        /// Response times of the interval.
        #[serde(default, skip_serializing_if = "CompactHistogram::is_empty")]
        times: CompactHistogram,
        /// Failed requests of the interval, by outcome.
        #[serde(default, skip_serializing_if = "Outcomes::is_empty")]
        failures: Box<Outcomes>,
    },
    /// Replaces [`Event::Interval`] for a worker whose job is a share of a larger load: contains everything needed to merge the
    /// intervals of several workers.
    IntervalPart {
        /// Phase that the interval belongs to.
        phase: Phase,
        /// Counts of the interval.
        part: IntervalPart,
    },
    /// Current state of each worker of a testbed. Sent by the process that leads the workers, not by a generator.
    Workers {
        /// One entry per worker.
        workers: Vec<WorkerNow>,
    },
    /// Replaces [`Event::Recording`] at the end of a job that is a share of a larger load.
    Part {
        /// Result of the worker, encoded by `Part::encode` of the merge crate.
        part: String,
    },
    /// The job ended with this recording.
    Recording {
        /// Result of the measurement, with its distributions.
        #[serde(with = "with_timings")]
        recording: Box<Recording>,
    },
    /// The job ended without a recording.
    Failed {
        /// What failed and what to do about it.
        reason: String,
        /// Who caused the failure.
        #[serde(default)]
        fault: Fault,
    },
}

/// Recordings in files lack the distributions that a caller needs to join several.
mod with_timings {
    use super::{Deserialize, Deserializer, Recording, Serialize, Serializer, Timings};

    #[derive(Serialize)]
    struct RecordingWithTimings<'a> {
        #[serde(flatten)]
        recording: &'a Recording,
        #[serde(skip_serializing_if = "Timings::is_empty")]
        timings: &'a Timings,
    }

    #[derive(Deserialize)]
    struct OwnedRecordingWithTimings {
        #[serde(flatten)]
        recording: Box<Recording>,
        #[serde(default)]
        timings: Timings,
    }

    pub(super) fn serialize<S: Serializer>(recording: &Recording, serializer: S) -> Result<S::Ok, S::Error> {
        let timings = &recording.timings;
        RecordingWithTimings { recording, timings }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Box<Recording>, D::Error> {
        let OwnedRecordingWithTimings {
            mut recording,
            timings,
        } = OwnedRecordingWithTimings::deserialize(deserializer)?;
        recording.timings = timings;
        Ok(recording)
    }
}

/// A phase of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Load that is not part of the result.
    WarmUp,
    /// Load that is part of the result.
    Measurement,
    /// No new requests; waiting for outstanding replies.
    Drain,
}

/// A line of a generator's standard input in streaming mode. End of input means [`Command::Stop`], so that a generator does not
/// outlive its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// End the warm-up and start the measurement.
    Measure,
    /// End the warm-up and start the measurement at this time of the generator's monotonic clock (`CLOCK_MONOTONIC` of its
    /// machine). If the time has passed or is too near, the measurement starts at once and the worker's part reports how late
    /// that was. The command overrides the limit of the warm-up and is ignored once the measurement has started.
    MeasureAt {
        /// Start time, ns.
        at_ns: u64,
    },
    /// End the measurement now and record the data so far.
    Stop,
}
