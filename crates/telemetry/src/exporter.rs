//! The thread that sends what is told, and the one warning where nobody takes it.

use crate::collector::{Collector, CollectorError};
use crate::figures::{Figures, Labels};
use crate::post::{Poster, Refusal};
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

/// Sends what a load does to a collector.
///
/// Intervals are added to sums, which takes microseconds; a thread of its own sends those about once a second. It is started by
/// the first interval, on the CPUs of the thread that tells it: where a measurement keeps CPUs for the service, nothing is sent
/// from there. While a collector does not answer, the sums wait; nobody else does.
pub struct Exporter {
    shared: Arc<Shared>,
    state: Mutex<State>,
}

struct Shared {
    figures: Mutex<Figures>,
    trouble: Mutex<Trouble>,
}

/// What is wrong with the collector.
#[derive(Default)]
struct Trouble {
    /// The warning, where it is not told yet.
    untold: Option<String>,
    /// Whether there was one: it is given once.
    was_given: bool,
    /// Whether the last request failed.
    lasts: bool,
}

enum State {
    /// Nothing was told yet.
    Waits(Box<Poster>),
    /// The thread is on.
    Sends { end: Sender<()>, ended: Receiver<()> },
    /// It is not, and will not be.
    Over,
}

impl Exporter {
    /// Sends to this collector; `instance` names this process among those that send there.
    pub fn new(collector: Collector, instance: String) -> Result<Self, CollectorError> {
        Ok(Self {
            shared: Arc::new(Shared {
                figures: Mutex::new(Figures::new(instance)),
                trouble: Mutex::default(),
            }),
            state: Mutex::new(State::Waits(Box::new(Poster::new(collector)?))),
        })
    }

    /// Takes note of an interval.
    pub fn interval(&self, labels: &Labels, phase: Phase, interval: &Interval, times: &CompactHistogram) {
        lock(&self.shared.figures).take(labels, phase, interval, times);
        let mut state = lock(&self.state);
        if matches!(*state, State::Waits(_))
            && let State::Waits(poster) = mem::replace(&mut *state, State::Over)
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
            Ok(_) => State::Sends { end, ended },
            Err(error) => {
                self.shared.warn(&format!(
                    "live metrics are not sent: no thread can be started: {error}"
                ));
                State::Over
            }
        }
    }

    /// Sends what is left and ends. A collector that answers is waited for, two seconds at most.
    pub fn finish(&self) {
        let State::Sends { end, ended } = mem::replace(&mut *lock(&self.state), State::Over) else {
            return;
        };
        let waits = !lock(&self.shared.trouble).lasts;
        // The thread may have ended by itself.
        let _ = end.send(());
        if waits && ended.recv_timeout(LAST_PATIENCE) == Err(RecvTimeoutError::Timeout) {
            self.shared
                .warn("the collector of live metrics did not answer in time: the last ones are lost");
        }
    }

    /// Why live metrics do not reach the collector, where they do not: once, then never again.
    pub fn warning(&self) -> Option<String> {
        lock(&self.shared.trouble).untold.take()
    }
}

impl Shared {
    /// Sends what is due until it is asked to end, or nothing more is taken.
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

    /// Sends one request; says whether another one makes sense.
    fn send(&self, poster: &mut Poster, body: Vec<u8>) -> bool {
        let sent = poster.post(body);
        lock(&self.trouble).lasts = matches!(sent, Err(Refusal::ForNow(_) | Refusal::ForGood(_)));
        let to = poster.collector();
        match sent {
            Ok(()) => true,
            Err(Refusal::Partly(reason)) => {
                self.warn(&format!("{to} does not take all live metrics: {reason}"));
                true
            }
            Err(Refusal::ForNow(reason)) => {
                lock(&self.figures).owe_all();
                self.warn(&format!(
                    "live metrics do not reach {to}: {reason}; the load goes on, and they are sent when it answers"
                ));
                true
            }
            Err(Refusal::ForGood(reason)) => {
                self.warn(&format!(
                    "{to} takes no live metrics: {reason}; the load goes on without them"
                ));
                false
            }
        }
    }

    fn warn(&self, text: &str) {
        let mut trouble = lock(&self.trouble);
        if !mem::replace(&mut trouble.was_given, true) {
            trouble.untold = Some(text.to_owned());
        }
    }
}

/// What a thread that panicked left is still a sum.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
