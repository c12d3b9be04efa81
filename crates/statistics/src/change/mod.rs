//! Detects changes between two runs and over a history of runs.

mod circumstances;
mod earlier;
mod gate;
mod looks;
mod noise;
mod points;
mod within;

pub use circumstances::{Circumstances, Mismatch, generators, mismatches, share_of_others};
pub use earlier::Earlier;
pub use gate::{Change, ChangeOptions, GroupChange, RunChange, ServiceChange, compare};
#[cfg(test)]
pub(crate) use looks::tests::judged;
pub use noise::Smallest;
pub use points::{ChangePoint, change_points};
pub use within::compare_in_run;
