//! One service over all runs.

use super::State as Shared;
use super::api::{Failure, blocking};
use crate::reporting;
use axum::Json;
use axum::extract::{Query, State};
use prony_records::{RunRecord, ServiceId, TrialRecord, load_id};
use prony_report::describe_load;
use prony_statistics::{
    Estimate, Metric, Quantity, RunConditions, ServiceSummary, change_points, mismatches,
};
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
    #[serde(flatten)]
    pub(super) service: ServiceId,
    pub(super) contract: String,
}

/// A service under one workload and load of a suite, run by run. Saved loads of another target are of another service.
#[derive(Debug, Serialize)]
pub(super) struct HistorySeries {
    suite: String,
    /// The URL of saved loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    workload: String,
    load_id: String,
    load_text: String,
    /// Oldest first.
    runs: Vec<RunPoint>,
    /// Where the level of a metric changed, among the runs with the circumstances of the newest one.
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
    /// Whether it was made in the circumstances of the newest run.
    alike: bool,
    /// How its circumstances differ from those of the newest run.
    differences: Vec<String>,
    #[serde(flatten)]
    metrics: BTreeMap<&'static str, Option<Quantity>>,
}

pub(super) async fn history(
    State(state): State<Arc<Shared>>,
    Query(query): Query<HistoryQuery>,
) -> Result<Json<Vec<HistorySeries>>, Failure> {
    let all_series = blocking(&state, move |store, _| {
        all_series(store, &query.service, &query.contract)
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
    let mut runs = Vec::new();
    for (run, trials) in by_run {
        runs.push((store.run(&run)?, trials));
    }
    runs.sort_by(|(left, _), (right, _)| left.started_at.cmp(&right.started_at));
    let mut all_series: Vec<(HistorySeries, Vec<RunConditions<'_>>)> = Vec::new();
    for (record, trials) in &runs {
        let target = reporting::target(record);
        for group in reporting::summary(record, trials)?.groups {
            let Some(row) = group.services.first() else {
                continue;
            };
            let load_id = load_id(&group.load);
            let same = |(series, _): &&mut (HistorySeries, _)| {
                let mine = (&series.suite, &series.target, &series.workload, &series.load_id);
                mine == (&record.suite, &target, &group.workload, &load_id)
            };
            let run_point = run_point(&record.id, &record.started_at, row);
            let conditions = conditions(record, trials, service);
            if let Some((series, of_runs)) = all_series.iter_mut().find(same) {
                series.runs.push(run_point);
                of_runs.push(conditions);
                continue;
            }
            let series = HistorySeries {
                suite: record.suite.clone(),
                target: target.clone(),
                load_text: describe_load(&group.load, group.is_of_sequences()),
                workload: group.workload,
                load_id,
                runs: vec![run_point],
                changes: Vec::new(),
            };
            all_series.push((series, vec![conditions]));
        }
    }
    let finished = all_series.into_iter().map(|(mut series, conditions)| {
        let newest = conditions.last().expect("invariant: a series has a run");
        for (run, conditions) in series.runs.iter_mut().zip(&conditions) {
            let differences = mismatches(conditions, newest);
            run.alike = differences.is_empty();
            run.differences = differences.iter().map(ToString::to_string).collect();
        }
        series.changes = changes(&series.runs)?;
        Ok(series)
    });
    finished.collect()
}

/// The conditions of the trials of a service: what the other services of a run depend on does not matter.
fn conditions<'a>(record: &'a RunRecord, trials: &[TrialRecord], service: &ServiceId) -> RunConditions<'a> {
    let mut conditions = reporting::conditions(record, trials);
    let id = service.to_string();
    conditions.fingerprints.retain(|name, _| *name == id);
    conditions
}

fn changes(runs: &[RunPoint]) -> anyhow::Result<Vec<ChangeMarker>> {
    let mut found = Vec::new();
    for metric in FOLLOWED {
        let known: Vec<(&RunPoint, f64)> = runs
            .iter()
            .filter(|run_point| run_point.alike)
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
        alike: true,
        differences: Vec::new(),
        metrics: FOLLOWED.iter().map(metric).collect(),
    }
}
