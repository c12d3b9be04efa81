//! Comparisons of all pairs of the ranked services of a group.

use super::Options;
use super::estimates::logarithms;
use crate::design::Table;
use crate::ranking::{self, Difference, judge};
use crate::{Adjustment, Estimate, Metric, NoBound, PairwiseComparison, Quantity, Verdict};

/// The comparisons of the ranked services of a group.
pub(crate) struct Comparisons {
    pub(super) adjustment: Option<Adjustment>,
    pub(crate) pairs: Vec<PairwiseComparison>,
    /// `service/variant` of each service, in the order of `verdicts`.
    names: Vec<String>,
    /// Verdict of each service in `order` against each other one.
    pub(super) verdicts: Vec<Vec<Verdict>>,
}

impl Comparisons {
    /// Widens ratios that are narrower than the resolutions of their services, in the order of `verdicts`, and judges them again.
    pub(super) fn with_resolutions(mut self, resolutions: &[f64], metric: Metric, options: &Options) -> Self {
        let place = |id: &String| self.names.iter().position(|name| name == id);
        for pair in &mut self.pairs {
            let (Some(left), Some(right)) = (place(&pair.a), place(&pair.b)) else {
                continue;
            };
            pair.ratio = pair.ratio.at_least(resolutions[left] + resolutions[right]);
            pair.verdict = judge(&pair.ratio, options.tie_band, metric.better());
            self.verdicts[left][right] = pair.verdict;
            self.verdicts[right][left] = pair.verdict.reversed();
        }
        self
    }

    /// Adjusts the comparisons for values that are lower bounds (`bounds`, in the order of `verdicts`) of a metric of which more
    /// is better. A lower bound can only show that its service is better. By how much is unknown, so its pairs are removed.
    pub(super) fn with_lower_bounds(mut self, bounds: &[bool]) -> Self {
        let names = &self.names;
        let is_bound = |id: &String| names.iter().zip(bounds).any(|(name, &bound)| bound && name == id);
        self.pairs.retain(|pair| !is_bound(&pair.a) && !is_bound(&pair.b));
        for left in 0..bounds.len() {
            for right in (0..bounds.len()).filter(|&right| right != left) {
                let told = match self.verdicts[left][right] {
                    Verdict::Faster => bounds[left] && !bounds[right],
                    Verdict::Slower => bounds[right] && !bounds[left],
                    Verdict::Same | Verdict::CannotTell => false,
                };
                if (bounds[left] || bounds[right]) && !told {
                    self.verdicts[left][right] = Verdict::CannotTell;
                }
            }
        }
        self
    }
}

/// Whether a service's value has a bound in its trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoundPresence {
    /// In all of its trials, of which there are at least two.
    Everywhere,
    /// In none of its trials, of which there are at least two.
    Nowhere,
    /// In some of its trials, or there is only one trial.
    Unclear,
}

impl BoundPresence {
    pub(super) const fn of(quantity: Option<&Quantity>) -> Self {
        match quantity {
            Some(Quantity::Estimated(_)) => Self::Everywhere,
            Some(Quantity::NoBound(NoBound {
                without_bound,
                trials,
            })) if *without_bound == *trials && *trials > 1 => Self::Nowhere,
            _ => Self::Unclear,
        }
    }
}

impl Comparisons {
    /// Adds the services that have no bound, which follow those of `verdicts` in `bounds`, for a metric of which less is better. A
    /// service that never has a bound is worse than one that always has.
    pub(super) fn with_no_bounds(mut self, bounds: &[BoundPresence]) -> Self {
        self.verdicts.resize(bounds.len(), Vec::new());
        for row in &mut self.verdicts {
            row.resize(bounds.len(), Verdict::CannotTell);
        }
        for left in 0..bounds.len() {
            for right in 0..bounds.len() {
                let verdict = match (bounds[left], bounds[right]) {
                    (BoundPresence::Everywhere, BoundPresence::Nowhere) => Verdict::Faster,
                    (BoundPresence::Nowhere, BoundPresence::Everywhere) => Verdict::Slower,
                    _ => continue,
                };
                self.verdicts[left][right] = verdict;
            }
        }
        self
    }
}

/// The ratio of each service in `order` to the first one; empty if there are fewer than two, or no model can be fitted.
pub(super) fn ratios_to_first(table: &Table, order: &[usize], options: &Options) -> Vec<Estimate> {
    let differences = ranking::differences_to_first(&logs_of(table, order), options.confidence);
    differences
        .into_iter()
        .map(|difference| difference.map(f64::exp))
        .collect()
}

/// The means of the logarithms of the services in `order`, adjusted to all rounds.
pub(super) fn adjusted_means(table: &Table, order: &[usize]) -> Option<Vec<f64>> {
    ranking::adjusted_means(&logs_of(table, order))
}

fn logs_of(table: &Table, order: &[usize]) -> Table {
    let ordered: Table = order.iter().map(|&index| table[index].clone()).collect();
    logarithms(&ordered)
}

/// Compares the services in `order` (indices into `table` and `names`, best first).
pub(crate) fn all_pairs(
    table: &Table,
    order: &[usize],
    names: &[String],
    metric: Metric,
    options: &Options,
) -> Comparisons {
    let logs = logs_of(table, order);
    let (adjustment, differences) = ranking::all_differences(&logs, options.confidence);
    let adjustment = (!differences.is_empty()).then_some(adjustment);
    let mut verdicts = vec![vec![Verdict::CannotTell; order.len()]; order.len()];
    let pairs = differences.into_iter().map(|difference| {
        let Difference { left, right, .. } = difference;
        let ratio = difference.interval.map(f64::exp);
        let verdict = judge(&ratio, options.tie_band, metric.better());
        verdicts[left][right] = verdict;
        verdicts[right][left] = verdict.reversed();
        PairwiseComparison {
            a: names[order[left]].clone(),
            b: names[order[right]].clone(),
            ratio,
            p_adjusted: difference.p_adjusted,
            verdict,
        }
    });
    Comparisons {
        pairs: pairs.collect(),
        names: order.iter().map(|&index| names[index].clone()).collect(),
        verdicts,
        adjustment,
    }
}
