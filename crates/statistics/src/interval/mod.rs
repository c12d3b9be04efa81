//! Intervals from one sample: the mean by Student's t, by the bootstrap, and the median by order statistics.

pub(crate) mod bootstrap;
pub(crate) mod mean;
pub(crate) mod median;
