//! What the page asks for: JSON, made anew from the store for every question.

use super::State as Shared;
use super::line;
use crate::reporting;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use prony_measurement::ServiceId;
use prony_report::page_data;
use prony_store::{RunEntry, Store, StoreError};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// Why a question has no answer, as JSON.
pub(super) struct Failure(anyhow::Error);

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let absent = matches!(
            self.0.downcast_ref(),
            Some(StoreError::NoSuchRun { .. } | StoreError::Ambiguous { .. } | StoreError::Missing(_))
        );
        let status = if absent {
            StatusCode::NOT_FOUND
        } else {
            StatusCode::INTERNAL_SERVER_ERROR
        };
        (
            status,
            Json(serde_json::json!({ "error": format!("{:#}", self.0) })),
        )
            .into_response()
    }
}

/// Reads the store on a thread that may wait, so that a long report does not hold up other pages.
pub(super) async fn blocking<T: Send + 'static>(
    state: &Arc<Shared>,
    read: impl FnOnce(&Store, &Shared) -> anyhow::Result<T> + Send + 'static,
) -> Result<T, Failure> {
    let state = Arc::clone(state);
    let read = move || read(&Store::open_existing(&state.store)?, &state);
    Ok(tokio::task::spawn_blocking(read).await??)
}

pub(super) async fn page() -> Html<&'static str> {
    Html(prony_report::served_page())
}

/// A run in the list of runs.
#[derive(Debug, Serialize)]
pub(super) struct ListedRun {
    #[serde(flatten)]
    entry: RunEntry,
    running: bool,
    /// Services and workloads in a line.
    compared: Option<String>,
}

pub(super) async fn runs(State(state): State<Arc<Shared>>) -> Result<Json<Vec<ListedRun>>, Failure> {
    let listed = |store: &Store, entry: RunEntry| {
        let record = store.run(&entry.id)?;
        let running = entry.ended_at.is_none() && {
            // The last one alone says when the run was heard of.
            let (sequence, _) = store.trial_count(&entry.id)?;
            let last = store.trials_after(&entry.id, sequence - 1)?;
            let last: Vec<_> = last.into_iter().map(|stored| stored.trial).collect();
            reporting::is_running(store, &record, &last)?
        };
        Ok(ListedRun {
            compared: line::compared(&record),
            entry,
            running,
        })
    };
    let all = blocking(&state, move |store, _| {
        store
            .runs()?
            .into_iter()
            .map(|entry| listed(store, entry))
            .collect()
    });
    Ok(Json(all.await?))
}

pub(super) async fn run(
    State(state): State<Arc<Shared>>,
    Path(run): Path<String>,
) -> Result<Json<Value>, Failure> {
    let report = blocking(&state, move |store, state| {
        let run = store.find_run(&run)?;
        Ok(page_data(&reporting::report(store, &run, &state.beside)?)?)
    });
    Ok(Json(report.await?))
}

/// A service that the store has a history of.
#[derive(Debug, Serialize)]
pub(super) struct Known {
    #[serde(flatten)]
    id: ServiceId,
    contract: String,
}

pub(super) async fn services(State(state): State<Arc<Shared>>) -> Result<Json<Vec<Known>>, Failure> {
    let all = blocking(&state, |store, _| {
        let known = store.services()?.into_iter();
        Ok(known.map(|(id, contract)| Known { id, contract }).collect())
    });
    Ok(Json(all.await?))
}
