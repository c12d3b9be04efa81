//! All services of a group are started and warmed up, then loaded one after the other in short windows, in a random order, many
//! times. A service that has no window is paused. With shared starts a start has a window for each load of its contract.
//!
//! The windows of one cycle are within seconds of each other: a change of the machine's state affects all services alike. The unit
//! of every estimate stays the fresh start: `prony_statistics` makes one value of the windows of a start.

use crate::history::History;
use crate::schedule::{
    Block, BlockPlacement, Design, LoadId, LoadRun, OnFailure, Outcome, Purpose, ServiceStart, Slot, Step,
    StepResult, WarmUp, WarmUpOutcome, WindowPosition,
};
use prony_config::{Plan, PlannedTrial, Starts, WarmUpChoice};
use prony_host::CompilerKind;
use prony_records::Classification;
use rand::seq::SliceRandom as _;
use rand::{SeedableRng as _, rngs::SmallRng};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Load before each window, at least: connections are opened and paused processes resume.
const RAMP: Duration = Duration::from_millis(50);
/// The same, times a slow reply. A load begins with as many new requests as it has connections: until they are answered, the service has
/// work of which there are no replies.
const RAMP_IN_REPLIES: u32 = 2;
/// A window is rehearsed for this long, at least: a shorter one says little about a compiler.
const REHEARSAL: Duration = Duration::from_secs(1);
/// How often the windows of a start are rehearsed, at most.
const REHEARSALS: u32 = 30;
/// The same for a service that is rehearsed again after each pause: V8 needs three windows.
const REHEARSALS_OF_FORGETFUL: u32 = 4;
/// A cancelled round with fewer cycles has no result.
const FEWEST_CYCLES: u32 = 3;
/// Memory that stays free on the machine, bytes: services grow under load.
const SPARE_BYTES: u64 = 1 << 30;

/// The groups of a plan, round by round.
#[derive(Debug, Clone, Copy)]
pub struct Interleaved<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Length of a window.
    pub window: Duration,
    /// Windows of each service.
    pub cycles: u32,
}

impl Design for Interleaved<'_> {
    /// The services of a group, or of a contract if starts are shared. Windows are compared within a cycle, so an interrupted block
    /// is repeated as a whole.
    fn next_block(&self, history: &History<'_>) -> Option<Block> {
        (0..self.plan.rounds).find_map(|round| {
            let starts = self.plan.starts(round);
            let mut blocks = starts.chunk_by(|one, other| self.in_one_block(one, other));
            let is_missing = |starts: &&[Vec<PlannedTrial>]| {
                let mut trials = starts.iter().flatten();
                trials.any(|planned| history.is_missing(planned))
            };
            let starts = blocks.find(is_missing)?.iter().map(|trials| {
                let take_part = trials.iter().filter(|planned| history.takes_part(planned.entry));
                take_part.copied().collect()
            });
            Some(Block {
                round,
                slots: starts
                    .filter(|trials: &Vec<_>| !trials.is_empty())
                    .map(start)
                    .collect(),
                steps: Vec::new(),
                on_failure: OnFailure::DropSlot,
            })
        })
    }

    fn next_step(&self, block: &Block, results: &[StepResult]) -> Option<Step> {
        let mut progress = BlockProgress::new(self, block);
        for result in results {
            progress.next();
            progress.take(result);
        }
        progress.next()
    }
}

impl Interleaved<'_> {
    /// Whether two starts are up at the same time.
    fn in_one_block(&self, one: &[PlannedTrial], other: &[PlannedTrial]) -> bool {
        let group = |trials: &[PlannedTrial]| self.plan.entries[trials[0].entry].group;
        let contract = |trials| &self.plan.groups[group(trials)].contract;
        match self.plan.starts {
            Starts::Fresh => group(one) == group(other),
            Starts::Shared => contract(one) == contract(other),
        }
    }
}

fn start(trials: Vec<PlannedTrial>) -> ServiceStart {
    ServiceStart {
        trials,
        placement: BlockPlacement::Interleaved,
    }
}

