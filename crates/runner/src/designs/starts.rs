//! Measured starts: one service after the other is started, and its start is the result.
//!
//! A warm start follows one that is thrown away, so that all files are in the page cache. A cold start follows one in which the files of
//! the service are found, and their removal from the page cache. No service is loaded before the start that is measured.

use crate::history::History;
use crate::schedule::{
    Block, BlockPlacement, Design, LoadRun, OnFailure, Purpose, RestPoint, ServiceStart, Step, WarmUp,
};
use crate::trial::service_id;
use prony_config::{Plan, PlannedTrial, StartKind};
use prony_records::TrialRecord;
use std::time::Duration;

/// The starts of a plan in their order.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredStarts<'a> {
    /// The plan.
    pub plan: &'a Plan,
}

impl Design for MeasuredStarts<'_> {
    fn next_block(&self, history: &History<'_>) -> Option<Block> {
        let mut rounds = 0..self.plan.rounds;
        let planned = rounds.find_map(|round| history.pending(&self.plan.round(round)).into_iter().next())?;
        Some(Block {
            round: planned.round,
            slots: vec![ServiceStart {
                trials: vec![planned],
                placement: BlockPlacement::Alone,
            }],
            steps: self.steps(planned, history),
            on_failure: OnFailure::EndBlock,
        })
    }
}

impl MeasuredStarts<'_> {
    fn steps(self, planned: PlannedTrial, history: &History<'_>) -> Vec<Step> {
        let group = self.plan.group_of(&self.plan.entries[planned.entry]);
        let Some(start) = group.start else {
            // The plan is built without such groups.
            return Vec::new();
        };
        let mut steps = Vec::new();
        match start.measures {
            StartKind::Warm if self.is_in_page_cache(planned, history) => {}
            StartKind::Warm => {
                steps.extend([Step::AwaitIdle(0), Step::Start(0), Step::Check(0), Step::Stop(0)]);
            }
            StartKind::Cold => steps.extend([
                Step::AwaitIdle(0),
                Step::Evict(0),
                Step::Start(0),
                Step::Check(0),
                Step::FindFiles(0),
                Step::Stop(0),
                Step::Evict(0),
            ]),
            StartKind::Memory | StartKind::SteadyRate => {}
        }
        steps.extend([Step::AwaitIdle(0), Step::Start(0)]);
        let run = LoadRun {
            slot: 0,
            load: planned.entry,
            rate: None,
            length: Duration::from_nanos(group.duration_ns),
            purpose: Purpose::Record(planned.number),
            window: None,
            path: None,
        };
        let load = [
            Step::WarmUp(vec![run], WarmUp::Planned(group.warm_up)),
            Step::Measure(vec![run]),
        ];
        match start.measures {
            StartKind::Warm | StartKind::Cold => steps.push(Step::RecordStart(0)),
            StartKind::Memory => {
                steps.push(Step::Rest(0, start.rest(), RestPoint::AfterStart));
                steps.extend(load);
                steps.extend([
                    Step::Rest(0, start.rest(), RestPoint::AfterLoad),
                    Step::Recheck(0),
                ]);
            }
            StartKind::SteadyRate => {
                steps.extend(load);
                steps.push(Step::Recheck(0));
            }
        }
        steps.push(Step::Stop(0));
        steps
    }

    /// Whether the service was started in this session, and no start was cold since then. A cold start may empty the page cache of the
    /// whole machine.
    fn is_in_page_cache(self, planned: PlannedTrial, history: &History<'_>) -> bool {
        let service = service_id(&self.plan.entries[planned.entry]);
        let records = history.session_records();
        let is_own = |record: &TrialRecord| record.service == service && record.result.is_ok();
        let last = records.iter().rposition(is_own);
        last.is_some_and(|last| !records[last..].iter().any(is_cold))
    }
}

