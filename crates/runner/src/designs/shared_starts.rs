//! One process start serves all loads of a contract, one after the other.
//!
//! What differs between starts (memory layout, hash seeds, compiled code) is then the same in all workloads of a round. Within a
//! workload each round has its own start, which remains the unit of every interval.

use super::capacity::{Capacity, CapacitySteps};
use crate::history::History;
use crate::schedule::{
    Block, BlockPlacement, Design, LoadRun, OnFailure, Outcome, Purpose, ServiceStart, Step, StepResult,
    WarmUp, WarmUpOutcome,
};
use prony_config::{Plan, PlannedTrial};
use prony_records::Classification;
use std::time::Duration;

/// The starts of a plan in their order.
#[derive(Debug, Clone, Copy)]
pub struct SharedStarts<'a> {
    /// The plan.
    pub plan: &'a Plan,
}

impl Design for SharedStarts<'_> {
    /// The pending trials of one start. If a start was interrupted or failed, another one serves its remaining trials.
    fn next_block(&self, history: &History<'_>) -> Option<Block> {
        let starts = (0..self.plan.rounds).flat_map(|round| self.plan.starts(round));
        let mut pending = starts.map(|start| history.pending(&start));
        let trials = pending.find(|trials| !trials.is_empty())?;
        let capacity = Capacity { plan: self.plan };
        // A capacity search is one long load, which has its own start.
        let (searching, plain): (Vec<_>, Vec<_>) =
            trials.into_iter().partition(|planned| capacity.searches(planned));
        Some(match searching.first() {
            Some(planned) if plain.is_empty() => Capacity::block(*planned),
            _ => self.start(plain),
        })
    }

    fn next_step(&self, block: &Block, results: &[StepResult]) -> Option<Step> {
        if let Some(search) = CapacitySteps::of(self.plan, block.slots[0].trials[0]) {
            return search.next(results);
        }
        let mut next = 0;
        for result in results {
            // A failure ends the start: the other loads get another one.
            if matches!(result.outcome, Outcome::Failed(_)) {
                return None;
            }
            next = after(block, next, result);
        }
        block.steps.get(next).cloned()
    }
}

/// The step after this one.
fn after(block: &Block, at: usize, result: &StepResult) -> usize {
    let first_probe = block.steps.iter().position(is_probe);
    match &result.step {
        // A service that is not compiled while it runs is not warmed by the other loads.
        Step::WarmUp(..) if Some(at) == first_probe && is_native(&result.outcome) => {
            block.steps.iter().rposition(is_probe).map_or(at, |last| last) + 1
        }
        Step::Recheck(_) if result.is_ending => block.steps.len() - 1,
        _ => at + 1,
    }
}

/// Whether a service is warm, and does not compile.
fn is_native(outcome: &Outcome) -> bool {
    let settled = |outcome: &WarmUpOutcome| {
        outcome.classification == Classification::Settled && outcome.compiler.is_none()
    };
    matches!(outcome, Outcome::Warm(outcomes) if outcomes.iter().all(settled))
}

fn is_probe(step: &Step) -> bool {
    matches!(step, Step::WarmUp(runs, _) if runs.iter().all(|run| run.purpose == Purpose::Probe))
}

impl SharedStarts<'_> {
    fn start(self, trials: Vec<PlannedTrial>) -> Block {
        let mut steps = vec![Step::Start(0), Step::Check(0)];
        // Warmed by all loads before the first is measured: else a runtime that compiles is fast under the last of them and slow
        // under the first, and which is first is chance.
        if trials.len() > 1 {
            steps.extend(
                trials
                    .iter()
                    .map(|planned| self.warm_up(self.run(planned, Purpose::Probe))),
            );
        }
        for planned in &trials {
            let run = self.run(planned, Purpose::Record(planned.number));
            steps.extend([self.warm_up(run), Step::Measure(vec![run]), Step::Recheck(0)]);
        }
        steps.push(Step::Stop(0));
        Block {
            round: trials[0].round,
            slots: vec![ServiceStart {
                trials,
                placement: BlockPlacement::Alone,
            }],
            steps,
            on_failure: OnFailure::EndBlock,
        }
    }

    fn run(self, planned: &PlannedTrial, purpose: Purpose) -> LoadRun {
        let group = self.plan.group_of(&self.plan.entries[planned.entry]);
        LoadRun {
            slot: 0,
            load: planned.entry,
            rate: None,
            length: Duration::from_nanos(group.duration_ns),
            purpose,
            window: None,
            path: None,
        }
    }

    fn warm_up(self, run: LoadRun) -> Step {
        let group = self.plan.group_of(&self.plan.entries[run.load]);
        Step::WarmUp(vec![run], WarmUp::Planned(group.warm_up))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{attempt, good, history, plan, steps, words};
    use super::*;

    fn shared(loads: &[u32]) -> Plan {
        Plan {
            starts: prony_config::Starts::Shared,
            ..plan(&["a"], loads, 1)
        }
    }

    const SERVED: &str = "warm 0, measure 0, recheck 0";

    #[test]
    fn all_loads_warm_a_start_before_the_first_is_measured() {
        let plan = shared(&[1, 2]);
        let design = SharedStarts { plan: &plan };
        let block = design.next_block(&history(&plan)).expect("a start");
        let taken = steps(&design, &block, None, &mut good);
        let expected = format!("start 0, check 0, warm 0, warm 0, {SERVED}, {SERVED}, stop 0");
        assert_eq!(words(&taken), expected);
    }

    #[test]
    fn a_service_that_is_as_fast_at_once_as_later_is_not_warmed_by_the_others() {
        let plan = shared(&[1, 2, 3]);
        let design = SharedStarts { plan: &plan };
        let block = design.next_block(&history(&plan)).expect("a start");
        let mut flat = |step: &Step| match step {
            Step::WarmUp(..) => Outcome::Warm(vec![WarmUpOutcome {
                classification: Classification::Settled,
                compiler: None,
                slow_reply: None,
            }]),
            other => good(other),
        };
        let taken = steps(&design, &block, None, &mut flat);
        let expected = format!("start 0, check 0, warm 0, {SERVED}, {SERVED}, {SERVED}, stop 0");
        assert_eq!(words(&taken), expected);
    }

    #[test]
    fn the_end_comes_after_the_load_that_goes_on() {
        let plan = shared(&[1, 2, 3]);
        let design = SharedStarts { plan: &plan };
        let block = design.next_block(&history(&plan)).expect("a start");
        let taken = steps(&design, &block, Some(6), &mut good);
        let expected = format!("start 0, check 0, warm 0, warm 0, warm 0, {SERVED}, stop 0");
        assert_eq!(words(&taken), expected);
    }

    #[test]
    fn a_failure_ends_the_start_and_what_is_pending_gets_another_one() {
        let plan = shared(&[1, 2]);
        let design = SharedStarts { plan: &plan };
        let mut history = history(&plan);
        let block = design.next_block(&history).expect("a start");
        let mut fails = |step: &Step| match step {
            Step::Measure(_) => Outcome::Failed(vec![0]),
            other => good(other),
        };
        let taken = steps(&design, &block, None, &mut fails);
        assert!(words(&taken).ends_with("measure 0"), "{}", words(&taken));
        history.add(attempt(&plan, block.slots[0].trials[0], None));
        let rest = design.next_block(&history).expect("one is left");
        assert_eq!(rest.slots[0].trials, block.slots[0].trials[1..]);
    }
}
