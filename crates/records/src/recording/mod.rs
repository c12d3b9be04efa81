//! What a generator says at the end: the JSON object of `prony load --json`.

mod answers;
mod compact;
mod histogram;
mod interval_part;
mod llm;
mod network;
mod occupancy;
mod outcome;
mod quantile;
mod response;
mod workers;

use crate::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use answers::Answers;
pub use compact::{CompactHistogram, CompactSum};
pub use histogram::{Histogram, HistogramError};
pub use interval_part::IntervalPart;
pub use llm::{Good, Llm, StreamRate, Usage};
pub use network::{Address, Handshakes, Network};
pub use occupancy::Occupancy;
pub use outcome::{Outcome, Outcomes};
pub use quantile::{Quantile, ResponseTimes};
pub use response::{BEYOND, Responses, is_supported};
pub use workers::{CommonStart, WorkerNow, WorkerRow, WorkerState};

/// Version of the JSON. Keys are added, never renamed.
pub const SCHEMA: u32 = 1;

/// What one load gave: the JSON object of `prony load --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The URL as the user wrote it.
    pub target: String,
    /// `http1`, `http2` or `grpc`.
    pub protocol: String,
    /// The load, as the load crate writes it: an object with `kind`.
    pub load: serde_json::Value,
    /// Length of the measurement, s.
    pub duration_s: f64,
    /// How long a request may wait for its reply, ns; unknown in older records.
    #[serde(default)]
    pub timeout_ns: Option<u64>,
    /// How many requests.
    pub requests: Requests,
    /// Complete replies per second.
    pub throughput_per_s: f64,
    /// Valid replies per second.
    pub goodput_per_s: f64,
    /// What became of the requests.
    pub outcomes: Outcomes,
    /// Replies by status code.
    pub status_codes: BTreeMap<String, u64>,
    /// Bytes on the connections.
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
    /// From when a request was due to its valid reply, ns, over all requests. One without a valid reply counts as longer than
    /// any other: a percentile that falls on it is `"no_bound"`. One that was still open when the load ended counts with its
    /// age: a percentile that falls on it is `{"at_least": age}`.
    pub response_time_ns: Option<ResponseTimes>,
    /// The same of valid replies alone, ns.
    #[serde(default)]
    pub valid_time_ns: Option<Latency>,
    /// From the actual send to the end of a valid reply, ns.
    pub service_time_ns: Option<Latency>,
    /// From the intended to the actual send, ns; in a closed loop there is none.
    pub schedule_lag_ns: Option<Latency>,
    /// From the actual send to the first byte of a valid reply, ns.
    #[serde(default)]
    pub first_byte_ns: Option<Latency>,
    /// Time to establish a TCP connection, ns.
    #[serde(default)]
    pub connect_time_ns: Option<Latency>,
    /// Time of a TLS handshake, ns.
    #[serde(default)]
    pub tls_time_ns: Option<Latency>,
    /// Time of a whole sequence of operations, ns, where the workload is a sequence.
    #[serde(default)]
    pub sequence_time_ns: Option<Latency>,
    /// Whole sequences per second, where the workload is a sequence.
    #[serde(default)]
    pub sequences_per_s: Option<f64>,
    /// The messages of streams, where there are any.
    #[serde(default)]
    pub messages: Option<Messages>,
    /// The same per operation, in the workload's order.
    #[serde(default)]
    pub operations: Vec<OperationRecording>,
    /// The connections.
    pub connections: Connections,
    /// The generator itself.
    pub generator: Generator,
    /// The stages of an open load whose rate changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageRecording>,
    /// The measurement in pieces.
    pub intervals: Vec<Interval>,
    /// Response times of valid replies (in a record that covers survivors only, of complete ones): `HdrHistogram` V2,
    /// compressed, base64.
    pub histogram: String,
    /// Ages of the requests that were still open when the load ended, in the same form; empty where there were none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub open_histogram: String,
    /// What took up the time of the slots of a closed load, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<Occupancy>,
    /// A seeded sample of wrong replies.
    #[serde(default)]
    pub wrong_replies: Vec<WrongReply>,
    /// Reasons to doubt these numbers.
    pub warnings: Vec<Warning>,
    /// Whether somebody ended the load before its time: the numbers are those until then.
    #[serde(default)]
    pub interrupted: bool,
    /// What the connections went through below the protocol.
    #[serde(default)]
    pub network: Option<Network>,
    /// The log of requests, where one was wanted.
    #[serde(default)]
    pub log: Option<Log>,
    /// The bodies that were decoded, where they are judged so.
    #[serde(default)]
    pub decoded: Option<DecodedBodies>,
    /// What each worker did, where several made the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerRow>,
    /// How far apart the workers began, where several made the load and their clocks are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<CommonStart>,
    /// What came back for all that was sent, warm-up included, where that is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Answers>,
}

/// Bodies that were decoded before they were judged, warm-up included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecodedBodies {
    /// How many.
    pub replies: u64,
    /// Their bytes as they came.
    pub encoded_bytes: u64,
    /// Their bytes once they were decoded.
    pub decoded_bytes: u64,
}

/// A log of requests in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Log {
    /// The file.
    pub path: String,
    /// The share of the requests that are in it.
    pub share: f64,
    /// Lines that were written.
    pub lines: u64,
    /// Lines that are missing because the disk was too slow.
    pub lost: u64,
}

