//! Two services are loaded at the same time, round by round, in fresh starts.
//!
//! The order of starts and the placement on CPUs alternate: over four rounds both cancel out.

use crate::history::History;
use crate::schedule::{
    Block, BlockPlacement, Design, LoadRun, OnFailure, Purpose, ServiceStart, Step, WarmUp,
};
use prony_config::{Plan, PlannedTrial, WarmUpChoice};
use prony_records::TrialStage;
use std::ops::Range;
use std::time::Duration;

/// Load of two warm services until both measurements begin.
const TOGETHER: Duration = Duration::from_millis(500);

/// The rounds of a plan of two services.
#[derive(Debug, Clone, Copy)]
pub struct Duet<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// No two rounds begin that would not be over by then; two are done in any case.
    pub budget: Option<Duration>,
}

impl Design for Duet<'_> {
    fn next_block(&self, history: &History<'_>) -> Option<Block> {
        let rounds = PairedRounds {
            plan: self.plan,
            entries: [0, 1],
            rounds: 0..self.plan.rounds,
            budget: self.budget,
        };
        rounds.next_block(history)
    }
}

/// Whether the second service of a pair starts first in a round: it undoes the effect of the order in the round before.
pub(crate) const fn is_reversed(round: u32) -> bool {
    matches!(round % 4, 1 | 2)
}

/// Rounds in which the same two entries of a plan are loaded at the same time.
#[derive(Debug, Clone)]
pub(super) struct PairedRounds<'a> {
    pub(super) plan: &'a Plan,
    pub(super) entries: [usize; 2],
    pub(super) rounds: Range<u32>,
    pub(super) budget: Option<Duration>,
}

impl PairedRounds<'_> {
    /// The next of these rounds that is open; `None`: all are over, one of the services is excluded, or it is too late.
    pub(super) fn next_block(&self, history: &History<'_>) -> Option<Block> {
        if self.entries.iter().any(|&entry| is_out(history, entry)) {
            return None;
        }
        let mut rounds = self.rounds.clone();
        let round = rounds.find(|&round| {
            let pair = self.pair(round);
            // A service without a trial in the round leaves the other nothing to be compared with.
            !pair.iter().any(|planned| history.has_failed(planned)) && !history.pending(&pair).is_empty()
        })?;
        (!self.is_late(round, history)).then(|| self.block(round))
    }

    fn pair(&self, round: u32) -> [PlannedTrial; 2] {
        let trials = self.plan.round(round);
        self.entries.map(|entry| {
            let planned = trials.iter().find(|planned| planned.entry == entry);
            *planned.expect("invariant: a round holds every entry")
        })
    }

    /// Whether two further rounds, as long as those so far, would end too late. Both orders of starts are done equally often.
    fn is_late(&self, round: u32, history: &History<'_>) -> bool {
        let done = round - self.rounds.start;
        let Some(budget) = self.budget.filter(|_| done >= 2 && done.is_multiple_of(2)) else {
            return false;
        };
        history.elapsed() + 2 * round_length(history) > budget
    }

    fn block(&self, round: u32) -> Block {
        let pair = self.pair(round);
        let group = self.plan.group_of(&self.plan.entries[self.entries[0]]);
        let run = |slot: usize| LoadRun {
            slot,
            load: pair[slot].entry,
            rate: None,
            length: Duration::from_nanos(group.duration_ns),
            purpose: Purpose::Record(pair[slot].number),
            window: None,
            path: None,
        };
        let runs = vec![run(0), run(1)];
        let order = if is_reversed(round) { [1, 0] } else { [0, 1] };
        let mut steps: Vec<Step> = order
            .into_iter()
            .flat_map(|slot| [Step::Start(slot), Step::Check(slot)])
            .collect();
        let together = match group.warm_up {
            WarmUpChoice::FixedNs(ns) => Duration::from_nanos(ns),
            steady @ WarmUpChoice::Steady { .. } => {
                steps.push(Step::WarmUp(runs.clone(), WarmUp::Planned(steady)));
                TOGETHER
            }
        };
        steps.push(Step::WarmUp(runs.clone(), WarmUp::Together(together)));
        steps.push(Step::Measure(runs));
        steps.extend(order.into_iter().map(Step::Recheck));
        steps.extend(order.into_iter().map(Step::Stop));
        let turned = round % 4 >= 2;
        Block {
            round,
            slots: pair
                .map(|planned| ServiceStart {
                    trials: vec![planned],
                    placement: BlockPlacement::Paired { turned },
                })
                .to_vec(),
            steps,
            on_failure: OnFailure::EndBlock,
        }
    }
}

