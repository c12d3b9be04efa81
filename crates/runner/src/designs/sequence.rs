//! One service after the other: each trial has a start of its own, and the testbed for itself.

use super::capacity::{Capacity, CapacitySteps};
use crate::history::History;
use crate::schedule::{
    Block, Design, LoadRun, OnFailure, Placing, Purpose, ServiceStart, Step, StepResult, WarmUp,
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
    fn trial(&self, planned: PlannedTrial) -> Block {
        if (Capacity { plan: self.plan }).searches(&planned) {
            return Capacity::block(planned);
        }
        let group = self.plan.group_of(&self.plan.entries[planned.entry]);
        let run = LoadRun {
            slot: 0,
            load: planned.entry,
            rate: None,
            length: Duration::from_nanos(group.duration_ns),
            purpose: Purpose::Record(planned.place),
            window: None,
        };
        Block {
            round: planned.round,
            slots: vec![ServiceStart {
                trials: vec![planned],
                placement: Placing::Alone,
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
