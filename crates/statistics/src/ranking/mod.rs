//! Which service is better: all pairs, and what follows from them.

mod difference;
mod pair;
pub(crate) mod rank_range;

#[cfg(test)]
pub(crate) use difference::raw_differences;
pub(crate) use difference::{Difference, all_differences};
pub(crate) use pair::judge;
pub use pair::{Adjustment, Pair, Verdict};
