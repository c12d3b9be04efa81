//! The results of all runs in one reply, a line for each as soon as it is known.

use super::State as Shared;
use super::api::{Failure, blocking};
use super::delivery::LINES;
use super::run_summary::cached_summary;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use prony_store::Store;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

/// Lines that may wait for a slow reader.
const WAITING: usize = 64;

pub(super) async fn answers(State(state): State<Arc<Shared>>) -> Result<Response, Failure> {
    let runs = blocking(&state, |store, _| Ok(store.runs()?)).await?;
    let (sender, receiver) = mpsc::channel(WAITING);
    let runs = runs.into_iter().map(|run| run.id).collect();
    tokio::task::spawn_blocking(move || send(&state, runs, &sender));
    let lines = Body::from_stream(ReceiverStream::new(receiver));
    Ok(([(header::CONTENT_TYPE, LINES)], lines).into_response())
}

/// Sends the result of each run, the newest first, until the page is closed.
fn send(state: &Shared, runs: Vec<String>, sender: &mpsc::Sender<Result<String, Infallible>>) {
    let Ok(store) = Store::open_existing(&state.store) else {
        return;
    };
    for run in runs {
        // One that was deleted in the meantime has none.
        let Ok(found) = cached_summary(&store, state, &run) else {
            continue;
        };
        let line = serde_json::json!({ "run": run, "answer": found.answer, "more": found.more });
        if sender.blocking_send(Ok(format!("{line}\n"))).is_err() {
            return;
        }
    }
}
