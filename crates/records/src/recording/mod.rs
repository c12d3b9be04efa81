//! The result of a generator: the JSON object of `prony load --json`.

mod buckets;
mod compact;
mod connections;
mod distribution;
mod histogram;
mod llm;
mod outcome;
mod quantile;
mod response;
mod timings;
mod unexpected;
mod workers;

use crate::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use compact::{CompactHistogram, CompactSum};
pub use connections::{Address, AgreedTls, Handshakes, Network, Occupancy};
pub use distribution::Distribution;
pub use histogram::{Histogram, HistogramError};
pub use llm::{GoodputStreams, Llm, StreamRate, Usage};
pub use outcome::{Answers, Outcome, Outcomes};
pub use quantile::{Quantile, ResponseTimes};
pub use response::{BEYOND, Responses, is_supported};
pub use timings::{Timing, Timings};
pub use unexpected::UnexpectedReply;
pub use workers::{CommonStart, IntervalPart, WorkerNow, WorkerRow, WorkerState};

/// Version of the JSON format. Readers accept the earlier versions too: see [`upgrade`](crate::upgrade).
pub const SCHEMA: u32 = 2;

/// The result of one load: the JSON object of `prony load --json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Version of the JSON format, [`SCHEMA`].
    pub schema: u32,
    /// The URL as the user wrote it.
    pub target: String,
    /// Host and port of the proxy that the connections went through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// Protocol of the load: `http1`, `http2`, `grpc` or `websocket`.
    pub protocol: String,
    /// The load, as the load crate serialises it: an object with `kind`.
    #[serde(deserialize_with = "crate::upgrade::read_load")]
    pub load: serde_json::Value,
    /// Length of the measurement, s.
    pub duration_s: f64,
    /// Timeout of a request, ns; unknown in older records.
    #[serde(default)]
    pub timeout_ns: Option<u64>,
    /// Counts of requests.
    pub requests: Requests,
    /// Complete replies per second.
    pub throughput_per_s: f64,
    /// Valid replies per second.
    pub goodput_per_s: f64,
    /// Outcomes of the requests.
    pub outcomes: Outcomes,
    /// Number of replies by status code.
    pub status_codes: BTreeMap<String, u64>,
    /// Bytes transferred on the connections.
    pub bytes: BytesMoved,
    /// Requests that became due in the measurement, per second; absent in old records.
    #[serde(default)]
    pub offered_per_s: Option<f64>,
    /// Requests that were sent in the measurement, per second; absent in old records.
    #[serde(default)]
    pub sent_per_s: Option<f64>,
    /// Which requests the response times cover.
    #[serde(default)]
    pub coverage: Coverage,
    /// Time from when a request was due to its valid reply, ns, over all requests. A request without a valid reply counts as
    /// longer than any other: a percentile that falls on it is `"no_bound"`. A request that was still open when the load ended
    /// counts with its age: a percentile that falls on it is `{"at_least": age}`.
    pub response_time_ns: Option<ResponseTimes>,
    /// The response time of valid replies only, ns.
    #[serde(default)]
    pub valid_time_ns: Option<Latency>,
    /// Time from the actual send to the end of a valid reply, ns.
    pub service_time_ns: Option<Latency>,
    /// Time from the intended to the actual send, ns; `None` in a closed loop.
    pub schedule_lag_ns: Option<Latency>,
    /// Time from the actual send to the first byte of a valid reply, ns.
    #[serde(default)]
    pub first_byte_ns: Option<Latency>,
    /// Time to establish a TCP connection, ns.
    #[serde(default)]
    pub connect_time_ns: Option<Latency>,
    /// Time of a TLS handshake, ns.
    #[serde(default)]
    pub tls_time_ns: Option<Latency>,
    /// Time of a whole sequence of operations, ns, if the workload is a sequence.
    #[serde(default)]
    pub sequence_time_ns: Option<Latency>,
    /// Completed sequences per second, if the workload is a sequence.
    #[serde(default)]
    pub sequences_per_s: Option<f64>,
    /// Users, if they arrive at a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<UserCounts>,
    /// Stream messages, if the replies are streams.
    #[serde(default)]
    pub messages: Option<Messages>,
    /// Results by operation, in the workload's order.
    #[serde(default)]
    pub operations: Vec<OperationRecording>,
    /// Counts of connections.
    pub connections: Connections,
    /// CPU use of the generator, and whether it was the limit.
    pub generator: Generator,
    /// The stages of an open load whose rate changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageRecording>,
    /// Time series of the measurement.
    pub intervals: Vec<Interval>,
    /// The response times of at most 60 parts of the measurement, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distributions: Vec<Distribution>,
    /// Response times of valid replies (of complete replies in a record that covers survivors only): `HdrHistogram` V2,
    /// compressed, base64.
    pub histogram: String,
    /// Ages of the requests that were still open when the load ended, in the same format; empty if there were none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub open_histogram: String,
    /// How the slots of a closed load spent their time, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<Occupancy>,
    /// A seeded sample of unexpected replies.
    #[serde(default)]
    #[serde(alias = "wrong_replies")]
    pub unexpected_replies: Vec<UnexpectedReply>,
    /// Warnings about these numbers.
    pub warnings: Vec<Warning>,
    /// Whether the load was ended early: the numbers then cover the time until the interruption.
    #[serde(default)]
    pub interrupted: bool,
    /// Events of the connections below the protocol.
    #[serde(default)]
    pub network: Option<Network>,
    /// The log of requests, if one was requested.
    #[serde(default)]
    pub log: Option<Log>,
    /// Counts of decoded bodies, if bodies are decoded to be checked.
    #[serde(default)]
    pub decoded: Option<DecodedBodies>,
    /// Results by worker, if several workers made the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerRow>,
    /// How far apart the workers started, if several made the load and their clocks are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<CommonStart>,
    /// The replies to everything that was sent, warm-up included, if they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Answers>,
    /// The distributions behind its percentiles, until it is joined with others.
    #[serde(skip)]
    pub timings: Timings,
}

