//! Communication between the workers and the caller's thread.

use super::backlog::Backlog;
use crate::clock::ThreadTime;
use crate::transport::Network;
use prony_load::{Mismatch, Partition};
use prony_merge::{SampleEntry, StatusCounts, Tally, WrongSample};
use prony_protocols::request_values::mix;
use prony_records::{AgreedTls, Handshakes, Histogram, Phase};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};

/// When the phases start, ns of the common clock; `u64::MAX`: not known yet. Written by the caller and read by the
/// workers. No worker writes here, so that they do not invalidate each other's caches, and nothing else shares its
/// cache lines (two, since processors fetch them in pairs).
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Control {
    pub(crate) start: AtomicU64,
    pub(crate) measure: AtomicU64,
    pub(crate) stop: AtomicU64,
    /// Whether to end immediately.
    pub(crate) abort: AtomicBool,
    /// If requests of the measurement are counted: the arrivals that may still start.
    pub(crate) pool: Option<Arc<Pool>>,
}

/// The phases as seen by a worker at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) start: u64,
    pub(super) measure: u64,
    pub(super) stop: u64,
}

impl Control {
    pub(crate) const fn new(pool: Option<Arc<Pool>>) -> Self {
        Self {
            start: AtomicU64::new(u64::MAX),
            measure: AtomicU64::new(u64::MAX),
            stop: AtomicU64::new(u64::MAX),
            abort: AtomicBool::new(false),
            pool,
        }
    }

    pub(super) fn times(&self) -> Times {
        Times {
            start: self.start.load(Ordering::Relaxed),
            measure: self.measure.load(Ordering::Relaxed),
            stop: self.stop.load(Ordering::Relaxed),
        }
    }
}

/// A pool of arrivals for all threads of this process. A thread takes many at once while many are left, so that
/// threads rarely contend. If several workers make the load, each thread has an exact share instead, so that the
/// workers need not communicate, and send the same requests for any number of workers.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Pool {
    left: AtomicU64,
    threads: u64,
    /// Arrivals of the whole load.
    whole: u64,
    /// Whether each thread has an exact share, so that nothing is taken from here.
    is_divided: bool,
}

/// Most arrivals that a thread takes at once.
const MOST_AT_ONCE: u64 = 256;

impl Pool {
    /// A pool shared by the threads of this process.
    pub(crate) const fn new(arrivals: u64, threads: u32) -> Self {
        Self {
            left: AtomicU64::new(arrivals),
            threads: threads as u64,
            whole: arrivals,
            is_divided: false,
        }
    }

    /// A pool of which each thread has its exact share.
    pub(crate) const fn divided(arrivals: u64) -> Self {
        Self {
            left: AtomicU64::new(0),
            threads: 1,
            whole: arrivals,
            is_divided: true,
        }
    }

    /// The exact share of a thread; 0 if it takes from the shared pool.
    pub(super) const fn own(&self, partition: Partition) -> u64 {
        if self.is_divided {
            partition.below(self.whole)
        } else {
            0
        }
    }

    /// Takes some arrivals; 0: none are left.
    pub(super) fn take(&self) -> u64 {
        let some = |left: u64| (left / (4 * self.threads)).clamp(1, MOST_AT_ONCE).min(left);
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left - some(left))
            });
        taken.map_or(0, some)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// Number of arrivals of all workers.
    pub(super) const fn whole(&self) -> u64 {
        self.whole
    }
}

/// A message of a worker.
#[derive(Debug)]
pub(crate) enum Message {
    /// Every connection was tried: the number open at once, and the error of the first that failed.
    Ready { open: u32, error: Option<String> },
    /// A phase began.
    Began { phase: Phase, open: u32 },
    /// An interval ended, with its recorded data. The box is returned for reuse.
    Interval(Box<WorkerInterval>),
    /// All requests of a measurement that counts them have an outcome; the time at which the last one ended.
    Exhausted(u64),
    /// The worker is done.
    Done(Box<Report>),
}

/// One interval of one worker.
#[derive(Debug)]
pub(crate) struct WorkerInterval {
    pub(crate) thread: u32,
    pub(crate) phase: Phase,
    /// Index of the interval in its phase.
    pub(crate) index: u64,
    /// Start and end relative to the start of the phase, ns.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) tally: Box<Tally>,
}

/// The final report of a worker.
#[derive(Debug)]
pub(crate) struct Report {
    /// The thread number across all workers.
    pub(crate) thread: u32,
    pub(crate) totals: Totals,
    pub(crate) measured: WorkerUsage,
    pub(crate) network: Network,
    pub(crate) decoded: prony_load::DecodedSize,
    pub(crate) answered: StatusCounts,
}

