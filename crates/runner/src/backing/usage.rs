//! Watching what a service's connections do in a backing service while a load goes on: a query, asked a few times a second over one
//! connection of prony's own, in a thread of its own.

use super::ANSWER;
use super::query::told;
use prony_records::ConnectionSamples;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls, Statement};

/// Time between two samples: often enough for a measurement of a second, and below a hundredth of what a busy database uses.
const EVERY: Duration = Duration::from_millis(100);
/// Time for the thread to give what it has seen, and to part from the backing service.
const PARTING: Duration = Duration::from_secs(2);

/// A backing service that is watched: in windows, and not between them.
pub(super) struct UsageSampler {
    /// `None` only when it ends.
    windows: Option<UnboundedSender<SamplingWindow>>,
    open: Option<OpenWindow>,
    thread: Option<thread::JoinHandle<()>>,
}

/// A window as the thread gets it.
struct SamplingWindow {
    over: oneshot::Receiver<()>,
    seen: mpsc::Sender<ConnectionSamples>,
}

/// The other side of it.
struct OpenWindow {
    over: oneshot::Sender<()>,
    seen: mpsc::Receiver<ConnectionSamples>,
}

impl UsageSampler {
    /// Connects, and asks once. The error says why that is not possible.
    pub(super) fn start(url: String, query: String) -> Result<Self, String> {
        let (windows, given) = unbounded_channel();
        let (tell, ready) = mpsc::channel();
        let thread = thread::Builder::new().name("watch".to_owned());
        let thread = thread.spawn(move || work(&url, &query, &tell, given));
        let watch = Self {
            windows: Some(windows),
            open: None,
            thread: Some(thread.map_err(|error| error.to_string())?),
        };
        let ready = ready.recv().map_err(|_| "its thread ended".to_owned())?;
        ready.map(|()| watch)
    }

    /// From here on it is watched.
    pub(super) fn begin(&mut self) {
        let (over, until) = oneshot::channel();
        let (tell, seen) = mpsc::channel();
        let window = SamplingWindow {
            over: until,
            seen: tell,
        };
        let begun = self
            .windows
            .as_ref()
            .is_some_and(|windows| windows.send(window).is_ok());
        self.open = begun.then_some(OpenWindow { over, seen });
    }

    /// What was seen since then; `None`: nothing.
    pub(super) fn end(&mut self) -> Option<ConnectionSamples> {
        let open = self.open.take()?;
        let _ = open.over.send(());
        let seen = open.seen.recv_timeout(PARTING).ok()?;
        (seen.samples > 0).then_some(seen)
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

fn work(
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
    let asked = async {
        let (client, connection) = tokio_postgres::connect(url, NoTls)
            .await
            .map_err(|error| told(&error))?;
        let driven = tokio::spawn(connection);
        let sampler = Sampler::new(client, query).await?;
        sampler.sample().await?;
        Ok::<_, String>((sampler, driven))
    };
    let asked = timeout(ANSWER, asked).await;
    let asked = asked.unwrap_or_else(|_| Err(format!("not answered within {ANSWER:?}")));
    let (sampler, driven) = match asked {
        Err(reason) => {
            let _ = ready.send(Err(format!("`{query}`: {reason}")));
            return;
        }
        Ok(asked) => asked,
    };
    let _ = ready.send(Ok(()));
    while let Some(window) = windows.recv().await {
        let _ = window.seen.send(sampler.during(window.over).await);
    }
    drop(sampler);
    // The session is over when this returns, unless the backing service is gone or stuck.
    let _ = timeout(PARTING, driven).await;
}

/// The query, prepared: the backing service plans it once.
struct Sampler {
    client: Client,
    statement: Statement,
}

impl Sampler {
    async fn new(client: Client, query: &str) -> Result<Self, String> {
        let statement = client.prepare(query).await.map_err(|error| told(&error))?;
        let types: Vec<&Type> = statement
            .columns()
            .iter()
            .map(tokio_postgres::Column::type_)
            .collect();
        if types != [&Type::TEXT, &Type::INT8] {
            let names: Vec<&str> = types.iter().map(|kind| kind.name()).collect();
            let gives = names.join(", ");
            return Err(format!(
                "it gives ({gives}): give what is done (text) and by how many connections (bigint)"
            ));
        }
        Ok(Self { client, statement })
    }

    async fn sample(&self) -> Result<Vec<(String, u64)>, String> {
        let rows = self.client.query(&self.statement, &[]).await;
        let rows = rows.map_err(|error| told(&error))?;
        let sample = rows.iter().map(|row| {
            let doing = row.try_get::<_, String>(0).map_err(|error| told(&error))?;
            let connections = row.try_get::<_, i64>(1).map_err(|error| told(&error))?;
            Ok((doing, u64::try_from(connections).unwrap_or(0)))
        });
        sample.collect()
    }

    /// Samples until `over`. A failure of the backing service is not an error here: the load monitor notices it.
    async fn during(&self, over: oneshot::Receiver<()>) -> ConnectionSamples {
        let mut seen = ConnectionSamples::default();
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let samples = async {
            loop {
                ticks.tick().await;
                let Ok(sample) = self.sample().await else { return };
                seen.add(sample);
            }
        };
        tokio::select! {
            _ = over => {}
            () = samples => {}
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cannot_be_asked_is_not_watched() {
        let asked = UsageSampler::start(
            "postgres://prony@127.0.0.1:1/prony".to_owned(),
            "select 1".to_owned(),
        );
        let reason = asked.err().expect("nothing listens on port 1");
        assert!(reason.starts_with("`select 1`: "), "{reason}");
    }
}
