//! A run in progress as server-sent events.

use super::State as Shared;
use super::api::Failure;
use crate::reporting;
use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, KeepAliveStream, Sse};
use prony_store::{Progress, Store};
use serde::Serialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

/// How often the store is polled.
const EVERY: Duration = Duration::from_millis(500);

/// Progress of a run, sent to the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct RunUpdate {
    /// Whether the run is in progress.
    running: bool,
    /// Number of finished trials.
    trials: u32,
    /// Sequence number of the last trial: a new one means that the report has changed.
    sequence: i64,
    /// The current activity.
    progress: Option<Progress>,
}

type Events = Sse<KeepAliveStream<ReceiverStream<Result<Event, Infallible>>>>;

pub(super) async fn events(
    State(state): State<Arc<Shared>>,
    Path(run): Path<String>,
) -> Result<Events, Failure> {
    let run = super::api::blocking(&state, move |store, _| Ok(store.find_run(&run)?)).await?;
    let (sender, receiver) = mpsc::channel(4);
    tokio::spawn(watch(state, run, sender));
    Ok(Sse::new(ReceiverStream::new(receiver)).keep_alive(KeepAlive::default()))
}

/// Sends news until the run has ended, the page is closed or the store fails.
async fn watch(state: Arc<Shared>, run: String, sender: mpsc::Sender<Result<Event, Infallible>>) {
    let mut last: Option<RunUpdate> = None;
    loop {
        let name = run.clone();
        let Ok(news) = super::api::blocking(&state, move |store, _| news(store, &name)).await else {
            return;
        };
        if last.as_ref() != Some(&news) {
            let event = Event::default().event("progress").json_data(&news);
            let Ok(event) = event else { return };
            if sender.send(Ok(event)).await.is_err() || !news.running {
                return;
            }
            last = Some(news);
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = sender.closed() => return,
        }
    }
}

fn news(store: &Store, run: &str) -> anyhow::Result<RunUpdate> {
    let (sequence, trials) = store.trial_count(run)?;
    let record = store.run(run)?;
    Ok(RunUpdate {
        running: reporting::is_running(store, &record)?,
        trials,
        sequence,
        progress: store.progress(run)?,
    })
}
