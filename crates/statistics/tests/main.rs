//! Summaries and comparisons of simulated runs.

mod bounds;
mod change;
mod common;
mod summary;
