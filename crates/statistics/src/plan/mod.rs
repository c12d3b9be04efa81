//! How many trials: when to stop, what varies, what a plan could see.

mod noise;
mod power;
mod stopping;
mod variation;

#[cfg(test)]
pub(crate) use stopping::{LOOKS, going_on};

pub use noise::{Expected, expected_half_widths};
pub use power::{rounds_for_difference, smallest_difference};
pub use stopping::{Decision, Progress, StopReason, StopRule, next_round};
pub use variation::{Component, Level, Variation, variation};
