//! Summaries and comparisons of made-up runs.

mod bounds;
mod change;
mod common;
mod summary;
