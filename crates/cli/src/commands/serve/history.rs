//! One service over all runs.

use super::State as Shared;
use super::api::{Failure, blocking};
use crate::reporting;
use axum::Json;
use axum::extract::{Query, State};
use prony_records::{ServiceId, TrialRecord};
use prony_report::describe_load;
use prony_statistics::{Estimate, Metric, Quantity, ServiceSummary, change_points};
use prony_store::Store;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The metrics in a history.
const FOLLOWED: [Metric; 9] = [
    Metric::GoodputPerS,
    Metric::ResponseTimeNsP99,
    Metric::CpuNsPerRequest,
    Metric::MemoryBytesPeak,
    Metric::ThroughputPerS,
    Metric::ResponseTimeNsP50,
    Metric::ResponseTimeNsP95,
    Metric::ResponseTimeNsP99_9,
    Metric::StartMs,
];

/// Confidence at which a level counts as changed.
const CONFIDENCE: f64 = 0.99;

/// The service whose history is requested.
#[derive(Debug, Deserialize)]
pub(super) struct HistoryQuery {
    service: String,
    variant: String,
    contract: String,
}

/// A service under one workload and load, run by run.
#[derive(Debug, Serialize)]
pub(super) struct HistorySeries {
    workload: String,
    load_text: String,
    /// Oldest first.
    runs: Vec<RunPoint>,
    /// Where the level of a metric changed.
    changes: Vec<ChangeMarker>,
}

/// A run from which on the level of a metric is different.
#[derive(Debug, Serialize)]
struct ChangeMarker {
    metric: &'static str,
    run: String,
    /// The level after the change over the level before.
    ratio: Estimate,
}

/// The results of one run.
#[derive(Debug, Serialize)]
struct RunPoint {
    run: String,
    started_at: String,
    trials: u32,
    excluded: Option<String>,
    #[serde(flatten)]
    metrics: BTreeMap<&'static str, Option<Quantity>>,
}

pub(super) async fn history(
    State(state): State<Arc<Shared>>,
    Query(query): Query<HistoryQuery>,
) -> Result<Json<Vec<HistorySeries>>, Failure> {
    let all_series = blocking(&state, move |store, _| {
        let service = ServiceId {
            service: query.service,
            variant: query.variant,
        };
        all_series(store, &service, &query.contract)
    });
    Ok(Json(all_series.await?))
}

fn all_series(store: &Store, service: &ServiceId, contract: &str) -> anyhow::Result<Vec<HistorySeries>> {
    let mut by_run: Vec<(String, Vec<TrialRecord>)> = Vec::new();
    for stored in store.history(service, contract)? {
        match by_run.iter_mut().find(|(run, _)| *run == stored.run) {
            Some((_, trials)) => trials.push(stored.trial),
            None => by_run.push((stored.run, vec![stored.trial])),
        }
    }
    let mut all_series: Vec<HistorySeries> = Vec::new();
    for (run, trials) in &by_run {
        let record = store.run(run)?;
        for group in reporting::summary(&record, trials)?.groups {
            let load_text = describe_load(&group.load, group.is_of_sequences());
            let Some(row) = group.services.first() else {
                continue;
            };
            let run_point = run_point(run, &record.started_at, row);
            let same = |series: &&mut HistorySeries| {
                series.workload == group.workload && series.load_text == load_text
            };
            match all_series.iter_mut().find(same) {
                Some(series) => series.runs.push(run_point),
                None => all_series.push(HistorySeries {
                    workload: group.workload,
                    load_text,
                    runs: vec![run_point],
                    changes: Vec::new(),
                }),
            }
        }
    }
    for series in &mut all_series {
        series
            .runs
            .sort_by(|left, right| left.started_at.cmp(&right.started_at));
        series.changes = changes(&series.runs)?;
    }
    Ok(all_series)
}

fn changes(runs: &[RunPoint]) -> anyhow::Result<Vec<ChangeMarker>> {
    let mut found = Vec::new();
    for metric in FOLLOWED {
        let known: Vec<(&RunPoint, f64)> = runs
            .iter()
            .filter_map(|run_point| {
                Some((
                    run_point,
                    run_point.metrics[metric.key()].as_ref()?.estimate()?.point,
                ))
            })
            .filter(|(_, value)| *value > 0.0)
            .collect();
        let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
        found.extend(
            change_points(&values, CONFIDENCE)?
                .into_iter()
                .map(|change| ChangeMarker {
                    metric: metric.key(),
                    run: known[change.index].0.run.clone(),
                    ratio: change.ratio,
                }),
        );
    }
    Ok(found)
}

fn run_point(run: &str, started_at: &str, row: &ServiceSummary) -> RunPoint {
    let metric = |metric: &Metric| (metric.key(), row.metrics.get(*metric).cloned());
    RunPoint {
        run: run.to_owned(),
        started_at: started_at.to_owned(),
        trials: row.trials,
        excluded: row.excluded.as_ref().map(|excluded| excluded.reason.clone()),
        metrics: FOLLOWED.iter().map(metric).collect(),
    }
}
