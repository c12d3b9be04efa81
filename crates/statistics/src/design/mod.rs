//! The plan as an experiment: services × rounds, a randomised complete block design on the log scale.

mod additive;
mod matrix;
mod moderated;

pub(crate) use additive::{Additive, Cells};
pub(crate) use moderated::{Variance, of_residuals};
pub(crate) use moderated::{means, prediction_bounds};

/// For each service, its values with the number of their round.
pub(crate) type Table = Vec<Vec<(u32, f64)>>;

/// The values of one service without their rounds.
pub(crate) fn values(row: &[(u32, f64)]) -> Vec<f64> {
    row.iter().map(|&(_, value)| value).collect()
}