/// The messages of streams: server-sent events, JSON Lines, messages of gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Messages {
    /// How many came in the measurement.
    pub received: u64,
    /// How many of them per second.
    pub per_s: f64,
    /// From the actual send to the end of the first message, ns.
    pub first_ns: Option<Latency>,
    /// From the actual send to the end of the last message, ns; of streams that ended well.
    pub last_ns: Option<Latency>,
    /// From one message of a stream to the next, ns.
    #[serde(default)]
    pub gap_ns: Option<Latency>,
    /// What the ids of events tell, where they count from 0 or 1.
    #[serde(default)]
    pub ids: Option<MessageIds>,
    /// How streams ended.
    #[serde(default)]
    pub streams: Option<Streams>,
    /// Where they are the answers of a language model: what is said of those. Messages are events that bring text then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llm: Option<Llm>,
    /// Where they are said in rooms: how far they came. A message is received once by each member then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rooms: Option<Rooms>,
}

/// How far the messages came that were said in rooms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rooms {
    /// Members of a room.
    pub members: u64,
    /// Members to whom messages should come, over all messages.
    pub expected: u64,
    /// Those to whom they came.
    pub reached: u64,
    /// From the actual send to the end of the message at each member, ns.
    pub delivery_ns: Option<Latency>,
}

impl Rooms {
    /// The share of the members to whom messages came.
    pub fn reach(&self) -> Option<f64> {
        (self.expected > 0).then(|| self.reached as f64 / self.expected as f64)
    }
}

/// What the ids of events tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageIds {
    /// Messages with an id that counts.
    pub counted: u64,
    /// Ids that were left out and never came.
    pub missing: u64,
    /// Messages with an id that had come before.
    pub doubled: u64,
    /// Messages that came after one with a higher id.
    pub late: u64,
}

/// How the streams ended whose requests were due in the measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Streams {
    /// Ended well, by themselves or by their bound.
    pub completed: u64,
    /// Of them, those that their bound ended (`--events`, `--for`).
    pub at_bound: u64,
    /// Ended by the service before their bound or in the middle of a message.
    pub ended_early: u64,
    /// Were under way when the load was over; not among those that completed.
    pub cut: u64,
}

/// Which requests the response times of a record cover.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// Those with a complete reply, right or wrong: what prony recorded before it recorded all. The requests that waited longest
    /// are missing.
    #[default]
    SurvivorsOnly,
    /// Every request that was due in the measurement, and those that were due earlier and still open when it closed.
    EveryRequest,
}

/// How many requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// Were due in the measurement, or before it and still open when it closed.
    pub offered: u64,
    /// Were sent.
    pub sent: u64,
    /// Got a complete reply.
    pub completed: u64,
    /// Got a valid reply.
    pub valid: u64,
}

/// Bytes on the connections, in the measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BytesMoved {
    /// To the service.
    pub sent: u64,
    /// From the service.
    pub received: u64,
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

/// One operation's part of a [`Recording`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationRecording {
    /// The operation.
    pub name: String,
    /// How many requests.
    pub requests: Requests,
    /// What became of them.
    pub outcomes: Outcomes,
    /// From when a request was due to its valid reply, ns, over all requests.
    pub response_time_ns: Option<ResponseTimes>,
    /// The same of valid replies alone, ns.
    #[serde(default)]
    pub valid_time_ns: Option<Latency>,
    /// Response times of valid replies: `HdrHistogram` V2, compressed, base64.
    pub histogram: String,
    /// Ages of the requests that were still open when the load ended, in the same form; empty where there were none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub open_histogram: String,
}

/// The connections of a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// Asked for (at once).
    pub asked: u64,
    /// Established when the measurement began; for arriving users: at most at once.
    pub established: u64,
    /// Made again after one ended.
    pub reconnects: u64,
    /// Requests that were sent once more because an idle connection ended as they came, before a byte of the reply.
    #[serde(default, skip_serializing_if = "is_none")]
    pub retried: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

/// The generator itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// Threads.
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

/// One stage of an open load whose rate changes; of a ramp a tenth.
///
/// Replies belong to the stage in which they ended, to within an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StageRecording {
    /// Begin, from the start of the measurement, s.
    pub start_s: f64,
    /// Length, s.
    pub length_s: f64,
    /// Requests that were due per second, by the profile.
    pub offered_per_s: f64,
    /// Valid replies.
    pub valid: u64,
    /// Requests that had no valid reply.
    pub errors: u64,
    /// Median response time of all requests.
    pub p50: Option<Quantile>,
    /// 99th percentile of the response time of all requests.
    pub p99: Option<Quantile>,
}

/// One piece of the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Begin, from the start of the phase, s.
    pub start_s: f64,
    /// Length, s.
    pub length_s: f64,
    /// Complete replies.
    pub completed: u64,
    /// Valid replies.
    pub valid: u64,
    /// Requests that failed, whatever the outcome.
    pub errors: u64,
    /// Messages of streams, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Median response time of the valid replies that came, ns.
    pub response_time_ns_p50: Option<u64>,
    /// 99th percentile of the response time of the valid replies that came, ns.
    pub response_time_ns_p99: Option<u64>,
}

impl Interval {
    /// Complete replies per second.
    pub fn throughput_per_s(&self) -> f64 {
        self.completed as f64 / self.length_s.max(1e-9)
    }
}

/// A reply that was not what was expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongReply {
    /// The operation.
    pub operation: String,
    /// What was looked at.
    pub what: String,
    /// What should have come.
    pub expected: String,
    /// What came.
    pub got: String,
}

impl Recording {
    /// The response times.
    pub fn response_times(&self) -> Result<Histogram, HistogramError> {
        Histogram::decode(&self.histogram)
    }

    /// The recording of a trial as it is kept: [rounded](Histogram::rounded) histograms, which pictures need. All numbers were
    /// worked out before.
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
