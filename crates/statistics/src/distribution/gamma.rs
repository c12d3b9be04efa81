//! Derivatives of the logarithm of the gamma function, for the moments of the logarithm of a variance.

use std::ops::ControlFlow;

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
