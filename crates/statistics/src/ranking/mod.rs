//! Ranking: compares all pairs of services and derives ranks from the verdicts.

mod difference;
mod pair;
pub(crate) mod rank_range;

#[cfg(test)]
pub(crate) use difference::raw_differences;
pub(crate) use difference::{Difference, all_differences};
pub(crate) use pair::judge;
pub use pair::{Adjustment, PairwiseComparison, Verdict};
