//! Where a run writes down what happens, and how it ends.

use crate::Progress;
use prony_records::TrialRecord;
use std::collections::BTreeSet;

/// Where a run writes down what happens.
pub trait Journal {
    /// The trials that earlier sessions of this run have kept.
    fn history(&mut self) -> Result<Vec<TrialRecord>, JournalError>;

    /// Something happened.
    fn saw(&mut self, progress: Progress);

    /// A window of a trial was measured: its record so far takes the place of the one before. It must be kept before this returns,
    /// so that a kill loses one window at most.
    fn provisional(&mut self, record: &TrialRecord) -> Result<(), JournalError>;

    /// A trial is done. It must be kept before this returns.
    fn append(&mut self, record: &TrialRecord) -> Result<(), JournalError>;

    /// A round is done: what the next one holds.
    fn next_round(&mut self, done: u32) -> NextRound;
}

/// A record could not be kept, for this reason: the run ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JournalError(pub String);

/// What the next round holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextRound {
    /// Every entry of the plan.
    All,
    /// These entries of the plan, by their index: the others are settled.
    Only(BTreeSet<usize>),
    /// Nothing: the run is over, for this reason.
    End(RunEnd),
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// Every trial of the plan is done.
    Complete,
    /// The results are precise enough.
    Precise,
    /// The time was up.
    BudgetSpent,
    /// The user asked to end.
    Interrupted,
    /// A host of the testbed is lost and did not come back, for this reason, which names it.
    HostLost(String),
}
