//! The changes that a page may make: it may label a run, delete it from the store, and accept a change in a history.
//!
//! Only pages of this server and programs that know the token may do so, and only if it listens on loopback: `guard` ensures this. Here a run must be named in
//! full, never by a part of its name.

use super::State as Shared;
use super::api::{Failure, blocking};
use super::history::HistoryQuery;
use crate::reporting;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use prony_store::{AcceptedChange, StoreError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What a page may do.
#[derive(Debug, Serialize)]
pub(super) struct Rights {
    /// Whether it may label and delete runs.
    change: bool,
}

pub(super) async fn rights(State(state): State<Arc<Shared>>) -> Json<Rights> {
    Json(Rights {
        change: state.may_change,
    })
}

/// The new label of a run.
#[derive(Debug, Deserialize)]
pub(super) struct Label {
    label: String,
}

pub(super) async fn label(
    State(state): State<Arc<Shared>>,
    Path(run): Path<String>,
    Json(Label { label }): Json<Label>,
) -> Result<StatusCode, Failure> {
    blocking(&state, move |store, _| Ok(store.label_run(&run, &label)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn remove(
    State(state): State<Arc<Shared>>,
    Path(run): Path<String>,
) -> Result<StatusCode, Failure> {
    let removed = blocking(&state, move |store, state| {
        // The process that measures the run holds its lock. A recently active run may be between two processes.
        if reporting::is_running(store, &store.run(&run)?)? {
            return Err(StoreError::RunBusy { run, holder: None }.into());
        }
        store.remove_run(&run)?;
        // Another run may get the name.
        forget(&state.answers, &run);
        forget(&state.newest, &run);
        Ok(())
    });
    removed.await?;
    Ok(StatusCode::NO_CONTENT)
}

fn forget<T>(kept: &Mutex<BTreeMap<String, T>>, run: &str) {
    kept.lock().unwrap_or_else(PoisonError::into_inner).remove(run);
}

pub(super) async fn accepted(
    State(state): State<Arc<Shared>>,
    Query(query): Query<HistoryQuery>,
) -> Result<Json<Vec<AcceptedChange>>, Failure> {
    let all = blocking(&state, move |store, _| {
        Ok(store.accepted_changes(&query.service, &query.contract)?)
    });
    Ok(Json(all.await?))
}

pub(super) async fn accept(
    State(state): State<Arc<Shared>>,
    Json(change): Json<AcceptedChange>,
) -> Result<StatusCode, Failure> {
    blocking(&state, move |store, _| Ok(store.accept_change(&change)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}
