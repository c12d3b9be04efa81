//! The ranking so far, for the live view of a run.

use prony_config::Plan;
use prony_records::TrialRecord;
use prony_report::{TerminalStyle, standings};
use prony_statistics::{Options, summarise};

/// The trials from which a ranking is computed.
pub(super) struct LiveRanking {
    options: Options,
    trials: Vec<TrialRecord>,
}

impl LiveRanking {
    /// For a plan of which no trial has ended yet.
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

    /// Adds trials that ended.
    pub(super) fn add(&mut self, trials: &[TrialRecord]) {
        self.trials.extend_from_slice(trials);
    }

    /// The ranking of the group of the last trial, with the first `most` services; `None` if the group has no results yet.
    pub(super) fn lines(&self, look: TerminalStyle, most: usize) -> Option<Vec<String>> {
        let last = self.trials.last()?;
        let same = |trial: &&TrialRecord| {
            trial.contract == last.contract && trial.workload == last.workload && trial.load == last.load
        };
        let trials: Vec<TrialRecord> = self.trials.iter().filter(same).cloned().collect();
        // The report explains results that cannot be summarised; the live view leaves them out.
        let summary = summarise(&trials, &self.options).ok()?;
        Some(standings(summary.groups.first()?, look, most))
    }
}
