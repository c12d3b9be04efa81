//! The metrics of the services of a group.

use super::Options;
use super::sample::ServiceSample;
use crate::interval::student;
use crate::{Estimated, Method, Metric, Quantity, StatisticsError, TooFewTrials};

/// The values of one metric, service by service, each with its round.
pub(super) type Table = Vec<Vec<(u32, f64)>>;

/// What the trials gave of a metric; trials that cannot tell are left out.
pub(super) fn table(metric: Metric, services: &[ServiceSample<'_>]) -> Result<Table, StatisticsError> {
    let rows = services.iter().map(|service| {
        let values = service
            .measured
            .iter()
            .filter_map(|&(round, measured)| metric.of(measured).map(|value| (round, value)));
        values
            .map(|(round, value)| finite(metric, service, round, value))
            .collect()
    });
    rows.collect()
}

fn finite(
    metric: Metric,
    service: &ServiceSample<'_>,
    round: u32,
    value: f64,
) -> Result<(u32, f64), StatisticsError> {
    if value.is_finite() && value >= 0.0 {
        return Ok((round, value));
    }
    Err(StatisticsError::NotFinite {
        what: format!("{} of {} in round {round}", metric.key(), service.id),
        value,
    })
}

/// The metric of each service; `None` where no trial tells.
pub(super) fn quantities(table: &Table, options: &Options) -> Vec<Option<Quantity>> {
    table
        .iter()
        .map(|row| {
            let values: Vec<f64> = row.iter().map(|&(_, value)| value).collect();
            match values.len() {
                0 => None,
                1 => Some(Quantity::TooFewTrials(TooFewTrials {
                    observed: values,
                    trials_needed: 2,
                })),
                _ => Some(alone(&values, options)),
            }
        })
        .collect()
}

/// Student's t on one service's own values, on the log scale where it exists.
fn alone(values: &[f64], options: &Options) -> Quantity {
    let positive = values.iter().all(|&value| value > 0.0);
    let scaled: Vec<f64> = if positive {
        values.iter().map(|value| value.ln()).collect()
    } else {
        values.to_vec()
    };
    let interval =
        student::mean_interval(&scaled, options.confidence).expect("invariant: two values or more");
    Quantity::Estimated(Box::new(Estimated {
        estimate: if positive {
            interval.map(f64::exp)
        } else {
            interval
        },
        trials: values.len() as u32,
        method: if positive {
            Method::PerService
        } else {
            Method::Linear
        },
        median: None,
        bootstrap: None,
        methods_disagree: false,
        jmh: None,
    }))
}