fn is_cold(record: &TrialRecord) -> bool {
    record.load["measures"] == StartKind::Cold.name()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{attempt, good, history, plan, steps, words};
    use super::*;
    use prony_config::StartPlan;

    /// A plan with a group for each of these, and the number of rounds that the group takes part in.
    fn starts(services: &[&str], kinds: &[(StartKind, u32)], rounds: u32) -> Plan {
        let loads: Vec<u32> = (1..=kinds.len() as u32).collect();
        let mut plan = plan(services, &loads, rounds);
        for (group, &(measures, rounds)) in plan.groups.iter_mut().zip(kinds) {
            group.start = Some(StartPlan {
                measures,
                rest_ns: 5_000_000_000,
            });
            group.rounds = Some(rounds);
        }
        plan
    }

    /// The steps of all blocks, one text for each.
    fn all(plan: &Plan) -> Vec<String> {
        let design = MeasuredStarts { plan };
        let mut history = history(plan);
        let mut blocks = Vec::new();
        while let Some(block) = design.next_block(&history) {
            blocks.push(words(&steps(&design, &block, None, &mut good)));
            history.add(attempt(plan, block.slots[0].trials[0], None));
        }
        blocks
    }

    const WARM: &str = "idle 0, start 0, record 0, stop 0";
    const PRIMED: &str = "idle 0, start 0, check 0, stop 0, idle 0, start 0, record 0, stop 0";
    const COLD: &str =
        "idle 0, evict 0, start 0, check 0, find files 0, stop 0, evict 0, idle 0, start 0, record 0, stop 0";

    #[test]
    fn the_first_warm_start_of_each_service_is_thrown_away() {
        let plan = starts(&["a", "b"], &[(StartKind::Warm, 3)], 3);
        assert_eq!(all(&plan), [PRIMED, PRIMED, WARM, WARM, WARM, WARM]);
    }

    #[test]
    fn a_cold_start_follows_one_that_finds_its_files() {
        let plan = starts(&["a"], &[(StartKind::Cold, 2)], 2);
        assert_eq!(all(&plan), [COLD, COLD]);
    }

    #[test]
    fn after_a_cold_start_of_any_service_a_warm_one_is_thrown_away_again() {
        let plan = starts(&["a", "b"], &[(StartKind::Warm, 4), (StartKind::Cold, 1)], 4);
        let design = MeasuredStarts { plan: &plan };
        let mut history = history(&plan);
        let of = |kind: StartKind| {
            let group = plan
                .groups
                .iter()
                .position(|group| group.start.is_some_and(|start| start.measures == kind));
            let entry = plan
                .entries
                .iter()
                .position(|entry| Some(entry.group) == group && entry.service == "a");
            let mut trials = plan.trials();
            trials
                .find(|planned| Some(planned.entry) == entry)
                .expect("a trial")
        };
        let warm = of(StartKind::Warm);
        assert!(!design.is_in_page_cache(warm, &history));
        history.add(attempt(&plan, warm, None));
        assert!(design.is_in_page_cache(warm, &history));
        history.add(attempt(&plan, of(StartKind::Cold), None));
        assert!(!design.is_in_page_cache(warm, &history));
    }

    #[test]
    fn a_group_takes_part_in_its_own_number_of_rounds() {
        let plan = starts(&["a"], &[(StartKind::Warm, 3), (StartKind::Cold, 1)], 5);
        let found = all(&plan);
        assert_eq!(found.len(), 4);
        assert_eq!(found.iter().filter(|steps| **steps == COLD).count(), 1);
        let numbers: Vec<u32> = plan.trials().map(|planned| planned.number).collect();
        assert_eq!(numbers, [0, 1, 2, 3], "without gaps");
        assert_eq!(plan.len(), 4);
    }

    #[test]
    fn memory_is_read_before_and_after_a_load_and_the_rate_is_that_from_the_first_reply_on() {
        let plan = starts(&["a"], &[(StartKind::Memory, 1)], 1);
        let expected = "idle 0, start 0, rest 0, warm 0, measure 0, rest 0, recheck 0, stop 0";
        assert_eq!(all(&plan), [expected]);
        let plan = starts(&["a"], &[(StartKind::SteadyRate, 1)], 1);
        assert_eq!(
            all(&plan),
            ["idle 0, start 0, warm 0, measure 0, recheck 0, stop 0"]
        );
    }
}
