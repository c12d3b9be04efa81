//! What a design may ask for: plain data in the form of blocks and their steps.
//!
//! A design is a pure function of the plan and the results so far. It starts nothing, reads no clock and decides nothing about
//! failures that is not in the results; [`execute`](crate::execute) performs what it asks for.

use crate::history::{History, TrialId};
use prony_config::{PlannedTrial, WarmUpChoice};
use prony_host::CompilerKind;
use prony_records::{Classification, Fault, Recording, Warning};
use std::time::Duration;

/// How the trials of a plan follow each other.
pub trait Design {
    /// The next block; `None`: the plan is complete.
    fn next_block(&self, history: &History<'_>) -> Option<Block>;

    /// The next step of a block, given the results of those before it; `None`: the block is over.
    fn next_step(&self, block: &Block, results: &[StepResult]) -> Option<Step> {
        block.steps.get(results.len()).cloned()
    }
}

/// Services that are up at the same time, and the steps performed on them.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Its round, from 0.
    pub round: u32,
    /// The services.
    pub slots: Vec<ServiceStart>,
    /// The steps that are known beforehand; a design whose steps depend on results leaves this empty.
    pub steps: Vec<Step>,
    /// The effect of one service's failure on the others.
    pub on_failure: OnFailure,
}

/// The effect of one service's failure on the others of its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// They continue.
    DropSlot,
    /// The block ends for all.
    EndBlock,
}

/// Index into [`Block::slots`].
pub type Slot = usize;

/// Index into the entries of the plan: a service under the load of its group.
pub type LoadId = usize;

/// One service of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceStart {
    /// The trials that its start serves, in order; at least one. All are of one service, contract and protocol.
    pub trials: Vec<PlannedTrial>,
    /// Its CPUs.
    pub placement: BlockPlacement,
}

/// The CPUs of the services of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockPlacement {
    /// The service has the testbed for itself.
    Alone,
    /// Several services are up; one at a time is loaded, the others are paused.
    Interleaved,
    /// Two services are loaded at the same time on the same CPUs.
    Paired {
        /// Whether services and generators have exchanged their CPUs.
        turned: bool,
    },
}

/// One step of a block.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Starts the backing services and the service, and waits until it is ready. A failed slot is started again.
    Start(Slot),
    /// Checks the contract, before any load.
    Check(Slot),
    /// Loads until the services are warm; several runs at the same time. The loads continue.
    WarmUp(Vec<LoadRun>, WarmUp),
    /// Measures the loads that a warm-up has begun.
    Measure(Vec<LoadRun>),
    /// Pauses the service without ending it.
    Pause(Slot),
    /// Lets it run again.
    Resume(Slot),
    /// Checks the contract and the data of backing services, after the load.
    Recheck(Slot),
    /// Waits until no program uses the CPUs.
    AwaitIdle(Slot),
    /// Removes the files of the service from the page cache.
    Evict(Slot),
    /// Notes which files the service uses.
    FindFiles(Slot),
    /// Leaves the service without a request for this long, and reads its memory then.
    Rest(Slot, Duration, RestPoint),
    /// Records the start itself: the trial has no load.
    RecordStart(Slot),
    /// Adds warnings to the trial that was measured last.
    Warn(Slot, Vec<Warning>),
    /// The trial has no result, for this reason.
    GiveUp(Slot, Fault, String),
    /// Ends the service.
    Stop(Slot),
}

impl Step {
    /// The slots that it affects.
    pub fn slots(&self) -> Vec<Slot> {
        match self {
            Self::Start(slot)
            | Self::Check(slot)
            | Self::Pause(slot)
            | Self::Resume(slot)
            | Self::Recheck(slot)
            | Self::AwaitIdle(slot)
            | Self::Evict(slot)
            | Self::FindFiles(slot)
            | Self::Rest(slot, ..)
            | Self::RecordStart(slot)
            | Self::Warn(slot, _)
            | Self::GiveUp(slot, ..)
            | Self::Stop(slot) => vec![*slot],
            Self::WarmUp(runs, _) | Self::Measure(runs) => runs.iter().map(|run| run.slot).collect(),
        }
    }
}

/// When a service rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestPoint {
    /// After its first reply.
    AfterStart,
    /// After its load.
    AfterLoad,
}

/// One load of one service. The generator receives the length of the measurement when it starts, which is why the length belongs to
/// the run and not to [`Step::Measure`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadRun {
    /// The service.
    pub slot: Slot,
    /// The load.
    pub load: LoadId,
    /// The rate of an open load, per second; `None`: the rate of the plan.
    pub rate: Option<f64>,
    /// Length of the measurement.
    pub length: Duration,
    /// Whether it is recorded.
    pub purpose: Purpose,
    /// Its position among the windows of an interleaved trial.
    pub window: Option<WindowPosition>,
    /// Its path, if the design is paired.
    pub path: Option<LoadPath>,
}

/// The path of a load in a paired design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadPath {
    /// To the backing service, past the service.
    Direct,
    /// Via the service.
    Via {
        /// The number of connections, each with an open stream; `None`: the load of the plan.
        streams: Option<u32>,
    },
}

/// The purpose of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Measures this trial.
    Record(TrialId),
    /// Informs the design and is not recorded.
    Probe,
}

/// The position of a window in an interleaved trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowPosition {
    /// Number of the set of services that are up at the same time, from 0.
    pub block: u32,
    /// Number of the cycle, unique across blocks.
    pub cycle: u32,
    /// Position within the cycle, from 0.
    pub place: u32,
}

/// How long a warm-up lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmUp {
    /// Until the service is warm, or for a fixed time: a light load before the first planned one.
    Planned(WarmUpChoice),
    /// Its light load alone. Designs do not ask for it.
    Light {
        /// When it ends.
        choice: WarmUpChoice,
        /// Times two connections.
        width: u32,
    },
    /// As long as the runs: what a window will be. Then no load until compilers are idle. Designs ask for it after the planned load.
    Rehearsal(WarmUpChoice),
    /// For this long after every run is under load; all measurements begin together.
    Together(Duration),
    /// Not a warm-up: time to open connections and to resume paused processes. Data of backing services is not reset.
    Settle(Duration),
}

/// A step and its outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct StepResult {
    /// The step.
    pub step: Step,
    /// Its outcome.
    pub outcome: Outcome,
    /// Whether the run is cancelled: no further trial begins.
    pub is_ending: bool,
}

/// How a service warmed up under a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmUpOutcome {
    pub classification: Classification,
    /// What the compiler threads of its runtime do; `None`: it has none.
    pub compiler: Option<CompilerKind>,
    /// 99th percentile of the response time at its end; `None`: no reply arrived then.
    pub slow_reply: Option<Duration>,
}

/// The outcome of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It was performed.
    Done,
    /// The loads have warmed up, in the order of the runs.
    Warm(Vec<WarmUpOutcome>),
    /// The recordings of the runs, in their order.
    Measured(Vec<Recording>),
    /// The service is paused.
    Paused {
        /// Memory in use, bytes.
        memory_bytes: Option<u64>,
        /// Memory available on its host, bytes.
        available_bytes: Option<u64>,
    },
    /// The services of these slots failed.
    Failed(Vec<Slot>),
    /// Not performed: its service has failed, or it has no open trial.
    Skipped,
}

impl StepResult {
    /// Whether the step was performed.
    pub const fn is_done(&self) -> bool {
        !matches!(self.outcome, Outcome::Failed(_) | Outcome::Skipped)
    }
}
