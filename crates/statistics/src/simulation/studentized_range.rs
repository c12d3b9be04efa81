//! The studentized range: the largest difference among `count` normal values, over an independent estimate of their standard
//! deviation. It is the basis of Tukey's honest significant difference.
//!
//! P(Q ≤ q) = ∫ f(s) W(q·s) ds, where s² is χ² over its degrees of freedom and W(w) is the distribution of the range of `count`
//! standard normal values, W(w) = (2Φ(w/2) − 1)^count + 2·count ∫ φ(z) (Φ(z) − Φ(z − w))^(count − 1) dz over z > w/2 (Hartley
//! 1942; Copenhaver and Holland 1988 integrate the same way). Both integrals use Gauss-Legendre quadrature in pieces.

use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;
use std::collections::BTreeMap;
use std::f64::consts::{LN_2, PI, SQRT_2};
use std::sync::{Arc, Mutex, PoisonError};

/// Degrees of freedom from which s is taken as 1.
const PRACTICALLY_INFINITE: f64 = 1e5;
/// Logarithm of the density, relative to its peak, below which the outer integral stops.
const NEGLIGIBLE: f64 = -34.0;
/// φ is negligible beyond this value.
const FARTHEST: f64 = 8.5;
/// Width of a step of the table of W.
const STEP: f64 = 2.0 * FARTHEST / STEPS as f64;
const INNER_PIECES: usize = 3;
const OUTER_PIECES: usize = 5;
/// With few degrees of freedom the density of s is wide.
const OUTER_PIECES_WIDE: usize = 20;
const WIDE_BELOW: f64 = 20.0;

/// Positive nodes and weights of the Gauss-Legendre rule with 16 points on [-1, 1].
const RULE: [(f64, f64); 8] = [
    (0.095_012_509_837_637_44, 0.189_450_610_455_068_5),
    (0.281_603_550_779_258_9, 0.182_603_415_044_923_6),
    (0.458_016_777_657_227_4, 0.169_156_519_395_002_5),
    (0.617_876_244_402_643_7, 0.149_595_988_816_576_7),
    (0.755_404_408_355_003, 0.124_628_971_255_533_9),
    (0.865_631_202_387_831_7, 0.095_158_511_682_492_78),
    (0.944_575_023_073_232_6, 0.062_253_523_938_647_89),
    (0.989_400_934_991_649_9, 0.027_152_459_411_754_1),
];

/// Steps of the table of W. Cubic interpolation between them is accurate to 1e-8.
const STEPS: usize = 512;

