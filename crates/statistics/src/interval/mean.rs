//! The mean of a sample with Student's t.

use crate::Estimate;
use crate::distribution::{normal_quantile, student_two_sided};

/// Share of the correction for skewness that is made: a sample's skewness is a third moment, and mostly chance.
const SKEW_SHARE: f64 = 0.5;

/// Arithmetic mean; the values must not be empty.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sum of squared distances from the mean.
pub(crate) fn squares(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|value| (value - centre).powi(2)).sum()
}

/// The mean with its t interval; `None` with fewer than two values.
pub(crate) fn mean_interval(values: &[f64], confidence: f64) -> Option<Estimate> {
    let count = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let variance = squares(values) / (count - 1.0);
    Some(around(
        mean(values),
        (variance / count).sqrt(),
        count - 1.0,
        confidence,
    ))
}

/// The mean with its t interval, reaching further on the side of the sample's longer tail; `None` with fewer than two values.
///
/// The mean of few values of a skewed distribution lies too often on the side of its short tail, with too small a deviation.
/// The quantiles of the studentised mean move by γ(1 + 2z²)/(6√n) (Johnson 1978; Hall 1992); half of it is added on that
/// side, and nothing taken away on the other, which would cost truth where the skewness is chance.
pub(crate) fn skewed_interval(values: &[f64], confidence: f64) -> Option<Estimate> {
    let symmetric = mean_interval(values, confidence)?;
    let count = values.len() as f64;
    let variance = squares(values) / count;
    if variance == 0.0 {
        return Some(symmetric);
    }
    let cubes: f64 = values.iter().map(|value| (value - symmetric.point).powi(3)).sum();
    let skewness = cubes / count / variance.powf(1.5);
    let z = normal_quantile(0.5 + confidence / 2.0);
    let error = (variance / (count - 1.0)).sqrt();
    let further = SKEW_SHARE * skewness * (1.0 + 2.0 * z * z) / (6.0 * count.sqrt()) * error;
    Some(Estimate {
        low: symmetric.low + further.min(0.0),
        high: symmetric.high + further.max(0.0),
        ..symmetric
    })
}

/// A point with `freedom` degrees of freedom behind its standard error.
pub(crate) fn around(point: f64, standard_error: f64, freedom: f64, confidence: f64) -> Estimate {
    let reach = if standard_error == 0.0 {
        0.0
    } else {
        student_two_sided(confidence, freedom) * standard_error
    };
    Estimate {
        point,
        low: point - reach,
        high: point + reach,
        confidence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_tail_gets_more() {
        let values = [1.0, 1.1, 1.2, 1.3, 4.0];
        let symmetric = mean_interval(&values, 0.95).expect("five values");
        let skewed = skewed_interval(&values, 0.95).expect("five values");
        assert!(skewed.high > symmetric.high && (skewed.low - symmetric.low).abs() < 1e-12);
        let mirrored = skewed_interval(&values.map(|value| -value), 0.95).expect("five values");
        assert!((mirrored.low + skewed.high).abs() < 1e-12);
    }

    #[test]
    fn equal_values_have_no_tail() {
        let found = skewed_interval(&[2.0; 4], 0.95).expect("four values");
        assert_eq!((found.low, found.high), (2.0, 2.0));
        assert_eq!(skewed_interval(&[2.0], 0.95), None);
    }
}
