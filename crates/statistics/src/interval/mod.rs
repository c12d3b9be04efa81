//! Intervals for the mean of one sample.

pub(crate) mod student;
