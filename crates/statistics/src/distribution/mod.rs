//! Distributions that intervals and tests need.

mod fisher;
mod gamma;
mod student;
mod studentized_range;

pub(crate) use fisher::beyond as fisher_beyond;
pub(crate) use gamma::{digamma, trigamma, trigamma_inverse};
pub(crate) use student::{is_rounding, no_difference, two_sided as student_two_sided};
pub(crate) use studentized_range::StudentizedRange;

use statrs::function::erf::{erfc, erfc_inv};
use std::f64::consts::SQRT_2;

/// The standard normal distribution function.
pub(crate) fn normal(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// The standard normal quantile.
pub(crate) fn normal_quantile(share: f64) -> f64 {
    -SQRT_2 * erfc_inv(2.0 * share)
}
