//! The mean with a bootstrap interval.

use super::mean::mean;
use crate::Estimate;
use crate::distribution::{normal, normal_quantile, student_two_sided};
use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};

/// Fewest values for which the interval keeps its confidence, by simulation.
const FEWEST: [(f64, usize); 3] = [(0.95, 10), (0.99, 15), (1.0, 30)];
/// Expected resamples beyond each end of the interval.
const BEYOND_EACH_END: f64 = 10.0;
const FEWEST_RESAMPLES: f64 = 2_000.0;

/// The mean with its bootstrap interval; `None` with too few values for the confidence, or when all are the same.
///
/// The interval is the hull of two: bias-corrected and accelerated (Efron 1987), and plain percentiles, both with the
/// tails widened from the normal's to Student's for the narrowness of small samples (Hesterberg 2015). The hull, because
/// the acceleration is a third moment: right where it is real, harmful where one far value made it.
pub(crate) fn mean_interval(values: &[f64], confidence: f64, seed: u64) -> Option<Estimate> {
    let fewest = FEWEST.iter().find(|&&(highest, _)| confidence <= highest)?.1;
    if values.len() < fewest || values.iter().all(|value| value.total_cmp(&values[0]).is_eq()) {
        return None;
    }
    let count = values.len() as f64;
    let point = mean(values);
    let resampled = resample(values, confidence, seed);
    let below = resampled.partition_point(|&value| value < point) as f64;
    let up_to = resampled.partition_point(|&value| value <= point) as f64;
    let share = (0.5 * (below + up_to) / resampled.len() as f64).clamp(1e-4, 1.0 - 1e-4);
    let bias = normal_quantile(share);
    let acceleration = acceleration(values, point);
    let reach = student_two_sided(confidence, count - 1.0) * (count / (count - 1.0)).sqrt();
    let corrected = |z: f64| {
        let moved = bias + z;
        let stretch = 1.0 - acceleration * moved;
        if stretch <= 0.0 {
            f64::from(u8::from(z > 0.0))
        } else {
            normal(bias + moved / stretch)
        }
    };
    let at = |share: f64| resampled[(share * (resampled.len() - 1) as f64).round() as usize];
    Some(Estimate {
        point,
        low: at(corrected(-reach)).min(at(normal(-reach))),
        high: at(corrected(reach)).max(at(normal(reach))),
        confidence,
    })
}

/// Sorted means of seeded resamples.
fn resample(values: &[f64], confidence: f64, seed: u64) -> Vec<f64> {
    let resamples = (2.0 * BEYOND_EACH_END / (1.0 - confidence)).max(FEWEST_RESAMPLES) as usize;
    let mut random = SmallRng::seed_from_u64(seed);
    let mut one = || {
        let sum: f64 = (0..values.len())
            .map(|_| values[random.random_range(0..values.len())])
            .sum();
        sum / values.len() as f64
    };
    let mut means: Vec<f64> = (0..resamples).map(|_| one()).collect();
    means.sort_by(f64::total_cmp);
    means
}

/// A sixth of the skewness of the jackknife values of the mean (Efron 1987, formula 6.6).
fn acceleration(values: &[f64], centre: f64) -> f64 {
    let moment = |power: i32| {
        values
            .iter()
            .map(|value| (value - centre).powi(power))
            .sum::<f64>()
    };
    moment(3) / (6.0 * moment(2).powf(1.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_interval() {
        let values: Vec<f64> = (0..12).map(|value| f64::from(value * value)).collect();
        let found = mean_interval(&values, 0.95, 7).expect("12 values");
        assert_eq!(mean_interval(&values, 0.95, 7), Some(found));
        assert!(found.low < found.point && found.point < found.high);
        assert!(
            found.high - found.point > found.point - found.low,
            "leans to the long tail: {found:?}"
        );
    }

    #[test]
    fn too_few_or_all_the_same() {
        assert!(mean_interval(&[1.0, 2.0, 3.0], 0.95, 1).is_none());
        assert!(mean_interval(&[2.0; 30], 0.95, 1).is_none());
    }
}
