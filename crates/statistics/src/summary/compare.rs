//! All pairs of the ranked services of a group.

use super::Options;
use super::estimates::Table;
use crate::interval::student;
use crate::ranking::holm;
use crate::{Adjustment, Metric, Pair, Verdict};

/// The comparisons of a group.
pub(super) struct Comparisons {
    pub(super) adjustment: Option<Adjustment>,
    pub(super) pairs: Vec<Pair>,
}

/// Compares the services in `order` (indices into `table` and `names`, best first).
pub(super) fn all_pairs(
    table: &Table,
    order: &[usize],
    names: &[String],
    metric: Metric,
    options: &Options,
) -> Comparisons {
    let mut pairs = Vec::new();
    let count = order.len() * order.len().saturating_sub(1) / 2;
    for (position, &a) in order.iter().enumerate() {
        for &b in &order[position + 1..] {
            let differences = log_ratios(&table[a], &table[b]);
            let level = 1.0 - (1.0 - options.confidence) / count as f64;
            let Some(interval) = student::mean_interval(&differences, level) else {
                continue;
            };
            let freedom = differences.len() as f64 - 1.0;
            let error = (student::squares(&differences) / freedom / (freedom + 1.0)).sqrt();
            let p_value = if interval.point == 0.0 {
                1.0
            } else {
                student::beyond(interval.point / error, freedom)
            };
            let mut ratio = interval.map(f64::exp);
            ratio.confidence = options.confidence;
            pairs.push((
                Pair {
                    a: names[a].clone(),
                    b: names[b].clone(),
                    ratio,
                    p_adjusted: 1.0,
                    verdict: Verdict::CannotTell,
                },
                p_value,
            ));
        }
    }
    let adjusted = holm::adjust(&pairs.iter().map(|&(_, p_value)| p_value).collect::<Vec<_>>());
    let judged = pairs.into_iter().zip(adjusted).map(|((pair, _), p_adjusted)| {
        let differs = p_adjusted <= 1.0 - options.confidence;
        let verdict = Verdict::judge(&pair.ratio, differs, options.tie_band, metric.better());
        Pair {
            p_adjusted,
            verdict,
            ..pair
        }
    });
    let pairs: Vec<Pair> = judged.collect();
    Comparisons {
        adjustment: (!pairs.is_empty()).then_some(Adjustment::Holm),
        pairs,
    }
}

/// Logarithms of a/b over the rounds that hold both.
fn log_ratios(a: &[(u32, f64)], b: &[(u32, f64)]) -> Vec<f64> {
    let found = a.iter().filter_map(|&(round, value)| {
        let other = b.iter().find(|&&(theirs, _)| theirs == round)?;
        Some((value / other.1).ln())
    });
    found.collect()
}
