//! Detects changes between two runs and over a history of runs.

mod baseline_history;
mod circumstances;
mod gate;
mod noise;
mod points;
mod sequential_looks;
mod within_run;

pub use baseline_history::BaselineHistory;
#[cfg(test)]
pub(crate) use baseline_history::tests::baseline_gate;
pub use circumstances::{Mismatch, RunConditions, generators, mismatches, part_mismatches, share_of_others};
pub use gate::{Change, ChangeOptions, GroupChange, RunChange, ServiceChange, compare};
pub use noise::DetectableChange;
pub use points::{ChangePoint, change_points};
pub use sequential_looks::LOOKS;
#[cfg(test)]
pub(crate) use sequential_looks::tests::judged;
pub use within_run::compare_in_run;
