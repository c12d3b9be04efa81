//! Statistics of one sample: its mean with an interval, its median.

use crate::Estimate;
use crate::distribution::student_two_sided;

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

/// The geometric mean of the ratios of these pairs with its t interval on the log scale; pairs with a value that is not positive are left
/// out. `None` with fewer than two others.
pub(crate) fn ratio_interval(pairs: &[(f64, f64)], confidence: f64) -> Option<Estimate> {
    let positive = pairs.iter().filter(|(one, other)| *one > 0.0 && *other > 0.0);
    let logs: Vec<f64> = positive.map(|(one, other)| (one / other).ln()).collect();
    Some(mean_interval(&logs, confidence)?.map(f64::exp))
}

/// The t interval around a point whose standard error has `freedom` degrees of freedom.
pub(crate) fn around(point: f64, standard_error: f64, freedom: f64, confidence: f64) -> Estimate {
    let reach = if standard_error == 0.0 {
        0.0
    } else {
        student_two_sided(confidence, freedom) * standard_error
    };
    within(point, reach, confidence)
}

/// A point with an interval of `reach` on either side.
pub(crate) fn within(point: f64, reach: f64, confidence: f64) -> Estimate {
    Estimate {
        point,
        low: point - reach,
        high: point + reach,
        confidence,
    }
}

/// The median; the sample must not be empty.
pub fn median(sample: &[f64]) -> f64 {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        0.5 * (sorted[middle - 1] + sorted[middle])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_no_width() {
        let found = mean_interval(&[2.0; 4], 0.95).expect("four values");
        assert_eq!((found.low, found.high), (2.0, 2.0));
        assert_eq!(mean_interval(&[2.0], 0.95), None);
    }
}
