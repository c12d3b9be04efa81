//! One service of a block and its trials.

use super::measurement::{MeasuredWindow, TrialFacts, judge_recording};
use super::ready_service::{LOG_LINES, ReadyService, readiness, request};
use super::{RECHECK_PAUSE, RECHECKS, RECOVERS, is_warming};
use crate::backing::{BackingProcesses, Invariants, SeededContracts, judge_during};
use crate::failure::{FailureCause, fault_of};
use crate::history::{Attempt, History, TrialId};
use crate::load_monitor::MonitoredLoad;
use crate::schedule::{BlockPlacement, LoadId, LoadRun, OnFailure, Purpose, ServiceStart, Slot};
use crate::start::{self, LATER, PORTS, ServiceTargets, Start, StartedService, wait_until_ready};
use crate::trial::{self, Trial};
use crate::usage::WindowUsage;
use crate::warm_up::WarmUpResult;
use crate::{ConcurrentSlot, Failure, Progress, Run, RunContext, StartTime, TrialPlacement};
use prony_config::contract::Contract;
use prony_config::{GroupPlan, Plan, PlannedTrial, Service, StartKind, Starts, WorkerKind};
use prony_host::{ExitReport, HostError, PageCacheReport, Placement, Process};
use prony_load::Protocol;
use prony_records::{
    Answers, Command, Exclusion, Fault, Measurement, Recording, SharedStart, StartFiles, StartUp,
    TrialRecord, TrialStage, Warning, WarningKind,
};
use prony_statistics::steady_rate;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;

/// One service of a block.
pub(super) struct ServiceSlot<'a> {
    pub(super) placement: TrialPlacement,
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

/// The files of a service.
#[derive(Default)]
pub(super) struct FoundFiles {
    /// Those that it had open or mapped.
    pub(super) used: Vec<PathBuf>,
    /// Size of the files of its build folder that it used, bytes.
    pub(super) artefact_used_bytes: Option<u64>,
    /// What was in the page cache before the last start.
    pub(super) cached: Option<PageCacheReport>,
}

