//! The plan seen as an experiment: services × rounds, a randomised complete block design on the log scale.

mod additive;
mod matrix;
mod spread;

pub(crate) use additive::{Additive, Cells};
pub(crate) use spread::{brown_forsythe, larger_than_the_rest};
