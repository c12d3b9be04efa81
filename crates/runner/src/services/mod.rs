//! The services of a block, and the steps that are performed on them.

mod measurement;
mod ready_service;
mod slot;
mod start;

use crate::backing::SeededContracts;
use crate::history::{Attempt, History};
use crate::job::job;
use crate::load_monitor::{LoadMonitor, MonitoredLoad};
use crate::schedule::{Block, LoadPath, LoadRun, OnFailure, Outcome, Purpose, Slot, WarmUp, WarmUpOutcome};
use crate::trial::service_id;
use crate::usage::{self, WindowUsage};
use crate::warm_up::{Pace, WarmUpPhase, WarmUpResult, WarmUpWatch, is_done_compiling};
use crate::{Failure, Journal, JournalError, Progress, Run};
use prony_config::{Channel, Design, Plan, PlannedTrial, WarmUpChoice};
use prony_host::HostError;
use prony_records::{Classification, Command, Event, Fault, Phase, Recording, TrialStage, Warning};
use slot::ServiceSlot;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Time for a service to answer again after its backing services were restarted.
const RECOVERS: Duration = Duration::from_secs(10);
/// Load after data of backing services was reset: connections are made again, and their caches are filled.
const AFTER_RESET: Duration = Duration::from_millis(500);
/// Attempts of the check after the load, and the pause between them: a service may still be processing requests.
const RECHECKS: u32 = 3;
const RECHECK_PAUSE: Duration = Duration::from_millis(300);
/// How often compilers are looked at while there is no load, and for how long at most.
const COMPILER_LOOK: Duration = Duration::from_millis(100);
const COMPILES: Duration = Duration::from_secs(10);

/// The services of a block. Dropping it ends every process.
pub(crate) struct RunningServices<'a, 'j> {
    run: &'a Run<'a>,
    block: &'a Block,
    history: &'a History<'a>,
    journal: &'j mut dyn Journal,
    slots: Vec<ServiceSlot<'a>>,
    /// Failed attempts of services that were started again.
    attempts: Vec<Attempt>,
    /// The cycle of the last window.
    cycle: Option<u32>,
    is_over: bool,
}

/// A load that has begun.
#[derive(Clone, Copy)]
struct BegunLoad {
    pace: Pace,
    /// Whether it has fewer connections than the planned load.
    may_grow: bool,
}

/// A measured load.
struct MeasuredRun {
    run: LoadRun,
    recording: Recording,
    usage: WindowUsage,
}

impl<'a, 'j> RunningServices<'a, 'j> {
    pub(crate) fn new(
        block: &'a Block,
        (run, contracts, history): (&'a Run<'a>, &'a SeededContracts<'a>, &'a History<'a>),
        journal: &'j mut dyn Journal,
    ) -> Self {
        let slots = block.slots.iter().enumerate();
        let slots = slots.map(|(number, start)| ServiceSlot::new((number, start), run, contracts, history));
        let slots: Vec<ServiceSlot<'a>> = slots.collect();
        Self {
            run,
            block,
            history,
            // Such a block needs all of its services; one that was not built or is excluded ends it.
            is_over: block.on_failure == OnFailure::EndBlock
                && !slots.iter().all(ServiceSlot::has_open_trial),
            slots,
            journal,
            attempts: Vec::new(),
            cycle: None,
        }
    }

    /// Whether the block has ended early: the run was cancelled, or a service failed that the block needs.
    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Starts backing services and service, and waits until it is ready.
    pub(crate) fn start(&mut self, number: Slot) -> Outcome {
        let failed = self.slots[number].take_failed_attempts();
        self.attempts.extend(failed);
        let has_begun = self.slots[number].has_begun();
        let Some(planned) = self.slots[number].begin_first_trial() else {
            return Outcome::Skipped;
        };
        // A start before the measured one belongs to the same trial.
        if !has_begun {
            self.show_begin(planned);
        }
        let result = self.slots[number].start(self.run);
        self.outcome(number, result)
    }

