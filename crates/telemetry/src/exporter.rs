//! The thread that sends metrics, and the single warning if the collector does not accept them.

use crate::collector::{Collector, CollectorError};
use crate::figures::{Figures, IntervalCounts};
use crate::http_export::{ExportError, Poster};
use crate::labels::Labels;
use crate::metrics::{metrics, request};
use crate::settings::Settings;
use prony_records::{Event, Phase};
use prost::Message as _;
use std::mem;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Time between two requests.
const EVERY: Duration = Duration::from_secs(1);
/// Longest time between two attempts of a collector that does not say when it accepts metrics again.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
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
    settings: Settings,
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

/// The result of sending.
enum SendOutcome {
    Everything,
    /// The collector may accept it later: not before this time, if it says so.
    NotYet(Option<Duration>),
    /// The collector accepts nothing.
    Never,
}

impl Exporter {
    /// Sends to this collector.
    pub fn new(collector: Collector, settings: Settings) -> Result<Self, CollectorError> {
        let poster = Box::new(Poster::new(collector, settings.compresses)?);
        Ok(Self {
            shared: Arc::new(ExporterState {
                settings,
                figures: Mutex::default(),
                trouble: Mutex::default(),
            }),
            state: Mutex::new(State::NotStarted(poster)),
        })
    }

    /// A phase of a load starts, with this number of connections if it is known: its series start at zero.
    pub fn phase(&self, labels: &Labels, phase: Phase, connections: Option<u64>) {
        lock(&self.shared.figures).phase(labels, phase, connections);
    }

    /// Adds an interval to the sums.
    pub fn interval(&self, labels: &Labels, phase: Phase, counted: IntervalCounts<'_>) {
        lock(&self.shared.figures).take(labels, phase, counted);
        self.start();
    }

    /// Adds what an event of a load reports.
    pub fn event(&self, labels: &Labels, event: &Event) {
        lock(&self.shared.figures).event(labels, event);
        if matches!(event, Event::Interval { .. }) {
            self.start();
        }
    }

    /// Starts sending with the first interval.
    fn start(&self) {
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
        let (mut pause, mut failures) = (EVERY, 0);
        loop {
            let ends = asked.recv_timeout(pause) != Err(RecvTimeoutError::Timeout);
            // A collector that asks for a pause gets no request earlier.
            if ends && failures > 0 {
                return;
            }
            match self.send_due(&mut poster) {
                SendOutcome::Everything => (pause, failures) = (EVERY, 0),
                SendOutcome::NotYet(wait) => {
                    pause = wait.unwrap_or_else(|| backoff(failures)).max(EVERY);
                    failures += 1;
                }
                SendOutcome::Never => return,
            }
            if ends {
                return;
            }
        }
    }

    /// Sends all that is due: the starts of series, then their values.
    fn send_due(&self, poster: &mut Poster) -> SendOutcome {
        while let Some(body) = self.due() {
            match self.send(poster, body) {
                SendOutcome::Everything => {}
                other => return other,
            }
        }
        SendOutcome::Everything
    }

    fn due(&self) -> Option<Vec<u8>> {
        let mut figures = lock(&self.figures);
        let due = figures.due();
        (!due.is_empty()).then(|| {
            let metrics = metrics(&due, self.settings.histogram);
            request(metrics, &self.settings.resource).encode_to_vec()
        })
    }

    /// Sends one request.
    fn send(&self, poster: &mut Poster, body: Vec<u8>) -> SendOutcome {
        let sent = poster.post(body);
        lock(&self.trouble).is_failing =
            matches!(sent, Err(ExportError::ForNow(..) | ExportError::ForGood(_)));
        let to = poster.collector();
        match sent {
            Ok(()) => {
                lock(&self.figures).accepted();
                SendOutcome::Everything
            }
            Err(ExportError::Partly(reason)) => {
                lock(&self.figures).accepted();
                self.warn(&format!("{to} does not accept all live metrics: {reason}"));
                SendOutcome::Everything
            }
            Err(ExportError::ForNow(reason, wait)) => {
                lock(&self.figures).owe_all();
                self.warn(&format!(
                    "live metrics do not reach {to}: {reason}; the load continues, and they are sent once it answers"
                ));
                SendOutcome::NotYet(wait)
            }
            Err(ExportError::ForGood(reason)) => {
                self.warn(&format!(
                    "{to} does not accept live metrics: {reason}; the load continues without them"
                ));
                SendOutcome::Never
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

/// The pause after a number of failures: twice as long after each, and random, so that many senders do not return together.
fn backoff(failures: u32) -> Duration {
    let longest = EVERY
        .saturating_mul(2u32.saturating_pow(failures + 1))
        .min(LONGEST_PAUSE);
    longest.mul_f64(rand::random_range(0.5..1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit() {
        for (failures, longest_s) in [(0, 2), (1, 4), (3, 16), (20, 60), (40, 60)] {
            let longest = Duration::from_secs(longest_s);
            let pause = backoff(failures);
            assert!(longest / 2 <= pause && pause <= longest, "{failures}: {pause:?}");
        }
    }
}
