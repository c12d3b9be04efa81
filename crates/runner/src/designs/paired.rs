//! A service is compared with the path past it: in one start, short blocks of the same load go directly to its backing service and via
//! the service, in the order `direct, via, via, direct`, again and again.
//!
//! Service and backing service stay up. A machine that becomes slower from block to block adds to one pair what it takes from the other,
//! so the differences of neighbouring blocks are what the service adds. The unit of every interval is still the start.

use crate::history::History;
use crate::schedule::{
    Block, BlockPlacement, Design, LoadPath, LoadRun, OnFailure, Purpose, ServiceStart, Step, WarmUp,
};
use prony_config::{Plan, PlannedTrial};
use std::time::Duration;

/// Load before a block is measured: connections are opened.
const SETTLE: Duration = Duration::from_millis(500);
/// The same where many streams are opened and held.
const SETTLE_HELD: Duration = Duration::from_millis(1500);
/// The numbers of streams that are held, after a block that holds none.
const HELD: [u32; 3] = [250, 500, 1000];

const VIA: LoadPath = LoadPath::Via { streams: None };

/// The trials of a plan in their order, each in blocks on both paths.
#[derive(Debug, Clone, Copy)]
pub struct Paired<'a> {
    pub plan: &'a Plan,
    /// Length of a block.
    pub block: Duration,
    /// How often the four blocks are repeated.
    pub repeats: u32,
    /// Whether streams are held open instead.
    pub held: bool,
}

impl Design for Paired<'_> {
    fn next_block(&self, history: &History<'_>) -> Option<Block> {
        let mut rounds = 0..self.plan.rounds;
        let planned = rounds.find_map(|round| history.pending(&self.plan.round(round)).into_iter().next())?;
        Some(self.trial(planned))
    }
}

impl Paired<'_> {
    fn trial(self, planned: PlannedTrial) -> Block {
        let group = self.plan.group_of(&self.plan.entries[planned.entry]);
        let settle = if self.held { SETTLE_HELD } else { SETTLE };
        let mut steps = vec![
            Step::Start(0),
            Step::Check(0),
            Step::WarmUp(vec![self.run(&planned, VIA)], WarmUp::Planned(group.warm_up)),
        ];
        for path in self.paths() {
            let run = self.run(&planned, path);
            steps.extend([
                Step::WarmUp(vec![run], WarmUp::Settle(settle)),
                Step::Measure(vec![run]),
            ]);
        }
        steps.extend([Step::Recheck(0), Step::Stop(0)]);
        Block {
            round: planned.round,
            slots: vec![ServiceStart {
                trials: vec![planned],
                placement: BlockPlacement::Alone,
            }],
            steps,
            on_failure: OnFailure::EndBlock,
        }
    }

    /// The paths of the blocks, in order.
    fn paths(self) -> Vec<LoadPath> {
        if self.held {
            let held = HELD.map(|streams| LoadPath::Via {
                streams: Some(streams),
            });
            return [LoadPath::Direct].into_iter().chain(held).collect();
        }
        [LoadPath::Direct, VIA, VIA, LoadPath::Direct].repeat(self.repeats as usize)
    }

    fn run(self, planned: &PlannedTrial, path: LoadPath) -> LoadRun {
        LoadRun {
            slot: 0,
            load: planned.entry,
            rate: None,
            length: self.block,
            purpose: Purpose::Record(planned.number),
            window: None,
            path: Some(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{attempt, good, history, plan, steps, words};
    use super::*;
    use prony_records::{Fault, TrialStage};

    fn paired(plan: &Plan, repeats: u32, held: bool) -> Paired<'_> {
        Paired {
            plan,
            block: Duration::from_secs(2),
            repeats,
            held,
        }
    }

    /// The paths of the measured blocks: `d` and `v`, or the number of streams.
    fn measured(steps: &[Step]) -> Vec<String> {
        let runs = steps.iter().filter_map(|step| match step {
            Step::Measure(runs) => Some(runs[0]),
            _ => None,
        });
        runs.map(|run| match run.path {
            Some(LoadPath::Direct) => "d".to_owned(),
            Some(LoadPath::Via { streams: None }) => "v".to_owned(),
            Some(LoadPath::Via {
                streams: Some(streams),
            }) => streams.to_string(),
            None => "?".to_owned(),
        })
        .collect()
    }

    #[test]
    fn the_paths_alternate_within_one_start() {
        let plan = plan(&["a"], &[1], 1);
        let design = paired(&plan, 2, false);
        let block = design.next_block(&history(&plan)).expect("a trial");
        let taken = steps(&design, &block, None, &mut good);
        assert_eq!(measured(&taken).join(""), "dvvddvvd");
        let words = words(&taken);
        assert!(
            words.starts_with("start 0, check 0, warm 0, warm 0, measure 0"),
            "{words}"
        );
        assert!(words.ends_with("measure 0, recheck 0, stop 0"), "{words}");
    }

    #[test]
    fn every_block_has_the_load_and_length_of_the_others() {
        let plan = plan(&["a"], &[1], 1);
        let block = paired(&plan, 1, false)
            .next_block(&history(&plan))
            .expect("a trial");
        for step in &block.steps {
            if let Step::Measure(runs) | Step::WarmUp(runs, _) = step {
                let run = runs[0];
                assert_eq!(
                    (run.length, run.rate, run.load),
                    (Duration::from_secs(2), None, 0)
                );
                assert_eq!(run.purpose, Purpose::Record(0));
            }
        }
    }

    #[test]
    fn held_streams_grow_from_none() {
        let plan = plan(&["a"], &[1], 1);
        let block = paired(&plan, 3, true)
            .next_block(&history(&plan))
            .expect("a trial");
        assert_eq!(measured(&block.steps), ["d", "250", "500", "1000"]);
    }

    #[test]
    fn each_round_has_a_start_of_its_own_and_a_failure_is_tried_again() {
        let plan = plan(&["a", "b"], &[1], 2);
        let design = paired(&plan, 1, false);
        let mut history = history(&plan);
        let mut tried = Vec::new();
        while let Some(block) = design.next_block(&history) {
            history.begin_round(block.round);
            let planned = block.slots[0].trials[0];
            let failed = tried
                .is_empty()
                .then_some((Fault::Infrastructure, TrialStage::Measure));
            tried.push(planned.number);
            history.add(attempt(&plan, planned, failed));
        }
        assert_eq!(tried, [0, 0, 1, 2, 3]);
    }
}
