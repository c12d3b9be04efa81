//! Student's t.

use crate::Estimate;
use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Arithmetic mean; the values must not be empty.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sum of squared distances from the mean.
pub(crate) fn squares(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|value| (value - centre).powi(2)).sum()
}

/// The quantile of Student's t that a share `confidence` of values lies within, on both sides.
pub(crate) fn two_sided(confidence: f64, freedom: f64) -> f64 {
    student(freedom).inverse_cdf(0.5 + confidence / 2.0)
}

/// The share of Student's t beyond `t` on both sides: the p-value.
pub(crate) fn beyond(t: f64, freedom: f64) -> f64 {
    2.0 * student(freedom).sf(t.abs())
}

fn student(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom).expect("invariant: degrees of freedom are above 0")
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

/// A point with `freedom` degrees of freedom behind its standard error.
pub(crate) fn around(point: f64, standard_error: f64, freedom: f64, confidence: f64) -> Estimate {
    let reach = if standard_error == 0.0 {
        0.0
    } else {
        two_sided(confidence, freedom) * standard_error
    };
    Estimate {
        point,
        low: point - reach,
        high: point + reach,
        confidence,
    }
}
