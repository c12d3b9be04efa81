//! A variance for each service that borrows strength from the other services, since a few trials alone determine it poorly.

use super::{Additive, Cells, Table, values};
use crate::Estimate;
use crate::distribution::{digamma, trigamma, trigamma_inverse};
use crate::interval::{around, mean, squares};

/// Floor for the variances, as a share of their mean, while their spread is estimated: a variance of zero is a coincidence of few
/// trials.
const LEAST_SHARE: f64 = 1e-5;
/// Maximum number of degrees of freedom that a service borrows. Few trials cannot show whether all services vary equally; if they
/// do not, borrowing more makes the intervals of noisy services too narrow. Chosen by simulation: `research/method-notes.md`.
const MOST_BORROWED: f64 = 2.0;

/// The variance of one trial and its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Variance {
    pub(crate) value: f64,
    pub(crate) freedom: f64,
}

/// The distribution of the variances of services around a common one: d₀ degrees of freedom of s₀². Infinite d₀ means that they
/// do not differ.
struct Prior {
    freedom: f64,
    variance: f64,
}

/// The raw variance of a service's trials, rounds included: for the intervals of single services. `None` for a service with fewer
/// than two trials.
///
/// Another service of the same rounds adds no information about the variation that all services share. So only the part of the
/// borrowed degrees of freedom that rounds do not explain counts.
pub(crate) fn of_trials(table: &Table, rounds_share: f64) -> Vec<Option<Variance>> {
    let usable = |row: &&Vec<(u32, f64)>| row.len() >= 2;
    let own: Vec<Variance> = table
        .iter()
        .filter(usable)
        .map(|row| {
            let freedom = row.len() as f64 - 1.0;
            Variance {
                value: squares(&values(row)) / freedom,
                freedom,
            }
        })
        .collect();
    let mean_variance = if own.is_empty() {
        0.0
    } else {
        mean(&own.iter().map(|own| own.value).collect::<Vec<_>>())
    };
    let mut moderated = moderate(&own, mean_variance, 1.0 - rounds_share).into_iter();
    table
        .iter()
        .map(|row| (row.len() >= 2).then(|| moderated.next()).flatten())
        .collect()
}

/// The variance of a service's trials around their rounds: for comparisons within rounds.
pub(crate) fn of_residuals(model: &Additive) -> Vec<Variance> {
    let cells: usize = model.residuals.iter().map(Vec::len).sum();
    // The fit of services and rounds uses up the same share of every cell's degree of freedom.
    let share = model.rest_freedom / cells as f64;
    let own: Vec<Variance> = model
        .residuals
        .iter()
        .map(|residuals| {
            let squares: f64 = residuals.iter().map(|value| value * value).sum();
            let count = residuals.len() as f64;
            Variance {
                value: squares / (count * share).max(f64::MIN_POSITIVE),
                freedom: (count - 1.0).max(0.0),
            }
        })
        .collect();
    moderate(&own, model.rest_variance, 1.0)
}

/// Empirical Bayes (Smyth 2004): s̃² = (d₀s₀² + d·s²)/(d₀ + d) with d₀ + d degrees of freedom, where d₀ and s₀² come from the
/// spread of the services' own variances. d₀ is capped at [`MOST_BORROWED`]. Only the share (k − 2)/k of it counts among k
/// services, because a service's own variance is part of the common one and a single noisy service among few dominates it. Of
/// that, only the share `lent` counts.
fn moderate(own: &[Variance], mean_variance: f64, lent: f64) -> Vec<Variance> {
    let count = own.len().max(1) as f64;
    let prior = prior(own, mean_variance);
    let borrowed = prior.freedom.min(MOST_BORROWED * (count - 2.0).max(0.0) / count) * lent;
    own.iter()
        .map(|own| {
            let freedom = borrowed + own.freedom;
            if freedom <= 0.0 {
                return Variance {
                    value: prior.variance,
                    freedom: 1.0,
                };
            }
            Variance {
                value: (borrowed * prior.variance + own.freedom * own.value) / freedom,
                freedom,
            }
        })
        .collect()
}