    /// Checks the contract.
    pub(crate) fn check(&mut self, number: Slot) -> Outcome {
        let slot = &mut self.slots[number];
        if !slot.is_up() {
            return Outcome::Skipped;
        }
        let result = slot.check(self.run, &mut |progress| self.journal.progress(progress));
        self.outcome(number, result)
    }

    /// Loads until the services are warm.
    pub(crate) fn warm_up(&mut self, runs: &[LoadRun], until: WarmUp) -> Outcome {
        let runs: Vec<LoadRun> = runs.iter().filter(|run| self.is_runnable(run)).copied().collect();
        if runs.is_empty() {
            return Outcome::Skipped;
        }
        let mut light = BTreeMap::new();
        if let WarmUp::Planned(choice @ WarmUpChoice::Steady { .. }) = until {
            // A load has one light load in a start.
            let is_new = |run: &&LoadRun| !self.slots[run.slot].warmed.contains_key(&run.load);
            let new = runs.iter().filter(is_new).copied().collect();
            light = match self.load_lightly(new, choice) {
                Ok(light) => light,
                Err(outcome) => return outcome,
            };
        }
        // All services are measured from equal data: the measurement begins with that of the seed.
        let is_reset = runs.iter().any(|run| self.slots[run.slot].has_backing_services());
        let is_used = is_reset && runs.iter().any(|run| self.slots[run.slot].has_used_data);
        let (until, resets) = match until {
            WarmUp::Settle(length) if is_used => (WarmUp::Settle(length.max(AFTER_RESET)), true),
            WarmUp::Settle(_) => (until, false),
            _ => (until, !is_reset),
        };
        let warmed = match self.load_until(&runs, (until, resets)) {
            Ok(warmed) => warmed,
            Err(outcome) => return outcome,
        };
        if matches!(until, WarmUp::Rehearsal(_)) {
            for run in &runs {
                self.slots[run.slot].rehearsed(run.load, &warmed[&run.slot]);
            }
            let warming = warmed.iter().filter(|(_, warmed)| is_warming(warmed));
            let warming: Vec<Slot> = warming.map(|(number, _)| *number).collect();
            if let Err((number, failure)) = self.wait_for_compilers(&warming) {
                return self.fail(number, failure);
            }
        }
        let again = match until {
            WarmUp::Together(_) => Some(WarmUp::Together(AFTER_RESET)),
            WarmUp::Planned(_) => Some(WarmUp::Settle(AFTER_RESET)),
            WarmUp::Light { .. } | WarmUp::Rehearsal(_) | WarmUp::Settle(_) => None,
        };
        // Interleaved services are rehearsed first. Their data is reset before their next window.
        let again = again.filter(|_| !runs.iter().any(|run| self.slots[run.slot].is_interleaved));
        if let Some(again) = again.filter(|_| is_reset)
            && let Err(outcome) = self.load_until(&runs, (again, true))
        {
            return outcome;
        }
        let outcome = |run: &LoadRun| WarmUpOutcome {
            classification: warmed[&run.slot].steadiness.classification,
            compiler: warmed[&run.slot].compiler,
            slow_reply: warmed[&run.slot].slow_reply(),
        };
        let outcomes = runs.iter().map(outcome).collect();
        if matches!(until, WarmUp::Planned(_) | WarmUp::Together(_)) {
            self.keep_warm_ups(&runs, (warmed, light), until);
        }
        Outcome::Warm(outcomes)
    }

