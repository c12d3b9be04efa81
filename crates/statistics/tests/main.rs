//! Summaries and comparisons of simulated runs.

mod change;
mod common;
mod summary;
