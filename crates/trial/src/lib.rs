//! One trial: start a service, wait until it is ready, check its contract, warm it up, measure it, drain, check again, stop.

pub mod check;
