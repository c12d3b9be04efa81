//! Two versions loaded at the same time, one of them against itself as well, for machines that others use too.
//!
//! A first look at both; then the base against itself, which shows what the machine makes of no change; then further looks at
//! both as long as the new version seems slower and that is not proven, or the result is inconclusive and there is budget left. The
//! first look can end the matter but never decide against the new version, so that it adds no false alarm; each further look may err
//! by its share alone (Bonferroni).

use super::duet::{PairedRounds, is_out, round_length};
use crate::history::History;
use crate::schedule::{Block, Design};
use prony_config::Plan;
use prony_records::{ServiceId, TrialRecord};
use prony_statistics::{ChangeOptions, LOOKS, Metric, RunChange, StatisticsError, compare_in_run};
use std::ops::Range;
use std::time::Duration;

/// The entries of the plan.
const BASE: usize = 0;
const NEW: usize = 1;
/// The base once more, as it is called where it is compared with itself.
const AGAIN: usize = 2;
/// When the first look and the base against itself are to be over, as shares of the budget.
const FIRST_ENDS: f64 = 0.3;
const ITSELF_ENDS: f64 = 0.5;

/// The rounds of a plan of three services: the base, the new version, and the base again.
#[derive(Debug, Clone)]
pub struct Regression<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// How to judge.
    pub options: ChangeOptions,
    /// The time that all of it may take.
    pub budget: Option<Duration>,
}

/// The verdict so far.
#[derive(Debug)]
pub struct Judgement {
    /// What changed.
    pub change: RunChange,
    /// The difference that the base shows from itself, in the same way on the same machine.
    pub itself: RunChange,
    /// Further looks that are complete.
    pub further: u32,
    /// How they were judged.
    pub options: ChangeOptions,
}

impl<'a> Regression<'a> {
    /// The rounds of a plan. Its rounds are those of all looks; CPU time per request tells versions apart where others use the
    /// machine, so it may fail the comparison as well.
    pub fn new(plan: &'a Plan, options: &ChangeOptions, budget: Option<Duration>) -> Self {
        let mut options = options.clone();
        if !options.gate.contains(&Metric::CpuNsPerRequest) {
            options.gate.push(Metric::CpuNsPerRequest);
        }
        Self {
            plan,
            options,
            budget,
        }
    }

    /// Rounds of the plan where a look has this many.
    pub const fn rounds(of_look: u32) -> u32 {
        (2 + LOOKS) * of_look
    }

    fn of_look(&self) -> u32 {
        self.plan.rounds / (2 + LOOKS)
    }

    /// The rounds of a look: the first, then the base against itself, then the further ones.
    fn look(&self, number: u32) -> Range<u32> {
        let rounds = self.of_look();
        number * rounds..(number + 1) * rounds
    }

    /// The look that a round belongs to.
    pub fn look_of(&self, round: u32) -> u32 {
        round / self.of_look().max(1)
    }

    fn paired(&self, number: u32, share: f64) -> PairedRounds<'a> {
        PairedRounds {
            plan: self.plan,
            entries: [BASE, if number == 1 { AGAIN } else { NEW }],
            rounds: self.look(number),
            budget: self.budget.map(|budget| budget.mul_f64(share)),
        }
    }

    /// Whether two rounds more would end after the budget.
    fn is_over(&self, history: &History<'_>) -> bool {
        let needed = history.elapsed() + 2 * round_length(history);
        self.budget.is_some_and(|budget| needed > budget)
    }

    fn id(&self, entry: usize) -> ServiceId {
        crate::trial::service_id(&self.plan.entries[entry])
    }

    /// Judges the first look and as many further ones.
    pub fn judge(&self, trials: &[TrialRecord], further: u32) -> Result<Judgement, StatisticsError> {
        let itself = self.look(1);
        let last = self.look(1 + further).end;
        let (same, both): (Vec<TrialRecord>, Vec<TrialRecord>) = trials
            .iter()
            .filter(|trial| trial.round < last)
            .cloned()
            .partition(|trial| itself.contains(&trial.round));
        let options = match further {
            0 => self.options.clone(),
            _ => self.options.of_further_looks(),
        };
        let itself = compare_in_run(&same, &self.id(BASE), &self.id(AGAIN), &self.options)?;
        let change = compare_in_run(&both, &self.id(BASE), &self.id(NEW), &options)?;
        Ok(Judgement {
            change: change.beyond(&itself),
            itself,
            further,
            options,
        })
    }
}

