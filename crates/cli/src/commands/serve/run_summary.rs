//! The result of a run in one sentence.

use super::api::{Failure, blocking};
use super::{RunState, State as Shared};
use crate::reporting;
use axum::Json;
use axum::extract::{Path, State};
use prony_records::RunRecord;
use prony_store::Store;
use serde::Serialize;
use std::sync::{Arc, PoisonError};

/// The suite of stored duets.
const DUET: &str = "duet";

/// The result of a run.
#[derive(Debug, Clone, Serialize)]
pub(super) struct RunSummary {
    /// One sentence; `None` if no trial has ended.
    pub(super) answer: Option<String>,
    /// Number of further rankings of the run.
    pub(super) more: usize,
}

pub(super) async fn answer(
    State(state): State<Arc<Shared>>,
    Path(run): Path<String>,
) -> Result<Json<RunSummary>, Failure> {
    let summary = blocking(&state, move |store, state| cached_summary(store, state, &run));
    Ok(Json(summary.await?))
}

/// Keeps the results of ended runs until they grow: to compute one takes all of its trials.
pub(super) fn cached_summary(store: &Store, state: &Shared, wanted: &str) -> anyhow::Result<RunSummary> {
    let id = store.find_run(wanted)?;
    let cache = || state.answers.lock().unwrap_or_else(PoisonError::into_inner);
    let run = store.run(&id)?;
    let now = RunState::of(store, &id, run.ended_at.as_ref())?;
    if let Some((_, known)) = cache().get(&id).filter(|(then, _)| *then == now) {
        return Ok(known.clone());
    }
    let found = summarise(store, state, &run)?;
    if run.ended_at.is_some() {
        cache().insert(id, (now, found.clone()));
    }
    Ok(found)
}

fn summarise(store: &Store, state: &Shared, run: &RunRecord) -> anyhow::Result<RunSummary> {
    // The result of a duet, which loads two services at once, is in the record of the run.
    if run.suite == DUET && run.ended_at.is_some() {
        let answer = run.warnings.last().map(|said| said.text.clone());
        return Ok(RunSummary { answer, more: 0 });
    }
    let report = reporting::report(store, &run.id, &state.context)?;
    let first = report.groups.first();
    Ok(RunSummary {
        answer: first.map(|group| group.finding.clone()),
        more: report.groups.len().saturating_sub(1),
    })
}
