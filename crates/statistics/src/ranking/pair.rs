//! Comparisons of two services.

use crate::{Better, Estimate};
use serde::{Deserialize, Serialize};

/// The verdict of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The first is better.
    Faster,
    /// The first is worse.
    Slower,
    /// The difference, if any, is within the band of practical equivalence.
    Same,
    /// The data does not decide.
    CannotTell,
}

impl Verdict {
    /// The verdict with the two sides swapped.
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

/// Judges a ratio by its interval: the two differ if it does not contain 1.
///
/// An interval within the band is `Same` even if it excludes 1, since the difference is too small to matter. This is the
/// equivalence test by two one-sided tests (Schuirmann 1987), at half the usual level.
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

/// How the error of many simultaneous comparisons was controlled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Adjustment {
    /// Bonferroni for decisions and intervals.
    Bonferroni,
    /// Holm for decisions and Bonferroni for intervals, in reports of earlier versions. The oldest reports call it `tukey`.
    #[serde(alias = "tukey")]
    Holm,
}

/// Two services of a group, compared in the metric that the group is ranked by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairwiseComparison {
    /// `service/variant` of the service with the better point.
    pub a: String,
    /// `service/variant` of the other service.
    pub b: String,
    /// Value of `a` over value of `b`. All intervals of a group hold simultaneously with the stated confidence.
    pub ratio: Estimate,
    /// p-value of "no difference", adjusted for the number of pairs.
    pub p_adjusted: f64,
    /// The verdict on `a`.
    pub verdict: Verdict,
}