/// Bodies that were decoded before they were checked, warm-up included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecodedBodies {
    /// Number of decoded replies.
    pub replies: u64,
    /// Bytes of their bodies as received.
    pub encoded_bytes: u64,
    /// Bytes of their bodies after decoding.
    pub decoded_bytes: u64,
}

/// A log of requests in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Log {
    /// Path of the file.
    pub path: String,
    /// Share of the requests that are logged.
    pub share: f64,
    /// Number of lines written.
    pub lines: u64,
    /// Number of lines dropped because the disk was too slow.
    pub lost: u64,
}

/// Stream messages: server-sent events, JSON Lines, gRPC messages.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Messages {
    /// Number of messages received in the measurement.
    pub received: u64,
    /// Messages received per second.
    pub per_s: f64,
    /// Time from the actual send to the end of the first message, ns.
    pub first_ns: Option<Latency>,
    /// Time from the actual send to the end of the last message, ns, for streams that ended well.
    pub last_ns: Option<Latency>,
    /// Time from one message of a stream to the next, ns.
    #[serde(default)]
    pub gap_ns: Option<Latency>,
    /// Lost, repeated and reordered messages, if event ids count from 0 or 1.
    #[serde(default)]
    pub ids: Option<MessageIds>,
    /// Counts of streams by their ending.
    #[serde(default)]
    pub streams: Option<Streams>,
    /// Metrics of a language model's answers, if the streams are such answers. A message is then an event with text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llm: Option<Llm>,
    /// Delivery in rooms, if messages are sent in rooms. Each member then receives each message once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rooms: Option<Rooms>,
}

/// Delivery of the messages that were sent in rooms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rooms {
    /// Number of members per room.
    pub members: u64,
    /// Number of expected deliveries: members that should receive each message, over all messages.
    pub expected: u64,
    /// Number of deliveries that happened.
    pub reached: u64,
    /// Time from the actual send to the end of the message at each member, ns.
    pub delivery_ns: Option<Latency>,
}

impl Rooms {
    /// Adds counts. The delivery times are lost.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            members: self.members,
            expected: self.expected + other.expected,
            reached: self.reached + other.reached,
            delivery_ns: None,
        }
    }

    /// The delivery ratio: deliveries over expected deliveries.
    pub fn reach(&self) -> Option<f64> {
        (self.expected > 0).then(|| self.reached as f64 / self.expected as f64)
    }
}

/// Delivery errors that event ids reveal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageIds {
    /// Messages with a numeric id that counts up.
    pub counted: u64,
    /// Ids that were skipped and never received.
    pub missing: u64,
    /// Messages with an id that had been received before.
    pub doubled: u64,
    /// Messages received after one with a higher id.
    pub late: u64,
}

impl MessageIds {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            counted: self.counted + other.counted,
            missing: self.missing + other.missing,
            doubled: self.doubled + other.doubled,
            late: self.late + other.late,
        }
    }
}

/// Endings of the streams whose requests were due in the measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Streams {
    /// Streams that ended well, on their own or by their end condition.
    pub completed: u64,
    /// The part of `completed` that ended by the end condition (`--events`, `--for`).
    pub at_bound: u64,
    /// Streams that the service ended before their end condition or in the middle of a message.
    pub ended_early: u64,
    /// Streams that were in progress when the load ended; not part of `completed`.
    pub cut: u64,
}

impl Streams {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            completed: self.completed + other.completed,
            at_bound: self.at_bound + other.at_bound,
            ended_early: self.ended_early + other.ended_early,
            cut: self.cut + other.cut,
        }
    }
}

/// Which requests the response times of a record cover.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// Requests with a complete reply, expected or not, as recorded by old versions. The requests that waited longest are
    /// missing.
    #[default]
    SurvivorsOnly,
    /// Every request that was due in the measurement, or earlier and still open when the measurement ended.
    EveryRequest,
}