/// Estimates the prior from the moments of ln s², whose mean is ln s₀² + ψ(d/2) − ln(d/2) − ψ(d₀/2) + ln(d₀/2) and whose variance
/// is ψ′(d/2) + ψ′(d₀/2).
fn prior(own: &[Variance], mean_variance: f64) -> Prior {
    let none = Prior {
        freedom: f64::INFINITY,
        variance: mean_variance,
    };
    let known: Vec<&Variance> = own.iter().filter(|own| own.freedom > 0.0).collect();
    if known.len() < 2 || mean_variance <= 0.0 {
        return none;
    }
    let count = known.len() as f64;
    let centred: Vec<f64> = known
        .iter()
        .map(|own| {
            let half = own.freedom / 2.0;
            own.value.max(LEAST_SHARE * mean_variance).ln() - digamma(half) + half.ln()
        })
        .collect();
    let level = mean(&centred);
    let spread = squares(&centred) / (count - 1.0);
    let by_chance = known.iter().map(|own| trigamma(own.freedom / 2.0)).sum::<f64>() / count;
    if spread <= by_chance {
        return none;
    }
    let half = trigamma_inverse(spread - by_chance);
    Prior {
        freedom: 2.0 * half,
        variance: (level + digamma(half) - half.ln()).exp(),
    }
}

/// The mean of each service's own trials, with its moderated variance and the degrees of freedom; `None` for a service with fewer
/// than two trials. Rounds are treated as a random sample of the states of the machine.
pub(crate) fn means(table: &Table, confidence: f64) -> Vec<Option<(Estimate, f64)>> {
    let measured: Table = table.iter().filter(|row| !row.is_empty()).cloned().collect();
    let rounds_share = Cells::new(&measured)
        .fit()
        .map_or(0.0, |model| model.rounds_share());
    let variances = of_trials(table, rounds_share);
    table
        .iter()
        .zip(variances)
        .map(|(row, variance)| {
            let variance = variance?;
            let error = (variance.value / row.len() as f64).sqrt();
            let estimate = around(mean(&values(row)), error, variance.freedom, confidence);
            Some((estimate, variance.freedom))
        })
        .collect()
}

/// For each service the value that a further trial stays above with this confidence, on the log scale: m − t · s̃ · √(1 + 1/n), with the
/// one-sided quantile of Student's t. `None` for a service with fewer than two trials.
pub(crate) fn prediction_bounds(table: &Table, confidence: f64) -> Vec<Option<f64>> {
    let means = means(table, 2.0 * confidence - 1.0);
    // The interval of the mean reaches t · s̃/√n.
    let bound =
        |count: usize, mean: Estimate| mean.point - (mean.point - mean.low) * (count as f64 + 1.0).sqrt();
    let rows = table.iter().zip(means);
    rows.map(|(row, mean)| Some(bound(row.len(), mean?.0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(of: &[&[f64]]) -> Table {
        let row = |values: &&[f64]| (0u32..).zip(values.iter().copied()).collect();
        of.iter().map(row).collect()
    }

    #[test]
    fn a_service_alone_has_its_own() {
        let found = of_trials(&rows(&[&[1.0, 2.0, 3.0]]), 0.0);
        assert_eq!(
            found[0],
            Some(Variance {
                value: 1.0,
                freedom: 2.0
            })
        );
        assert_eq!(of_trials(&rows(&[&[1.0]]), 0.0), [None]);
    }

    #[test]
    fn the_loud_lends_to_the_quiet_and_keeps_most_of_its_own() {
        let quiet: &[f64] = &[1.0, 1.1, 0.9];
        let loud: &[f64] = &[1.0, 3.0, -1.0];
        let found = of_trials(&rows(&[quiet, quiet, quiet, loud]), 0.0);
        let value = |service: usize| found[service].expect("three trials").value;
        assert!(value(0) > 0.01 && value(0) < value(3), "{found:?}");
        assert!(value(3) > 0.5 * 4.0, "{found:?}");
        assert!(found[0].expect("three trials").freedom <= 2.0 + 1.5);
    }

    #[test]
    fn a_further_trial_stays_above_its_bound() {
        // One service: 2 − t(0.95, 2) · 1 · √(4/3).
        let found = prediction_bounds(&rows(&[&[1.0, 2.0, 3.0], &[1.0]]), 0.95);
        let bound = found[0].expect("three trials");
        assert!(
            (bound - (2.0 - 2.920 * (4.0_f64 / 3.0).sqrt())).abs() < 0.01,
            "{bound}"
        );
        assert_eq!(found[1], None);
    }

    #[test]
    fn nothing_is_borrowed_where_rounds_explain_all() {
        let found = of_trials(&rows(&[&[1.0, 2.0, 3.0], &[1.1, 2.1, 3.2]]), 1.0);
        assert!(
            found
                .iter()
                .flatten()
                .all(|variance| (variance.freedom - 2.0).abs() < 1e-12)
        );
    }
}
