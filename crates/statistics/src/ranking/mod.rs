//! Which service is better: all pairs, and what follows from them.

mod difference;
pub(crate) mod holm;
pub(crate) mod letters;
mod pair;
pub(crate) mod place;

pub(crate) use difference::{Difference, all_differences};
pub(crate) use pair::judge;
pub use pair::{Adjustment, Pair, Verdict};
pub use place::RankInterval;
