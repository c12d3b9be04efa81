//! What is counted over the whole life of a worker, and what its threads note about themselves.

use super::{Answered, WrongSample};
use prony_records::{DecodedBodies, Handshakes, Histogram};
use serde::{Deserialize, Serialize};

/// What is counted from the first connection to the last reply, warm-up included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Times to establish a TCP connection; of arriving users those of the measurement.
    pub connect: Histogram,
    /// Times of TLS handshakes; of arriving users those of the measurement.
    pub tls: Histogram,
    /// Connections that were made again.
    pub reconnects: u64,
    /// Connections that the server closed after a reply.
    pub closed_by_server: u64,
    /// Why a connection could not be made.
    pub connect_error: Option<First>,
    /// Connections for which a machine of the generator had no port, file or memory.
    pub own_shortages: u64,
    /// What the kernel said then.
    pub own_shortage: Option<First>,
    /// TLS handshakes.
    pub handshakes: Handshakes,
    /// How often requests were sent again that the server had left unprocessed.
    pub sent_again: u64,
    /// How the server broke the protocol.
    pub violation: Option<First>,
    /// Requests that the server lets be under way on one connection, where they are fewer than asked for: the fewest.
    pub stream_limit: Option<u32>,
    /// The operation of a reply that had begun and had no end within the timeout.
    pub unended: Option<First>,
    /// Segments that TCP sent again.
    pub retransmits: u64,
    /// Bodies that were decoded.
    pub decoded: DecodedBodies,
    /// Some of the wrong replies of the measurement.
    pub sample: WrongSample,
    /// What all requests came to, where that is counted.
    pub answered: Answered,
}

impl Totals {
    /// Nothing yet, with room for so many wrong replies.
    pub fn new(keep: u32) -> Self {
        Self {
            connect: Histogram::new(),
            tls: Histogram::new(),
            reconnects: 0,
            closed_by_server: 0,
            connect_error: None,
            own_shortages: 0,
            own_shortage: None,
            handshakes: Handshakes::default(),
            sent_again: 0,
            violation: None,
            stream_limit: None,
            unended: None,
            retransmits: 0,
            decoded: DecodedBodies::default(),
            sample: WrongSample::new(keep),
            answered: Answered::default(),
        }
    }

    /// Adds what others counted.
    pub fn merge(&mut self, other: &Self) {
        self.connect.merge(&other.connect);
        self.tls.merge(&other.tls);
        self.reconnects += other.reconnects;
        self.closed_by_server += other.closed_by_server;
        self.own_shortages += other.own_shortages;
        self.handshakes.completed += other.handshakes.completed;
        self.handshakes.resumed += other.handshakes.resumed;
        self.sent_again += other.sent_again;
        self.retransmits += other.retransmits;
        self.decoded.replies += other.decoded.replies;
        self.decoded.encoded_bytes += other.decoded.encoded_bytes;
        self.decoded.decoded_bytes += other.decoded.decoded_bytes;
        First::keep(&mut self.connect_error, other.connect_error.as_ref());
        First::keep(&mut self.own_shortage, other.own_shortage.as_ref());
        First::keep(&mut self.violation, other.violation.as_ref());
        First::keep(&mut self.unended, other.unended.as_ref());
        self.stream_limit = self.stream_limit.into_iter().chain(other.stream_limit).min();
        self.sample.merge(&other.sample);
        self.answered.merge(&other.answered);
    }
}

/// One of the things that several threads said: that of the thread with the lowest number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct First {
    /// The thread, by its number among those of all workers.
    pub thread: u32,
    /// What it said.
    pub text: String,
}

impl First {
    /// Keeps the first of both.
    fn keep(ours: &mut Option<Self>, theirs: Option<&Self>) {
        if let Some(theirs) = theirs
            && ours.as_ref().is_none_or(|ours| theirs < ours)
        {
            *ours = Some(theirs.clone());
        }
    }
}

/// What a thread notes about itself in the measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadPart {
    /// Connections open when it began.
    pub open_at_begin: u32,
    /// Connections open at once, at most, in its whole life.
    pub most_open: u32,
    /// CPU time, ns.
    pub cpu_ns: u64,
    /// Time for which it could have run but had to wait for a CPU, ns.
    pub waiting_ns: u64,
    /// Of its CPU time, what it spent looking for something to do, ns.
    pub looked_ns: u64,
    /// Length of the measurement, ns.
    pub length_ns: u64,
    /// Time from its begin until the thread noticed its end, ns.
    pub span_ns: u64,
    /// Time within it for which connections were open, over all of them, ns.
    pub connected_ns: u64,
    /// Time within it for which slots paused between two requests, over all of them, ns.
    pub paused_ns: u64,
}

impl ThreadPart {
    /// A time of the thread as a share of the measurement, 0 to 1.
    fn share(&self, ns: u64) -> f64 {
        (ns as f64 / self.length_ns.max(1) as f64).min(1.0)
    }

    /// The share of its CPU that it used, without what it only spent looking.
    pub fn busy(&self) -> f64 {
        self.share(self.cpu_ns.saturating_sub(self.looked_ns))
    }

    /// The share of the time for which it waited for a CPU.
    pub fn starved(&self) -> f64 {
        self.share(self.waiting_ns)
    }
}

/// What became of one address of the target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressPart {
    /// Its place in the order of the resolver, of the worker that has it nearest to the front. Those that were left out come
    /// after those that were used.
    pub rank: u32,
    /// Connections that were begun to it.
    pub connections: u64,
    /// Why it was left out, where it was.
    pub left_out: Option<First>,
}

impl AddressPart {
    pub(super) fn merge(&mut self, other: &Self) {
        self.rank = self.rank.min(other.rank);
        self.connections += other.connections;
        First::keep(&mut self.left_out, other.left_out.as_ref());
    }
}

/// The logs of requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPart {
    /// The file; of workers that wrote to several the first by name.
    pub path: String,
    /// Lines that were written.
    pub lines: u64,
    /// Lines that are missing because a disk was too slow.
    pub lost: u64,
}

impl LogPart {
    pub(super) fn merged(self, other: &Self) -> Self {
        Self {
            lines: self.lines + other.lines,
            lost: self.lost + other.lost,
            path: self.path.min(other.path.clone()),
        }
    }
}
