//! One trial: start a service, wait until it is ready, check its contract, warm it up, measure it, drain, check again, stop.
//!
//! Start at [`check`] for how a running service is checked.

pub mod backend;
pub mod check;
