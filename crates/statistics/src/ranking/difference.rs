//! Differences of all pairs on the log scale, holding together.

use super::{Adjustment, holm};
use crate::Estimate;
use crate::design::{Additive, Cells, Table, moderated, one_variance};
use crate::distribution::{StudentizedRange, is_rounding, no_difference, student_two_sided};
use std::collections::BTreeMap;
use std::f64::consts::SQRT_2;

/// The difference of two services on the log scale: its interval and p-value, both for all pairs together.
pub(crate) struct Difference {
    pub(crate) left: usize,
    pub(crate) right: usize,
    pub(crate) interval: Estimate,
    pub(crate) p_adjusted: f64,
}

/// All pairs of services; none where no model can be fitted (fewer than two rounds, or no round in common).
///
/// Each pair by the services' moderated variances, decisions by Holm, intervals by Bonferroni. Where the services can have one
/// variance, by Tukey's honest significant difference as well, and then the larger p-value and the hull of both intervals
/// count: few rounds cannot tell whether all services vary alike, and where they do not, the pooled variance is too small
/// for the loud ones.
pub(crate) fn all_differences(logs: &Table, confidence: f64) -> (Adjustment, Vec<Difference>) {
    let Some(model) = Cells::new(logs).fit() else {
        return (Adjustment::Holm, Vec::new());
    };
    let mut differences = each_with_its_variance(&model, confidence);
    if !one_variance(&model) {
        return (Adjustment::Holm, differences);
    }
    let range = StudentizedRange::new(model.means.len(), model.rest_freedom);
    let reach = range.quantile(confidence) / SQRT_2;
    for difference in &mut differences {
        let point = difference.interval.point;
        let error = model.difference_error(difference.left, difference.right);
        if !is_rounding(point) {
            let p_value = range.beyond(point.abs() / error * SQRT_2);
            difference.p_adjusted = difference.p_adjusted.max(p_value);
        }
        let tukey = within(point, reach * error, confidence);
        difference.interval.low = difference.interval.low.min(tukey.low);
        difference.interval.high = difference.interval.high.max(tukey.high);
    }
    (Adjustment::Tukey, differences)
}

fn each_with_its_variance(model: &Additive, confidence: f64) -> Vec<Difference> {
    let variances = moderated(model);
    let count = all(model.means.len()).count() as f64;
    let mut quantiles = Quantiles::new(1.0 - (1.0 - confidence) / count);
    let mut found: Vec<Difference> = all(model.means.len())
        .map(|(left, right)| {
            let point = model.means[left] - model.means[right];
            let (a, b) = (variances.values[left], variances.values[right]);
            let error = (f64::midpoint(a, b) * model.difference_factor(left, right)).sqrt();
            let freedom = satterthwaite(a, b, variances.freedom).min(model.rest_freedom);
            Difference {
                left,
                right,
                interval: within(point, quantiles.of(freedom) * error, confidence),
                p_adjusted: no_difference(point, error, freedom),
            }
        })
        .collect();
    let p_values: Vec<f64> = found.iter().map(|difference| difference.p_adjusted).collect();
    for (difference, p_adjusted) in found.iter_mut().zip(holm::adjust(&p_values)) {
        difference.p_adjusted = p_adjusted;
    }
    found
}

/// Degrees of freedom of the sum of two variances that have `freedom` each (Satterthwaite 1946).
fn satterthwaite(a: f64, b: f64, freedom: f64) -> f64 {
    let squares = a * a + b * b;
    if squares <= 0.0 {
        return freedom;
    }
    freedom * (a + b).powi(2) / squares
}

/// Student's quantiles of one level, each computed once, at degrees of freedom rounded down to a half.
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

    fn of(&mut self, freedom: f64) -> f64 {
        let halves = (2.0 * freedom).floor().max(1.0);
        let level = self.level;
        *self
            .known
            .entry(halves as u64)
            .or_insert_with(|| student_two_sided(level, halves / 2.0))
    }
}

fn all(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |left| (left + 1..count).map(move |right| (left, right)))
}

fn within(point: f64, reach: f64, confidence: f64) -> Estimate {
    Estimate {
        point,
        low: point - reach,
        high: point + reach,
        confidence,
    }
}