/// Totals over the lifetime of a worker.
#[derive(Debug)]
pub(crate) struct Totals {
    pub(crate) connect: Histogram,
    pub(crate) tls: Histogram,
    pub(crate) reconnects: u64,
    /// Connections that the server closed after a reply.
    pub(crate) closed_by_server: u64,
    pub(crate) connects_failed: u64,
    pub(crate) connect_error: Option<String>,
    /// Connections for which this machine had no port, file or memory, and the first error of the kernel.
    pub(crate) own_shortages: u64,
    pub(crate) own_shortage: Option<String>,
    pub(crate) handshakes: Handshakes,
    /// What the first handshake agreed on.
    pub(crate) agreed: Option<AgreedTls>,
    /// How often requests were sent again because the server had left them unprocessed.
    pub(crate) sent_again: u64,
    /// The first protocol violation of the server.
    pub(crate) violation: Option<&'static str>,
    /// Most connections open at once.
    pub(crate) most_open: u32,
    /// The server's limit for requests in flight on one connection, if it is lower than configured.
    pub(crate) stream_limit: Option<u32>,
    /// The operation of a reply that had started but did not end within the timeout.
    pub(crate) unended: Option<u16>,
    pub(crate) sample: Sample,
}

impl Totals {
    pub(super) fn new(sample: Sample) -> Self {
        Self {
            connect: Histogram::new(),
            tls: Histogram::new(),
            reconnects: 0,
            closed_by_server: 0,
            connects_failed: 0,
            connect_error: None,
            own_shortages: 0,
            own_shortage: None,
            handshakes: Handshakes::default(),
            agreed: None,
            sent_again: 0,
            violation: None,
            most_open: 0,
            stream_limit: None,
            unended: None,
            sample,
        }
    }
}

/// A worker's data about itself during the measurement.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WorkerUsage {
    /// When it noticed the start of the measurement, ns.
    pub(crate) noticed: u64,
    /// Connections open at its start.
    pub(crate) open_at_begin: u32,
    /// CPU usage of the thread.
    pub(crate) used: ThreadTime,
    /// The part of it spent polling, ns.
    pub(crate) looked_ns: u64,
    /// Planned length, ns.
    pub(crate) length_ns: u64,
    /// Time until the worker noticed its end, ns.
    pub(crate) span_ns: u64,
    /// Integrals over the measurement of the open connections and of the pausing slots, ns.
    pub(crate) connected_ns: u64,
    pub(crate) paused_ns: u64,
}

/// The worker's ends of the channels.
pub(crate) struct WorkerChannels {
    pub(crate) control: Arc<Control>,
    pub(crate) messages: Sender<Message>,
    pub(crate) empties: Receiver<Box<Tally>>,
    /// Set if the job has a log.
    pub(crate) log: Option<crate::log::Logbook>,
    /// Set if threads share waiting arrivals.
    pub(crate) backlog: Option<Arc<Backlog>>,
}

/// Draws the keys of a thread's sample.
#[derive(Debug)]
pub(crate) struct Sample {
    key: u64,
    pub(crate) entries: WrongSample,
}

impl Sample {
    /// `thread` is the number across all workers: no two threads draw the same keys.
    pub(crate) const fn new(room: u32, seed: u64, thread: u32) -> Self {
        Self {
            key: mix(seed ^ (thread as u64).rotate_left(32)),
            entries: WrongSample::new(room),
        }
    }

    /// The key of the next unexpected reply, if it would be kept: only then is it worth describing.
    pub(crate) fn draw(&mut self) -> Option<u64> {
        self.key = mix(self.key);
        self.entries.wants(self.key).then_some(self.key)
    }

    /// Keeps an unexpected reply under the key that [`Sample::draw`] returned.
    pub(crate) fn keep(&mut self, key: u64, operation: u16, mismatch: Mismatch) {
        let Mismatch { what, expected, got } = mismatch;
        self.entries.keep(SampleEntry {
            key,
            operation,
            what,
            expected,
            got,
        });
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data read by all threads has cache lines of its own, and data written by all is written once for many
    /// requests.
    #[test]
    fn no_shared_line_is_written_for_a_request() {
        assert_eq!((align_of::<Control>(), align_of::<Pool>()), (128, 128));
        let requests = 1_000_000;
        let pool = Arc::new(Pool::new(requests, 4));
        let take_all = || {
            let mut takes = 0;
            while pool.take() > 0 {
                takes += 1;
            }
            takes
        };
        let takes: u64 = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take_all)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .sum()
        });
        assert!(pool.is_empty());
        assert!(takes < requests / 150, "{takes} writes for {requests} requests");
    }
}