/// The phase of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Services are started and warmed up, as many as memory allows.
    Entering,
    /// Services have their windows.
    Cycling,
    /// Services are checked again and stopped.
    Leaving,
    /// The run was cancelled before there were enough cycles.
    Over,
}

/// The state of a block, derived from its results.
struct BlockProgress<'a> {
    design: &'a Interleaved<'a>,
    block: &'a Block,
    phase: Phase,
    /// The next steps.
    queue: VecDeque<Step>,
    /// Services that have not been started yet.
    waiting: VecDeque<Slot>,
    /// Services that are up at the same time, including those that have failed since.
    up: Vec<Slot>,
    failed: BTreeSet<Slot>,
    /// Services that were started a second time.
    restarted: BTreeSet<Slot>,
    /// Number of services that were started since the last ones left.
    entered: usize,
    /// How often the windows of the service were rehearsed since it entered, or was resumed.
    rehearsals: u32,
    /// How many more rehearsals with an idle compiler it needs; 0 for a service without one.
    missing_rehearsals: u32,
    /// Services that are rehearsed after each pause, and how their warm-up ends: V8 that was idle for 8 s collects garbage, shrinks
    /// its heap and drops compiled code. A pause looks the same to it.
    forgetful: BTreeMap<Slot, WarmUpChoice>,
    /// A slow reply of each load of a service, at the end of its last warm-up.
    slow_replies: BTreeMap<(Slot, LoadId), Duration>,
    largest_bytes: u64,
    available_bytes: Option<u64>,
    /// Number of times that services have left to make room.
    blocks: u32,
    cycle: u32,
    random: SmallRng,
    is_ending: bool,
}

impl<'a> BlockProgress<'a> {
    fn new(design: &'a Interleaved<'a>, block: &'a Block) -> Self {
        Self {
            design,
            block,
            phase: Phase::Entering,
            queue: VecDeque::new(),
            waiting: (0..block.slots.len()).collect(),
            up: Vec::new(),
            failed: BTreeSet::new(),
            restarted: BTreeSet::new(),
            entered: 0,
            rehearsals: 0,
            missing_rehearsals: 0,
            forgetful: BTreeMap::new(),
            slow_replies: BTreeMap::new(),
            largest_bytes: 0,
            available_bytes: None,
            blocks: 0,
            cycle: 0,
            random: SmallRng::seed_from_u64(0),
            is_ending: false,
        }
    }

    /// The next step; `None` if the block is over.
    fn next(&mut self) -> Option<Step> {
        while self.queue.is_empty() {
            match self.phase {
                Phase::Entering => self.enter(),
                Phase::Cycling => self.cycle(),
                Phase::Leaving if self.up.is_empty() && self.waiting.is_empty() => return None,
                Phase::Leaving => self.leave(),
                Phase::Over => return None,
            }
        }
        self.queue.front().cloned()
    }

    fn take(&mut self, result: &StepResult) {
        self.queue.pop_front();
        self.is_ending = result.is_ending;
        if let Outcome::Paused {
            memory_bytes,
            available_bytes,
        } = result.outcome
        {
            self.largest_bytes = self.largest_bytes.max(memory_bytes.unwrap_or(0));
            self.available_bytes = available_bytes;
        }
        self.note_reply_times(result);
        if result.is_done() {
            match result.step {
                Step::Resume(slot) if self.phase == Phase::Cycling => self.rehearse_again(slot),
                _ => self.rehearse(result),
            }
            return;
        }
        for slot in result.step.slots() {
            if matches!(result.step, Step::Start(_)) && result.outcome == Outcome::Skipped {
                self.up.retain(|up| *up != slot);
                self.entered -= 1;
            }
            self.queue.retain(|step| !step.slots().contains(&slot));
            if self.phase == Phase::Entering
                && matches!(result.outcome, Outcome::Failed(_))
                && !self.is_ending
                && self.restarted.insert(slot)
            {
                let steps = self.entering(slot);
                self.queue.extend(steps);
            } else {
                self.failed.insert(slot);
            }
        }
    }

