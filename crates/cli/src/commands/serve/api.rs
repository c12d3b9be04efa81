//! The JSON API of the page, computed from the store for every request.

use super::State as Shared;
use super::delivery::{accepts_gzip, gzip, is_known, mark_as_gzip, tag};
use super::run_line;
use crate::reporting;
use axum::Json;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{Path, RawPathParams, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use prony_records::ServiceId;
use prony_report::page_data;
use prony_statistics::{Calibration, machine_name};
use prony_store::{RunEntry, Store, StoreError};
use serde::Serialize;
use serde_json::Value;
use std::sync::{Arc, LazyLock};

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
            Some(StoreError::Label { .. } | StoreError::Note { .. }) => StatusCode::BAD_REQUEST,
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

/// The page, which is the same for every address. An address that is not text has none.
pub(super) async fn page(
    parameters: Result<RawPathParams, RawPathParamsRejection>,
    headers: HeaderMap,
) -> Response {
    static COMPRESSED: LazyLock<Vec<u8>> = LazyLock::new(|| gzip(prony_report::served_page().as_bytes()));
    static TAG: LazyLock<HeaderValue> = LazyLock::new(|| tag(&[prony_report::served_page().as_bytes()]));
    if let Err(rejection @ RawPathParamsRejection::InvalidUtf8InPathParam(_)) = parameters {
        return rejection.into_response();
    }
    let mut response = if accepts_gzip(&headers) {
        let mut response = Html(COMPRESSED.as_slice()).into_response();
        mark_as_gzip(response.headers_mut());
        response
    } else {
        Html(prony_report::served_page()).into_response()
    };
    response.headers_mut().insert(header::ETAG, TAG.clone());
    response
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
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let known = headers.get(header::IF_NONE_MATCH).cloned();
    let found = blocking(&state, move |store, state| {
        let run = store.find_run(&run)?;
        let tag = run_tag(store, &run)?;
        // The report takes much longer than its tag.
        if tag.as_ref().is_some_and(|tag| is_known(tag, known.as_ref())) {
            return Ok((Value::Null, tag));
        }
        let mut data = page_data(&reporting::report(store, &run, &state.context)?)?;
        data["label"] = store.label(&run)?.into();
        Ok((data, tag))
    });
    let (report, tag) = found.await?;
    let mut response = Json(report).into_response();
    if let Some(tag) = tag {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

/// A tag of the report of an ended run, which changes with everything that the report depends on.
fn run_tag(store: &Store, run: &str) -> anyhow::Result<Option<HeaderValue>> {
    let record = store.run(run)?;
    let Some(ended_at) = &record.ended_at else {
        return Ok(None);
    };
    let (sequence, trials) = store.trial_count(run)?;
    let calibrated = store.calibration::<Calibration>(&machine_name(&record.environment))?;
    Ok(Some(tag(&[
        prony_report::served_page().as_bytes(),
        run.as_bytes(),
        ended_at.as_bytes(),
        format!("{sequence} {trials} {}", record.planned_trials).as_bytes(),
        store.label(run)?.unwrap_or_default().as_bytes(),
        calibrated
            .map(|stored| stored.calibrated_at)
            .unwrap_or_default()
            .as_bytes(),
    ])))
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
