//! The metrics of the services of a group.

use super::Options;
use super::sample::ServiceSample;
use crate::design::{Table, pooled_means, values};
use crate::interval::{bootstrap, mean, median};
use crate::{Estimate, Estimated, Method, Metric, Quantity, Score, StatisticsError, TooFewTrials};

/// Confidence of the score and error that JMH prints.
const JMH_CONFIDENCE: f64 = 0.999;

/// What the trials gave of a metric; trials that cannot tell are left out.
pub(crate) fn table(metric: Metric, services: &[ServiceSample<'_>]) -> Result<Table, StatisticsError> {
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

/// Logarithms of the rows that have them: two values or more, all above zero; others are left empty.
pub(crate) fn logarithms(table: &Table) -> Table {
    let usable = |row: &Vec<(u32, f64)>| row.len() >= 2 && row.iter().all(|&(_, value)| value > 0.0);
    let logs = |row: &Vec<(u32, f64)>| row.iter().map(|&(round, value)| (round, value.ln())).collect();
    let rows = table
        .iter()
        .map(|row| if usable(row) { logs(row) } else { Vec::new() });
    rows.collect()
}

/// The metric of each service; `None` where no trial tells.
pub(crate) fn quantities(table: &Table, options: &Options) -> Vec<Option<Quantity>> {
    let logs = logarithms(table);
    let pooled = pooled_means(&logs, options.confidence);
    let rows = table.iter().zip(&logs).zip(pooled).enumerate();
    rows.map(|(index, ((row, logs), pooled))| {
        let raw = values(row);
        match raw.len() {
            0 => None,
            1 => Some(Quantity::TooFewTrials(TooFewTrials {
                observed: raw,
                trials_needed: 2,
            })),
            _ => Some(estimated(&raw, &values(logs), pooled, options, index as u64)),
        }
    })
    .collect()
}

/// A service's estimate and its companions; on the log scale where it exists.
fn estimated(
    raw: &[f64],
    logs: &[f64],
    pooled: Option<(Estimate, f64)>,
    options: &Options,
    index: u64,
) -> Quantity {
    let confidence = options.confidence;
    let linear = logs.is_empty();
    let scaled = if linear { raw } else { logs };
    let own = mean::skewed_interval(scaled, confidence).expect("invariant: two values or more");
    let bootstrap = bootstrap::mean_interval(scaled, confidence, options.seed.wrapping_add(index));
    let median = median::median_interval(scaled, confidence);
    let (estimate, degrees_of_freedom) = pooled.unwrap_or((own, raw.len() as f64 - 1.0));
    let companions = [bootstrap, median];
    let back = |estimate: Estimate| if linear { estimate } else { estimate.map(f64::exp) };
    Quantity::Estimated(Box::new(Estimated {
        estimate: back(estimate),
        trials: raw.len() as u32,
        method: match (linear, pooled.is_some()) {
            (true, _) => Method::Linear,
            (false, true) => Method::Pooled,
            (false, false) => Method::PerService,
        },
        degrees_of_freedom,
        median: median.map(back),
        bootstrap: bootstrap.map(back),
        methods_disagree: companions
            .iter()
            .flatten()
            .any(|other| contradict(&estimate, other)),
        jmh: score(raw),
    }))
}

/// Whether a companion contradicts: it does not hold the point, or reaches beyond the interval on one side by more than
/// the interval is wide.
fn contradict(estimate: &Estimate, other: &Estimate) -> bool {
    let width = estimate.high - estimate.low;
    !other.contains(estimate.point) || estimate.low - other.low > width || other.high - estimate.high > width
}

fn score(raw: &[f64]) -> Option<Score> {
    let interval = mean::mean_interval(raw, JMH_CONFIDENCE)?;
    Some(Score {
        score: interval.point,
        error: interval.high - interval.point,
        confidence: JMH_CONFIDENCE,
    })
}
