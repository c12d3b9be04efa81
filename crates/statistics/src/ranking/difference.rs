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
        Some(model) => (Adjustment::Tukey, tukey(&model, logs, confidence)),
        None => (Adjustment::Holm, by_rounds(logs, confidence)),
    }
}

/// A pair must show a difference in its own rounds as well, at this fraction of the error at most (and never at less than
/// what would hold for all pairs together).
const OWN_FRACTION: f64 = 5.0;

/// Tukey's honest significant difference, in Kramer's form for unequal numbers of trials, and nothing that the pair's own
/// rounds do not show: few rounds cannot tell whether all services vary alike, and where they do not, the pooled variance
/// is too small for the loud ones. So the interval is the hull of both, and the larger p-value counts.
fn tukey(model: &Additive, logs: &Table, confidence: f64) -> Vec<Difference> {
    let range = StudentizedRange::new(model.means.len(), model.rest_freedom);
    let reach = range.quantile(confidence) / SQRT_2;
    let fraction = OWN_FRACTION.min(all(model.means.len()).count() as f64);
    let mut quantiles = Quantiles::new(1.0 - (1.0 - confidence) / fraction);
    let difference = |(left, right)| {
        let point: f64 = model.means[left] - model.means[right];
        let error = model.difference_error(left, right);
        let p_value = if is_rounding(point) {
            1.0
        } else {
            range.beyond(point.abs() / error * SQRT_2)
        };
        let board = within(point, reach * error, confidence);
        let own = OwnRounds::of(&logs[left], &logs[right]);
        Difference {
            left,
            right,
            interval: own.as_ref().map_or(board, |own| {
                let reach = quantiles.of(own.freedom) * own.error;
                Estimate {
                    low: board.low.min(own.point - reach),
                    high: board.high.max(own.point + reach),
                    ..board
                }
            }),
            p_adjusted: own.map_or(p_value, |own| p_value.max((fraction * own.p_value()).min(1.0))),
        }
    };
    all(model.means.len()).map(difference).collect()
}

/// A pair by the ratios in the rounds that hold both.
struct OwnRounds {
    point: f64,
    error: f64,
    freedom: f64,
}

impl OwnRounds {
    /// `None` with fewer than two rounds in common.
    fn of(left: &[(u32, f64)], right: &[(u32, f64)]) -> Option<Self> {
        let ratios = log_ratios(left, right);
        let freedom = ratios.len().checked_sub(1).filter(|&freedom| freedom > 0)? as f64;
        Some(Self {
            point: mean::mean(&ratios),
            error: (mean::squares(&ratios) / freedom / ratios.len() as f64).sqrt(),
            freedom,
        })
    }

    fn p_value(&self) -> f64 {
        no_difference(self.point, self.error, self.freedom)
    }
}

/// Student's quantiles of one level, each computed once.
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
        let level = self.level;
        *self
            .known
            .entry(freedom as u64)
            .or_insert_with(|| student_two_sided(level, freedom))
    }
}

/// Each pair by the ratios in the rounds that hold both: decisions by Holm, intervals by Bonferroni.
fn by_rounds(logs: &Table, confidence: f64) -> Vec<Difference> {
    let count = all(logs.len()).count() as f64;
    let level = 1.0 - (1.0 - confidence) / count;
    let mut quantiles = Quantiles::new(level);
    let mut found = Vec::new();
    for (left, right) in all(logs.len()) {
        let Some(own) = OwnRounds::of(&logs[left], &logs[right]) else {
            continue;
        };
        found.push(Difference {
            left,
            right,
            interval: within(own.point, quantiles.of(own.freedom) * own.error, confidence),
            p_adjusted: own.p_value(),
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
