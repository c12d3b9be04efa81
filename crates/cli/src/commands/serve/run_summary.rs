//! What came out of a run, in a sentence.

use super::State as Shared;
use super::api::{Failure, blocking};
use crate::reporting;
use axum::Json;
use axum::extract::{Path, State};
use prony_records::RunRecord;
use prony_store::Store;
use serde::Serialize;
use std::sync::{Arc, PoisonError};

/// What a duet is stored as.
const DUET: &str = "duet";

/// What came out of a run.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Answer {
    /// In a sentence; `None` where no trial has ended.
    answer: Option<String>,
    /// Further boards of the run.
    more: usize,
}

pub(super) async fn answer(
    State(state): State<Arc<Shared>>,
    Path(run): Path<String>,
) -> Result<Json<Answer>, Failure> {
    let told = blocking(&state, move |store, state| answered(store, state, &run));
    Ok(Json(told.await?))
}

/// A run that ended says the same for ever, and to find it out takes all of its trials: it is kept.
fn answered(store: &Store, state: &Shared, wanted: &str) -> anyhow::Result<Answer> {
    let id = store.find_run(wanted)?;
    let kept = || state.answers.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept().get(&id) {
        return Ok(known.clone());
    }
    let run = store.run(&id)?;
    let found = of(store, state, &run)?;
    if run.ended_at.is_some() {
        kept().insert(id, found.clone());
    }
    Ok(found)
}

fn of(store: &Store, state: &Shared, run: &RunRecord) -> anyhow::Result<Answer> {
    // A duet compares two services that ran at once: what it found stands in the record of the run.
    if run.suite == DUET && run.ended_at.is_some() {
        let answer = run.warnings.last().map(|said| said.text.clone());
        return Ok(Answer { answer, more: 0 });
    }
    let report = reporting::report(store, &run.id, &state.beside)?;
    let first = report.groups.first();
    Ok(Answer {
        answer: first.map(|group| group.finding.clone()),
        more: report.groups.len().saturating_sub(1),
    })
}
