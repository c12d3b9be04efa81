//! All pairs of the ranked services of a group.

use super::Options;
use super::estimates::logarithms;
use crate::design::Table;
use crate::ranking::{self, Difference, judge};
use crate::{Adjustment, Metric, Pair, Verdict};

/// The comparisons of a group.
pub(super) struct Comparisons {
    pub(super) adjustment: Option<Adjustment>,
    pub(super) pairs: Vec<Pair>,
    /// Verdict of each service of `order` against each other one.
    pub(super) verdicts: Vec<Vec<Verdict>>,
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
    let (adjustment, differences) = ranking::all_differences(&logs, options.confidence);
    let adjustment = (!differences.is_empty()).then_some(adjustment);
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
