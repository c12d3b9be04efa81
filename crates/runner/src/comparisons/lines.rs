//! What a comparison at the same time tells while it is measured: a line for each round.

use crate::{BuildResults, Progress, SessionObserver};
use prony_config::Plan;
use prony_records::TrialRecord;

/// Receives a line of progress.
pub type ProgressFn<'a> = &'a (dyn Fn(&str) + Sync);

/// Writes lines.
pub(super) struct ProgressLines<'a> {
    plan: &'a Plan,
    tell: ProgressFn<'a>,
    /// The valid replies per second of the trials of the round so far.
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
    fn says(&self, text: &str) {
        (self.tell)(text);
    }

    fn building(&self, progress: &Progress) {
        if let Some(text) = progress.waits() {
            (self.tell)(&text);
        } else if let Progress::Building(service) = progress {
            (self.tell)(&format!("building {service}"));
        }
    }

    fn built(&self, _: &BuildResults) {}

    fn knows(&mut self, _: &[TrialRecord]) {}

    fn saw(&mut self, progress: &Progress) {
        match progress {
            Progress::Ended(trial) => self.ended(trial),
            Progress::Repeats { reason } => (self.tell)(&format!("once more: {reason}")),
            Progress::Warning(warning) => (self.tell)(&warning.text),
            _ => {}
        }
    }

    fn done(&mut self) {}
}
