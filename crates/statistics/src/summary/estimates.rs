//! Estimates the metrics of the services of a group.

use super::Options;
use super::interleaved;
use super::sample::ServiceSample;
use crate::design::{self, Table, means, values};
use crate::interval;
use crate::{
    Better, Estimate, Method, MethodEstimate, Metric, NoBound, Quantity, Score, StatisticsError, TooFewTrials,
};
use prony_records::Measurement;

/// Confidence of the score and error in the form that JMH prints.
const JMH_CONFIDENCE: f64 = 0.999;

/// The values of a metric, by service and round; trials without the metric are left out. If the services were interleaved, the
/// values come from their windows.
pub(crate) fn table(metric: Metric, services: &[ServiceSample<'_>]) -> Result<Table, StatisticsError> {
    if let Some(table) = interleaved::table(metric, services) {
        return Ok(table);
    }
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
    // A response time may have no bound.
    if metric.is_difference() && value.is_finite() {
        return Ok((round, value));
    }
    if value >= 0.0 && (value.is_finite() || metric.may_have_no_bound()) {
        return Ok((round, value));
    }
    Err(StatisticsError::NotFinite {
        what: format!("{} of {} in round {round}", metric.key(), service.id),
        value,
    })
}

/// Logarithms of the rows with two values or more, all above zero and bounded; other rows become empty.
pub(crate) fn logarithms(table: &Table) -> Table {
    let is_time = |value: f64| value > 0.0 && value.is_finite();
    let usable = |row: &Vec<(u32, f64)>| row.len() >= 2 && row.iter().all(|&(_, value)| is_time(value));
    let logs = |row: &Vec<(u32, f64)>| row.iter().map(|&(round, value)| (round, value.ln())).collect();
    let rows = table
        .iter()
        .map(|row| if usable(row) { logs(row) } else { Vec::new() });
    rows.collect()
}

/// For each service the value that a further trial stays above with this confidence.
pub(crate) fn prediction_bounds(table: &Table, confidence: f64) -> Vec<Option<f64>> {
    let bounds = design::prediction_bounds(&logarithms(table), confidence).into_iter();
    bounds.map(|bound| bound.map(f64::exp)).collect()
}

/// The relative resolution of a metric of each service. A rate comes from counting replies: its interval is at least one reply wide,
/// because equal counts in a few trials are a coincidence.
pub(crate) fn resolutions(metric: Metric, services: &[ServiceSample<'_>]) -> Vec<f64> {
    let counted = metric.unit() == "1/s" && metric.better() == Better::Higher;
    let replies = |measured: &Measurement| {
        let count = metric.of(measured)? * measured.recording.duration_s;
        (counted && count > 0.0).then_some(count)
    };
    let fewest = |service: &ServiceSample<'_>| {
        let counts = service
            .measured
            .iter()
            .filter_map(|(_, measured)| replies(measured));
        counts.min_by(f64::total_cmp).map_or(0.0, f64::recip)
    };
    services.iter().map(fewest).collect()
}

/// The metric of each service; `None` if no trial has it. No interval is narrower than the resolution of the metric.
pub(crate) fn quantities(
    metric: Metric,
    table: &Table,
    resolutions: &[f64],
    options: &Options,
) -> Vec<Option<Quantity>> {
    let means = means(&logarithms(table), options.confidence);
    let rows = table.iter().zip(means).zip(resolutions);
    rows.map(|((row, on_logs), &resolution)| {
        let on_logs = on_logs.filter(|_| !metric.is_difference());
        let raw = values(row);
        let without_bound = raw.iter().filter(|value| value.is_infinite()).count() as u32;
        match raw.len() {
            0 => None,
            trials if without_bound > 0 => Some(Quantity::NoBound(NoBound {
                without_bound,
                trials: trials as u32,
            })),
            1 => Some(Quantity::TooFewTrials(TooFewTrials {
                observed: raw,
                trials_needed: 2,
            })),
            _ => Some(estimated(&raw, on_logs, resolution, options.confidence)),
        }
    })
    .collect()
}

/// A service's estimate, on the log scale, or on the linear scale if some value is zero.
fn estimated(raw: &[f64], on_logs: Option<(Estimate, f64)>, resolution: f64, confidence: f64) -> Quantity {
    let (method, estimate, degrees_of_freedom) = if let Some((estimate, freedom)) = on_logs {
        (Method::Moderated, estimate.map(f64::exp), freedom)
    } else {
        let estimate = interval::mean_interval(raw, confidence).expect("invariant: two values or more");
        (Method::Linear, estimate, raw.len() as f64 - 1.0)
    };
    Quantity::Estimated(Box::new(MethodEstimate {
        estimate: estimate.at_least(resolution),
        trials: raw.len() as u32,
        method,
        degrees_of_freedom,
        jmh: score(raw, resolution),
    }))
}

fn score(raw: &[f64], resolution: f64) -> Option<Score> {
    let interval = interval::mean_interval(raw, JMH_CONFIDENCE)?;
    Some(Score {
        score: interval.point,
        error: (interval.high - interval.point).max(interval.point * resolution),
        confidence: JMH_CONFIDENCE,
    })
}
