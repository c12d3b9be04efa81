//! Counts over the whole life of a worker, and statistics of its threads.

use super::{StatusCounts, WrongSample};
use prony_records::{AgreedTls, DecodedBodies, Handshakes, Histogram};
use serde::{Deserialize, Serialize};

/// Counts from the first connection to the last reply, warm-up included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Times to establish a TCP connection; for arriving users only those of the measurement.
    pub connect: Histogram,
    /// Times of TLS handshakes; for arriving users only those of the measurement.
    pub tls: Histogram,
    pub reconnects: u64,
    /// Connections that the server closed after a reply.
    pub closed_by_server: u64,
    /// Reason for a failed connection.
    pub connect_error: Option<LowestThreadValue>,
    /// Connections that failed because a machine of the generator ran out of ports, files or memory.
    pub own_shortages: u64,
    /// Error of the kernel for `own_shortages`.
    pub own_shortage: Option<LowestThreadValue>,
    pub handshakes: Handshakes,
    /// What the first handshake agreed on; the least one of all threads: merging has one result.
    #[serde(default)]
    pub agreed: Option<AgreedTls>,
    /// Number of requests that were sent again because the server had left them unprocessed.
    pub sent_again: u64,
    /// Protocol violation of the server.
    pub violation: Option<LowestThreadValue>,
    /// Limit of concurrent requests on one connection, if the server sets one below the requested number; the lowest one seen.
    pub stream_limit: Option<u32>,
    /// Operation of a reply that started but did not end within the timeout.
    pub unended: Option<LowestThreadValue>,
    /// Retransmitted TCP segments.
    pub retransmits: u64,
    pub decoded: DecodedBodies,
    /// A sample of the unexpected replies of the measurement.
    pub sample: WrongSample,
    /// Results of all requests, if they are counted.
    pub answered: StatusCounts,
}

impl Totals {
    /// Empty totals that keep a sample of up to `keep` unexpected replies.
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
            agreed: None,
            sent_again: 0,
            violation: None,
            stream_limit: None,
            unended: None,
            retransmits: 0,
            decoded: DecodedBodies::default(),
            sample: WrongSample::new(keep),
            answered: StatusCounts::default(),
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.connect.merge(&other.connect);
        self.tls.merge(&other.tls);
        self.reconnects += other.reconnects;
        self.closed_by_server += other.closed_by_server;
        self.own_shortages += other.own_shortages;
        self.handshakes.completed += other.handshakes.completed;
        self.handshakes.resumed += other.handshakes.resumed;
        let agreed = self.agreed.iter().chain(&other.agreed).min().cloned();
        self.agreed = agreed;
        self.sent_again += other.sent_again;
        self.retransmits += other.retransmits;
        self.decoded.replies += other.decoded.replies;
        self.decoded.encoded_bytes += other.decoded.encoded_bytes;
        self.decoded.decoded_bytes += other.decoded.decoded_bytes;
        LowestThreadValue::keep(&mut self.connect_error, other.connect_error.as_ref());
        LowestThreadValue::keep(&mut self.own_shortage, other.own_shortage.as_ref());
        LowestThreadValue::keep(&mut self.violation, other.violation.as_ref());
        LowestThreadValue::keep(&mut self.unended, other.unended.as_ref());
        self.stream_limit = self.stream_limit.into_iter().chain(other.stream_limit).min();
        self.sample.merge(&other.sample);
        self.answered.merge(&other.answered);
    }
}

/// A text reported by one of several threads: the one with the lowest number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LowestThreadValue {
    /// Number of the thread among the threads of all workers.
    pub thread: u32,
    pub text: String,
}

impl LowestThreadValue {
    /// Keeps the text of the lower thread.
    fn keep(ours: &mut Option<Self>, theirs: Option<&Self>) {
        if let Some(theirs) = theirs
            && ours.as_ref().is_none_or(|ours| theirs < ours)
        {
            *ours = Some(theirs.clone());
        }
    }
}

/// Statistics of a thread in the measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadPart {
    /// Connections that were open at the start of the measurement.
    pub open_at_begin: u32,
    /// Highest number of simultaneous connections in its whole life.
    pub most_open: u32,
    pub cpu_ns: u64,
    /// Time during which it was runnable but waited for a CPU, ns.
    pub waiting_ns: u64,
    /// The part of its CPU time that it spent polling for work, ns.
    pub looked_ns: u64,
    pub length_ns: u64,
    /// Time from the start of the measurement until the thread noticed its end, ns.
    pub span_ns: u64,
    /// Time within the span during which connections were open, summed over all of them, ns.
    pub connected_ns: u64,
    /// Time within the span during which slots paused between two requests, summed over all of them, ns.
    pub paused_ns: u64,
}

impl ThreadPart {
    /// A time of the thread as a share of the measurement, 0 to 1.
    fn share(&self, ns: u64) -> f64 {
        (ns as f64 / self.length_ns.max(1) as f64).min(1.0)
    }

    /// The share of a CPU that it used, without polling for work.
    pub fn busy(&self) -> f64 {
        self.share(self.cpu_ns.saturating_sub(self.looked_ns))
    }

    /// The share of the time that it waited for a CPU.
    pub fn starved(&self) -> f64 {
        self.share(self.waiting_ns)
    }
}

/// The use of one address of the target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressPart {
    /// Rank in the order of the resolver; the lowest one of all workers. Addresses that were left out come after the ones that
    /// were used.
    pub rank: u32,
    /// Number of connections that were opened to it.
    pub connections: u64,
    /// Why it was left out, if it was.
    pub left_out: Option<LowestThreadValue>,
}

impl AddressPart {
    pub(super) fn merge(&mut self, other: &Self) {
        self.rank = self.rank.min(other.rank);
        self.connections += other.connections;
        LowestThreadValue::keep(&mut self.left_out, other.left_out.as_ref());
    }
}

/// The logs of requests of all workers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPart {
    /// Path of the file; the first path by name if workers wrote to several.
    pub path: String,
    pub lines: u64,
    /// Lines that were dropped because a disk was too slow.
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