impl Design for Regression<'_> {
    fn next_block(&self, history: &History<'_>) -> Option<Block> {
        if is_out(history, NEW) {
            return None;
        }
        let first = self.paired(0, FIRST_ENDS).next_block(history);
        let block = first.or_else(|| self.paired(1, ITSELF_ENDS).next_block(history));
        if block.is_some() {
            return block;
        }
        for further in 0..LOOKS {
            let judged = self.judge(history.records(), further).ok()?;
            let is_begun = self.is_begun(further, history);
            let is_late = self.is_over(history) && !is_begun;
            let seems_slower = judged.change.needs_a_look(further, &judged.options);
            // The first look proves nothing, so a slowdown gets a second one in any case.
            let is_suspicious = seems_slower && (further == 0 || !is_late);
            // A budget is there to be used.
            let is_open = self.budget.is_some() && judged.change.inconclusive && !is_late;
            if !is_suspicious && !is_open {
                return None;
            }
            let block = self.paired(2 + further, 1.0).next_block(history);
            if block.is_some() || !is_begun {
                return block;
            }
        }
        None
    }
}

impl Regression<'_> {
    fn is_begun(&self, further: u32, history: &History<'_>) -> bool {
        let rounds = self.look(2 + further);
        history
            .records()
            .iter()
            .any(|record| rounds.contains(&record.round))
    }

    /// Further looks that have begun.
    pub fn further_looks(&self, trials: &[TrialRecord]) -> u32 {
        let last = trials.iter().map(|trial| trial.round + 1).max().unwrap_or(0);
        last.div_ceil(self.of_look().max(1)).saturating_sub(2)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{attempt, history, plan};
    use super::*;
    use crate::trial::COPY;

    /// The looks that are taken where the new version takes this many times the CPU time of the base, and rounds differ by up to
    /// four times this share.
    fn looks(slower: f64, differs: f64, budget: Option<Duration>) -> Vec<u32> {
        let plan = plan(&["base", "new", "again"], &[1], Regression::rounds(2));
        let design = Regression::new(&plan, &ChangeOptions::default(), budget);
        let mut history = history(&plan);
        let mut looks = Vec::new();
        while let Some(block) = design.next_block(&history) {
            looks.push(design.look_of(block.round));
            for (slot, start) in block.slots.iter().enumerate() {
                let planned = start.trials[0];
                let mut done = attempt(&plan, planned, None);
                let measurement = done.record.result.as_mut().expect("measured");
                let factor = if planned.entry == NEW { slower } else { 1.0 };
                let noise = 1.0 + differs * f64::from((block.round * 7 + slot as u32) % 5);
                measurement.service.cpu_ns = Some((1e9 * factor * noise) as u64);
                measurement.service.window_ns = 1_000_000_000;
                history.add(done);
            }
        }
        looks
    }

    #[test]
    fn a_version_that_is_no_slower_gets_the_first_look_and_that_at_the_base() {
        assert_eq!(looks(0.5, 0.01, None), [0, 0, 1, 1]);
    }

    #[test]
    fn the_copy_of_the_base_needs_no_longer_warm_up_than_the_base() {
        let mut plan = plan(&["base", "new", "base"], &[1], Regression::rounds(2));
        plan.entries[AGAIN].variant.push_str(COPY);
        let mut history = history(&plan);
        assert_eq!(history.settled_after_s(AGAIN), None);
        for planned in plan.round(0) {
            let mut done = attempt(&plan, planned, None);
            let steadiness = serde_json::json!({
                "classification": "settled", "warm_up_s": 5.0, "worst_p99_ns": null,
                "settled_after_s": ([2.0, 3.0, 4.0])[planned.entry],
            });
            let measurement = done.record.result.as_mut().expect("measured");
            measurement.steadiness = serde_json::from_value(steadiness).expect("a warm-up");
            if planned.entry != AGAIN {
                history.add(done);
            }
        }
        assert_eq!(
            [BASE, NEW, AGAIN].map(|entry| history.settled_after_s(entry)),
            [Some(2.0), Some(3.0), Some(2.0)]
        );
    }

    #[test]
    fn a_version_that_looks_slower_is_looked_at_again() {
        let looks = looks(2.0, 0.01, None);
        assert!(looks.starts_with(&[0, 0, 1, 1, 2, 2]), "{looks:?}");
        assert!(looks.iter().all(|look| *look < 2 + LOOKS), "{looks:?}");
    }

    #[test]
    fn a_budget_is_used_while_the_result_is_inconclusive() {
        let budget = Some(Duration::from_mins(5));
        assert_eq!(looks(0.9, 0.1, None), [0, 0, 1, 1]);
        assert!(looks(0.9, 0.1, budget).starts_with(&[0, 0, 1, 1, 2, 2]));
        assert_eq!(
            looks(0.5, 0.01, budget),
            [0, 0, 1, 1, 2, 2, 3, 3],
            "until it is decided"
        );
    }
}
