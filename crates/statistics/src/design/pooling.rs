//! Which services share a variance, and what their means are then.

use super::{Additive, Cells, Table, brown_forsythe, larger_than_the_rest, values};
use crate::Estimate;
use crate::interval::mean;

/// Variances are pooled unless a test says with this p-value that they differ. Far above the usual 5 %, since pooling
/// variances that differ costs truth, and not pooling equal ones costs only width (Bancroft and Han 1983).
const POOLING_LEVEL: f64 = 0.25;
/// A service whose own variance is larger than that of the others with this p-value keeps its own. It stays in the pool of
/// the others all the same: leaving out what looks large would make the pool too small.
const APART_LEVEL: f64 = 0.05;

/// The services' estimates on the log scale and their degrees of freedom, with the variance pooled over those whose
/// variances agree; `None` for the others.
pub(crate) fn pooled_means(logs: &Table, confidence: f64) -> Vec<Option<(Estimate, f64)>> {
    let mut found = vec![None; logs.len()];
    let usable: Vec<usize> = (0..logs.len()).filter(|&index| !logs[index].is_empty()).collect();
    let samples: Vec<Vec<f64>> = usable.iter().map(|&index| values(&logs[index])).collect();
    if brown_forsythe(&samples).is_none_or(|p_value| p_value <= POOLING_LEVEL) {
        return found;
    }
    let rows: Table = usable.iter().map(|&index| logs[index].clone()).collect();
    let Some(model) = Cells::new(&rows).fit() else {
        return found;
    };
    let larger = larger_than_the_rest(&samples);
    for (place, (&index, larger)) in usable.iter().zip(larger).enumerate() {
        if larger > APART_LEVEL {
            let (error, freedom) = model.mean_error(place);
            found[index] = Some((
                mean::around(model.means[place], error, freedom, confidence),
                freedom,
            ));
        }
    }
    found
}

/// Whether the residuals of all services can have one variance: neither a test of all nor one of the loudest objects.
pub(crate) fn one_variance(model: &Additive) -> bool {
    let loudest = larger_than_the_rest(&model.residuals)
        .into_iter()
        .fold(1.0, f64::min);
    let services = model.residuals.len() as f64;
    let alike = brown_forsythe(&model.residuals).unwrap_or(1.0);
    services <= 2.0 || (alike > POOLING_LEVEL && loudest * services > POOLING_LEVEL)
}
