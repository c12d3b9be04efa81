//! All pairs of the ranked services of a group.

use super::Options;
use super::estimates::{POOLING_LEVEL, Table, logarithms};
use crate::design::{self, Additive, Cells};
use crate::distribution::{StudentizedRange, student_beyond};
use crate::interval::mean;
use crate::ranking::{holm, judge};
use crate::{Adjustment, Estimate, Metric, Pair, Verdict};
use std::f64::consts::SQRT_2;

/// The comparisons of a group.
pub(super) struct Comparisons {
    pub(super) adjustment: Option<Adjustment>,
    pub(super) pairs: Vec<Pair>,
    /// Verdict of each service of `order` against each other one.
    pub(super) verdicts: Vec<Vec<Verdict>>,
}

/// The difference of two services on the log scale: its interval and p-value, both for all pairs together.
struct Difference {
    left: usize,
    right: usize,
    interval: Estimate,
    p_adjusted: f64,
}

/// Compares the services in `order` (indices into `table` and `names`, best first).
pub(super) fn all_pairs(
    table: &Table,
    order: &[usize],
    names: &[String],
    metric: Metric,
    options: &Options,
) -> Comparisons {
    let ordered: Table = order.iter().map(|&index| table[index].clone()).collect();
    let logs = logarithms(&ordered);
    let model = Cells::new(&logs).fit().filter(one_variance);
    let differences = match &model {
        Some(model) => tukey(model, options.confidence),
        None => by_rounds(&logs, options.confidence),
    };
    let adjustment = match (differences.is_empty(), model) {
        (true, _) => None,
        (false, Some(_)) => Some(Adjustment::Tukey),
        (false, None) => Some(Adjustment::Holm),
    };
    let mut verdicts = vec![vec![Verdict::CannotTell; order.len()]; order.len()];
    let pairs = differences.into_iter().map(|difference| {
        let Difference { left, right, .. } = difference;
        let ratio = difference.interval.map(f64::exp);
        let differs = difference.p_adjusted <= 1.0 - options.confidence;
        let verdict = judge(&ratio, differs, options.tie_band, metric.better());
        verdicts[left][right] = verdict;
        verdicts[right][left] = verdict.reversed();
        Pair {
            a: names[order[left]].clone(),
            b: names[order[right]].clone(),
            ratio,
            p_adjusted: difference.p_adjusted,
            verdict,
        }
    });
    Comparisons {
        pairs: pairs.collect(),
        verdicts,
        adjustment,
    }
}

/// Whether the residuals of all services can have one variance: neither a test of all nor one of the loudest objects.
fn one_variance(model: &Additive) -> bool {
    let loudest = design::larger_than_the_rest(&model.residuals)
        .into_iter()
        .fold(1.0, f64::min);
    let services = model.residuals.len() as f64;
    let alike = design::brown_forsythe(&model.residuals).unwrap_or(1.0);
    services <= 2.0 || (alike > POOLING_LEVEL && loudest * services > POOLING_LEVEL)
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
            p_adjusted: if point == 0.0 {
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
    let mut found: Vec<Difference> = all(logs.len())
        .filter_map(|(left, right)| {
            let ratios = log_ratios(&logs[left], &logs[right]);
            let interval = Estimate {
                confidence,
                ..mean::mean_interval(&ratios, level)?
            };
            Some(Difference {
                left,
                right,
                interval,
                p_adjusted: no_difference(&ratios),
            })
        })
        .collect();
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

/// The p-value of "the mean is 0" by Student's t.
fn no_difference(ratios: &[f64]) -> f64 {
    let freedom = ratios.len() as f64 - 1.0;
    let point = mean::mean(ratios);
    let error = (mean::squares(ratios) / freedom / ratios.len() as f64).sqrt();
    if point == 0.0 {
        1.0
    } else {
        student_beyond(point / error, freedom)
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

/// Logarithms of a/b over the rounds that hold both.
fn log_ratios(a: &[(u32, f64)], b: &[(u32, f64)]) -> Vec<f64> {
    let found = a.iter().filter_map(|&(round, value)| {
        let other = b.iter().find(|&&(theirs, _)| theirs == round)?;
        Some(value - other.1)
    });
    found.collect()
}
