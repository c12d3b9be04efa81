//! What the workers and the caller's thread say to each other.

use super::backlog::Backlog;
use super::sample::Sample;
use crate::clock::ThreadTime;
use crate::transport::Network;
use prony_load::Partition;
use prony_merge::{Answered, Tally};
use prony_records::{Handshakes, Histogram, Phase};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};

/// When the phases begin, ns of the common clock; `u64::MAX`: not yet known. Written by the caller, read by the workers:
/// no worker writes here, so that none waits for another one's cache. Nothing else lies in its lines (two, since processors
/// fetch them in pairs).
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Control {
    pub(crate) start: AtomicU64,
    pub(crate) measure: AtomicU64,
    pub(crate) stop: AtomicU64,
    /// End at once.
    pub(crate) abort: AtomicBool,
    /// Where the requests of the measurement are counted: arrivals that may still begin.
    pub(crate) pool: Option<Arc<Pool>>,
}

/// The phases as a worker sees them at one moment.
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

/// Arrivals that all threads of this process take from. A thread takes many at once while there are many, so that threads
/// rarely meet here. Where several workers make the load, each thread has its exact share instead, so that the workers need not
/// ask each other, and send the same requests however many of them there are.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Pool {
    left: AtomicU64,
    threads: u64,
    /// Arrivals of the whole load.
    whole: u64,
    /// Whether nothing is taken from here: each thread has its exact share.
    is_divided: bool,
}

/// Most arrivals that a thread takes at once.
const MOST_AT_ONCE: u64 = 256;

impl Pool {
    /// Arrivals that the threads take from each other.
    pub(crate) const fn new(arrivals: u64, threads: u32) -> Self {
        Self {
            left: AtomicU64::new(arrivals),
            threads: threads as u64,
            whole: arrivals,
            is_divided: false,
        }
    }

    /// Arrivals of which each thread has its exact share.
    pub(crate) const fn divided(arrivals: u64) -> Self {
        Self {
            left: AtomicU64::new(0),
            threads: 1,
            whole: arrivals,
            is_divided: true,
        }
    }

    /// The first arrivals of a thread, without which it takes from the others.
    pub(super) const fn own(&self, partition: Partition) -> u64 {
        if self.is_divided {
            partition.below(self.whole)
        } else {
            0
        }
    }

    /// Takes some; 0: none is left.
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

    /// How many there are, of all workers.
    pub(super) const fn whole(&self) -> u64 {
        self.whole
    }
}

/// What a worker tells.
#[derive(Debug)]
pub(crate) enum Message {
    /// Every connection was tried; how many were open at once, and why the first that failed did.
    Ready { open: u32, error: Option<String> },
    /// A phase began.
    Began { phase: Phase, open: u32 },
    /// An interval ended: what was recorded in it. The box comes back to be used again.
    Interval(Box<Counted>),
    /// All requests of a measurement that counts them have their outcome, the last one since this time.
    Exhausted(u64),
    /// The worker is done.
    Done(Box<Report>),
}

/// One interval of one worker.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) thread: u32,
    pub(crate) phase: Phase,
    /// Number of the interval in its phase.
    pub(crate) index: u64,
    /// Begin and end from the begin of the phase, ns.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) tally: Box<Tally>,
}

/// What a worker knows when it is done.
#[derive(Debug)]
pub(crate) struct Report {
    /// The thread, by its number among those of all workers.
    pub(crate) thread: u32,
    pub(crate) totals: Totals,
    pub(crate) measured: Measured,
    pub(crate) network: Network,
    pub(crate) decoded: prony_load::Decoded,
    pub(crate) answered: Answered,
}

/// What is counted over the whole life of a worker.
#[derive(Debug)]
pub(crate) struct Totals {
    pub(crate) connect: Histogram,
    pub(crate) tls: Histogram,
    pub(crate) reconnects: u64,
    /// Connections that the server closed after a reply.
    pub(crate) closed_by_server: u64,
    pub(crate) connects_failed: u64,
    pub(crate) connect_error: Option<String>,
    /// Connections for which this machine had no port, file or memory, and what the kernel said the first time.
    pub(crate) own_shortages: u64,
    pub(crate) own_shortage: Option<String>,
    pub(crate) handshakes: Handshakes,
    /// How often requests were sent again that the server had left unprocessed.
    pub(crate) sent_again: u64,
    /// How the server broke the protocol, the first time.
    pub(crate) violation: Option<&'static str>,
    /// Connections that were open at once, at most.
    pub(crate) most_open: u32,
    /// Requests that the server lets be under way on one connection, where they are fewer than asked for.
    pub(crate) stream_limit: Option<u32>,
    /// The operation of a reply that had begun and had no end within the timeout.
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
            sent_again: 0,
            violation: None,
            most_open: 0,
            stream_limit: None,
            unended: None,
            sample,
        }
    }
}

/// What a worker notes about itself in the measurement.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measured {
    /// When it noticed that the measurement began, ns.
    pub(crate) noticed: u64,
    /// Connections open when it began.
    pub(crate) open_at_begin: u32,
    /// What the thread used.
    pub(crate) used: ThreadTime,
    /// Of that, time spent looking for something to do, ns.
    pub(crate) looked_ns: u64,
    /// Length, ns.
    pub(crate) length_ns: u64,
    /// Time until its end was noticed, ns.
    pub(crate) span_ns: u64,
    /// Time within it for which connections were open, and for which slots paused, ns.
    pub(crate) connected_ns: u64,
    pub(crate) paused_ns: u64,
}

/// The worker's ends of the channels.
pub(crate) struct Lines {
    pub(crate) control: Arc<Control>,
    pub(crate) messages: Sender<Message>,
    pub(crate) empties: Receiver<Box<Tally>>,
    /// Where a log is wanted.
    pub(crate) log: Option<crate::log::Logbook>,
    /// Where threads share what waits.
    pub(crate) backlog: Option<Arc<Backlog>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What all threads read lies in lines of its own, and what they all write is written once for many requests.
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
