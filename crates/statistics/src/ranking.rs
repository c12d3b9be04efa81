//! Ranking: compares all pairs of services and derives ranks from the verdicts.

use crate::design::{Cells, Table, Variance, of_residuals};
use crate::distribution::{no_difference, reach, student_two_sided};
use crate::interval::within;
use crate::{Better, Estimate};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

/// The difference of two services on the log scale. Its interval and p-value are adjusted for all pairs.
pub(crate) struct Difference {
    pub(crate) left: usize,
    pub(crate) right: usize,
    pub(crate) interval: Estimate,
    pub(crate) p_adjusted: f64,
}

/// A pair, before the number of pairs is known.
pub(crate) struct UnadjustedDifference {
    pub(crate) left: usize,
    pub(crate) right: usize,
    pub(crate) point: f64,
    pub(crate) error: f64,
    pub(crate) freedom: f64,
}

/// The differences of all pairs of services; empty if no model can be fitted (fewer than two rounds, or no round in common).
///
/// Each pair uses the moderated variances of its two services. Intervals and p-values use Bonferroni, so that an interval
/// contains 0 exactly if its p-value exceeds 1 − `confidence`.
pub(crate) fn all_differences(logs: &Table, confidence: f64) -> (Adjustment, Vec<Difference>) {
    let raws = raw_differences(logs);
    let count = raws.len().max(1) as f64;
    let mut quantiles = Quantiles::new(1.0 - (1.0 - confidence) / count);
    let found = raws.iter().map(|raw| {
        let freedom = in_halves(raw.freedom);
        let reach = reach(raw.point, raw.error, quantiles.of(freedom));
        Difference {
            left: raw.left,
            right: raw.right,
            interval: within(raw.point, reach, confidence),
            p_adjusted: (count * no_difference(raw.point, raw.error, freedom)).min(1.0),
        }
    });
    (Adjustment::Bonferroni, found.collect())
}

/// The difference of each service to the first one. Each interval holds on its own, like those of single values: it is not adjusted for
/// the number of services. Empty if no model can be fitted. The first has a difference of exactly 0.
pub(crate) fn differences_to_first(logs: &Table, confidence: f64) -> Vec<Estimate> {
    let to_first = raw_differences(logs).into_iter().filter(|raw| raw.left == 0);
    let mut found: Vec<Estimate> = to_first
        .map(|raw| {
            let reach = reach(
                raw.point,
                raw.error,
                student_two_sided(confidence, in_halves(raw.freedom)),
            );
            within(-raw.point, reach, confidence)
        })
        .collect();
    if !found.is_empty() {
        found.insert(0, within(0.0, 0.0, confidence));
    }
    found
}

/// The means of the services, adjusted to all rounds; `None` if no model can be fitted.
pub(crate) fn adjusted_means(logs: &Table) -> Option<Vec<f64>> {
    Cells::new(logs).fit().map(|model| model.means)
}

/// Each pair with its standard error and degrees of freedom.
pub(crate) fn raw_differences(logs: &Table) -> Vec<UnadjustedDifference> {
    let Some(model) = Cells::new(logs).fit() else {
        return Vec::new();
    };
    let variances = of_residuals(&model);
    all(model.means.len())
        .map(|(left, right)| {
            let (a, b) = (variances[left], variances[right]);
            let variance = f64::midpoint(a.value, b.value) * model.difference_factor(left, right);
            UnadjustedDifference {
                left,
                right,
                point: model.means[left] - model.means[right],
                error: variance.sqrt(),
                freedom: satterthwaite(a, b).min(model.rest_freedom),
            }
        })
        .collect()
}

/// Degrees of freedom of the sum of two variances (Satterthwaite 1946).
fn satterthwaite(a: Variance, b: Variance) -> f64 {
    let squares = a.value * a.value / a.freedom + b.value * b.value / b.freedom;
    if squares <= 0.0 {
        return a.freedom.min(b.freedom);
    }
    (a.value + b.value).powi(2) / squares
}

/// Rounds degrees of freedom down to a half: few quantiles then serve many pairs.
fn in_halves(freedom: f64) -> f64 {
    (2.0 * freedom).floor().max(1.0) / 2.0
}

/// Student's quantiles at one level, each computed once.
struct Quantiles {
    level: f64,
    known: BTreeMap<u64, f64>,
}

impl Quantiles {
    const fn new(level: f64) -> Self {
        Self {
            level,
            known: BTreeMap::new(),
        }
    }

    /// `freedom` must be a multiple of a half.
    fn of(&mut self, freedom: f64) -> f64 {
        let level = self.level;
        *self
            .known
            .entry((2.0 * freedom) as u64)
            .or_insert_with(|| student_two_sided(level, freedom))
    }
}

fn all(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |left| (left + 1..count).map(move |right| (left, right)))
}

/// The ranks that are compatible with the data, both ends included: "2nd to 4th".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RankRange {
    /// The best possible rank: 1 + the number of services proven better.
    pub(crate) low: u32,
    /// The worst possible rank: the number of ranked services − the number proven worse.
    pub(crate) high: u32,
}

/// Computes rank ranges from the verdicts of all pairs; `verdict(i, j)` is that of `i` against `j`.
///
/// If the verdicts hold simultaneously with some confidence, so do the ranges (Al Mohamad, Goeman and van Zwet 2022).
pub(crate) fn ranges(count: usize, verdict: impl Fn(usize, usize) -> Verdict) -> Vec<RankRange> {
    let against = |service: usize, wanted: Verdict| {
        let others = (0..count).filter(|&other| other != service);
        others.filter(|&other| verdict(service, other) == wanted).count() as u32
    };
    (0..count)
        .map(|service| RankRange {
            low: 1 + against(service, Verdict::Slower),
            high: count as u32 - against(service, Verdict::Faster),
        })
        .collect()
}

/// One number per service, for services sorted by their points: the best possible rank, but never better than that of a service
/// with a better point.
pub(crate) fn ranks(ranges: &[RankRange]) -> Vec<u32> {
    let mut worst_so_far = 1;
    ranges
        .iter()
        .map(|range| {
            worst_so_far = worst_so_far.max(range.low);
            worst_so_far
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indistinguishable_services_share_a_range() {
        let verdict = |left: usize, right: usize| match (left, right) {
            (0 | 1, 2) => Verdict::Faster,
            (2, 0 | 1) => Verdict::Slower,
            _ => Verdict::CannotTell,
        };
        let found = ranges(3, verdict);
        assert_eq!(ranks(&found), [1, 1, 3]);
        assert_eq!(found[0], RankRange { low: 1, high: 2 });
        assert_eq!(found[2], RankRange { low: 3, high: 3 });
    }
}
