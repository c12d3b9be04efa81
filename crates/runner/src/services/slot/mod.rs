//! One service of a block and its trials.

mod contract;
mod ending;
mod files;
mod measured;
mod trial;

use super::ready_service::{ReadyService, readiness};
use super::{RECOVERS, is_warming};
use crate::backing::{BackingProcesses, Invariants, SeededContracts};
use crate::failure::FailureCause;
use crate::history::{History, TrialId};
use crate::load_monitor::MonitoredLoad;
use crate::schedule::{BlockPlacement, LoadId, LoadRun, Purpose, ServiceStart, Slot};
use crate::start::{self, LATER, PORTS, Start, StartedService, wait_until_ready};
use crate::trial::Trial;
use crate::warm_up::WarmUpResult;
use crate::{ConcurrentSlot, Failure, Run, RunContext, StartTime, TrialPlacement};
use files::FoundFiles;
use prony_config::PlannedTrial;
use prony_config::contract::Contract;
use prony_host::{HostError, Process};
use prony_records::{Answers, Command, StartUp, TrialStage, Warning};
use std::collections::BTreeMap;
use trial::SlotTrial;

/// One service of a block.
pub(super) struct ServiceSlot<'a> {
    pub(super) placement: TrialPlacement,
    /// Whether it has windows between those of other services.
    pub(super) is_interleaved: bool,
    /// Whether a warm-up has changed the data of its backing services since they were reset.
    pub(super) has_used_data: bool,
    trials: Vec<SlotTrial<'a>>,
    /// `None` if it was not started, has failed or was stopped.
    pub(super) ready: Option<ReadyService>,
    pub(super) load: Option<MonitoredLoad>,
    /// The last warm-up under each load.
    pub(super) warmed: BTreeMap<LoadId, WarmUpResult>,
    /// The rehearsals of its windows since then.
    pub(super) rehearsals: BTreeMap<LoadId, Rehearsals>,
    /// The replies since the data of backing services was reset.
    pub(super) answers: Vec<Option<Answers>>,
    has_failed: bool,
    /// Its files and the page cache, if its start is measured.
    pub(super) files: FoundFiles,
    /// Warnings about the machine before its start.
    pub(super) notes: Vec<Warning>,
}

/// Shares of compiler threads in rehearsals under a load.
#[derive(Default)]
pub(super) struct Rehearsals {
    /// In the last one since the last pause.
    pub(super) last: Option<f64>,
    /// In all that found the compiler idle.
    idle: Vec<f64>,
}

impl<'a> ServiceSlot<'a> {
    pub(super) fn new(
        (number, start): (Slot, &ServiceStart),
        run: &'a Run<'a>,
        contracts: &'a SeededContracts<'a>,
        history: &History<'_>,
    ) -> Self {
        let trials: Vec<SlotTrial<'a>> = start
            .trials
            .iter()
            .map(|&planned| SlotTrial::new(planned, run, contracts, history))
            .collect();
        let contract = trials
            .iter()
            .find_map(|one| Some(one.parts.as_ref().ok()?.contract));
        let needs_backing = contract.is_some_and(Contract::has_busy_backing_services);
        Self {
            placement: placement(run, start.placement, (number, needs_backing)),
            is_interleaved: start.placement == BlockPlacement::Interleaved,
            has_used_data: false,
            trials,
            ready: None,
            load: None,
            warmed: BTreeMap::new(),
            rehearsals: BTreeMap::new(),
            answers: Vec::new(),
            has_failed: false,
            files: FoundFiles::default(),
            notes: Vec::new(),
        }
    }

    /// Whether its service runs and may be used.
    pub(super) const fn is_up(&self) -> bool {
        self.ready.is_some() && !self.has_failed
    }

    pub(super) fn has_backing_services(&self) -> bool {
        let parts = self.trials.iter().find_map(|one| one.parts.as_ref().ok());
        parts.is_some_and(|trial| !trial.contract.backing_services().is_empty())
    }

    pub(super) fn has_open_trial(&self) -> bool {
        self.first_open_trial().is_some()
    }

    /// Whether its first open trial has begun.
    pub(super) fn has_begun(&self) -> bool {
        self.first_open_trial().is_some_and(|one| one.began.is_some())
    }

