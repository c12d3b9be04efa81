//! What a design may ask for: plain data in the form of blocks and their steps.
//!
//! A design is a pure function of the plan and the results so far. It starts nothing, reads no clock and decides nothing about
//! failures that is not in the results; [`execute`](crate::execute) performs what it asks for.

use crate::history::{History, TrialId};
use prony_config::{PlannedTrial, WarmUpChoice};
use prony_records::{Classification, Fault, Recording, Warning};
use std::time::Duration;

/// How the trials of a plan follow each other.
pub trait Design {
    /// What to do next; `None`: the plan is complete.
    fn next_block(&self, history: &History<'_>) -> Option<Block>;

    /// The next step of a block, given the results of those before it; `None`: the block is over.
    fn next_step(&self, block: &Block, results: &[StepResult]) -> Option<Step> {
        block.steps.get(results.len()).cloned()
    }
}

/// Services that are up at the same time, and what happens to them.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Its round, from 0.
    pub round: u32,
    /// The services.
    pub slots: Vec<ServiceStart>,
    /// The steps that are known beforehand; a design whose steps depend on results leaves this empty.
    pub steps: Vec<Step>,
    /// What the failure of one service does to the others.
    pub on_failure: OnFailure,
}

/// What the failure of one service of a block does to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// They go on.
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
    /// Which CPUs it gets.
    pub placement: BlockPlacement,
}

/// Where the services of a block run.
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
    /// Starts the backing services and the service, and waits until it is ready. A slot that has failed is started anew.
    Start(Slot),
    /// Checks the contract, before any load.
    Check(Slot),
    /// Loads until the services are warm; several runs: at the same time. The load goes on.
    WarmUp(Vec<LoadRun>, WarmUp),
    /// Measures the loads that a warm-up has begun.
    Measure(Vec<LoadRun>),
    /// Stops the service from running, without ending it.
    Pause(Slot),
    /// Lets it run again.
    Resume(Slot),
    /// Checks the contract and what backing services hold, after the load.
    Recheck(Slot),
    /// Adds warnings to the trial that was measured last.
    Warn(Slot, Vec<Warning>),
    /// The trial has no result, for this reason.
    GiveUp(Slot, Fault, String),
    /// Ends the service.
    Stop(Slot),
}

impl Step {
    /// The services that it is about.
    pub fn slots(&self) -> Vec<Slot> {
        match self {
            Self::Start(slot)
            | Self::Check(slot)
            | Self::Pause(slot)
            | Self::Resume(slot)
            | Self::Recheck(slot)
            | Self::Warn(slot, _)
            | Self::GiveUp(slot, ..)
            | Self::Stop(slot) => vec![*slot],
            Self::WarmUp(runs, _) | Self::Measure(runs) => runs.iter().map(|run| run.slot).collect(),
        }
    }
}

/// One load of one service. The generator learns how long it measures when it starts, so that the length belongs to the run and
/// not to the step that measures it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadRun {
    /// The service.
    pub slot: Slot,
    /// The load.
    pub load: LoadId,
    /// The rate of an open load, per second, where it is not that of the plan.
    pub rate: Option<f64>,
    /// Length of the measurement.
    pub length: Duration,
    /// Whether it is recorded.
    pub purpose: Purpose,
    /// Which window of an interleaved trial it is.
    pub window: Option<WindowPosition>,
}

/// What a load is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A measurement of this trial.
    Record(TrialId),
    /// It steers the design and is not recorded.
    Probe,
}

/// When a window of an interleaved trial is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowPosition {
    /// The services that were up at the same time, from 0.
    pub block: u32,
    /// The cycle, different in each block.
    pub cycle: u32,
    /// The place within the cycle, from 0.
    pub place: u32,
}

/// How long a warm-up lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmUp {
    /// As the plan says, judged by the series that the generator reports.
    Planned(WarmUpChoice),
    /// The same bounds count the CPU time that the service uses.
    ByCpuTime(WarmUpChoice),
    /// This long from when every run is under load; all measurements begin together.
    Together(Duration),
    /// Connections are made, and what was paused is awake again. No warm-up: data of backing services stays as it is.
    Settle(Duration),
}

/// A step and its outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct StepResult {
    /// The step.
    pub step: Step,
    /// Its outcome.
    pub outcome: Outcome,
    /// Whether the user has asked to end early: no further trial begins.
    pub is_ending: bool,
}

/// The outcome of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// The loads have warmed up, in the order of the runs.
    Warm(Vec<Classification>),
    /// The recordings of the runs, in their order.
    Measured(Vec<Recording>),
    /// The service is paused.
    Paused {
        /// Memory that it holds, bytes.
        memory_bytes: Option<u64>,
        /// Memory that its host has left, bytes.
        available_bytes: Option<u64>,
    },
    /// The services of these slots failed.
    Failed(Vec<Slot>),
    /// Nothing was done: its service has failed, or none of its trials is to be tried.
    Skipped,
}

impl StepResult {
    /// Whether the step was carried out.
    pub const fn is_done(&self) -> bool {
        !matches!(self.outcome, Outcome::Failed(_) | Outcome::Skipped)
    }
}
