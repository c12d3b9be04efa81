//! A variance for each service that borrows from the others: what few trials cannot say alone.

use super::Additive;
use crate::distribution::{digamma, trigamma, trigamma_inverse};

/// A variance of nothing at all is a coincidence of few trials: none is taken for smaller than this share of the mean one
/// while the spread of the variances is estimated.
const LEAST_SHARE: f64 = 1e-5;

/// The variance of a trial of each service, and its degrees of freedom.
pub(crate) struct Variances {
    pub(crate) values: Vec<f64>,
    pub(crate) freedom: f64,
}

/// How the variances of services lie around a common one: d₀ degrees of freedom of s₀² (d₀ infinite: they do not differ).
struct Prior {
    freedom: f64,
    variance: f64,
}

/// Empirical Bayes (Smyth 2004): s̃² = (d₀s₀² + d·s²)/(d₀ + d) with d₀ + d degrees of freedom, d₀ and s₀² from the spread of
/// the services' own residual variances. A service whose own variance is the larger one keeps it: a single loud one among
/// quiet ones is not what that model has in mind (Phipson and others 2016).
pub(crate) fn moderated(model: &Additive) -> Variances {
    let cells: usize = model.residuals.iter().map(Vec::len).sum();
    // Of each cell's degree of freedom the fit of services and rounds has used up the same share.
    let share = model.rest_freedom / cells as f64;
    let own: Vec<(f64, f64)> = model
        .residuals
        .iter()
        .map(|residuals| {
            let squares: f64 = residuals.iter().map(|value| value * value).sum();
            let count = residuals.len() as f64;
            (
                squares / (count * share).max(f64::MIN_POSITIVE),
                (count - 1.0).max(0.0),
            )
        })
        .collect();
    let prior = prior(&own, model.rest_variance);
    let moderate = |&(variance, freedom): &(f64, f64)| {
        let borrowed = if prior.freedom.is_finite() {
            (prior.freedom * prior.variance + freedom * variance) / (prior.freedom + freedom)
        } else {
            model.rest_variance
        };
        borrowed.max(variance)
    };
    let least = own
        .iter()
        .map(|&(_, freedom)| freedom)
        .fold(f64::INFINITY, f64::min);
    Variances {
        values: own.iter().map(moderate).collect(),
        freedom: (prior.freedom + least).min(model.rest_freedom),
    }
}

/// By the moments of ln s², whose mean is ln s₀² + ψ(d/2) − ln(d/2) − ψ(d₀/2) + ln(d₀/2) and whose variance is
/// ψ′(d/2) + ψ′(d₀/2).
fn prior(own: &[(f64, f64)], mean_variance: f64) -> Prior {
    let none = Prior {
        freedom: f64::INFINITY,
        variance: mean_variance,
    };
    let known: Vec<(f64, f64)> = own
        .iter()
        .copied()
        .filter(|&(_, freedom)| freedom > 0.0)
        .collect();
    if known.len() < 2 || mean_variance <= 0.0 {
        return none;
    }
    let count = known.len() as f64;
    let centred: Vec<f64> = known
        .iter()
        .map(|&(variance, freedom)| {
            let half = freedom / 2.0;
            variance.max(LEAST_SHARE * mean_variance).ln() - digamma(half) + half.ln()
        })
        .collect();
    let level = centred.iter().sum::<f64>() / count;
    let spread = centred.iter().map(|value| (value - level).powi(2)).sum::<f64>() / (count - 1.0);
    let by_chance = known
        .iter()
        .map(|&(_, freedom)| trigamma(freedom / 2.0))
        .sum::<f64>()
        / count;
    if spread <= by_chance {
        return none;
    }
    let half = trigamma_inverse(spread - by_chance);
    Prior {
        freedom: 2.0 * half,
        variance: (level + digamma(half) - half.ln()).exp(),
    }
}