    /// The parts of the first open trial.
    pub(super) fn open_parts(&self) -> Option<Trial<'a>> {
        self.first_open_trial()?.parts.as_ref().ok().copied()
    }

    /// The first open trial, for which the service is started.
    fn first_open_trial(&self) -> Option<&SlotTrial<'a>> {
        self.trials.iter().find(|one| one.is_open())
    }

    /// Begins the first open trial; `None` if there is none.
    pub(super) fn begin_first_trial(&mut self) -> Option<PlannedTrial> {
        let number = self.first_open_trial()?.planned.number;
        self.begin_trial(number);
        Some(self.first_open_trial()?.planned)
    }

    /// Begins a trial; `None` if it has begun already.
    pub(super) fn begin_trial(&mut self, number: TrialId) -> Option<PlannedTrial> {
        let one = self.trials.iter_mut().find(|one| one.planned.number == number)?;
        if one.began.is_some() {
            return None;
        }
        one.began = Some(StartTime::now());
        Some(one.planned)
    }

    /// The trial that a run measures, or whose load a probe uses.
    pub(super) fn trial_of(&self, run: &LoadRun) -> Option<&Trial<'a>> {
        let mut trials = self.trials.iter();
        let one = trials.find(|one| match run.purpose {
            Purpose::Record(number) => one.planned.number == number && one.is_open(),
            Purpose::Probe => one.planned.entry == run.load,
        });
        one?.parts.as_ref().ok()
    }

    pub(super) fn loaded(&mut self) -> Option<(&mut MonitoredLoad, &mut StartedService)> {
        Some((self.load.as_mut()?, &mut self.ready.as_mut()?.subject))
    }

    pub(super) fn tell(&mut self, command: Command) {
        if let Some(load) = &mut self.load {
            load.tell(command);
        }
    }

    pub(super) fn service(&mut self) -> &mut dyn Process {
        &mut *self
            .ready
            .as_mut()
            .expect("invariant: the service is up")
            .subject
            .service
    }

    /// Pauses the service, then its backing services.
    pub(super) fn pause(&mut self) -> Result<(), Failure> {
        let failed = |error: HostError| Failure::host(TrialStage::Measure, &error);
        self.service().rest().map_err(failed)?;
        self.backing_services().rest()
    }

    /// Resumes the backing services, then the service, which finds them as it left them.
    pub(super) fn resume(&mut self) -> Result<(), Failure> {
        if let Some(ending) = self.service().ended() {
            let text = format!("the service {ending} while it was paused between its windows");
            return Err(Failure::service_ended(TrialStage::Measure, &ending, text));
        }
        self.backing_services().wake()?;
        let failed = |error: HostError| Failure::host(TrialStage::Measure, &error);
        self.service().wake().map_err(failed)
    }

    fn backing_services(&mut self) -> &mut BackingProcesses {
        let ready = self.ready.as_mut().expect("invariant: the service is up");
        &mut ready.subject.backing_services
    }

    /// Starts the service. Retries with another port if the chosen one was taken before the service bound it.
    pub(super) fn start(&mut self, run: &Run<'_>) -> Result<(), Failure> {
        let context = &run.context;
        reconnect(context)?;
        let trial = self.open_parts().expect("invariant: a trial has begun");
        let mut tries = 0;
        loop {
            tries += 1;
            let backing_services =
                BackingProcesses::start(context, trial.contract, trial.plan.seed, &self.placement)?;
            let subject =
                start::start_service(context, &Start::of(&trial), &self.placement, backing_services)?;
            let ready = self.ready.insert(ReadyService {
                subject,
                start_up: StartUp::default(),
                warnings: Vec::new(),
                invariants: Invariants::default(),
            });
            let done = ready.wait(context, &trial);
            match done {
                Err(failure)
                    if tries < PORTS
                        && failure.cause == FailureCause::ServiceEnded
                        && ready.port_is_taken() =>
                {
                    self.ready = None;
                }
                done => return done,
            }
        }
    }

    /// Resets backing services to the seeded data before each load. A backing service that was restarted for this has closed the
    /// connections of the service, which must answer again.
    pub(super) fn prepare_data(&mut self, context: &RunContext<'_>) -> Result<(), Failure> {
        let trial = self.open_parts().expect("invariant: a trial has begun");
        let ready = self.ready.as_mut().expect("invariant: the service is up");
        let subject = &mut ready.subject;
        self.answers.clear();
        self.has_used_data = false;
        if subject.backing_services.reset()? {
            let targets = subject.targets.clone();
            let limit = subject.service.age() + RECOVERS;
            let again = wait_until_ready(
                &mut *subject.service,
                readiness(&trial, &targets),
                (limit, LATER),
                context,
            );
            again.map_err(|failure| Failure {
                reason: format!("after its backing services were restarted: {}", failure.reason),
                ..failure
            })?;
        }
        subject.backing_services.watch()?;
        ready.invariants = Invariants::before(&mut subject.backing_services, trial.contract)?;
        Ok(())
    }

    /// Keeps the share of the compiler threads in a rehearsal. They settle at what they use where the compiler is idle: a window opens
    /// connections, which the planned load did not.
    pub(super) fn rehearsed(&mut self, load: LoadId, rehearsal: &WarmUpResult) {
        let Some(share) = rehearsal.steadiness.settled_share else {
            return;
        };
        let all = self.rehearsals.entry(load).or_default();
        all.last = Some(share);
        if is_warming(rehearsal) {
            return;
        }
        all.idle.push(share);
        if let Some(warmed) = self.warmed.get_mut(&load) {
            let mean = all.idle.iter().sum::<f64>() / all.idle.len() as f64;
            warmed.steadiness.settled_share = Some(mean);
        }
    }

    /// Rehearsals after a pause are not compared with those before it.
    pub(super) fn end_rehearsals(&mut self) {
        for rehearsals in self.rehearsals.values_mut() {
            rehearsals.last = None;
        }
    }
}

/// Reconnects to lost hosts.
fn reconnect(context: &RunContext<'_>) -> Result<(), Failure> {
    let cancel = context.cancel;
    let reached = context.testbed.mend(&|| !cancel.is_asked());
    reached.map_err(|error| {
        if cancel.is_now() {
            Failure::interrupted(TrialStage::Start)
        } else {
            Failure::host(TrialStage::Start, &error)
        }
    })
}

/// The placement of a service of a block.
fn placement(run: &Run<'_>, placing: BlockPlacement, (number, has_backing): (Slot, bool)) -> TrialPlacement {
    let testbed = run.context.testbed;
    let slot = |cpu_speed_probe| {
        Some(ConcurrentSlot {
            number,
            cpu_speed_probe,
        })
    };
    let alone = |service_cpus: Option<f64>| TrialPlacement::of(testbed, has_backing, service_cpus);
    match placing {
        BlockPlacement::Alone => alone(run.plan.limits.cpus),
        BlockPlacement::Interleaved => TrialPlacement {
            placement: alone(run.plan.limits.cpus).placement.for_windows(),
            slot: slot(true),
        },
        BlockPlacement::Paired { turned } => {
            let usual = alone(None).placement;
            TrialPlacement {
                placement: if turned { usual.turned() } else { usual },
                slot: slot(false),
            }
        }
    }
}
