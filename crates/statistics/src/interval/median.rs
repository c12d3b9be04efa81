//! The median between two order statistics.

use crate::Estimate;
use statrs::distribution::{Binomial, DiscreteCDF as _};

/// The median; the sample must not be empty.
pub(crate) fn median(sample: &[f64]) -> f64 {
    of_sorted(&sorted(sample))
}

fn sorted(sample: &[f64]) -> Vec<f64> {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        0.5 * (sorted[middle - 1] + sorted[middle])
    }
}

/// The sample median with the narrowest symmetric pair of order statistics that holds the true median with at least
/// `confidence`, whatever the distribution (Thompson 1936). `None` when even the whole range does not: six values are
/// needed for 95 %, eight for 99 %, eleven for 99.9 %.
pub(crate) fn median_interval(sample: &[f64], confidence: f64) -> Option<Estimate> {
    let count = sample.len() as u64;
    let flips = Binomial::new(0.5, count).ok()?;
    let misses = |cut: u64| 2.0 * flips.cdf(cut);
    let cut = (0..count / 2)
        .take_while(|&cut| misses(cut) <= 1.0 - confidence)
        .last()?;
    let sorted = sorted(sample);
    Some(Estimate {
        point: of_sorted(&sorted),
        low: sorted[cut as usize],
        high: sorted[(count - 1 - cut) as usize],
        confidence,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewest_values() {
        for (confidence, fewest) in [(0.95, 6), (0.99, 8), (0.999, 11)] {
            let sample: Vec<f64> = (0..fewest).map(f64::from).collect();
            assert!(median_interval(&sample[1..], confidence).is_none());
            let found = median_interval(&sample, confidence).expect("enough values");
            assert_eq!((found.low, found.high), (0.0, f64::from(fewest - 1)));
        }
    }

    #[test]
    fn published_ranks() {
        // Of 20 values the 6th and the 15th hold the median with 95.9 %.
        let sample: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        let found = median_interval(&sample, 0.95).expect("20 values");
        assert_eq!((found.low, found.point, found.high), (6.0, 10.5, 15.0));
    }
}