/// What two rounds take, by the longest trials so far.
pub(super) fn round_length(history: &History<'_>) -> Duration {
    let took = history.records().iter().map(|record| record.took_s);
    let (sum, count) = took.fold((0.0, 0.0), |(sum, count), took_s| (sum + took_s, count + 1.0));
    Duration::from_secs_f64(if count > 0.0 { sum / count } else { 0.0 })
}

/// Whether a service is not started any more.
pub(super) fn is_out(history: &History<'_>, entry: usize) -> bool {
    let is_unbuilt = |stage| matches!(stage, TrialStage::Toolchain | TrialStage::Build);
    let failed = history.exclusion(entry).is_some();
    failed
        || history
            .failures_of(entry)
            .any(|excluded| is_unbuilt(excluded.stage))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{attempt, good, history, plan, steps, words};
    use super::*;
    use prony_records::Fault;

    fn duet(plan: &Plan, budget: Option<Duration>) -> Duet<'_> {
        Duet { plan, budget }
    }

    #[test]
    fn both_are_loaded_at_the_same_time() {
        let plan = plan(&["a", "b"], &[1], 2);
        let design = duet(&plan, None);
        let block = design.next_block(&history(&plan)).expect("a round");
        let taken = steps(&design, &block, None, &mut good);
        let expected =
            "start 0, check 0, start 1, check 1, warm 0+1, measure 0+1, recheck 0, recheck 1, stop 0, stop 1";
        assert_eq!(words(&taken), expected);
        assert_eq!(block.on_failure, OnFailure::EndBlock);
    }

    #[test]
    fn orders_and_placements_are_balanced_over_four_rounds() {
        let plan = plan(&["a", "b"], &[1], 4);
        let design = duet(&plan, None);
        let mut history = history(&plan);
        let mut seen = Vec::new();
        while let Some(block) = design.next_block(&history) {
            let BlockPlacement::Paired { turned } = block.slots[0].placement else {
                panic!("{block:?}")
            };
            seen.push((block.steps[0] == Step::Start(1), turned));
            for start in &block.slots {
                history.add(attempt(&plan, start.trials[0], None));
            }
        }
        assert_eq!(seen, [(false, false), (true, false), (true, true), (false, true)]);
    }

    #[test]
    fn a_round_in_which_one_fails_twice_is_left_out_and_two_of_them_end_it() {
        let plan = plan(&["a", "b"], &[1], 4);
        let design = duet(&plan, None);
        let mut history = history(&plan);
        let mut rounds = Vec::new();
        while let Some(block) = design.next_block(&history) {
            history.begin_round(block.round);
            rounds.push(block.round);
            let failed = Some((Fault::Service, TrialStage::Measure));
            history.add(attempt(&plan, block.slots[0].trials[0], failed));
        }
        assert_eq!(rounds, [0, 0, 1, 1]);
    }

    #[test]
    fn no_two_rounds_begin_that_would_end_after_the_budget() {
        let plan = plan(&["a", "b"], &[1], 6);
        let design = duet(&plan, Some(Duration::from_secs(10)));
        let mut history = history(&plan);
        let mut rounds = 0;
        while let Some(block) = design.next_block(&history) {
            rounds += 1;
            history.set_elapsed(Duration::from_secs(3) * rounds);
            for start in &block.slots {
                let mut done = attempt(&plan, start.trials[0], None);
                done.record.took_s = 3.0;
                history.add(done);
            }
        }
        assert_eq!(rounds, 2, "four would take twelve seconds");
    }
}