/// Counts of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// Due in the measurement, or earlier and still open when the measurement ended.
    pub offered: u64,
    /// Sent.
    pub sent: u64,
    /// Received a complete reply.
    pub completed: u64,
    /// Received a valid reply.
    pub valid: u64,
}

/// Bytes transferred on the connections during the measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BytesMoved {
    /// Sent to the service.
    pub sent: u64,
    /// Received from the service.
    pub received: u64,
}

/// Users who arrived in the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UserCounts {
    /// Users who arrived.
    pub arrived: u64,
    /// Users all of whose replies were valid.
    pub served: u64,
    /// Users who arrived when the maximum number was present.
    pub turned_away: u64,
    /// Time from the arrival of a served user to the last reply, ns.
    pub visit_ns: Option<Latency>,
}

/// A distribution of durations, ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Arithmetic mean.
    pub mean: f64,
    /// Shortest.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 75th percentile.
    pub p75: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p99_9: u64,
    /// 99.99th percentile.
    pub p99_99: u64,
    /// Longest.
    pub max: u64,
}

/// The results of one operation of a [`Recording`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationRecording {
    /// Name of the operation.
    pub name: String,
    /// Counts of requests.
    pub requests: Requests,
    /// Outcomes of the requests.
    pub outcomes: Outcomes,
    /// Time from when a request was due to its valid reply, ns, over all requests.
    pub response_time_ns: Option<ResponseTimes>,
    /// The response time of valid replies only, ns.
    #[serde(default)]
    pub valid_time_ns: Option<Latency>,
    /// Response times of valid replies: `HdrHistogram` V2, compressed, base64.
    pub histogram: String,
    /// Ages of the requests that were still open when the load ended, in the same format; empty if there were none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub open_histogram: String,
}

/// Counts of the connections of a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// Requested number of simultaneous connections.
    pub asked: u64,
    /// Established at the start of the measurement; for arriving users, and for connections that end after some requests, the
    /// highest number at once.
    pub established: u64,
    /// Connections that were made again after one ended.
    pub reconnects: u64,
    /// Requests that were sent again because an idle connection closed while they were sent, before any byte of the reply.
    #[serde(default, skip_serializing_if = "is_none")]
    pub retried: u64,
    /// Redirects that were followed.
    #[serde(default, skip_serializing_if = "is_none")]
    pub redirects: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

/// CPU use of the generator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// Number of threads.
    pub threads: u32,
    /// CPU time of all threads in the measurement, s.
    pub cpu_s: f64,
    /// The busiest thread's share of its CPU in the measurement, 0 to 1.
    pub busiest_thread: f64,
    /// `io_uring` or `epoll`.
    pub transport: String,
    /// Whether the generator was the limit.
    pub saturated: bool,
}

/// One stage of an open load whose rate changes, or a tenth of a ramp.
///
/// Replies belong to the stage in which they ended, with the precision of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StageRecording {
    /// Start, from the start of the measurement, s.
    pub start_s: f64,
    /// Length, s.
    pub length_s: f64,
    /// Requests that were due per second according to the profile.
    pub offered_per_s: f64,
    /// Number of valid replies.
    pub valid: u64,
    /// Number of requests without a valid reply.
    pub errors: u64,
    /// Median response time of all requests.
    pub p50: Option<Quantile>,
    /// 99th percentile of the response time of all requests.
    pub p99: Option<Quantile>,
}

/// One interval of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Start, from the start of the phase, s.
    pub start_s: f64,
    /// Length, s.
    pub length_s: f64,
    /// Number of complete replies.
    pub completed: u64,
    /// Number of valid replies.
    pub valid: u64,
    /// Number of failed requests, whatever the outcome.
    pub errors: u64,
    /// Number of stream messages, if the replies are streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Median response time of the valid replies received, ns.
    pub response_time_ns_p50: Option<u64>,
    /// 99th percentile of the response time of the valid replies received, ns.
    pub response_time_ns_p99: Option<u64>,
}

impl Interval {
    /// Complete replies per second.
    pub fn throughput_per_s(&self) -> f64 {
        self.completed as f64 / self.length_s.max(1e-9)
    }
}

impl Recording {
    /// Decodes the histogram of response times.
    pub fn response_times(&self) -> Result<Histogram, HistogramError> {
        Histogram::decode(&self.histogram)
    }

    /// The recording as it is stored: with [rounded](Histogram::rounded) histograms, which only charts need. All other numbers
    /// stay exact.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        let of_operations = self
            .operations
            .iter_mut()
            .map(|operation| &mut operation.histogram);
        for text in std::iter::once(&mut self.histogram).chain(of_operations) {
            if let Ok(histogram) = Histogram::decode(text) {
                *text = histogram.rounded().encode();
            }
        }
        self
    }
}
