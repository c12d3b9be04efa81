//! The thread that sends metrics, and the single warning if the collector does not accept them.

use crate::collector::{Collector, CollectorError};
use crate::http_export::{ExportError, Poster};
use crate::metrics::{Figures, Labels};
use prony_records::{CompactHistogram, Interval, Phase};
use prost::Message as _;
use std::mem;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Time between two requests.
const EVERY: Duration = Duration::from_secs(1);
/// How long the end of a load waits for the last one.
const LAST_PATIENCE: Duration = Duration::from_secs(2);

/// Sends the metrics of a running load to a collector.
///
/// Adding an interval to the sums takes microseconds; a separate thread sends the sums about once a second. The first
/// interval starts the thread, on the CPUs of the thread that reports it: if a measurement reserves CPUs for the
/// service, nothing is sent from those. While a collector does not answer, the sums wait, and nothing else does.
pub struct Exporter {
    shared: Arc<ExporterState>,
    state: Mutex<State>,
}

struct ExporterState {
    figures: Mutex<Figures>,
    trouble: Mutex<CollectorState>,
}

/// Problems with the collector.
#[derive(Default)]
struct CollectorState {
    /// The warning, until it is returned.
    pending_warning: Option<String>,
    /// Whether a warning was issued: there is only one.
    has_warned: bool,
    /// Whether the last request failed.
    is_failing: bool,
}

enum State {
    /// There were no metrics yet.
    NotStarted(Box<Poster>),
    /// The thread is running.
    Sending { end: Sender<()>, ended: Receiver<()> },
    /// The thread has ended and is not started again.
    Stopped,
}

impl Exporter {
    /// Sends to this collector; `instance` identifies this process among the senders.
    pub fn new(collector: Collector, instance: String) -> Result<Self, CollectorError> {
        Ok(Self {
            shared: Arc::new(ExporterState {
                figures: Mutex::new(Figures::new(instance)),
                trouble: Mutex::default(),
            }),
            state: Mutex::new(State::NotStarted(Box::new(Poster::new(collector)?))),
        })
    }

    /// Adds an interval to the sums.
    pub fn interval(&self, labels: &Labels, phase: Phase, interval: &Interval, times: &CompactHistogram) {
        lock(&self.shared.figures).take(labels, phase, interval, times);
        let mut state = lock(&self.state);
        if matches!(*state, State::NotStarted(_))
            && let State::NotStarted(poster) = mem::replace(&mut *state, State::Stopped)
        {
            *state = self.begin(poster);
        }
    }

    fn begin(&self, poster: Box<Poster>) -> State {
        let (end, asked) = mpsc::channel();
        let (ends, ended) = mpsc::channel();
        let shared = Arc::clone(&self.shared);
        let send = move || {
            shared.send_all(*poster, &asked);
            drop(ends);
        };
        let thread = std::thread::Builder::new().name("otlp".to_owned());
        match thread.spawn(send) {
            Ok(_) => State::Sending { end, ended },
            Err(error) => {
                self.shared.warn(&format!(
                    "live metrics are not sent: cannot start a thread: {error}"
                ));
                State::Stopped
            }
        }
    }

    /// Sends the remaining metrics and ends. Waits up to two seconds for a collector that answers.
    pub fn finish(&self) {
        let State::Sending { end, ended } = mem::replace(&mut *lock(&self.state), State::Stopped) else {
            return;
        };
        let waits = !lock(&self.shared.trouble).is_failing;
        // The thread may have ended on its own.
        let _ = end.send(());
        if waits && ended.recv_timeout(LAST_PATIENCE) == Err(RecvTimeoutError::Timeout) {
            self.shared
                .warn("the collector of live metrics did not answer in time: the last metrics are lost");
        }
    }

    /// Why live metrics do not reach the collector, if they do not. Returned only once.
    pub fn warning(&self) -> Option<String> {
        lock(&self.shared.trouble).pending_warning.take()
    }
}

impl ExporterState {
    /// Sends what is due until it is asked to end, or the collector accepts nothing more.
    fn send_all(&self, mut poster: Poster, asked: &Receiver<()>) {
        loop {
            let ends = asked.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout);
            let due = lock(&self.figures).due();
            let taken = due.is_none_or(|due| self.send(&mut poster, due.encode_to_vec()));
            if ends || !taken {
                return;
            }
        }
    }

    /// Sends one request; returns whether another one makes sense.
    fn send(&self, poster: &mut Poster, body: Vec<u8>) -> bool {
        let sent = poster.post(body);
        lock(&self.trouble).is_failing =
            matches!(sent, Err(ExportError::ForNow(_) | ExportError::ForGood(_)));
        let to = poster.collector();
        match sent {
            Ok(()) => true,
            Err(ExportError::Partly(reason)) => {
                self.warn(&format!("{to} does not accept all live metrics: {reason}"));
                true
            }
            Err(ExportError::ForNow(reason)) => {
                lock(&self.figures).owe_all();
                self.warn(&format!(
                    "live metrics do not reach {to}: {reason}; the load continues, and they are sent once it answers"
                ));
                true
            }
            Err(ExportError::ForGood(reason)) => {
                self.warn(&format!(
                    "{to} does not accept live metrics: {reason}; the load continues without them"
                ));
                false
            }
        }
    }

    fn warn(&self, text: &str) {
        let mut trouble = lock(&self.trouble);
        if !mem::replace(&mut trouble.has_warned, true) {
            trouble.pending_warning = Some(text.to_owned());
        }
    }
}

/// The sums stay valid if a thread panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
