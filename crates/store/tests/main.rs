//! The store of runs and trials.

mod runs;
mod store;
mod transfer;
