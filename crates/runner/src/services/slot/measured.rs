//! Measured windows, and the records that are made of them.

use super::ServiceSlot;
use super::contract::{check_again, warnings_of_start};
use super::files::still_cached;
use super::trial::SlotTrial;
use crate::backing::judge_during;
use crate::history::TrialId;
use crate::schedule::{LoadRun, Purpose};
use crate::services::measurement::{MeasuredWindow, TrialFacts, judge_recording};
use crate::services::ready_service::ReadyService;
use crate::trial::{self, Trial};
use crate::usage::WindowUsage;
use crate::{Failure, Progress, Run, RunContext};
use prony_config::{Plan, StartKind, Starts};
use prony_records::{
    Answers, Exclusion, Measurement, Recording, SharedStart, TrialRecord, TrialStage, Warning, WarningKind,
};
use prony_statistics::steady_rate;

impl ServiceSlot<'_> {
    /// Adds a measured window.
    pub(crate) fn add_window(
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
    pub(crate) fn measured_trial(&self) -> Option<usize> {
        self.trials
            .iter()
            .position(|one| one.is_open() && !one.windows.is_empty())
    }

    /// Adds warnings to the trial that was measured last.
    pub(crate) fn warn(&mut self, warnings: &[Warning]) {
        if let Some(index) = self.measured_trial() {
            self.trials[index].warnings.extend_from_slice(warnings);
        }
    }

    /// Checks after the load. The measurement is complete then.
    pub(crate) fn recheck(&mut self, run: &Run<'_>, watch: &mut dyn FnMut(Progress)) -> Result<(), Failure> {
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
    pub(crate) fn record_start(&mut self) -> Result<(), Failure> {
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
    pub(crate) fn provisional(&self, number: TrialId, context: &RunContext<'_>) -> Option<TrialRecord> {
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
    pub(super) fn end_trial(&mut self, index: usize, result: Result<Measurement, Exclusion>) {
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
}
