//! The table so far, for the live view of a run.

use prony_config::Plan;
use prony_records::TrialRecord;
use prony_report::{Look, standings};
use prony_statistics::{Options, summarise};

/// The trials that a table is made of.
pub(super) struct Standings {
    options: Options,
    trials: Vec<TrialRecord>,
}

impl Standings {
    /// Of a plan of which no trial has ended yet.
    pub(super) fn of(plan: &Plan) -> Self {
        let usual = Options::default();
        Self {
            options: Options {
                confidence: plan.confidence,
                tie_band: plan.tie.unwrap_or(usual.tie_band),
                ..usual
            },
            trials: Vec::new(),
        }
    }

    /// Trials ended.
    pub(super) fn add(&mut self, trials: &[TrialRecord]) {
        self.trials.extend_from_slice(trials);
    }

    /// The table of the group that the last trial belongs to, with the first `most` services; `None` where it has no number
    /// yet.
    pub(super) fn lines(&self, look: Look, most: usize) -> Option<Vec<String>> {
        let last = self.trials.last()?;
        let same = |trial: &&TrialRecord| {
            trial.contract == last.contract && trial.workload == last.workload && trial.load == last.load
        };
        let trials: Vec<TrialRecord> = self.trials.iter().filter(same).cloned().collect();
        // Numbers that cannot be summarised are told by the report; here they would only stand in the way.
        let summary = summarise(&trials, &self.options).ok()?;
        Some(standings(summary.groups.first()?, look, most))
    }
}
