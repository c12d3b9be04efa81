//! Statistics of one sample: its mean with an interval, its median.

pub(crate) mod mean;
pub(crate) mod median;
