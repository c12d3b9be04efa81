//! Distributions used by intervals and tests.

use statrs::distribution::{ContinuousCDF as _, Normal, StudentsT};
use std::ops::ControlFlow;

/// The two-sided quantile of Student's t: a share `confidence` of values lies between minus and plus this value.
pub(crate) fn student_two_sided(confidence: f64, freedom: f64) -> f64 {
    student(freedom).inverse_cdf(0.5 + confidence / 2.0)
}

/// The two-sided quantile of the normal distribution: a share `confidence` of values lies between minus and plus this value.
pub(crate) fn normal_two_sided(confidence: f64) -> f64 {
    Normal::standard().inverse_cdf(0.5 + confidence / 2.0)
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

pub(crate) use statrs::function::gamma::digamma;

/// From this x on, the asymptotic series is accurate to fifteen digits.
const LARGE: f64 = 12.0;

/// ψ′(x) for x > 0: the recurrence ψ′(x) = ψ′(x+1) + 1/x² until the asymptotic series is accurate (Abramowitz and Stegun 1964,
/// 6.4.6 and 6.4.12).
pub(crate) fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < LARGE {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let bernoulli = [1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0];
    let series = bernoulli
        .iter()
        .rev()
        .fold(0.0, |rest, term| (rest + term) * square);
    sum + (1.0 + series) / x + square / 2.0
}

/// The x > 0 with ψ′(x) = y, for y > 0. By bisection: ψ′ decreases from infinity to 0 and lies between 1/x and 1/x + 1/x².
pub(crate) fn trigamma_inverse(y: f64) -> f64 {
    let (low, high) = (1.0 / y, 0.5 / y + (0.25 / (y * y) + 1.0 / y).sqrt());
    let halved = (0..200).try_fold((low, high), |(low, high), _| {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            ControlFlow::Break((low, high))
        } else if trigamma(middle) > y {
            ControlFlow::Continue((middle, high))
        } else {
            ControlFlow::Continue((low, middle))
        }
    });
    let (ControlFlow::Break((low, high)) | ControlFlow::Continue((low, high))) = halved;
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

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
                (student_two_sided(confidence, freedom) - expected).abs() < 6e-4,
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
            let t = student_two_sided(1.0 - level, 4.0);
            assert!((beyond(t, 4.0) / level - 1.0).abs() < 1e-4, "{level}");
        }
    }

    #[test]
    fn known_values() {
        let square = PI * PI;
        for (x, expected) in [
            (0.5, square / 2.0),
            (1.0, square / 6.0),
            (2.0, square / 6.0 - 1.0),
        ] {
            assert!((trigamma(x) - expected).abs() < 1e-13, "{x}");
        }
        assert!((trigamma(1e6) - 1.000_000_5e-6).abs() < 1e-17);
    }

    #[test]
    fn the_inverse_leads_back() {
        for x in [1e-3, 0.1, 0.5, 1.0, 3.0, 40.0, 1e5] {
            assert!((trigamma_inverse(trigamma(x)) / x - 1.0).abs() < 1e-9, "{x}");
        }
    }
}