    /// Keeps how services became warm under these loads.
    fn keep_warm_ups(
        &mut self,
        runs: &[LoadRun],
        (warmed, light): (BTreeMap<Slot, WarmUpResult>, BTreeMap<Slot, WarmUpResult>),
        until: WarmUp,
    ) {
        for (number, mut warmed) in warmed {
            if let Some(light) = light.get(&number) {
                warmed.steadiness = warmed.steadiness.after_light_load(&light.steadiness);
            }
            if let Some(run) = runs.iter().find(|run| run.slot == number) {
                let all = &mut self.slots[number].warmed;
                let earlier = all.get(&run.load);
                if earlier.is_some() && matches!(until, WarmUp::Together(_)) {
                    // Two warm services wait for each other: how each became warm is known.
                    continue;
                }
                // It may have come before an earlier warm-up.
                let light_s = earlier.and_then(|earlier| earlier.steadiness.light_s);
                warmed.steadiness.light_s = warmed.steadiness.light_s.or(light_s);
                all.insert(run.load, warmed);
                self.slots[number].rehearsals.remove(&run.load);
            }
        }
    }

    /// Loads lightly until compilers are idle. The load of a service that waits most of the time grows.
    fn load_lightly(
        &mut self,
        mut runs: Vec<LoadRun>,
        choice: WarmUpChoice,
    ) -> Result<BTreeMap<Slot, WarmUpResult>, Outcome> {
        let mut all: BTreeMap<Slot, WarmUpResult> = BTreeMap::new();
        let mut width: u32 = 1;
        while !runs.is_empty() {
            let loaded = self.load_until(&runs, (WarmUp::Light { choice, width }, false))?;
            runs.retain(|run| loaded[&run.slot].growth.is_some());
            let growth = loaded.values().filter_map(|warmed| warmed.growth).min();
            width = width.saturating_mul(growth.unwrap_or(1));
            for (number, mut warmed) in loaded {
                let earlier = all.get(&number);
                warmed.steadiness.warm_up_s += earlier.map_or(0.0, |earlier| earlier.steadiness.warm_up_s);
                all.insert(number, warmed);
            }
        }
        Ok(all)
    }

    /// Loads until this phase is over. The error is the outcome of the step.
    fn load_until(
        &mut self,
        runs: &[LoadRun],
        (until, resets): (WarmUp, bool),
    ) -> Result<BTreeMap<Slot, WarmUpResult>, Outcome> {
        let mut watches = BTreeMap::new();
        for run in runs {
            let watch = self
                .begin_load(run, until, resets)
                .and_then(|begun| self.watch(run, until, begun));
            match watch {
                Ok(watch) => drop(watches.insert(run.slot, watch)),
                Err(failure) => return Err(self.fail(run.slot, failure)),
            }
        }
        let mut warmed = BTreeMap::new();
        while !watches.is_empty() {
            let ended = self
                .wait_until_warm(&mut watches)
                .and_then(|ended| self.take_break(runs, until, &mut watches).map(|()| ended))
                .map_err(|(number, failure)| self.fail(number, failure))?;
            warmed.extend(ended);
        }
        Ok(warmed)
    }

    /// Ends the loads of these runs until compilers are idle, and begins them again. Does nothing if no watch is left.
    fn take_break(
        &mut self,
        runs: &[LoadRun],
        until: WarmUp,
        watches: &mut BTreeMap<Slot, WarmUpWatch>,
    ) -> Result<(), (Slot, Failure)> {
        if watches.is_empty() {
            return Ok(());
        }
        let numbers: Vec<Slot> = runs.iter().map(|run| run.slot).collect();
        self.wait_for_compilers(&numbers)?;
        for run in runs {
            let at = |failure| (run.slot, failure);
            self.begin_load(run, until, false).map_err(at)?;
            let watch = watches.get_mut(&run.slot).expect("invariant: no load has ended");
            watch.end_break(self.slots[run.slot].service()).map_err(at)?;
        }
        Ok(())
    }

    /// Whether the service of a run is up and its trial is open.
    fn is_runnable(&self, run: &LoadRun) -> bool {
        self.slots[run.slot].is_up() && self.slots[run.slot].trial_of(run).is_some()
    }

