//! Samples the state of a service's connections in a backing service during a load: a query runs ten times a second, over a separate
//! connection in a separate thread.

use super::ANSWER;
use super::query::error_text;
use prony_records::ConnectionSamples;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls, Statement};

/// Interval between samples: short enough for a measurement of a second, and less than 1 % of the load of a busy database.
const EVERY: Duration = Duration::from_millis(100);
/// Timeout for the samples of a window, and for closing the connection.
const CLOSING: Duration = Duration::from_secs(2);

/// Samples a backing service in windows, and not between them.
pub(super) struct UsageSampler {
    /// `None` only when it ends.
    windows: Option<UnboundedSender<SamplingWindow>>,
    open: Option<OpenWindow>,
    thread: Option<thread::JoinHandle<()>>,
}

/// A window, for the thread.
struct SamplingWindow {
    over: oneshot::Receiver<()>,
    samples: mpsc::Sender<ConnectionSamples>,
}

/// A window, for the caller.
struct OpenWindow {
    over: oneshot::Sender<()>,
    samples: mpsc::Receiver<ConnectionSamples>,
}

impl UsageSampler {
    /// Connects and takes one sample. The error says why this failed.
    pub(super) fn start(url: String, query: String) -> Result<Self, String> {
        let (windows, receiver) = unbounded_channel();
        let (tell, ready) = mpsc::channel();
        let thread = thread::Builder::new().name("watch".to_owned());
        let thread = thread.spawn(move || run_thread(&url, &query, &tell, receiver));
        let sampler = Self {
            windows: Some(windows),
            open: None,
            thread: Some(thread.map_err(|error| error.to_string())?),
        };
        let ready = ready.recv().map_err(|_| "its thread ended".to_owned())?;
        ready.map(|()| sampler)
    }

    /// Begins a window.
    pub(super) fn begin(&mut self) {
        let (over, until) = oneshot::channel();
        let (tell, samples) = mpsc::channel();
        let window = SamplingWindow {
            over: until,
            samples: tell,
        };
        let begun = self
            .windows
            .as_ref()
            .is_some_and(|windows| windows.send(window).is_ok());
        self.open = begun.then_some(OpenWindow { over, samples });
    }

    /// The samples of the window; `None` if there are none.
    pub(super) fn end(&mut self) -> Option<ConnectionSamples> {
        let open = self.open.take()?;
        let _ = open.over.send(());
        let samples = open.samples.recv_timeout(CLOSING).ok()?;
        (samples.samples > 0).then_some(samples)
    }
}

impl Drop for UsageSampler {
    fn drop(&mut self) {
        self.open = None;
        self.windows = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run_thread(
    url: &str,
    query: &str,
    ready: &mpsc::Sender<Result<(), String>>,
    windows: UnboundedReceiver<SamplingWindow>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Err(error) => {
            let _ = ready.send(Err(error.to_string()));
        }
        Ok(runtime) => runtime.block_on(watch(url, query, ready, windows)),
    }
}

async fn watch(
    url: &str,
    query: &str,
    ready: &mpsc::Sender<Result<(), String>>,
    mut windows: UnboundedReceiver<SamplingWindow>,
) {
    let connected = async {
        let (client, connection) = tokio_postgres::connect(url, NoTls)
            .await
            .map_err(|error| error_text(&error))?;
        let driven = tokio::spawn(connection);
        let sampler = Sampler::new(client, query).await?;
        sampler.sample().await?;
        Ok::<_, String>((sampler, driven))
    };
    let connected = timeout(ANSWER, connected).await;
    let connected = connected.unwrap_or_else(|_| Err(format!("not answered within {ANSWER:?}")));
    let (sampler, driven) = match connected {
        Err(reason) => {
            let _ = ready.send(Err(format!("`{query}`: {reason}")));
            return;
        }
        Ok(connected) => connected,
    };
    let _ = ready.send(Ok(()));
    while let Some(window) = windows.recv().await {
        let _ = window.samples.send(sampler.during(window.over).await);
    }
    drop(sampler);
    // Wait for the end of the session, unless the backing service has ended or does not respond.
    let _ = timeout(CLOSING, driven).await;
}

/// The prepared query, which the backing service plans once.
struct Sampler {
    client: Client,
    statement: Statement,
}

impl Sampler {
    async fn new(client: Client, query: &str) -> Result<Self, String> {
        let statement = client.prepare(query).await.map_err(|error| error_text(&error))?;
        let types: Vec<&Type> = statement
            .columns()
            .iter()
            .map(tokio_postgres::Column::type_)
            .collect();
        if types != [&Type::TEXT, &Type::INT8] {
            let names: Vec<&str> = types.iter().map(|kind| kind.name()).collect();
            let columns = names.join(", ");
            return Err(format!(
                "its columns are ({columns}); required: a state (text) and the number of connections in it (bigint)"
            ));
        }
        Ok(Self { client, statement })
    }

    async fn sample(&self) -> Result<Vec<(String, u64)>, String> {
        let rows = self.client.query(&self.statement, &[]).await;
        let rows = rows.map_err(|error| error_text(&error))?;
        let sample = rows.iter().map(|row| {
            let doing = row.try_get::<_, String>(0).map_err(|error| error_text(&error))?;
            let connections = row.try_get::<_, i64>(1).map_err(|error| error_text(&error))?;
            Ok((doing, u64::try_from(connections).unwrap_or(0)))
        });
        sample.collect()
    }

    /// Samples until `over`. A failure of the backing service is not an error here: the load monitor notices it.
    async fn during(&self, over: oneshot::Receiver<()>) -> ConnectionSamples {
        let mut samples = ConnectionSamples::default();
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let sampling = async {
            loop {
                ticks.tick().await;
                let Ok(sample) = self.sample().await else { return };
                samples.add(sample);
            }
        };
        tokio::select! {
            _ = over => {}
            () = sampling => {}
        }
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_fails_without_a_connection() {
        let started = UsageSampler::start(
            "postgres://prony@127.0.0.1:1/prony".to_owned(),
            "select 1".to_owned(),
        );
        let reason = started.err().expect("nothing listens on port 1");
        assert!(reason.starts_with("`select 1`: "), "{reason}");
    }
}
