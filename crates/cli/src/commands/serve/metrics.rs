//! Metrics of the store for Prometheus: the newest run of each suite, saved loads by their names, and runs in progress.

use super::api::{Failure, blocking};
use super::{RunState, State as Shared};
use crate::http_server::exposition as reply;
use crate::reporting;
use axum::extract::State;
use axum::response::IntoResponse;
use prony_records::SAVED_LOADS;
use prony_report::{Report, RunProgress, exposition, progress};
use prony_store::{RunEntry, Store};
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

pub(super) async fn metrics(State(state): State<Arc<Shared>>) -> Result<impl IntoResponse, Failure> {
    let text = blocking(&state, text).await?;
    Ok(reply(text))
}

fn text(store: &Store, state: &Shared) -> anyhow::Result<String> {
    let (unended, ended): (Vec<_>, Vec<_>) =
        store.runs()?.into_iter().partition(|run| run.ended_at.is_none());
    let newest = newest_of_each(ended);
    let mut text = exposition(reports(store, state, &newest)?.iter().map(AsRef::as_ref));
    text += &progress(&going_on(store, &unended)?);
    Ok(text)
}

/// The newest run of each suite that has results, and each name of saved loads. `runs` is sorted from the newest to the oldest.
fn newest_of_each(runs: Vec<RunEntry>) -> Vec<RunEntry> {
    let mut suites = BTreeSet::new();
    let has_numbers = |run: &RunEntry| run.trials > run.excluded_trials;
    let mut newest: Vec<RunEntry> = runs.into_iter().filter(has_numbers).collect();
    newest.retain(|run| run.suite == SAVED_LOADS || suites.insert(run.suite.clone()));
    newest
}

/// The reports of ended runs. Each is computed once, and kept until it grows or a newer run of its suite replaces it.
fn reports(store: &Store, state: &Shared, runs: &[RunEntry]) -> anyhow::Result<Vec<Arc<Report>>> {
    let kept = || state.newest.lock().unwrap_or_else(PoisonError::into_inner);
    let mut reports = Vec::new();
    for run in runs {
        let now = RunState::of(store, &run.id, run.ended_at.as_ref())?;
        let known = kept().get(&run.id).filter(|(then, _)| *then == now).cloned();
        reports.push(match known {
            Some(known) => known,
            None => (now, Arc::new(reporting::report(store, &run.id, &state.context)?)),
        });
    }
    *kept() = reports
        .iter()
        .map(|known| (known.1.run.clone(), known.clone()))
        .collect();
    Ok(reports.into_iter().map(|(_, report)| report).collect())
}

/// The progress of each run that is still active.
fn going_on(store: &Store, runs: &[RunEntry]) -> anyhow::Result<Vec<RunProgress>> {
    let mut found = Vec::new();
    for run in runs {
        if reporting::is_running(store, &store.run(&run.id)?)? {
            found.push(RunProgress {
                suite: run.suite.clone(),
                run: run.id.clone(),
                trials: run.trials,
                planned: run.planned_trials,
            });
        }
    }
    Ok(found)
}
