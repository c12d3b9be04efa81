//! Differences of all pairs on the log scale, with simultaneous intervals.

use super::Adjustment;
use crate::Estimate;
use crate::design::{Cells, Table, Variance, of_residuals};
use crate::distribution::{no_difference, reach, student_two_sided};
use crate::interval::mean::within;
use std::collections::BTreeMap;

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
