//! The steps that measure the start of a service.

use super::RunningServices;
use super::slot::ServiceSlot;
use crate::schedule::{Outcome, RestPoint, Slot};
use crate::{Failure, RunContext};
use prony_host::{PageCacheReport, PageCacheRequest};
use prony_records::{TrialStage, Warning, WarningKind};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// Time for which the CPUs must be idle before a start.
const IDLE: Duration = Duration::from_millis(100);
/// Share of the CPU time that other programs may use in it.
const BUSY: f64 = 0.05;
/// Longest wait for idle CPUs.
const IDLE_LIMIT: Duration = Duration::from_secs(1);
/// Interval at which a rest is checked for its end.
const LOOK: Duration = Duration::from_millis(20);

impl RunningServices<'_, '_> {
    /// Waits until no program uses the CPUs. If they do not become idle, the trial has a warning.
    pub(crate) fn await_idle(&mut self, number: Slot) -> Outcome {
        if !self.slots[number].has_open_trial() {
            return Outcome::Skipped;
        }
        let context = &self.run.context;
        let began = Instant::now();
        while let Some(usage) = context.host().watch(IDLE) {
            let busy = usage.share(usage.busy_ns);
            if busy.is_none_or(|busy| busy <= BUSY) || context.cancel.is_now() {
                return Outcome::Done;
            }
            if began.elapsed() >= IDLE_LIMIT {
                let text = "The CPUs were not idle before the start.";
                let warning = Warning::new(WarningKind::Noise, text).advise("Use an idle machine.");
                warning.replace_in(&mut self.slots[number].notes);
                break;
            }
        }
        Outcome::Done
    }

    /// Removes the files of the service from the page cache: those of its build folder, and those that it was found to use.
    pub(crate) fn evict(&mut self, number: Slot) -> Outcome {
        if !self.slots[number].has_open_trial() {
            return Outcome::Skipped;
        }
        match self.slots[number].page_cache(&self.run.context, true) {
            Ok(cached) => {
                self.slots[number].files.cached = Some(cached);
                Outcome::Done
            }
            Err(failure) => self.fail(number, failure),
        }
    }

    /// Notes which files the running service uses.
    pub(crate) fn find_files(&mut self, number: Slot) -> Outcome {
        if !self.slots[number].is_up() {
            return Outcome::Skipped;
        }
        self.slots[number].files.used = self.slots[number].service().used_files();
        match self.slots[number].page_cache(&self.run.context, false) {
            Ok(now) => {
                self.slots[number].find_artefact(&now);
                Outcome::Done
            }
            Err(failure) => self.fail(number, failure),
        }
    }

    /// Leaves the service without a request, and reads its memory then.
    pub(crate) fn rest(&mut self, number: Slot, (length, point): (Duration, RestPoint)) -> Outcome {
        if !self.slots[number].is_up() {
            return Outcome::Skipped;
        }
        let result = self.slots[number].rest(&self.run.context, (length, TrialStage::Measure));
        if result.is_ok() {
            let used = self.slots[number].service().footprint();
            if let Some(ready) = &mut self.slots[number].ready {
                match point {
                    RestPoint::AfterStart => ready.start_up.idle = Some(used),
                    RestPoint::AfterLoad => ready.start_up.after_load = Some(used),
                }
            }
        }
        self.outcome(number, result)
    }

    /// Records the start itself.
    pub(crate) fn record_start(&mut self, number: Slot) -> Outcome {
        if !self.slots[number].is_up() {
            return Outcome::Skipped;
        }
        let result = self.slots[number].record_start();
        let outcome = self.outcome(number, result);
        self.show_ended(number);
        outcome
    }
}

impl ServiceSlot<'_> {
    /// What is in the page cache of its files.
    fn page_cache(&self, context: &RunContext<'_>, evict: bool) -> Result<PageCacheReport, Failure> {
        let built = self.open_parts().map(|trial| trial.built);
        // The files of an image have no path on the host.
        let built = built.filter(|built| built.container.is_none());
        let request = PageCacheRequest {
            files: self.files.used.clone(),
            folder: built.map(|built| built.folder.clone()),
            evict,
        };
        let read = context.host().page_cache(&request);
        read.map_err(|error| Failure::host(TrialStage::Start, &error))
    }

    /// Sums up the files of its build folder that it used: those that it has open or mapped, and those that came into an empty page
    /// cache since it was started.
    fn find_artefact(&mut self, now: &PageCacheReport) {
        let Some(trial) = self.open_parts() else { return };
        let used: BTreeSet<&PathBuf> = self.files.used.iter().collect();
        let before = self.files.cached.iter().flat_map(|cached| &cached.files);
        let absent = before
            .filter(|file| file.resident_bytes == 0)
            .map(|file| &file.path);
        let absent: BTreeSet<&PathBuf> = absent.collect();
        let in_folder = now
            .files
            .iter()
            .filter(|file| file.path.starts_with(&trial.built.folder));
        let of_start = in_folder.filter(|file| {
            used.contains(&file.path) || file.resident_bytes > 0 && absent.contains(&file.path)
        });
        let bytes = of_start.map(|file| file.bytes).sum();
        self.files.artefact_used_bytes = trial.built.container.is_none().then_some(bytes);
    }

    /// Leaves the service without load for this long. Fails if it ends meanwhile.
    pub(super) fn rest(
        &mut self,
        context: &RunContext<'_>,
        (length, stage): (Duration, TrialStage),
    ) -> Result<(), Failure> {
        let until = Instant::now() + length;
        loop {
            if context.cancel.is_now() {
                return Err(Failure::interrupted(stage));
            }
            if let Some(lost) = context.testbed.lost() {
                return Err(Failure::host(stage, &lost));
            }
            if let Some(ending) = self.service().ended() {
                let text = format!("the service {ending} without a request");
                return Err(Failure::service_ended(stage, &ending, text));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(LOOK));
        }
    }
}
