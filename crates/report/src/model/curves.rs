//! The shape of a distribution, in as few points as a chart needs.

use prony_records::{Histogram, Responses};

/// Points per nine (0 to 90 %, 90 to 99 %, …) of the percentile curve.
const PER_NINE: u32 = 10;
/// The curve ends at 99.99 %.
const NINES: u32 = 4;
/// Minimum number of requests above a point of the curve: one outlier is not a percentile.
const LEAST_ABOVE: f64 = 5.0;
/// Bins of the density per power of ten.
const PER_DECADE: f64 = 24.0;
/// Share of the requests on either side that the density leaves out.
const OUTSIDE: f64 = 0.000_5;

/// Shares of the requests, evenly spaced in nines, and the time in ns that each does not exceed. Ends where there is no
/// bound.
pub(super) fn curve(responses: &Responses) -> Vec<(f64, u64)> {
    let count = responses.len() as f64;
    (0..=NINES * PER_NINE)
        .map(|step| 1.0 - 10f64.powf(-f64::from(step) / f64::from(PER_NINE)))
        .take_while(|share| (1.0 - share) * count >= LEAST_ABOVE)
        .filter_map(|share| Some((rounded(share), responses.quantile(share)?.exact()?)))
        .collect()
}

/// Bins of equal width on the logarithmic scale: lower and upper bound in ns, and the share of the valid replies in
/// each.
pub(super) fn density(histogram: &Histogram) -> Vec<(u64, u64, f64)> {
    let bounds = histogram.quantile(OUTSIDE).zip(histogram.quantile(1.0 - OUTSIDE));
    let Some((low, high)) = bounds.map(|(low, high)| (bin_of(low), bin_of(high))) else {
        return Vec::new();
    };
    let mut counts = vec![0u64; (high - low + 1) as usize];
    for (ns, count) in histogram.buckets() {
        let bin = bin_of(ns);
        if (low..=high).contains(&bin) {
            counts[(bin - low) as usize] += count;
        }
    }
    let edge = |bin: i64| 10f64.powf(bin as f64 / PER_DECADE).round() as u64;
    let total = histogram.len() as f64;
    (low..)
        .zip(counts)
        .map(|(bin, count)| (edge(bin), edge(bin + 1), rounded(count as f64 / total)))
        .collect()
}

fn bin_of(ns: u64) -> i64 {
    ((ns.max(1) as f64).log10() * PER_DECADE).floor() as i64
}

fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_curve_rises_and_a_density_holds_nearly_all(times in prop::collection::vec(1u64..1_000_000_000, 1..400)) {
            let mut histogram = Histogram::new();
            for &ns in &times {
                histogram.record(ns);
            }
            let responses = Responses {
                valid: histogram.clone(),
                ..Responses::default()
            };
            let curve = curve(&responses);
            prop_assert!(curve.windows(2).all(|pair| pair[0].1 <= pair[1].1 && pair[0].0 < pair[1].0));
            let held: f64 = density(&histogram).iter().map(|bin| bin.2).sum();
            prop_assert!((held - 1.0).abs() < 0.01, "{held}");
        }
    }

    #[test]
    fn few_requests_give_a_short_curve() {
        let mut histogram = Histogram::new();
        histogram.record_many(1000, 450);
        let mut responses = Responses {
            valid: histogram,
            open: None,
            failed: 0,
        };
        responses.valid.record_many(1000, 50);
        assert_eq!(curve(&responses).last().map(|point| point.0), Some(0.99));
        // One in ten requests has no valid reply.
        responses.valid = Histogram::new();
        responses.valid.record_many(1000, 450);
        responses.failed = 50;
        assert_eq!(curve(&responses).last().map(|point| point.0), Some(0.9));
        assert_eq!(density(&Histogram::new()), []);
    }
}
