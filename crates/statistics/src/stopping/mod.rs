//! How many trials: when to stop, what varies, what a plan could see.

mod power;
mod stopping;
mod variation;

#[cfg(test)]
pub(crate) use stopping::{LOOKS, going_on};

pub use power::{rounds_for_difference, smallest_difference};
pub use stopping::{Decision, Progress, StopReason, StopRule, next_round};
pub use variation::{Component, Level, Variation, variation};
