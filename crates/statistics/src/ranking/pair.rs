//! Two services side by side.

use crate::{Better, Estimate};
use serde::{Deserialize, Serialize};

/// What a comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The first is better.
    Faster,
    /// The first is worse.
    Slower,
    /// The difference, if any, lies within the band of practical equivalence.
    Same,
    /// The data does not tell.
    CannotTell,
}

impl Verdict {
    /// The same, seen from the other side.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Faster => Self::Slower,
            Self::Slower => Self::Faster,
            Self::Same => Self::Same,
            Self::CannotTell => Self::CannotTell,
        }
    }
}

/// Judges a ratio by its interval: they differ where it does not hold 1.
///
/// An interval that lies within the band is `Same`, even where it shows a difference: too small to matter. That is the
/// test of equivalence by two one-sided tests (Schuirmann 1987), at half the usual level.
pub(crate) fn judge(ratio: &Estimate, band: f64, better: Better) -> Verdict {
    if band > 0.0 && ratio.low >= 1.0 / (1.0 + band) && ratio.high <= 1.0 + band {
        return Verdict::Same;
    }
    match (
        !ratio.contains(1.0),
        (ratio.point > 1.0) == (better == Better::Higher),
    ) {
        (false, _) => Verdict::CannotTell,
        (true, true) => Verdict::Faster,
        (true, false) => Verdict::Slower,
    }
}

/// How the error of many comparisons at once was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Adjustment {
    /// Decisions and intervals by Bonferroni.
    Bonferroni,
    /// Decisions by Holm and intervals by Bonferroni, in reports of earlier versions. The oldest say `tukey`.
    #[serde(alias = "tukey")]
    Holm,
}

/// Two services of a group, in the metric that the group is ranked by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// `service/variant` of the one that stands higher.
    pub a: String,
    /// `service/variant` of the other.
    pub b: String,
    /// Value of `a` over value of `b`. All intervals of a group hold together with the stated confidence.
    pub ratio: Estimate,
    /// p-value of "no difference", adjusted for the number of pairs.
    pub p_adjusted: f64,
    /// What follows for `a`.
    pub verdict: Verdict,
}
