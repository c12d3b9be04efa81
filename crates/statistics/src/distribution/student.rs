//! Student's t distribution.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// The two-sided quantile of Student's t: a share `confidence` of values lies between minus and plus this value.
pub(crate) fn two_sided(confidence: f64, freedom: f64) -> f64 {
    student(freedom).inverse_cdf(0.5 + confidence / 2.0)
}

/// The share of Student's t beyond ±`t`: the two-sided p-value.
pub(crate) fn beyond(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    2.0 * student(freedom).sf(t.abs())
}

/// Largest difference of logarithms that rounding alone can cause.
const ROUNDING: f64 = 1e-12;

/// The p-value of "no difference", for a difference of logarithms and its standard error. Values that are equal up to rounding do
/// not differ, even if their standard error is zero.
pub(crate) fn no_difference(difference: f64, error: f64, freedom: f64) -> f64 {
    if is_rounding(difference) {
        return 1.0;
    }
    beyond(difference / error, freedom)
}

/// Half-width of the interval of a difference of logarithms. A difference that rounding alone can cause is inside the interval,
/// so that the interval agrees with the p-value of [`no_difference`].
pub(crate) fn reach(difference: f64, error: f64, quantile: f64) -> f64 {
    let by_error = if error > 0.0 { quantile * error } else { 0.0 };
    if is_rounding(difference) {
        by_error.max(difference.abs())
    } else {
        by_error
    }
}

/// Whether rounding alone can cause a difference of logarithms.
fn is_rounding(difference: f64) -> bool {
    difference.abs() <= ROUNDING
}

fn student(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom).expect("invariant: degrees of freedom are above 0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_quantiles() {
        for (confidence, freedom, expected) in [
            (0.95, 2.0, 4.303),
            (0.99, 2.0, 9.925),
            (0.999, 2.0, 31.599),
            (0.95, 10.0, 2.228),
            (0.999, 4.0, 8.610),
            (0.95, 1e6, 1.960),
        ] {
            assert!(
                (two_sided(confidence, freedom) - expected).abs() < 6e-4,
                "{confidence} {freedom}"
            );
        }
        assert!((beyond(4.303, 2.0) - 0.05).abs() < 1e-4);
    }

    #[test]
    fn rounding_is_no_difference() {
        assert!(no_difference(3e-16, 0.0, 3.0) >= 1.0);
        assert!(no_difference(0.01, 0.0, 3.0) <= 0.0);
        assert!((no_difference(0.02, 0.01, 4.0) - beyond(2.0, 4.0)).abs() < 1e-15);
    }

    #[test]
    fn far_tails_agree_with_themselves() {
        for level in [1e-4, 1e-6, 1e-8] {
            let t = two_sided(1.0 - level, 4.0);
            assert!((beyond(t, 4.0) / level - 1.0).abs() < 1e-4, "{level}");
        }
    }
}
