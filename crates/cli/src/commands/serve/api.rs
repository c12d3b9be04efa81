//! The JSON API of the page, computed from the store for every request.

use super::State as Shared;
use super::run_line;
use crate::reporting;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use prony_records::ServiceId;
use prony_report::page_data;
use prony_store::{RunEntry, Store, StoreError};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// An error, as a JSON reply.
pub(super) struct Failure(anyhow::Error);

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = match self.0.downcast_ref() {
            Some(StoreError::NoSuchRun { .. } | StoreError::Ambiguous { .. } | StoreError::Missing(_)) => {
                StatusCode::NOT_FOUND
            }
            Some(StoreError::RunBusy { .. }) => StatusCode::CONFLICT,
            Some(StoreError::Label { .. }) => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (
            status,
            Json(serde_json::json!({ "error": format!("{:#}", self.0) })),
        )
            .into_response()
    }
}

/// Uses the store on a thread that may block, so that a long report does not delay other pages.
pub(super) async fn blocking<T: Send + 'static>(
    state: &Arc<Shared>,
    ask: impl FnOnce(&Store, &Shared) -> anyhow::Result<T> + Send + 'static,
) -> Result<T, Failure> {
    let state = Arc::clone(state);
    let ask = move || ask(&Store::open_existing(&state.store)?, &state);
    Ok(tokio::task::spawn_blocking(ask).await??)
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
    /// Services and workloads in one line.
    compared: Option<String>,
}

pub(super) async fn runs(State(state): State<Arc<Shared>>) -> Result<Json<Vec<ListedRun>>, Failure> {
    let listed = |store: &Store, entry: RunEntry| {
        let record = store.run(&entry.id)?;
        Ok(ListedRun {
            compared: run_line::run_line(&record),
            running: reporting::is_running(store, &record)?,
            entry,
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
        let mut data = page_data(&reporting::report(store, &run, &state.context)?)?;
        data["label"] = store.label(&run)?.into();
        Ok(data)
    });
    Ok(Json(report.await?))
}

/// A service that has a history in the store.
#[derive(Debug, Serialize)]
pub(super) struct ServiceListing {
    #[serde(flatten)]
    id: ServiceId,
    contract: String,
}

pub(super) async fn services(State(state): State<Arc<Shared>>) -> Result<Json<Vec<ServiceListing>>, Failure> {
    let all = blocking(&state, |store, _| {
        let known = store.services()?.into_iter();
        Ok(known
            .map(|(id, contract)| ServiceListing { id, contract })
            .collect())
    });
    Ok(Json(all.await?))
}