/// One trial of a service.
pub(super) struct SlotTrial<'a> {
    planned: PlannedTrial,
    /// The trial, or why it cannot be tried.
    parts: Result<Trial<'a>, Exclusion>,
    began: Option<StartTime>,
    windows: Vec<MeasuredWindow>,
    /// Warnings of the design about its measurement.
    warnings: Vec<Warning>,
    /// The record of the finished trial.
    record: Option<TrialRecord>,
    /// Whether its end has been shown.
    is_shown: bool,
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
            .map(|&planned| SlotTrial {
                planned,
                parts: parts(planned, run, contracts, history),
                began: None,
                windows: Vec::new(),
                warnings: Vec::new(),
                record: None,
                is_shown: false,
            })
            .collect();
        let contract = trials
            .iter()
            .find_map(|one| Some(one.parts.as_ref().ok()?.contract));
        let needs_backing = contract.is_some_and(Contract::has_busy_backing_services);
        Self {
            placement: placement(run, start.placement, (number, needs_backing)),
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

    /// Returns failed attempts and reopens their trials, for another start.
    pub(super) fn take_failed_attempts(&mut self) -> Vec<Attempt> {
        self.has_failed = false;
        self.warmed.clear();
        let mut attempts = Vec::new();
        for one in &mut self.trials {
            if let Some(record) = one.record.take_if(|record| record.result.is_err()) {
                attempts.push(one.attempt(record));
                one.began = None;
                one.windows = Vec::new();
                one.is_shown = false;
            }
        }
        attempts
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
        let trial = self
            .first_open_trial()
            .and_then(|one| one.parts.as_ref().ok().copied());
        let trial = trial.expect("invariant: a trial has begun");
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

    /// Checks the contract before any load.
    pub(super) fn check(&mut self, run: &Run<'_>, watch: &mut dyn FnMut(Progress)) -> Result<(), Failure> {
        if run.context.cancel.is_now() {
            return Err(Failure::interrupted(TrialStage::Check));
        }
        let first = self
            .first_open_trial()
            .and_then(|one| one.parts.as_ref().ok().copied());
        let trial = first.expect("invariant: a trial has begun");
        let trials = self.one_trial_per_channel();
        let ready = self.ready.as_mut().expect("invariant: the service is up");
        let targets = ready.subject.targets.clone();
        let subject = &mut ready.subject;
        let mut warnings = Vec::new();
        for trial in trials {
            // Only in the first round: these checks take seconds, and their result does not vary between starts.
            let checked = if trial.planned.round == 0 {
                Some(prony_check::CheckedService {
                    backing: &mut subject.backing_services,
                    cpu_time: &mut |window| start::cpu_time(&mut *subject.service, window),
                })
            } else {
                None
            };
            let report = prony_check::check_beside(&request(&trial, &targets), checked)?;
            watch(Progress::Checked(Box::new(
                report.row(&trial::service_id(trial.entry())),
            )));
            if let Some(failure) = report.first_failure() {
                // The interrupt ends the service, too.
                if run.context.cancel.is_now() {
                    return Err(Failure::interrupted(TrialStage::Check));
                }
                let over = if trial.entry().channel.is_tls() {
                    " over TLS"
                } else {
                    ""
                };
                return Err(Failure::new(
                    TrialStage::Check,
                    format!("it breaks its contract{over}: {failure}"),
                ));
            }
            warnings.extend(report.warnings);
        }
        let mut all = warnings_of_start(&trial, &self.placement.placement, &*subject.service);
        all.extend(warnings);
        ready.warnings = all;
        Ok(())
    }

    /// An open trial for each channel of the start.
    fn one_trial_per_channel(&self) -> Vec<Trial<'a>> {
        let mut chosen: Vec<Trial<'a>> = Vec::new();
        let open = self.trials.iter().filter(|one| one.is_open());
        for trial in open.filter_map(|one| one.parts.as_ref().ok()) {
            if chosen
                .iter()
                .all(|known| known.entry().channel != trial.entry().channel)
            {
                chosen.push(*trial);
            }
        }
        chosen
    }

    /// Resets backing services to the seeded data before each load. A backing service that was restarted for this has closed the
    /// connections of the service, which must answer again.
    pub(super) fn prepare_data(&mut self, context: &RunContext<'_>) -> Result<(), Failure> {
        let first = self
            .first_open_trial()
            .and_then(|one| one.parts.as_ref().ok().copied());
        let trial = first.expect("invariant: a trial has begun");
        let ready = self.ready.as_mut().expect("invariant: the service is up");
        let subject = &mut ready.subject;
        self.answers.clear();
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

    /// Adds a measured window.
    pub(super) fn add_window(
        &mut self,
        run: &LoadRun,
        (recording, usage): (Recording, WindowUsage),
        plan: &Plan,
    ) -> Result<(), Failure> {
        self.answers.push(recording.answers.clone());
        let Purpose::Record(number) = run.purpose else {
            return Ok(());
        };
        let group = self.trial_of(run).map(Trial::group);
        // A search judges its measurements by its objective.
        let is_search = group.is_some_and(|group| group.search.is_some());
        // In a short window of a load at random times there may be no request: the windows together have a result.
        let is_empty =
            recording.due() == 0 && run.window.is_some() && group.is_some_and(|group| group.load.is_paced());
        if !is_search && !is_empty {
            judge_recording(plan, &recording).map_err(|failure| usage.with_waits(failure))?;
        }
        let window = MeasuredWindow {
            recording,
            usage,
            position: run.window,
            path: run.path,
        };
        if let Some(one) = self.trials.iter_mut().find(|one| one.planned.number == number) {
            one.windows.push(window);
        }
        Ok(())
    }

    /// Index of the open trial that has windows.
    pub(super) fn measured_trial(&self) -> Option<usize> {
        self.trials
            .iter()
            .position(|one| one.is_open() && !one.windows.is_empty())
    }

    /// Adds warnings to the trial that was measured last.
    pub(super) fn warn(&mut self, warnings: &[Warning]) {
        if let Some(index) = self.measured_trial() {
            self.trials[index].warnings.extend_from_slice(warnings);
        }
    }

    /// Checks after the load. The measurement is complete then.
    pub(super) fn recheck(&mut self, run: &Run<'_>, watch: &mut dyn FnMut(Progress)) -> Result<(), Failure> {
        let context = &run.context;
        let index = self.measured_trial().expect("invariant: a trial was measured");
        let trial = *self.trials[index]
            .parts
            .as_ref()
            .expect("invariant: it was tried");
        let ready = self.ready.as_mut().expect("invariant: the service is up");
        let backing_services = &mut ready.subject.backing_services;
        let answers = Answers::join(self.answers.iter().map(Option::as_ref));
        // Before the contract is checked again, which writes data.
        ready
            .invariants
            .judge(backing_services, trial.contract, answers.as_ref(), context.cancel)?;
        check_again(context, &trial, &ready.subject.targets, watch)?;
        if let Some(fault) = ready.subject.backing_services.fault() {
            return Err(Failure::backing_service(TrialStage::Measure, fault));
        }
        if let Some(ending) = ready.subject.service.ended() {
            let text = format!("the service {ending} under the load");
            return Err(Failure::service_ended(TrialStage::Measure, &ending, text));
        }
        // Interleaved trials of a shared start end together.
        while let Some(index) = self.measured_trial() {
            let windows = self.trials[index].windows.clone();
            let ready = self.ready.as_ref().expect("invariant: the service is up");
            let mut measurement = self.facts(index, ready).measurement(windows, context)?;
            measurement.warnings.append(&mut self.trials[index].warnings);
            measurement.warnings.append(&mut self.notes);
            if trial
                .group()
                .start
                .is_some_and(|start| start.measures == StartKind::SteadyRate)
            {
                measurement.start_up.steady_rate = steady_rate(&measurement.recording.intervals);
            }
            judge_during(
                &ready.subject.backing_services,
                trial.contract,
                &measurement.backing_services,
            )?;
            self.end_trial(index, Ok(measurement));
        }
        Ok(())
    }

    fn facts<'b>(&'b self, index: usize, ready: &'b ReadyService) -> TrialFacts<'b> {
        let mut earlier = self.trials[..index].iter();
        TrialFacts {
            ready,
            placement: &self.placement,
            warmed: self.warmed.get(&self.trials[index].planned.entry),
            is_shared: self.trials.len() > 1,
            is_later: earlier.any(|one| one.is_measured() || !one.windows.is_empty()),
        }
    }

    /// Ends the first open trial: its start is the result.
    pub(super) fn record_start(&mut self) -> Result<(), Failure> {
        let Some(index) = self.trials.iter().position(SlotTrial::is_open) else {
            return Ok(());
        };
        let trial = self.open_parts().expect("invariant: it is open");
        let ready = self.ready.as_mut().expect("invariant: the service is up");
        if let Some(ending) = ready.subject.service.ended() {
            let text = format!("the service {ending} after its first reply");
            return Err(Failure::service_ended(TrialStage::Start, &ending, text));
        }
        let placement = &self.placement.placement;
        let mut warnings = warnings_of_start(&trial, placement, &*ready.subject.service);
        warnings.append(&mut self.notes);
        let files = self.files.record(&trial);
        warnings.extend(files.as_ref().and_then(|files| still_cached(&trial, files)));
        let measurement = Measurement {
            start_up: ready.start_up,
            files,
            service_cpus: placement.service.cpus.as_slice().to_vec(),
            generator_cpus: placement.generator().cpus.as_slice().to_vec(),
            warnings,
            ..Measurement::default()
        };
        self.end_trial(index, Ok(measurement));
        Ok(())
    }

    /// The record of an open trial with its windows up to now.
    pub(super) fn provisional(&self, number: TrialId, context: &RunContext<'_>) -> Option<TrialRecord> {
        let mut trials = self.trials.iter();
        let index = trials.position(|one| one.planned.number == number && one.is_open())?;
        let one = &self.trials[index];
        let trial = one.parts.as_ref().ok()?;
        let facts = self.facts(index, self.ready.as_ref()?);
        // Windows that cannot be joined are reported when the trial is complete.
        let mut measurement = facts.measurement(one.windows.clone(), context).ok()?;
        let text = "prony was killed before the service was checked again and stopped.";
        measurement.warnings.push(Warning::new(WarningKind::Note, text));
        let start = self
            .shared_start()
            .filter(|_| trial.plan.starts == Starts::Shared);
        Some(TrialRecord {
            start,
            provisional: true,
            ..trial::record(trial.plan, one.planned, one.began, Ok(measurement))
        })
    }

    /// Ends a trial with its record.
    fn end_trial(&mut self, index: usize, result: Result<Measurement, Exclusion>) {
        let start = self.shared_start();
        let one = &mut self.trials[index];
        one.windows = Vec::new();
        if let Ok(trial) = &one.parts {
            let record = trial::record(trial.plan, one.planned, one.began, result);
            let start = start.filter(|_| trial.plan.starts == Starts::Shared);
            one.record = Some(TrialRecord { start, ..record });
        }
    }

    /// The shared start for the next record.
    fn shared_start(&self) -> Option<SharedStart> {
        let first = self.trials.iter().find(|one| one.began.is_some())?;
        let served = self.trials.iter().filter(|one| one.is_measured());
        Some(SharedStart {
            first: first.planned.number,
            served: served.count() as u32,
        })
    }

    /// Ends the service after a failed step. A failure before any load applies to all of its trials; a failure under a load applies to
    /// that trial, or to all if the block goes on without the service.
    pub(super) fn fail(&mut self, failure: Failure, on_failure: OnFailure) {
        let loaded = self.load.take().map(|load| load.run.load);
        self.has_failed = true;
        let is_interrupted = failure.is_interrupted();
        let excluded = match self.ready.take() {
            Some(ready) => ready.end_after(failure),
            None => failure.with_log(Vec::new()),
        };
        let mut open = (0..self.trials.len()).filter(|&index| self.trials[index].is_open());
        let Some(first) = open.next().filter(|_| !is_interrupted) else {
            return;
        };
        let is_loaded = |&index: &usize| loaded == Some(self.trials[index].planned.entry);
        let index = open.find(is_loaded).unwrap_or(first);
        let is_of_all = on_failure == OnFailure::DropSlot
            || excluded.fault == Fault::Service
                && matches!(excluded.stage, TrialStage::Start | TrialStage::Check);
        let rest = Exclusion {
            reason: format!(
                "its start failed under `{}`: {}",
                self.trials[index].workload(),
                excluded.reason
            ),
            ..excluded.clone()
        };
        self.end_trial(index, Err(excluded));
        while let Some(next) = self
            .trials
            .iter()
            .position(SlotTrial::is_open)
            .filter(|_| is_of_all)
        {
            self.end_trial(next, Err(rest.clone()));
            self.trials[next].clear_start();
        }
    }

    /// Stops the service. What is found now applies to all of its trials: a warning, or a failure that invalidates them. Returns notes
    /// about invalidated trials whose end was already shown.
    pub(super) fn stop(&mut self) -> Vec<Warning> {
        let Some(mut ready) = self.ready.take() else {
            return Vec::new();
        };
        let service = &mut ready.subject.service;
        let ended = service.ended();
        let stopped = service.stop();
        let changed = stopped
            .as_ref()
            .ok()
            .and_then(|ending| ready.subject.build.changed_by_service(ending));
        let judged = match ended {
            Some(ending) => Err(Failure::service_ended(
                TrialStage::Measure,
                &ending,
                format!("the service {ending} after its last load"),
            )),
            None => judge_stop(stopped),
        };
        let judged = judged.map_err(|failure| failure.with_log(service.log_tail(LOG_LINES)));
        let mut invalidated = Vec::new();
        for one in &mut self.trials {
            let Some(record) = &mut one.record else { continue };
            match (&judged, &mut record.result) {
                (Ok(warning), Ok(measurement)) => {
                    measurement
                        .warnings
                        .extend(warning.iter().chain(&changed).cloned());
                }
                (Err(excluded), result @ Ok(_)) => {
                    *result = Err(excluded.clone());
                    if one.is_shown {
                        let text = format!("{} {}: {}", record.service, record.workload, excluded.reason);
                        invalidated.push(Warning::new(WarningKind::Note, text));
                    }
                }
                (_, Err(_)) => {}
            }
        }
        invalidated
    }

    /// Ended trials that were not shown yet, if the start serves several.
    pub(super) fn take_newly_ended(&mut self) -> Vec<TrialRecord> {
        if self.trials.len() == 1 {
            return Vec::new();
        }
        let new = self.trials.iter_mut().filter(|one| !one.is_shown);
        new.filter_map(|one| {
            one.is_shown = one.record.is_some();
            one.record.clone()
        })
        .collect()
    }

    /// An attempt for each ended trial, and for each that could not be tried.
    pub(super) fn into_attempts(mut self, plan: &Plan) -> Vec<Attempt> {
        let is_alone = self.trials.len() == 1;
        let mut attempts = Vec::new();
        for one in &mut self.trials {
            let record = match (&one.parts, one.record.take()) {
                (Err(excluded), _) => trial::record(plan, one.planned, None, Err(excluded.clone())),
                (Ok(_), Some(mut record)) => {
                    if let Some(began) = one.began.filter(|_| is_alone) {
                        record.took_s = began.elapsed().as_secs_f64();
                    }
                    record
                }
                (Ok(_), None) => continue,
            };
            attempts.push(one.attempt(record));
        }
        attempts
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

impl SlotTrial<'_> {
    /// Whether it can be tried and is not over.
    const fn is_open(&self) -> bool {
        self.parts.is_ok() && self.record.is_none()
    }

    fn is_measured(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.result.is_ok())
    }

    fn workload(&self) -> &str {
        self.parts.as_ref().map_or("", |trial| &trial.group().workload)
    }

    /// Removes start and duration from the record of a trial that was not started itself.
    fn clear_start(&mut self) {
        if let Some(record) = &mut self.record {
            record.start = None;
            record.took_s = 0.0;
        }
    }

    fn attempt(&self, record: TrialRecord) -> Attempt {
        Attempt {
            record,
            planned: self.planned,
            is_shown: self.is_shown,
        }
    }
}

/// Share of the files of a service up to which its start counts as cold.
const COLD: f64 = 0.02;

impl FoundFiles {
    /// What is recorded of them; `None` if the page cache was not read.
    fn record(&self, trial: &Trial<'_>) -> Option<StartFiles> {
        let cached = self.cached.as_ref()?;
        let folder = &trial.built.folder;
        let in_folder = cached.files.iter().filter(|file| file.path.starts_with(folder));
        let own = cached.files.iter().filter(|file| file.is_own);
        let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        Some(StartFiles {
            artefact_used_bytes: self.artefact_used_bytes,
            // Without a file of it the folder is unknown, such as that of an image.
            artefact_bytes: self
                .artefact_used_bytes
                .map(|_| in_folder.map(|file| file.bytes).sum()),
            resident_share: cached.resident_share(),
            dropped_all: cached.dropped_all,
            left_out: own.filter_map(|file| name(&file.path)).collect(),
        })
    }
}

/// Warns about a start that was to be cold and was not, or that may not have been.
fn still_cached(trial: &Trial<'_>, files: &StartFiles) -> Option<Warning> {
    let is_cold = trial
        .group()
        .start
        .is_some_and(|start| start.measures == StartKind::Cold);
    let text = match files.resident_share {
        _ if !is_cold => return None,
        Some(share) if share <= COLD => return None,
        Some(share) => format!(
            "Not cold: {:.0} % of its files were still in the page cache.",
            100.0 * share
        ),
        None => "Whether it was cold is unknown: none of its files is known.".to_owned(),
    };
    Some(Warning::new(WarningKind::Note, text))
}

/// Judges how a running service stopped.
fn judge_stop(stopped: Result<ExitReport, HostError>) -> Result<Option<Warning>, Failure> {
    let ending = stopped.map_err(|error| Failure::host(TrialStage::Stop, &error))?;
    if ending.why.is_some() {
        // One of several processes; the service as a whole continued.
        return Err(Failure {
            fault: fault_of(&ending),
            ..Failure::new(TrialStage::Measure, format!("one of its processes {ending}"))
        });
    }
    let text = "Killed: it ignored SIGTERM.";
    Ok(ending.ignored_term.then(|| Warning::new(WarningKind::Note, text)))
}

/// Checks the contract after the load: a service that no longer fulfils it is excluded.
fn check_again(
    context: &RunContext<'_>,
    trial: &Trial<'_>,
    targets: &ServiceTargets,
    watch: &mut dyn FnMut(Progress),
) -> Result<(), Failure> {
    let request = request(trial, targets);
    let mut last = None;
    for attempt in 0..RECHECKS {
        if context.cancel.is_now() {
            return Err(Failure::interrupted(TrialStage::Recheck));
        }
        if attempt > 0 {
            thread::sleep(RECHECK_PAUSE);
        }
        let report = prony_check::recheck(&request);
        match report.first_failure() {
            None => return Ok(()),
            Some(failure) => last = Some((failure, report)),
        }
    }
    let Some((failure, report)) = last else {
        return Ok(());
    };
    if context.cancel.is_now() {
        return Err(Failure::interrupted(TrialStage::Recheck));
    }
    watch(Progress::Checked(Box::new(
        report.row(&trial::service_id(trial.entry())),
    )));
    Err(Failure::new(
        TrialStage::Recheck,
        format!("after the load it breaks its contract: {failure}"),
    ))
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

/// Warnings about a service and its place.
fn warnings_of_start(trial: &Trial<'_>, placement: &Placement, service: &dyn Process) -> Vec<Warning> {
    let set = placement.warnings.iter().chain(service.warnings());
    let mut warnings: Vec<Warning> = set.cloned().collect();
    warnings.extend(one_cpu(trial.service, placement));
    warnings.extend(start::external_note(trial.service, trial.plan.limits));
    warnings
}

fn one_cpu(service: &Service, placement: &Placement) -> Option<Warning> {
    let several = placement.service.cpus.len();
    (service.workers.kind == Some(WorkerKind::OneCpu) && several > 1).then(|| {
        let text = format!("Uses only one of {several} CPUs ({}).", service.workers.note);
        Warning::new(WarningKind::OneCpu, text)
    })
}

/// The trial of a plan; the error says why it cannot be tried, for example because the service was not built.
fn parts<'a>(
    planned: PlannedTrial,
    run: &'a Run<'a>,
    contracts: &'a SeededContracts<'a>,
    history: &History<'_>,
) -> Result<Trial<'a>, Exclusion> {
    let (plan, entry) = (run.plan, &run.plan.entries[planned.entry]);
    let not_built = |reason: String| Exclusion {
        stage: TrialStage::Build,
        reason,
        log_tail: Vec::new(),
        fault: Fault::Service,
    };
    let missing = |what: &str| not_built(format!("{what} is no longer in this checkout"));
    let id = trial::service_id(entry);
    let service = run.context.catalogue.variant(&entry.service, &entry.variant);
    let service = service.ok_or_else(|| missing(&id.to_string()))?;
    let contract = &plan.group_of(entry).contract;
    let contract = contracts
        .get(service, contract)
        .unwrap_or_else(|| Err(missing(contract)))?;
    if let Some(reason) = refusal(service, contract, plan.group_of(entry), entry.channel.protocol()) {
        return Err(Exclusion {
            stage: TrialStage::Check,
            ..not_built(reason)
        });
    }
    let built = match run.build_of(&planned) {
        Some(built) => built.as_ref().map_err(Clone::clone)?,
        None => return Err(not_built("it was not built".to_owned())),
    };
    match history.exclusion(planned.entry) {
        Some(excluded) => Err(excluded),
        None => Ok(Trial {
            plan,
            planned,
            service,
            built,
            contract,
        }),
    }
}

/// Why a service that prony did not start gets no load of a group: its requests may change data.
fn refusal(service: &Service, contract: &Contract, group: &GroupPlan, protocol: Protocol) -> Option<String> {
    if service.allows_writes() {
        return None;
    }
    // A workload that cannot be read fails later, with its own message.
    let steps = contract.unsafe_steps(&group.workload, protocol).ok()?;
    (!steps.is_empty()).then(|| {
        format!(
            "workload `{}` sends requests that may change data ({}), and prony did not start this server: set `allow_writes = true` in \
             its service.toml, or load safe operations only",
            group.workload,
            steps.join(", ")
        )
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
