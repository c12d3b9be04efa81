//! The events of a run for the live view.

use prony_records::{
    CompactHistogram, Interval, Phase, ServiceCheck, ServiceId, TrialRecord, Warning, WorkerNow,
};
use std::time::Duration;

/// An event of a run.
#[derive(Debug, Clone)]
pub enum Progress {
    /// A build has started.
    Building(ServiceId),
    /// Another process builds the same service; this one waits.
    AwaitsBuild {
        service: ServiceId,
        /// The ID of that process, if it is known.
        by: Option<u32>,
    },
    /// A build is complete.
    Built {
        service: ServiceId,
        /// Whether the build already existed.
        cached: bool,
        took: Duration,
    },
    /// A build failed.
    NotBuilt { service: ServiceId, reason: String },
    /// A build is being sent to the host of the services.
    Sends {
        service: ServiceId,
        host: String,
        bytes: u64,
        /// Total bytes.
        of: u64,
    },
    /// The data of the backing services of this contract is generated, unless it exists.
    Seeds(String),
    /// A trial has started.
    Begins {
        /// Number of the trial, starting at 1.
        number: u32,
        /// Total number of trials.
        of: u32,
        /// Round, starting at 0.
        round: u32,
        service: ServiceId,
        workload: String,
        /// Estimated duration of this trial and all later ones.
        remaining: Duration,
    },
    /// The trial with this number in the plan joins an interleaved group.
    Enters {
        /// Number of the trial.
        place: u32,
    },
    /// All services of a group run; each is loaded for one more window.
    Cycle {
        /// Number of the cycle, starting at 1.
        number: u32,
        /// Total number of cycles.
        of: u32,
    },
    /// The window of this trial has started: later events belong to its load.
    Turn {
        /// Number of the trial.
        place: u32,
    },
    /// A phase of the load has started.
    Phase(Phase),
    /// An interval of the load ended.
    Interval {
        phase: Phase,
        interval: Interval,
        times: CompactHistogram,
    },
    /// The states of the workers of a testbed.
    Workers(Vec<WorkerNow>),
    /// The connection to a host of the testbed is lost, with the reason.
    HostLost(String),
    /// The service was checked against its contract: before the load, or after it if that check failed.
    Checked(Box<ServiceCheck>),
    /// A trial ended.
    Ended(Box<TrialRecord>),
    /// A trial is repeated.
    Repeats { reason: String },
    /// A round is complete.
    Round {
        /// Round, starting at 0.
        round: u32,
    },
    /// From this round on, some entries of the plan are skipped.
    LeavesOut {
        /// The first such round, starting at 0.
        round: u32,
        /// The indexes of the skipped entries of the plan.
        entries: Vec<usize>,
    },
    /// A warning about the whole run.
    Warning(Warning),
}

impl Progress {
    /// A line for the user, if the run has to wait.
    pub fn waits(&self) -> Option<String> {
        match self {
            Self::AwaitsBuild { service, by } => {
                let who = by.map_or_else(|| "another prony".to_owned(), |pid| format!("process {pid}"));
                Some(format!(
                    "waiting while {who} builds {service}; press Ctrl-C to stop waiting"
                ))
            }
            Self::Sends {
                service,
                host,
                bytes,
                of,
            } => Some(format!(
                "{host}: copying {service} to the host ({} of {} MiB)",
                bytes >> 20,
                of.div_ceil(1 << 20)
            )),
            _ => None,
        }
    }
}