    fn begin_load(&mut self, run: &LoadRun, until: WarmUp, resets: bool) -> Result<BegunLoad, Failure> {
        self.end_load(run.slot)?;
        self.announce(run);
        let slot = &self.slots[run.slot];
        if let (Purpose::Record(number), Some(ready)) = (&run.purpose, &slot.ready) {
            let channel = slot
                .trial_of(run)
                .map_or(Channel::Http1, |trial| trial.entry().channel);
            let target = ready.subject.targets.over(channel);
            self.journal.progress(Progress::Loads {
                number: *number,
                host: target.host.clone(),
                port: target.port,
            });
        }
        let context = &self.run.context;
        let slot = &mut self.slots[run.slot];
        if resets {
            slot.prepare_data(context)?;
        }
        slot.has_used_data |= !matches!(until, WarmUp::Settle(_));
        let trial = *slot.trial_of(run).expect("invariant: the run has a trial");
        let service = slot.ready.as_mut().expect("invariant: the service is up");
        let target = service.subject.targets.over(trial.entry().channel);
        let job = job(&trial, target, &slot.placement, (run, until));
        let mut job = job.map_err(|error| Failure::infrastructure(TrialStage::WarmUp, error.to_string()))?;
        if run.path == Some(LoadPath::Direct) {
            let direct = service.subject.backing_services.direct_path();
            let direct = direct.ok_or_else(|| {
                let text = "the contract has no backing service that can be loaded directly";
                Failure::infrastructure(TrialStage::WarmUp, text)
            })?;
            direct.redirect(&mut job);
        }
        let placement = &slot.placement.placement;
        let begun = context
            .generator
            .begin(&job, placement, &slot.placement.log("generator"));
        let loading = begun.map_err(|error| Failure::host(TrialStage::WarmUp, &error))?;
        slot.load = Some(MonitoredLoad::new(*run, loading));
        Ok(BegunLoad {
            pace: Pace::of(&job.load),
            may_grow: job.load.connections() < trial.group().load.connections(),
        })
    }

    /// Watches a load that has begun.
    fn watch(&mut self, run: &LoadRun, until: WarmUp, begun: BegunLoad) -> Result<WarmUpWatch, Failure> {
        let known_s = self.history.settled_after_s(run.load);
        let slot = &mut self.slots[run.slot];
        let phase = match until {
            WarmUp::Light { .. } => WarmUpPhase::Light {
                may_grow: begun.may_grow,
            },
            WarmUp::Rehearsal(_) => WarmUpPhase::Rehearsal {
                before: (slot.rehearsals.get(&run.load)).and_then(|rehearsals| rehearsals.last),
            },
            _ => WarmUpPhase::Planned,
        };
        let measured = (run.length, known_s);
        WarmUpWatch::new((until, phase), begun.pace, measured, slot.service())
    }

    /// Shows which trial or window begins.
    fn announce(&mut self, run: &LoadRun) {
        let Purpose::Record(number) = run.purpose else {
            return;
        };
        if let Some(planned) = self.slots[run.slot].begin_trial(number) {
            self.show_begin(planned);
        }
        let Some(window) = run.window else { return };
        if self.cycle.replace(window.cycle) != Some(window.cycle) {
            let of = cycles(self.run.plan);
            let cycle = window.cycle - window.block * of + 1;
            self.journal.progress(Progress::Cycle { number: cycle, of });
        }
        self.journal.progress(Progress::Turn { number });
    }

