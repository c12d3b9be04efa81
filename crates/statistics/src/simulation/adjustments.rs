//! Compares adjustments for comparing all pairs: the false differences that each declares if nothing differs, and the differences
//! it finds.
//!
//! `research/method-notes.md` cites the table. Bonferroni is the one in use, for decisions and intervals alike. The range is the
//! distribution of the largest difference (max-T) if variances are equal. Holm's decisions have no useful intervals to match.

use super::studentized_range::StudentizedRange;
use super::{Noise, SimulatedGroup, Source, one_loud, slack, spread};
use crate::distribution::no_difference;
use crate::ranking::raw_differences;
use std::collections::BTreeMap;
use std::f64::consts::SQRT_2;

const WAYS: [&str; 3] = ["Bonferroni", "Holm", "range"];

/// Distributions of the range, by number of services and twice the degrees of freedom, each computed once.
#[derive(Default)]
pub(super) struct RangeDistributions(BTreeMap<(usize, u64), StudentizedRange>);

impl RangeDistributions {
    fn beyond(&mut self, services: usize, freedom: f64, t: f64) -> f64 {
        let halves = (2.0 * freedom).floor().max(2.0);
        let range = self
            .0
            .entry((services, halves as u64))
            .or_insert_with(|| StudentizedRange::new(services, halves / 2.0));
        range.beyond(t * SQRT_2)
    }
}

/// The pairs that each of [`WAYS`] declares different at 5 %.
pub(super) fn declared_different(
    table: &crate::design::Table,
    ranges: &mut RangeDistributions,
) -> [Vec<bool>; 3] {
    let raws = raw_differences(table);
    let count = raws.len() as f64;
    let p_values: Vec<f64> = raws
        .iter()
        .map(|raw| no_difference(raw.point, raw.error, raw.freedom))
        .collect();
    let by_range = raws
        .iter()
        .map(|raw| ranges.beyond(table.len(), raw.freedom, raw.point.abs() / raw.error) <= 0.05);
    [
        p_values.iter().map(|p| p * count <= 0.05).collect(),
        holm_adjusted(&p_values).iter().map(|&p| p <= 0.05).collect(),
        by_range.collect(),
    ]
}

/// For each of [`WAYS`]: the share of rankings with a false difference if nothing differs, and the share of pairs found if all
/// differ.
fn error_and_power(deviations: &[f64], rounds: u32, noise: Noise, boards: u32) -> ([f64; 3], [f64; 3]) {
    let (mut wrong, mut found) = ([0.0; 3], [0.0; 3]);
    let (mut ranges, mut source) = (RangeDistributions::default(), Source::new(51));
    let services = deviations.len();
    let equal = SimulatedGroup {
        means: vec![0.0; services],
        deviations: deviations.to_vec(),
        ..SimulatedGroup::equal(1, rounds)
    };
    let apart = SimulatedGroup {
        means: (0..services).map(|service| service as f64).collect(),
        ..equal.clone()
    };
    for _ in 0..boards {
        let on_equal = declared_different(&source.board(&equal, noise), &mut ranges);
        let on_apart = declared_different(&source.board(&apart, noise), &mut ranges);
        for way in 0..WAYS.len() {
            wrong[way] += f64::from(u8::from(on_equal[way].contains(&true))) / f64::from(boards);
            let share = on_apart[way].iter().filter(|&&told| told).count();
            found[way] += share as f64 / on_apart[way].len() as f64 / f64::from(boards);
        }
    }
    (wrong, found)
}

#[test]
fn bonferroni_alone_errs_rarely_and_has_intervals() {
    let boards = 300;
    let mut range_errs = false;
    for (name, deviations) in [
        ("24 equal", vec![1.0; 24]),
        ("24, one 5×", one_loud(24, 5.0)),
        ("24, spread 4×", spread(24)),
        ("8, spread 4×", spread(8)),
    ] {
        for rounds in [3, 5] {
            for noise in [Noise::Normal, Noise::TwoModes] {
                let (wrong, found) = error_and_power(&deviations, rounds, noise, boards);
                for (way, name_of) in WAYS.iter().enumerate() {
                    println!(
                        "{name}, {noise:?}, {rounds} rounds, {name_of}: {:.1} % of rankings with a false difference, {:.0} % of \
                         pairs found if all differ",
                        100.0 * wrong[way],
                        100.0 * found[way]
                    );
                }
                range_errs |= wrong[2] > 0.05 + slack(0.05, boards as usize);
                assert!(
                    noise != Noise::Normal || wrong[0] < 0.05 + slack(0.05, boards as usize),
                    "{name} {rounds}: {}",
                    wrong[0]
                );
            }
        }
    }
    assert!(
        range_errs,
        "the range keeps its level and finds more: use it instead"
    );
}

/// p-values adjusted by Holm (1979): rejecting those at or below α keeps the family-wise error at α or below, whatever the
/// dependence.
pub(crate) fn holm_adjusted(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&left, &right| p_values[left].total_cmp(&p_values[right]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut highest: f64 = 0.0;
    for (step, &index) in order.iter().enumerate() {
        let factor = (p_values.len() - step) as f64;
        highest = highest.max(factor * p_values[index]).min(1.0);
        adjusted[index] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::holm_adjusted;

    #[test]
    fn worked_example() {
        // 0.005 × 4, 0.01 × 3, 0.03 × 2; 0.04 × 1 is raised to the previous value.
        let adjusted = holm_adjusted(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        for (got, want) in adjusted.iter().zip(expected) {
            assert!((got - want).abs() < 1e-12, "{adjusted:?}");
        }
    }

    #[test]
    fn never_above_one() {
        assert_eq!(holm_adjusted(&[0.9, 0.8]), vec![1.0, 1.0]);
        assert!(holm_adjusted(&[]).is_empty());
    }
}
