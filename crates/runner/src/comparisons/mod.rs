//! Commands that compare two services or two versions of one. Each builds a plan and measures it by a design.

mod code_layout;
pub mod duet;
pub mod pair;
pub mod regression;
pub mod revisions;

use crate::build::id_of;
use crate::history::FAILED_ROUNDS;
use crate::project::{SelectedService, find};
use crate::trial::COPY;
use crate::{BuildResults, CommandError, Progress, RunEnd, SessionObserver};
use prony_config::{Catalogue, Plan};
use prony_records::{Exclusion, RunRecord, ServiceId, TrialRecord, TrialStage, that_count};
use std::collections::BTreeMap;

/// Adds a copy of a service to the catalogue under another name, to compare the service with itself.
fn add_copy(catalogue: &mut Catalogue, chosen: &SelectedService) -> SelectedService {
    let mut copy = find(catalogue, chosen).clone();
    copy.variant.push_str(COPY);
    copy.default = false;
    let id = id_of(&copy);
    catalogue.services.push(copy);
    SelectedService { id }
}

/// Why a trial has no result, as a sentence.
fn failure_text(trial: &TrialRecord, excluded: &Exclusion) -> String {
    let reason = &excluded.reason;
    match excluded.stage {
        TrialStage::Toolchain | TrialStage::Build => {
            format!(
                "{} cannot be built: {reason}\n    {}",
                trial.service,
                excluded.log_tail.join("\n    ")
            )
        }
        _ => format!("{}: {reason}", trial.service),
    }
}

/// Fails if both are the same service.
fn check_distinct(base: &SelectedService, new: &SelectedService) -> Result<(), CommandError> {
    if base.id == new.id {
        return Err(CommandError::Input(format!(
            "both are {} → Name another variant or revision.",
            base.id
        )));
    }
    Ok(())
}

/// Fails if the run did not end, so that there is nothing to compare.
fn check_complete(end: &RunEnd, run: &str) -> Result<(), CommandError> {
    match end {
        RunEnd::Interrupted => Err(CommandError::Interrupted(format!(
            "stopped early, so nothing is compared → Repeat the command with `--resume {run}` to continue."
        ))),
        RunEnd::HostLost(reason) => Err(CommandError::Failed(format!(
            "a host is lost, so nothing is compared: {reason} → Repeat the command with `--resume {run}` to continue."
        ))),
        RunEnd::Complete | RunEnd::Precise | RunEnd::BudgetSpent => Ok(()),
    }
}

/// Fails if a service was not started again after failures of its own in several rounds: rounds in which it still worked prove nothing
/// about it.
fn check_not_excluded(trials: &[TrialRecord]) -> Result<(), CommandError> {
    let mut failed: BTreeMap<&ServiceId, Vec<(&TrialRecord, &Exclusion)>> = BTreeMap::new();
    for trial in that_count(trials) {
        if let Some(excluded) = trial.result.as_ref().err().filter(|_| trial.void().is_none()) {
            failed.entry(&trial.service).or_default().push((trial, excluded));
        }
    }
    match failed.values().find(|failed| failed.len() >= FAILED_ROUNDS) {
        None => Ok(()),
        Some(failed) => {
            let (trial, excluded) = failed[0];
            Err(CommandError::Failed(format!(
                "nothing is compared, because a service failed in several rounds: {}",
                failure_text(trial, excluded)
            )))
        }
    }
}

/// Receives a line of progress.
pub type ProgressFn<'a> = &'a (dyn Fn(&str) + Sync);

/// Reports each round of a comparison as a line.
pub(super) struct ProgressLines<'a> {
    plan: &'a Plan,
    tell: ProgressFn<'a>,
    /// Goodput of the trials of the current round.
    round: Vec<(u32, f64)>,
}

impl<'a> ProgressLines<'a> {
    pub(super) const fn new(plan: &'a Plan, tell: ProgressFn<'a>) -> Self {
        Self {
            plan,
            tell,
            round: Vec::new(),
        }
    }

    fn ended(&mut self, trial: &TrialRecord) {
        let Ok(measurement) = &trial.result else {
            let reason = trial
                .result
                .as_ref()
                .err()
                .map(|excluded| excluded.reason.as_str());
            (self.tell)(&format!("{}: {}", trial.service, reason.unwrap_or_default()));
            return;
        };
        self.round.retain(|(round, _)| *round == trial.round);
        self.round
            .push((trial.round, measurement.recording.goodput_per_s));
        if let [(round, first), (_, second)] = self.round[..] {
            let rounds = self.plan.rounds;
            (self.tell)(&format!(
                "[{}/{rounds}] {first:.0}/s and {second:.0}/s",
                round + 1
            ));
            self.round.clear();
        }
    }
}

impl SessionObserver for ProgressLines<'_> {
    fn message(&self, text: &str) {
        (self.tell)(text);
    }

    fn build_progress(&self, progress: &Progress) {
        if let Some(text) = progress.of_build() {
            (self.tell)(&text);
        }
    }

    fn builds_done(&self, _: &BuildResults) {}

    fn run_started(&mut self, run: &RunRecord) {
        for warning in &run.warnings {
            (self.tell)(&format!("warning: {}", warning.text));
        }
    }

    fn stored_trials(&mut self, _: &[TrialRecord]) {}

    fn progress(&mut self, progress: &Progress) {
        match progress {
            Progress::Ended(trial) => self.ended(trial),
            Progress::Repeats { reason } => (self.tell)(&format!("repeated: {reason}")),
            Progress::Warning(warning) => (self.tell)(&warning.whole()),
            _ => {}
        }
    }

    fn trials_done(&mut self) {}
}