    /// Waits until every generator reports the start of its measurement, or a compiler needs a break. Removes the watches that ended.
    fn wait_until_warm(
        &mut self,
        watches: &mut BTreeMap<Slot, WarmUpWatch>,
    ) -> Result<BTreeMap<Slot, WarmUpResult>, (Slot, Failure)> {
        let monitor = LoadMonitor::new(&self.run.context, TrialStage::WarmUp, watches.len());
        let journal = &mut *self.journal;
        let (mut is_commanded, mut is_break) = (false, false);
        let mut warmed = BTreeMap::new();
        let mut loaded: BTreeSet<Slot> = watches.keys().copied().collect();
        while !loaded.is_empty() {
            for number in loaded.clone() {
                let at = |failure| (number, failure);
                let (load, subject) = self.slots[number].loaded().expect("invariant: it is loaded");
                let event = monitor
                    .next(load, subject, &mut |progress| journal.progress(progress))
                    .map_err(at)?;
                let watch = watches.get_mut(&number).expect("invariant: its own key");
                match event {
                    Some(Event::Interval {
                        phase: Phase::WarmUp,
                        interval,
                        ..
                    }) => watch.push(interval, &mut *subject.service).map_err(at)?,
                    Some(Event::Phase {
                        phase: Phase::WarmUp, ..
                    }) => watch.set_loaded(),
                    Some(Event::Phase {
                        phase: Phase::Measurement,
                        ..
                    }) => {
                        usage::begin(subject, &mut *load.loading).map_err(at)?;
                        loaded.remove(&number);
                        if !is_break {
                            let watch = watches.remove(&number).expect("invariant: its own key");
                            warmed.insert(number, watch.finish());
                        }
                    }
                    Some(Event::Recording { .. } | Event::Part { .. }) => {
                        let text = "the generator ended before the measurement began";
                        return Err(at(Failure::infrastructure(TrialStage::WarmUp, text)));
                    }
                    _ => {}
                }
            }
            if is_commanded {
                continue;
            }
            is_break = watches.values().any(WarmUpWatch::needs_break);
            is_commanded = is_break || !watches.is_empty() && watches.values().all(WarmUpWatch::is_over);
            if is_commanded {
                for number in &loaded {
                    self.slots[*number].tell(Command::Measure);
                }
            }
        }
        Ok(warmed)
    }

    /// Measures the loads that a warm-up has begun. Every measured window is stored at once.
    pub(crate) fn measure(&mut self, runs: &[LoadRun]) -> Result<Outcome, JournalError> {
        let runs: Vec<LoadRun> = runs.iter().filter(|run| self.is_runnable(run)).copied().collect();
        if runs.is_empty() {
            return Ok(Outcome::Skipped);
        }
        let measured = match self.wait_for_recordings(&runs) {
            Ok(measured) => measured,
            Err((number, failure)) => return Ok(self.fail(number, failure)),
        };
        let mut recordings = Vec::new();
        for MeasuredRun {
            run,
            recording,
            usage,
        } in measured
        {
            recordings.push(recording.clone());
            if let Err(failure) = self.slots[run.slot].add_window(&run, (recording, usage), self.run.plan) {
                return Ok(self.fail(run.slot, failure));
            }
            if let Purpose::Record(number) = run.purpose
                && let Some(record) = self.slots[run.slot].provisional(number, &self.run.context)
            {
                self.journal.provisional(&record)?;
            }
        }
        if recordings.len() > 1 {
            let loads: Vec<&Recording> = recordings.iter().collect();
            let warnings = self.journal.warnings_of(&loads);
            for run in &runs {
                self.slots[run.slot].warn(&warnings);
            }
        }
        Ok(Outcome::Measured(recordings))
    }

