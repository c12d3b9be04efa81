//! How many trials to run: when to stop, where the variation comes from, and which difference a plan can find.

mod power;
mod rounds;
mod variation;

#[cfg(test)]
pub(crate) use rounds::{LOOKS, going_on};

pub use power::{rounds_for_difference, smallest_difference};
pub use rounds::{Decision, Progress, StopReason, StopRule, next_round};
pub use variation::{Component, Level, Variation, variation};