    /// Notes how long replies take.
    fn note_reply_times(&mut self, result: &StepResult) {
        if let (Step::WarmUp(runs, WarmUp::Planned(_) | WarmUp::Rehearsal(_)), Outcome::Warm(warmed)) =
            (&result.step, &result.outcome)
        {
            let times = runs.iter().zip(warmed);
            let slow = times.filter_map(|(run, warmed)| Some(((run.slot, run.load), warmed.slow_reply?)));
            self.slow_replies.extend(slow);
        }
    }

    /// The windows of a start are rehearsed before it is paused, until its compiler is idle in as many rehearsals of all loads in a row as
    /// will be measured: after fewer, a compiler that works now and then is found at work in one of the windows. One is enough for a
    /// service that is rehearsed again after each pause.
    fn rehearse(&mut self, result: &StepResult) {
        let (Step::WarmUp(runs, warm_up), Outcome::Warm(warmed)) = (&result.step, &result.outcome) else {
            return;
        };
        let (WarmUp::Planned(choice @ WarmUpChoice::Steady { .. }) | WarmUp::Rehearsal(choice)) = warm_up
        else {
            return;
        };
        let slot = runs[0].slot;
        let forgets = |warmed: &WarmUpOutcome| warmed.compiler == Some(CompilerKind::CompilesAndCollects);
        if warmed.iter().any(forgets) {
            self.forgetful.insert(slot, *choice);
        }
        let needs_rehearsals = |warmed: &WarmUpOutcome| match warm_up {
            WarmUp::Rehearsal(_) => warmed.classification == Classification::Warming,
            _ => warmed.compiler.is_some(),
        };
        let (idle, most) = if self.forgetful.contains_key(&slot) {
            (1, REHEARSALS_OF_FORGETFUL)
        } else {
            (self.design.cycles, REHEARSALS)
        };
        if warmed.iter().any(needs_rehearsals) {
            self.missing_rehearsals = idle;
        }
        let follows = self.queue.front();
        let is_last = !matches!(
            follows,
            Some(Step::WarmUp(_, WarmUp::Planned(_) | WarmUp::Rehearsal(_)))
        );
        if is_last && self.missing_rehearsals > 0 && self.rehearsals < most {
            // If its compiler is at work in this one, it needs as many again.
            self.missing_rehearsals -= 1;
            self.add_rehearsal(slot, *choice);
        }
    }

    /// Windows are rehearsed again after a pause if the service forgets in it.
    fn rehearse_again(&mut self, slot: Slot) {
        if let Some(choice) = self.forgetful.get(&slot).copied() {
            (self.rehearsals, self.missing_rehearsals) = (0, 0);
            self.add_rehearsal(slot, choice);
        }
    }

    /// The next steps are a rehearsal of the windows of all loads of a start.
    fn add_rehearsal(&mut self, slot: Slot, choice: WarmUpChoice) {
        self.rehearsals += 1;
        for planned in self.trials(slot).iter().rev() {
            let run = LoadRun {
                length: self.design.window.max(REHEARSAL),
                ..self.run(slot, planned, None)
            };
            let step = Step::WarmUp(vec![run], WarmUp::Rehearsal(choice));
            self.queue.push_front(step);
        }
    }

    fn enter(&mut self) {
        let has_room = |available: u64| available >= self.largest_bytes + SPARE_BYTES;
        let may_enter = self.entered == 0 || self.available_bytes.is_none_or(has_room);
        let Some(slot) = self.waiting.front().copied().filter(|_| may_enter) else {
            let seed = self.seed().wrapping_add(u64::from(self.blocks));
            self.random = SmallRng::seed_from_u64(seed);
            self.cycle = 0;
            self.phase = Phase::Cycling;
            return;
        };
        self.waiting.pop_front();
        self.entered += 1;
        self.up.push(slot);
        let steps = self.entering(slot);
        self.queue.extend(steps);
    }

