//! The mean of each service with its interval.

use super::moderated::of_trials;
use super::{Cells, Table, values};
use crate::Estimate;
use crate::interval::mean::{around, mean};

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
