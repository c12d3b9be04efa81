//! Distributions used by intervals and tests.

mod gamma;
mod student;

pub(crate) use gamma::{digamma, trigamma, trigamma_inverse};
pub(crate) use student::{no_difference, reach, two_sided as student_two_sided};
