//! One service after the other: each trial has a start of its own, and the testbed for itself.

use super::capacity::{Capacity, CapacitySteps};
use crate::history::History;
use crate::schedule::{
    Block, BlockPlacement, Design, LoadRun, OnFailure, Purpose, ServiceStart, Step, StepResult, WarmUp,
};
use prony_config::{Plan, PlannedTrial};
use std::time::Duration;

/// The trials of a plan in their order.
#[derive(Debug, Clone, Copy)]
pub struct Sequence<'a> {
    /// The plan.
    pub plan: &'a Plan,
}

impl Design for Sequence<'_> {
    fn next_block(&self, history: &History<'_>) -> Option<Block> {
        let mut rounds = 0..self.plan.rounds;
        let planned = rounds.find_map(|round| history.pending(&self.plan.round(round)).into_iter().next())?;
        Some(self.trial(planned))
    }

    fn next_step(&self, block: &Block, results: &[StepResult]) -> Option<Step> {
        match CapacitySteps::of(self.plan, block.slots[0].trials[0]) {
            Some(search) => search.next(results),
            None => block.steps.get(results.len()).cloned(),
        }
    }
}

impl Sequence<'_> {
    fn trial(self, planned: PlannedTrial) -> Block {
        if (Capacity { plan: self.plan }).searches(&planned) {
            return Capacity::block(planned);
        }
        let group = self.plan.group_of(&self.plan.entries[planned.entry]);
        let run = LoadRun {
            slot: 0,
            load: planned.entry,
            rate: None,
            length: Duration::from_nanos(group.duration_ns),
            purpose: Purpose::Record(planned.number),
            window: None,
            path: None,
        };
        Block {
            round: planned.round,
            slots: vec![ServiceStart {
                trials: vec![planned],
                placement: BlockPlacement::Alone,
            }],
            steps: vec![
                Step::Start(0),
                Step::Check(0),
                Step::WarmUp(vec![run], WarmUp::Planned(group.warm_up)),
                Step::Measure(vec![run]),
                Step::Recheck(0),
                Step::Stop(0),
            ],
            on_failure: OnFailure::EndBlock,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{attempt, good, history, plan, steps, words};
    use super::*;
    use prony_records::{Fault, TrialStage};

    #[test]
    fn a_trial_is_started_checked_warmed_up_measured_checked_again_and_stopped() {
        let plan = plan(&["a", "b"], &[1], 1);
        let design = Sequence { plan: &plan };
        let block = design.next_block(&history(&plan)).expect("two trials");
        let taken = steps(&design, &block, None, &mut good);
        assert_eq!(
            words(&taken),
            "start 0, check 0, warm 0, measure 0, recheck 0, stop 0"
        );
    }

    #[test]
    fn trials_come_in_the_order_of_the_plan_until_all_are_done() {
        let plan = plan(&["a", "b"], &[1, 2], 2);
        let design = Sequence { plan: &plan };
        let mut history = history(&plan);
        let mut numbers = Vec::new();
        while let Some(block) = design.next_block(&history) {
            let planned = block.slots[0].trials[0];
            numbers.push(planned.number);
            history.add(attempt(&plan, planned, None));
        }
        assert_eq!(numbers, (0..8).collect::<Vec<u32>>());
    }

    /// Adds an attempt at each pending trial; returns the numbers of the trials in their order.
    fn tried(rounds: u32, failed: impl Fn(usize) -> Option<(Fault, TrialStage)>) -> Vec<u32> {
        let plan = plan(&["a"], &[1], rounds);
        let design = Sequence { plan: &plan };
        let mut history = history(&plan);
        let mut numbers = Vec::new();
        while let Some(block) = design.next_block(&history) {
            history.begin_round(block.round);
            let planned = block.slots[0].trials[0];
            let failed = history.exclusion(planned.entry).map_or_else(
                || failed(numbers.len()),
                |_| Some((Fault::Service, TrialStage::Start)),
            );
            numbers.push(planned.number);
            history.add(attempt(&plan, planned, failed));
        }
        numbers
    }

    #[test]
    fn an_infrastructure_failure_is_repeated_twice_and_two_trials_of_it_end_that() {
        assert_eq!(
            tried(2, |number| (number < 2)
                .then_some((Fault::Infrastructure, TrialStage::WarmUp))),
            [0, 0, 0, 1]
        );
        let always = tried(4, |_| Some((Fault::Infrastructure, TrialStage::WarmUp)));
        assert_eq!(always, [0, 0, 0, 1, 1, 1, 2, 3]);
        let unbuilt = tried(3, |_| Some((Fault::Service, TrialStage::Build)));
        assert_eq!(
            unbuilt,
            [0, 1, 2],
            "what is not built is no better the second time"
        );
    }

    #[test]
    fn a_service_that_fails_has_a_second_try_in_two_rounds() {
        assert_eq!(
            tried(4, |_| Some((Fault::Service, TrialStage::Check))),
            [0, 0, 1, 1, 2, 3]
        );
        // A second try that succeeds makes up for the first.
        let every_other = |number: usize| {
            number
                .is_multiple_of(2)
                .then_some((Fault::Service, TrialStage::Measure))
        };
        assert_eq!(tried(3, every_other), [0, 0, 1, 1, 2, 2]);
    }
}
