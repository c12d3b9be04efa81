//! What happens, for whoever shows it.

use prony_records::{
    CompactHistogram, Interval, Phase, ServiceCheck, ServiceId, TrialRecord, Warning, WorkerNow,
};
use std::time::Duration;

/// Something that happened in a run.
#[derive(Debug, Clone)]
pub enum Progress {
    /// A build begins.
    Building(ServiceId),
    /// Somebody else builds it; this waits until that is done.
    AwaitsBuild {
        /// What is waited for.
        service: ServiceId,
        /// The number of the process that builds it, where it is known.
        by: Option<u32>,
    },
    /// A build is done; it was found ready where it took no time.
    Built {
        /// Of what.
        service: ServiceId,
        /// Whether an equal one was already there.
        cached: bool,
        /// How long it took.
        took: Duration,
    },
    /// A build failed.
    NotBuilt {
        /// Of what.
        service: ServiceId,
        /// Why.
        reason: String,
    },
    /// What was built here goes to the host of the services.
    Sends {
        /// Of this service.
        service: ServiceId,
        /// To this host.
        host: String,
        /// Bytes that were sent.
        bytes: u64,
        /// Bytes of it all.
        of: u64,
    },
    /// The data of the backing services of this contract is made, unless it is there.
    Seeds(String),
    /// A trial begins.
    Begins {
        /// Its number, from 1.
        number: u32,
        /// Trials in all.
        of: u32,
        /// Its round, from 0.
        round: u32,
        /// The service.
        service: ServiceId,
        /// The workload.
        workload: String,
        /// How long this trial and those after it will take, about.
        remaining: Duration,
    },
    /// The trial of this place in the plan begins to take turns.
    Enters {
        /// Its place.
        place: u32,
    },
    /// All services of a group are up, and are loaded once more in turn.
    Cycle {
        /// Which cycle, from 1.
        number: u32,
        /// How many there are.
        of: u32,
    },
    /// The trial of this place has its turn: what follows is of its load.
    Turn {
        /// Its place.
        place: u32,
    },
    /// A phase of the load begins.
    Phase(Phase),
    /// An interval of the load ended.
    Interval {
        /// In which phase.
        phase: Phase,
        /// What happened in it.
        interval: Interval,
        /// Its response times.
        times: CompactHistogram,
    },
    /// What the workers of a testbed do now.
    Workers(Vec<WorkerNow>),
    /// A host of the testbed is lost, in words.
    HostLost(String),
    /// A service was checked against its contract: before the load, or after it where it failed then.
    Checked(Box<ServiceCheck>),
    /// A trial ended.
    Ended(Box<TrialRecord>),
    /// A trial is repeated.
    Repeats {
        /// Why.
        reason: String,
    },
    /// A round is complete.
    Round {
        /// Which, from 0.
        round: u32,
    },
    /// The rounds from here on hold only some of the entries of the plan.
    LeavesOut {
        /// The first of these rounds, from 0.
        round: u32,
        /// The entries of the plan that are left out, by their index.
        entries: Vec<usize>,
    },
    /// Something about the whole run is worth knowing.
    Warning(Warning),
}

impl Progress {
    /// A line for the user, where something else has to end before this can go on.
    pub fn waits(&self) -> Option<String> {
        match self {
            Self::AwaitsBuild { service, by } => {
                let who = by.map_or_else(|| "another prony".to_owned(), |pid| format!("process {pid}"));
                Some(format!("waiting: {who} builds {service}; Ctrl-C ends the wait"))
            }
            Self::Sends {
                service,
                host,
                bytes,
                of,
            } => Some(format!(
                "{host}: bringing {service} there ({} of {} MiB)",
                bytes >> 20,
                of.div_ceil(1 << 20)
            )),
            _ => None,
        }
    }
}