    /// Seed of the round; the same for all of its services.
    fn seed(&self) -> u64 {
        let round = u64::from(self.block.round);
        self.design
            .plan
            .seed
            .wrapping_add(round.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn entering(&mut self, slot: Slot) -> Vec<Step> {
        (self.rehearsals, self.missing_rehearsals) = (0, 0);
        let mut steps = vec![Step::Start(slot), Step::Check(slot)];
        steps.extend(self.trials(slot).iter().map(|planned| {
            let group = self
                .design
                .plan
                .group_of(&self.design.plan.entries[planned.entry]);
            let run = LoadRun {
                // All windows together.
                length: self.design.window * self.design.cycles,
                ..self.run(slot, planned, None)
            };
            Step::WarmUp(vec![run], WarmUp::Planned(group.warm_up))
        }));
        steps.push(Step::Pause(slot));
        steps
    }

    /// The trials of a start.
    fn trials(&self, slot: Slot) -> &'a [PlannedTrial] {
        &self.block.slots[slot].trials
    }

    fn run(&self, slot: Slot, planned: &PlannedTrial, window: Option<WindowPosition>) -> LoadRun {
        LoadRun {
            slot,
            load: planned.entry,
            rate: None,
            length: self.design.window,
            purpose: Purpose::Record(planned.number),
            window,
            path: None,
        }
    }

    fn cycle(&mut self) {
        let is_done = self.cycle == self.design.cycles;
        if is_done || self.is_ending {
            let is_enough = is_done || self.cycle >= FEWEST_CYCLES;
            self.phase = if is_enough { Phase::Leaving } else { Phase::Over };
            self.blocks += 1;
            if self.is_ending {
                self.waiting.clear();
            }
            return;
        }
        let mut order = self.up.clone();
        order.shuffle(&mut self.random);
        let mut places = 0..;
        for slot in order.into_iter().filter(|slot| !self.failed.contains(slot)) {
            let mut trials = self.trials(slot).to_vec();
            trials.shuffle(&mut self.random);
            self.queue.push_back(Step::Resume(slot));
            for (planned, place) in trials.iter().zip(&mut places) {
                let position = WindowPosition {
                    block: self.blocks,
                    // Cycle numbers are unique across blocks.
                    cycle: self.blocks * self.design.cycles + self.cycle,
                    place,
                };
                let run = self.run(slot, planned, Some(position));
                self.queue.extend([
                    Step::WarmUp(vec![run], WarmUp::Settle(self.ramp(&run))),
                    Step::Measure(vec![run]),
                ]);
            }
            self.queue.push_back(Step::Pause(slot));
        }
        self.cycle += 1;
    }

    /// Load before a window: at most as long as the window.
    fn ramp(&self, run: &LoadRun) -> Duration {
        let slow = self.slow_replies.get(&(run.slot, run.load)).copied();
        let ramp = slow.unwrap_or_default() * RAMP_IN_REPLIES;
        ramp.min(run.length).max(RAMP)
    }

    /// The first service stays for all blocks. It is the control that makes them comparable.
    fn leave(&mut self) {
        let control = usize::from(!self.waiting.is_empty()).min(self.up.len());
        for slot in self.up.split_off(control) {
            if !self.failed.contains(&slot) {
                self.queue
                    .extend([Step::Resume(slot), Step::Recheck(slot), Step::Stop(slot)]);
            }
        }
        if !self.waiting.is_empty() {
            self.phase = Phase::Entering;
            self.entered = 0;
            self.largest_bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{attempt, good, history, plan, steps, word, words};
    use super::*;
    use prony_records::{Fault, TrialStage};

    const STEADY: WarmUpChoice = WarmUpChoice::Steady {
        least_ns: 1,
        most_ns: 90_000_000_000,
    };

    fn design(plan: &Plan, cycles: u32) -> Interleaved<'_> {
        Interleaved {
            plan,
            window: Duration::from_millis(200),
            cycles,
        }
    }

    fn of(steps: &[Step], name: &str) -> Vec<Slot> {
        let own = steps.iter().filter(|step| word(step).starts_with(name));
        own.flat_map(Step::slots).collect()
    }

    #[test]
    fn all_enter_then_have_their_windows_then_leave() {
        let plan = plan(&["a", "b"], &[1], 1);
        let design = design(&plan, 4);
        let block = design.next_block(&history(&plan)).expect("a group");
        let taken = steps(&design, &block, None, &mut good);
        let enters = "start 0, check 0, warm 0, pause 0, start 1, check 1, warm 1, pause 1";
        let leaves = "resume 0, recheck 0, stop 0, resume 1, recheck 1, stop 1";
        assert!(
            words(&taken[..8]) == enters && words(&taken[taken.len() - 6..]) == leaves,
            "{}",
            words(&taken)
        );
        let measured = of(&taken, "measure");
        assert_eq!(measured.len(), 8);
        for cycle in measured.chunks(2) {
            assert_ne!(cycle[0], cycle[1], "each has a window in each cycle");
        }
        assert_eq!(
            taken,
            steps(&design, &block, None, &mut good),
            "the seed decides the order"
        );
    }

    #[test]
    fn a_shared_start_has_a_window_for_each_load() {
        let plan = Plan {
            starts: Starts::Shared,
            ..plan(&["a", "b"], &[1, 2], 2)
        };
        let design = design(&plan, 2);
        let block = design.next_block(&history(&plan)).expect("a contract");
        assert_eq!(block.slots.len(), 2);
        let taken = steps(&design, &block, None, &mut good);
        let enters = "start 0, check 0, warm 0, warm 0, pause 0";
        assert!(words(&taken).starts_with(enters), "{}", words(&taken));
        assert_eq!(of(&taken, "stop"), [0, 1]);
        let windows = taken.iter().filter_map(|step| match step {
            Step::Measure(runs) => Some((runs[0].window.expect("a window").cycle, runs[0].load)),
            _ => None,
        });
        let mut windows: Vec<(u32, usize)> = windows.collect();
        windows.sort_unstable();
        let each: Vec<(u32, usize)> = (0..2)
            .flat_map(|cycle| (0..4).map(move |load| (cycle, load)))
            .collect();
        assert_eq!(windows, each);
    }

    /// The steps before the first pause of a service whose compiler is at work in its first `busy` rehearsals.
    fn entered(busy: usize, warm_up: WarmUpChoice, compiler: Option<CompilerKind>) -> String {
        let words = rehearsing(busy, warm_up, compiler);
        let (before, _) = words.split_once(", pause 0").expect("it is paused");
        before.to_owned()
    }

    /// The steps of a service whose compiler is at work in its first `busy` rehearsals.
    fn rehearsing(busy: usize, warm_up: WarmUpChoice, compiler: Option<CompilerKind>) -> String {
        let mut plan = plan(&["a"], &[1, 2], 1);
        plan.starts = Starts::Shared;
        for group in &mut plan.groups {
            group.warm_up = warm_up;
        }
        let design = design(&plan, 2);
        let block = design.next_block(&history(&plan)).expect("a contract");
        let mut rehearsals = 0;
        let mut warms = |step: &Step| match step {
            Step::WarmUp(runs, warm_up) => {
                let is_rehearsal = matches!(warm_up, WarmUp::Rehearsal(_));
                rehearsals += usize::from(is_rehearsal);
                assert!(!is_rehearsal || runs[0].length == REHEARSAL);
                Outcome::Warm(vec![WarmUpOutcome {
                    classification: if is_rehearsal && rehearsals <= busy {
                        Classification::Warming
                    } else {
                        Classification::Settled
                    },
                    compiler,
                    slow_reply: None,
                }])
            }
            other => good(other),
        };
        let taken = steps(&design, &block, None, &mut warms);
        words(&taken)
    }

    #[test]
    fn windows_are_rehearsed_until_the_compiler_is_idle_under_all_loads() {
        let begin = "start 0, check 0, warm 0, warm 0";
        let rehearsed = |times: u32| format!("{begin}{}", ", rehearse 0, rehearse 0".repeat(times as usize));
        let compiles = Some(CompilerKind::Compiles);
        let entering = |busy| entered(busy, STEADY, compiles);
        assert_eq!(entering(0), rehearsed(2));
        assert_eq!(entering(1), rehearsed(3));
        // The compiler is at work under one load of the second rehearsal.
        assert_eq!(entering(3), rehearsed(4));
        assert_eq!(entering(1_000), rehearsed(REHEARSALS));
        assert_eq!(entered(0, STEADY, None), begin);
        assert_eq!(entered(0, WarmUpChoice::FixedNs(9), compiles), begin);
    }

    #[test]
    fn windows_of_v8_are_rehearsed_after_each_pause() {
        let first_cycle = |busy, kind| {
            let words = rehearsing(busy, STEADY, Some(kind));
            let mut pauses = words.split(", pause 0");
            pauses.nth(1).expect("a cycle").to_owned()
        };
        let measured = ", warm 0, measure 0, warm 0, measure 0";
        let rehearsed = |times: usize| {
            let rehearsal = ", rehearse 0, rehearse 0";
            format!(", resume 0{}{measured}", rehearsal.repeat(times))
        };
        let v8 = CompilerKind::CompilesAndCollects;
        let begin = "start 0, check 0, warm 0, warm 0, rehearse 0, rehearse 0";
        assert_eq!(entered(0, STEADY, Some(v8)), begin);
        assert_eq!(first_cycle(0, v8), rehearsed(1));
        assert_eq!(first_cycle(1_000, v8), rehearsed(4));
        assert_eq!(first_cycle(0, CompilerKind::Compiles), rehearsed(0));
    }

    #[test]
    fn a_service_that_fails_is_started_twice_and_the_others_go_on() {
        let plan = plan(&["a", "b"], &[1], 1);
        let design = design(&plan, 3);
        let block = design.next_block(&history(&plan)).expect("a group");
        let mut fails = |step: &Step| match step {
            Step::Check(0) => Outcome::Failed(vec![0]),
            other => good(other),
        };
        let taken = steps(&design, &block, None, &mut fails);
        assert_eq!(of(&taken, "start"), [0, 0, 1]);
        assert_eq!(of(&taken, "measure"), [1, 1, 1]);
        assert_eq!(of(&taken, "stop"), [1]);
    }

    #[test]
    fn the_load_before_a_window_lasts_as_long_as_two_slow_replies() {
        let plan = plan(&["a"], &[1], 1);
        let design = design(&plan, 1);
        let block = design.next_block(&history(&plan)).expect("a group");
        let ramp_ms = |slow_ms: Option<u64>| {
            let mut replies = |step: &Step| match (step, good(step)) {
                (Step::WarmUp(_, WarmUp::Planned(_)), Outcome::Warm(mut warmed)) => {
                    warmed[0].slow_reply = slow_ms.map(Duration::from_millis);
                    Outcome::Warm(warmed)
                }
                (_, other) => other,
            };
            let ramp = steps(&design, &block, None, &mut replies).into_iter();
            let mut ramp = ramp.filter_map(|step| match step {
                Step::WarmUp(_, WarmUp::Settle(length)) => Some(length.as_millis()),
                _ => None,
            });
            ramp.next().expect("a window")
        };
        assert_eq!(ramp_ms(None), 50);
        assert_eq!(ramp_ms(Some(3)), 50);
        assert_eq!(ramp_ms(Some(60)), 120);
        assert_eq!(ramp_ms(Some(5_000)), 200, "the length of a window");
    }

    #[test]
    fn a_service_that_dies_between_its_windows_is_left_out() {
        let plan = plan(&["a", "b"], &[1], 1);
        let design = design(&plan, 3);
        let block = design.next_block(&history(&plan)).expect("a group");
        let mut resumes = 0;
        let mut fails = |step: &Step| match step {
            Step::Resume(1) => {
                resumes += 1;
                if resumes == 2 {
                    Outcome::Failed(vec![1])
                } else {
                    Outcome::Done
                }
            }
            other => good(other),
        };
        let taken = steps(&design, &block, None, &mut fails);
        assert_eq!(of(&taken, "measure").iter().filter(|slot| **slot == 1).count(), 1);
        assert_eq!(of(&taken, "stop"), [0]);
    }

    #[test]
    fn without_memory_the_first_stays_and_the_others_come_in_blocks() {
        let plan = plan(&["a", "b", "c"], &[1], 1);
        let design = design(&plan, 2);
        let block = design.next_block(&history(&plan)).expect("a group");
        // Two fit, one of which has just entered.
        let mut starts = 0;
        let mut scarce = |step: &Step| {
            starts += u32::from(matches!(step, Step::Start(_)));
            match step {
                Step::Pause(_) => Outcome::Paused {
                    memory_bytes: Some(1 << 30),
                    available_bytes: Some(if starts == 2 { 1 << 30 } else { 4 << 30 }),
                },
                other => good(other),
            }
        };
        let taken = steps(&design, &block, None, &mut scarce);
        assert_eq!(of(&taken, "start"), [0, 1, 2]);
        assert_eq!(
            of(&taken, "stop"),
            [1, 0, 2],
            "the first is the control of both blocks"
        );
        let windows: Vec<WindowPosition> = taken
            .iter()
            .filter_map(|step| match step {
                Step::Measure(runs) => runs[0].window,
                _ => None,
            })
            .collect();
        let cycles: Vec<(u32, u32)> = windows
            .iter()
            .map(|window| (window.block, window.cycle))
            .collect();
        assert_eq!(
            cycles,
            [(0, 0), (0, 0), (0, 1), (0, 1), (1, 2), (1, 2), (1, 3), (1, 3)]
        );
    }

    #[test]
    fn ending_early_needs_three_cycles() {
        let plan = plan(&["a"], &[1], 1);
        let design = design(&plan, 9);
        let block = design.next_block(&history(&plan)).expect("a group");
        // Four steps to enter, four for each window.
        let early = steps(&design, &block, Some(4 + 2 * 4 - 1), &mut good);
        assert_eq!((of(&early, "measure").len(), of(&early, "recheck").len()), (2, 0));
        let late = steps(&design, &block, Some(4 + 3 * 4 - 1), &mut good);
        assert_eq!((of(&late, "measure").len(), of(&late, "recheck").len()), (3, 1));
    }

    #[test]
    fn a_group_is_done_again_as_a_whole_for_an_infrastructure_failure_alone() {
        let plan = plan(&["a", "b"], &[1], 1);
        let design = design(&plan, 3);
        let mut history = history(&plan);
        let block = design.next_block(&history).expect("a group");
        let trials: Vec<PlannedTrial> = block.slots.iter().map(|start| start.trials[0]).collect();
        history.add(attempt(&plan, trials[0], None));
        history.add(attempt(
            &plan,
            trials[1],
            Some((Fault::Infrastructure, TrialStage::Measure)),
        ));
        let again = design.next_block(&history).expect("once more");
        assert_eq!(again.slots.len(), 2);
        history.add(attempt(&plan, trials[0], None));
        history.add(attempt(
            &plan,
            trials[1],
            Some((Fault::Service, TrialStage::Measure)),
        ));
        assert_eq!(design.next_block(&history), None);
    }

    #[test]
    fn a_group_that_was_killed_between_its_windows_is_done_again() {
        let plan = plan(&["a"], &[1], 1);
        let design = design(&plan, 3);
        let planned = plan.round(0)[0];
        let mut record = attempt(&plan, planned, None).record;
        record.provisional = true;
        let stored = |record| History::new(&plan, vec![record], None, 2);
        assert!(design.next_block(&stored(record.clone())).is_some());
        assert!(
            stored(record.clone()).pending(&[planned]).is_empty(),
            "the other designs go on"
        );
        record.provisional = false;
        assert_eq!(design.next_block(&stored(record)), None);
    }
}
