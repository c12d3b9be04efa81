//! The journal of a run stores its trials and receives its events.

use prony_records::{
    CompactHistogram, Interval, Outcomes, Phase, Recording, ServiceCheck, ServiceId, TrialRecord, Warning,
    WorkerNow,
};
use std::collections::BTreeSet;
use std::time::Duration;

/// Stores the trials of a run and receives its events.
pub trait Journal {
    /// The trials that earlier sessions of this run stored.
    fn history(&mut self) -> Result<Vec<TrialRecord>, JournalError>;

    /// The time that earlier sessions of this run took, which counts towards its budget.
    fn time_spent(&self) -> Duration {
        Duration::ZERO
    }

    /// Receives an event.
    fn progress(&mut self, progress: Progress);

    /// A window of a trial was measured: its record so far replaces the previous provisional one. It must be stored before this
    /// returns, so that a kill loses at most one window.
    fn provisional(&mut self, record: &TrialRecord) -> Result<(), JournalError>;

    /// A trial is complete. It must be stored before this returns.
    fn append(&mut self, record: &TrialRecord) -> Result<(), JournalError>;

    /// Warnings about loads that were measured at the same time.
    fn warnings_of(&self, _loads: &[&Recording]) -> Vec<Warning> {
        Vec::new()
    }

    /// A round is complete: decides which entries the next one has.
    fn next_round(&mut self, done: u32) -> NextRound;
}

/// A record could not be stored, for this reason; the run ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JournalError(pub String);

/// The entries of the next round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextRound {
    /// Every entry of the plan.
    All,
    /// These entries of the plan, by index: the results of the others are precise enough.
    Only(BTreeSet<usize>),
    /// There is no next round, for this reason.
    End(RunEnd),
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// Every trial of the plan was done.
    Complete,
    /// The results are precise enough.
    Precise,
    /// The time budget is spent.
    BudgetSpent,
    /// The user cancelled the run.
    Interrupted,
    /// A host of the testbed is lost and could not be reconnected. The reason names it.
    HostLost(String),
}

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
        number: u32,
    },
    /// A load on a service begins.
    Loads {
        /// Number of the trial, starting at 0.
        number: u32,
        /// Where the service listens.
        host: String,
        port: u16,
    },
    /// A phase of the load has started.
    Phase(Phase),
    /// An interval of the load ended.
    Interval {
        phase: Phase,
        interval: Interval,
        times: CompactHistogram,
        /// Failed requests, by outcome.
        failures: Outcomes,
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
    /// A line for the user about a build: that it begins, or that it has to wait.
    pub fn of_build(&self) -> Option<String> {
        match self {
            Self::Building(service) => Some(format!("building {service}")),
            other => other.waits(),
        }
    }

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