    /// Waits for the recordings of all runs. The resource window ends when the drain begins.
    fn wait_for_recordings(&mut self, runs: &[LoadRun]) -> Result<Vec<MeasuredRun>, (Slot, Failure)> {
        let monitor = LoadMonitor::new(&self.run.context, TrialStage::Measure, runs.len());
        let journal = &mut *self.journal;
        let mut usages: BTreeMap<Slot, WindowUsage> = BTreeMap::new();
        let mut recordings: BTreeMap<Slot, Recording> = BTreeMap::new();
        for _ in runs {
            journal.progress(Progress::Phase(Phase::Measurement));
        }
        while recordings.len() < runs.len() {
            for run in runs
                .iter()
                .filter(|run| !recordings.contains_key(&run.slot))
                .copied()
                .collect::<Vec<_>>()
            {
                let at = |failure| (run.slot, failure);
                let loaded = self.slots[run.slot].loaded().filter(|(load, _)| load.run == run);
                let (load, subject) = loaded.ok_or_else(|| {
                    at(Failure::infrastructure(
                        TrialStage::Measure,
                        "no warm-up has begun this load",
                    ))
                })?;
                let event = monitor
                    .next(load, subject, &mut |progress| journal.progress(progress))
                    .map_err(at)?;
                let ends = match event {
                    Some(Event::Phase {
                        phase: Phase::Drain, ..
                    }) => true,
                    Some(Event::Part { .. }) => {
                        let text = "the generator reported a part of a load instead of a whole one";
                        return Err(at(Failure::infrastructure(TrialStage::Measure, text)));
                    }
                    Some(Event::Recording { recording }) => {
                        recordings.insert(run.slot, *recording);
                        true
                    }
                    _ => false,
                };
                if ends && !usages.contains_key(&run.slot) {
                    usages.insert(run.slot, usage::end(subject, &mut *load.loading).map_err(at)?);
                }
            }
        }
        let mut measured = Vec::new();
        for run in runs {
            self.slots[run.slot].load = None;
            let both = recordings.remove(&run.slot).zip(usages.remove(&run.slot));
            measured.extend(both.map(|(recording, usage)| MeasuredRun {
                run: *run,
                recording,
                usage,
            }));
        }
        Ok(measured)
    }

    /// Ends a load and waits for all replies in flight. Otherwise the service would process requests of closed connections first, and
    /// the next load would be delayed.
    fn end_load(&mut self, number: Slot) -> Result<(), Failure> {
        let monitor = LoadMonitor::new(&self.run.context, TrialStage::WarmUp, 1);
        let journal = &mut *self.journal;
        let slot = &mut self.slots[number];
        slot.tell(Command::Stop);
        while let Some((load, subject)) = slot.loaded() {
            let event = monitor.next(load, subject, &mut |progress| journal.progress(progress))?;
            if let Some(Event::Recording { recording }) = event {
                // A warm-up that is not followed by its measurement leaves a window open, whose probe would go on.
                let _ = subject.service.end_window();
                slot.answers.push(recording.answers);
                slot.load = None;
            }
        }
        Ok(())
    }

    /// Leaves services without load until their compilers are idle. Compiler threads wait long for a CPU next to a load.
    fn wait_for_compilers(&mut self, numbers: &[Slot]) -> Result<(), (Slot, Failure)> {
        for &number in numbers {
            self.end_load(number).map_err(|failure| (number, failure))?;
        }
        for &number in numbers {
            self.wait_for_compiler(number)
                .map_err(|failure| (number, failure))?;
        }
        Ok(())
    }

    fn wait_for_compiler(&mut self, number: Slot) -> Result<(), Failure> {
        let slot = &mut self.slots[number];
        let failed = |error: HostError| Failure::host(TrialStage::WarmUp, &error);
        let began = Instant::now();
        while began.elapsed() < COMPILES {
            slot.service().begin_window().map_err(failed)?;
            slot.rest(&self.run.context, (COMPILER_LOOK, TrialStage::WarmUp))?;
            let used = slot.service().end_window().map_err(failed)?.resources;
            if is_done_compiling(&used, COMPILER_LOOK) {
                break;
            }
        }
        Ok(())
    }

    /// Pauses the service and its backing services.
    pub(crate) fn pause(&mut self, number: Slot) -> Outcome {
        if !self.slots[number].is_up() {
            return Outcome::Skipped;
        }
        if let Err(failure) = self.end_load(number) {
            return self.fail(number, failure);
        }
        self.slots[number].end_rehearsals();
        let memory_bytes = self.slots[number].service().memory_bytes();
        match self.slots[number].pause() {
            Ok(()) => Outcome::Paused {
                memory_bytes,
                available_bytes: self.run.context.host().memory_available_bytes(),
            },
            Err(failure) => self.fail(number, failure),
        }
    }

    /// Resumes the service and its backing services.
    pub(crate) fn resume(&mut self, number: Slot) -> Outcome {
        if !self.slots[number].is_up() {
            return Outcome::Skipped;
        }
        let result = self.slots[number].resume();
        self.outcome(number, result)
    }

