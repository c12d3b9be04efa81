//! Differences of all pairs on the log scale, holding together.

use super::{Adjustment, holm};
use crate::Estimate;
use crate::design::{Additive, Cells, Table, one_variance};
use crate::distribution::{StudentizedRange, is_rounding, no_difference, student_two_sided};
use crate::interval::mean;
use std::collections::BTreeMap;
use std::f64::consts::SQRT_2;

/// The difference of two services on the log scale: its interval and p-value, both for all pairs together.
pub(crate) struct Difference {
    pub(crate) left: usize,
    pub(crate) right: usize,
    pub(crate) interval: Estimate,
    pub(crate) p_adjusted: f64,
}

/// All pairs: by Tukey with the pooled variance where the services can have one, else each pair by its own rounds.
pub(crate) fn all_differences(logs: &Table, confidence: f64) -> (Adjustment, Vec<Difference>) {
    match Cells::new(logs).fit().filter(one_variance) {
        Some(model) => (Adjustment::Tukey, tukey(&model, confidence)),
        None => (Adjustment::Holm, by_rounds(logs, confidence)),
    }
}

/// Tukey's honest significant difference, in Kramer's form for unequal numbers of trials.
fn tukey(model: &Additive, confidence: f64) -> Vec<Difference> {
    let range = StudentizedRange::new(model.means.len(), model.rest_freedom);
    let reach = range.quantile(confidence) / SQRT_2;
    let difference = |(left, right)| {
        let point: f64 = model.means[left] - model.means[right];
        let error = model.difference_error(left, right);
        Difference {
            left,
            right,
            interval: within(point, reach * error, confidence),
            p_adjusted: if is_rounding(point) {
                1.0
            } else {
                range.beyond(point.abs() / error * SQRT_2)
            },
        }
    };
    all(model.means.len()).map(difference).collect()
}

/// Each pair by the ratios in the rounds that hold both: decisions by Holm, intervals by Bonferroni.
fn by_rounds(logs: &Table, confidence: f64) -> Vec<Difference> {
    let count = all(logs.len()).count() as f64;
    let level = 1.0 - (1.0 - confidence) / count;
    let mut reaches = BTreeMap::new();
    let mut found = Vec::new();
    for (left, right) in all(logs.len()) {
        let ratios = log_ratios(&logs[left], &logs[right]);
        if ratios.len() < 2 {
            continue;
        }
        let freedom = ratios.len() as f64 - 1.0;
        let reach = *reaches
            .entry(ratios.len())
            .or_insert_with(|| student_two_sided(level, freedom));
        let point = mean::mean(&ratios);
        let error = (mean::squares(&ratios) / freedom / ratios.len() as f64).sqrt();
        found.push(Difference {
            left,
            right,
            interval: within(point, reach * error, confidence),
            p_adjusted: no_difference(point, error, freedom),
        });
    }
    let adjusted = holm::adjust(
        &found
            .iter()
            .map(|difference| difference.p_adjusted)
            .collect::<Vec<_>>(),
    );
    for (difference, p_adjusted) in found.iter_mut().zip(adjusted) {
        difference.p_adjusted = p_adjusted;
    }
    found
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

/// Logarithms of a/b over the rounds that hold both.
fn log_ratios(a: &[(u32, f64)], b: &[(u32, f64)]) -> Vec<f64> {
    let found = a.iter().filter_map(|&(round, value)| {
        let other = b.iter().find(|&&(theirs, _)| theirs == round)?;
        Some(value - other.1)
    });
    found.collect()
}