/// The standard normal distribution function.
fn normal(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// The distribution for a number of means and the degrees of freedom of their common variance.
#[derive(Debug, Clone)]
pub(crate) struct StudentizedRange {
    freedom: f64,
    /// W at equal steps from 0 to twice [`FARTHEST`], one step more at each end.
    range: Arc<[f64]>,
}

/// Tables of W by count. Only they take milliseconds to compute, and they are the same for every ranking with that number of
/// services.
static TABLES: Mutex<BTreeMap<i32, Arc<[f64]>>> = Mutex::new(BTreeMap::new());

impl StudentizedRange {
    /// `count` must be at least 2 and `freedom` at least 1.
    pub(crate) fn new(count: usize, freedom: f64) -> Self {
        debug_assert!(
            count >= 2 && freedom >= 1.0,
            "invariant: two means, one degree of freedom"
        );
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        let at = |step: usize| range(count, (step as f64 - 1.0) * STEP);
        let table = || (0..STEPS + 3).map(at).collect();
        let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
        let range = Arc::clone(tables.entry(count).or_insert_with(table));
        Self { freedom, range }
    }

    /// The share of ranges up to `q`.
    pub(crate) fn share_up_to(&self, q: f64) -> f64 {
        if q <= 0.0 {
            return 0.0;
        }
        if q.is_infinite() {
            return 1.0;
        }
        if self.freedom >= PRACTICALLY_INFINITE {
            return self.range_up_to(q);
        }
        let log_density = |log_s: f64| self.freedom * (log_s - 0.5 * (2.0 * log_s).exp());
        let peak = log_density(0.0);
        let norm = LN_2 + 0.5 * self.freedom * (0.5 * self.freedom).ln() - ln_gamma(0.5 * self.freedom);
        let reaches = |log_s: f64| log_density(log_s) - peak > NEGLIGIBLE;
        let (low, high) = (last_reached(-1.0, reaches), last_reached(1.0, reaches));
        let pieces = if self.freedom < WIDE_BELOW {
            OUTER_PIECES_WIDE
        } else {
            OUTER_PIECES
        };
        let integral = integrate(low, high, pieces, |log_s| {
            (norm + log_density(log_s)).exp() * self.range_up_to(q * log_s.exp())
        });
        integral.clamp(0.0, 1.0)
    }

    /// The share of ranges beyond `q`: the p-value.
    pub(crate) fn beyond(&self, q: f64) -> f64 {
        1.0 - self.share_up_to(q)
    }

    /// The value that a `share` of ranges does not exceed.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut high = 4.0;
        while self.share_up_to(high) < share {
            high *= 2.0;
        }
        let mut low = 0.0;
        while high - low > 1e-9 * high {
            let middle = 0.5 * (low + high);
            if self.share_up_to(middle) < share {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }

    /// W by Lagrange's cubic through four steps of the table.
    fn range_up_to(&self, width: f64) -> f64 {
        let place = width / STEP;
        let step = place as usize;
        if step >= STEPS {
            return 1.0;
        }
        let t = place - step as f64;
        let [before, left, right, after] = [0, 1, 2, 3].map(|next| self.range[step + next]);
        let near = (t + 1.0) * (2.0 - t) * (left * (1.0 - t) + right * t) / 2.0;
        let far = t * (t - 1.0) * (before * (2.0 - t) + after * (t + 1.0)) / 6.0;
        near + far
    }
}

/// The distribution of the range of `count` standard normal values.
fn range(count: i32, width: f64) -> f64 {
    if width < 0.0 {
        // Not a probability, but the smooth continuation that the cubic needs at 0.
        return if count % 2 == 0 {
            -range(count, -width)
        } else {
            range(count, -width)
        };
    }
    let half = 0.5 * width;
    if half >= FARTHEST {
        return 1.0;
    }
    let centre = (2.0 * normal(half) - 1.0).powi(count);
    let side = integrate(half, FARTHEST, INNER_PIECES, |z| {
        let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
        density * (normal(z) - normal(z - width)).powi(count - 1)
    });
    (centre + 2.0 * f64::from(count) * side).min(1.0)
}

/// Approximately the farthest point from 0 in the direction of `sign` for which `reaches` is true.
fn last_reached(sign: f64, reaches: impl Fn(f64) -> bool) -> f64 {
    let (mut inside, mut outside) = (0.0, sign);
    while reaches(outside) {
        inside = outside;
        outside *= 2.0;
    }
    for _ in 0..20 {
        let middle = 0.5 * (inside + outside);
        if reaches(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    outside
}

fn integrate(low: f64, high: f64, pieces: usize, of: impl Fn(f64) -> f64) -> f64 {
    let half = 0.5 * (high - low) / pieces as f64;
    let mut sum = 0.0;
    for piece in 0..pieces {
        let middle = low + half * (2 * piece + 1) as f64;
        for (node, weight) in RULE {
            sum += weight * (of(middle - half * node) + of(middle + half * node));
        }
    }
    half * sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::student_two_sided;

    /// Upper percentage points as printed in tables (Harter 1960), with a third decimal where the tables have two.
    const PUBLISHED: [(f64, usize, f64, f64); 18] = [
        (0.95, 2, 2.0, 6.085),
        (0.95, 2, 5.0, 3.635),
        (0.95, 3, 2.0, 8.331),
        (0.95, 3, 10.0, 3.877),
        (0.95, 5, 10.0, 4.654),
        (0.95, 10, 20.0, 5.008),
        (0.95, 20, 10.0, 6.467),
        (0.95, 20, 60.0, 5.241),
        (0.95, 5, 1e9, 3.858),
        (0.95, 20, 1e9, 5.012),
        (0.95, 100, 1.0, 79.976),
        (0.99, 2, 2.0, 14.036),
        (0.99, 3, 10.0, 5.270),
        (0.99, 5, 20.0, 5.293),
        (0.99, 20, 5.0, 11.932),
        (0.999, 3, 10.0, 7.411),
        (0.999, 10, 20.0, 7.576),
        (0.999, 10, 1e9, 5.973),
    ];

    #[test]
    fn agrees_with_published_tables() {
        for (share, count, freedom, expected) in PUBLISHED {
            let found = StudentizedRange::new(count, freedom).quantile(share);
            assert!(
                (found - expected).abs() < 6e-4,
                "{share} {count} {freedom}: {found}, not {expected}"
            );
        }
    }

    #[test]
    fn of_two_means_it_is_student() {
        for freedom in [1.0, 2.0, 4.0, 9.0, 100.0, 5000.0] {
            for confidence in [0.8, 0.95, 0.99, 0.999] {
                let expected = student_two_sided(confidence, freedom) * 2f64.sqrt();
                let found = StudentizedRange::new(2, freedom).share_up_to(expected);
                assert!(
                    (found - confidence).abs() < 1e-8,
                    "{freedom} {confidence}: {found}"
                );
            }
        }
    }

    #[test]
    fn grows_from_zero_to_one() {
        let range = StudentizedRange::new(60, 3.0);
        let shares: Vec<f64> = (0..200).map(|step| range.share_up_to(f64::from(step))).collect();
        assert!(shares[0] < f64::MIN_POSITIVE);
        assert!(shares.windows(2).all(|pair| pair[0] <= pair[1] + 1e-12));
        assert!(range.share_up_to(f64::INFINITY) >= 1.0);
    }
}