    /// Checks after the load: invariants of backing services, the contract, and that the service still runs.
    pub(crate) fn recheck(&mut self, number: Slot) -> Outcome {
        if !self.slots[number].is_up() || self.slots[number].measured_trial().is_none() {
            return Outcome::Skipped;
        }
        let result = self.end_load(number).and_then(|()| {
            let slot = &mut self.slots[number];
            slot.recheck(self.run, &mut |progress| self.journal.progress(progress))
        });
        let outcome = self.outcome(number, result);
        self.show_ended(number);
        outcome
    }

    /// Adds warnings to the trial that was measured last.
    pub(crate) fn warn(&mut self, number: Slot, warnings: &[Warning]) -> Outcome {
        self.slots[number].warn(warnings);
        Outcome::Done
    }

    /// Ends the trial without a result.
    pub(crate) fn give_up(&mut self, number: Slot, fault: Fault, reason: &str) -> Outcome {
        let failure = Failure {
            fault,
            ..Failure::new(TrialStage::Measure, reason)
        };
        self.fail(number, failure)
    }

    /// Ends the service. A failure found now applies to all of its trials.
    pub(crate) fn stop(&mut self, number: Slot) -> Outcome {
        if !self.slots[number].is_up() {
            return Outcome::Skipped;
        }
        let result = self.end_load(number);
        if let Err(failure) = result {
            return self.fail(number, failure);
        }
        let invalidated = self.slots[number].stop();
        for warning in invalidated {
            self.journal.progress(Progress::Warning(warning));
        }
        Outcome::Done
    }

    fn outcome(&mut self, number: Slot, result: Result<(), Failure>) -> Outcome {
        match result {
            Ok(()) => Outcome::Done,
            Err(failure) => self.fail(number, failure),
        }
    }

    /// Removes a service from the block after a failed step.
    fn fail(&mut self, number: Slot, failure: Failure) -> Outcome {
        self.is_over |= failure.is_interrupted() || self.block.on_failure == OnFailure::EndBlock;
        self.slots[number].fail(failure, self.block.on_failure);
        self.show_ended(number);
        Outcome::Failed(vec![number])
    }

    /// Shows ended trials of a start that serves several.
    fn show_ended(&mut self, number: Slot) {
        for record in self.slots[number].take_newly_ended() {
            self.journal.progress(Progress::Ended(Box::new(record)));
        }
    }

    /// Shows that a trial begins. Retries are shown by the executor.
    fn show_begin(&mut self, planned: PlannedTrial) {
        if self.history.retry_reason(planned.number).is_some() {
            return;
        }
        let plan = self.run.plan;
        let entry = &plan.entries[planned.entry];
        let pending = self.history.pending_from(planned.number);
        let lengths = pending
            .iter()
            .map(|trial| plan.expected_trial(&plan.entries[trial.entry], trial.round));
        self.journal.progress(Progress::Begins {
            number: planned.number + 1,
            of: plan.len(),
            round: planned.round,
            service: service_id(entry),
            workload: plan.group_of(entry).workload.clone(),
            remaining: lengths.sum(),
        });
    }

    /// An attempt for each trial that was done, in the order of the plan. Cancelled trials have none.
    pub(crate) fn into_attempts(self) -> Vec<Attempt> {
        let mut attempts = self.attempts;
        for slot in self.slots {
            attempts.extend(slot.into_attempts(self.run.plan));
        }
        attempts.sort_by_key(|attempt| attempt.record.number);
        attempts
    }
}

fn is_warming(warmed: &WarmUpResult) -> bool {
    warmed.steadiness.classification == Classification::Warming
}

/// Number of windows of each service in a round.
const fn cycles(plan: &Plan) -> u32 {
    match plan.design {
        Design::Interleaved { cycles, .. } => cycles,
        Design::Sequence | Design::Paired { .. } | Design::Starts | Design::Duet | Design::Regression => 1,
    }
}
