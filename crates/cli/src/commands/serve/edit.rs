//! The two changes that a page may make: it may label a run, and delete it from the store.
//!
//! Only pages of this server and programs that know the token may do so, and only if it listens on loopback: `guard` ensures this. Here a run must be named in
//! full, never by a part of its name.

use super::State as Shared;
use super::api::{Failure, blocking};
use crate::reporting;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use prony_store::StoreError;
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
