//! All that a generator is told.

use crate::{Load, Partition, Search, Share, Workload};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// All that a generator is told. The generator answers with `Event`s of the measurement crate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Where the requests go.
    pub target: Target,
    /// What is spoken.
    pub protocol: Protocol,
    /// How requests arrive.
    pub load: Load,
    /// What is sent and expected.
    pub workload: Workload,
    /// How long each phase lasts.
    pub phases: Phases,
    /// Bounds that are no times.
    #[serde(default)]
    pub limits: Limits,
    /// A request without a complete reply after this long has the outcome `timeout`, ns.
    pub timeout_ns: u64,
    /// How many replies are compared with their expectation.
    pub check: Check,
    /// Threads of the generator.
    pub threads: u32,
    /// CPUs that the threads are pinned to, in turn; empty: not pinned.
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// How bytes are moved.
    #[serde(default)]
    pub transport: TransportChoice,
    /// Length of an interval of the recording, ns.
    pub interval_ns: u64,
    /// Seed of every random choice.
    pub seed: u64,
    /// The search that finds the rate of the open load, where there is one: the job is run at one rate after another and,
    /// at the rate that was found, for its own measurement. The engine runs one rate only; whoever reads the job searches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// The file that gets a line for each measured request, or for a share of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogTo>,
    /// Where several workers make the load: what of it belongs to this one. All else is said of the whole load: a job is the
    /// same for all workers but for its share and its threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// Whether replies are counted by operation and status over the whole load, the warm-up included.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count_replies: bool,
}

impl Job {
    /// What belongs to thread `thread` (from 0) of this job, of all that the load has.
    ///
    /// # Panics
    /// Where a thread would have no connection, or is none of the job's.
    pub fn partition(&self, thread: u32) -> Partition {
        self.partition_of(self.first_thread() + thread)
    }

    /// That of a thread by its number among those of all workers.
    fn partition_of(&self, thread: u32) -> Partition {
        let connections = (self.load.connections(), self.load.members().unwrap_or(1));
        Partition::in_rooms(thread, self.all_threads(), connections)
    }

    /// Threads of all workers.
    pub fn all_threads(&self) -> u32 {
        self.share.as_ref().map_or(self.threads, |share| share.of_threads)
    }

    /// The number of this job's first thread among those of all workers.
    pub fn first_thread(&self) -> u32 {
        self.share.as_ref().map_or(0, |share| share.first_thread)
    }

    /// Connections of the threads of all workers before this one.
    ///
    /// # Panics
    /// As [`Job::partition`].
    pub fn connections_before(&self) -> u32 {
        (0..self.first_thread())
            .map(|thread| self.partition_of(thread).connections())
            .sum()
    }

    /// Connections of all threads of this job.
    ///
    /// # Panics
    /// As [`Job::partition`].
    pub fn own_connections(&self) -> u32 {
        (0..self.threads)
            .map(|thread| self.partition(thread).connections())
            .sum()
    }
}

/// A log of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogTo {
    /// The file, which is written anew.
    pub path: String,
    /// How a line is written.
    pub format: LogFormat,
    /// The share of the requests that get a line, above 0, at most 1: a seeded choice.
    pub share: f64,
}

/// How a line of a log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Values with commas between them, under a line of names.
    Csv,
    /// A JSON object a line.
    JsonLines,
}

/// Where the requests go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// As the user wrote it, for reports.
    pub url: String,
    /// Name or address to connect to.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Value of `Host` / `:authority`.
    pub authority: String,
    /// TLS, where the URL is https.
    pub tls: Option<Tls>,
    /// How it is reached.
    #[serde(default, skip_serializing_if = "Reach::is_usual")]
    pub reach: Reach,
}

/// How a target is reached, where that is not left to the resolver and the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reach {
    /// Addresses to connect to; empty: those that the resolver finds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<IpAddr>,
    /// Socket in the file system to connect to instead of an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix: Option<String>,
    /// Addresses of this machine that connections come from, in turn; empty: the kernel chooses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<IpAddr>,
    /// A connection that is not made after this long has failed, ns; absent: the timeout of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_timeout_ns: Option<u64>,
}

impl Reach {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// How TLS is spoken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Name sent in SNI and looked for in the certificate.
    pub server_name: String,
    /// Accept any certificate.
    pub insecure: bool,
    /// Certificates in PEM that are trusted instead of the machine's own; absent: the machine's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cacert: Option<String>,
    /// What the service may ask for, and how.
    #[serde(default, skip_serializing_if = "TlsChoices::is_usual")]
    pub choices: TlsChoices,
}

/// What of TLS is chosen by hand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsChoices {
    /// Who the generator says it is, where the service asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// The only version that is spoken; absent: 1.3, else 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<TlsVersion>,
    /// Whether every connection makes a whole handshake, instead of resuming an earlier session.
    #[serde(default)]
    pub whole_handshakes: bool,
}

impl TlsChoices {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// A certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The certificate and those that lead to its issuer, in PEM.
    pub certificate: String,
    /// Its private key, in PEM.
    pub key: String,
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TlsVersion {
    /// TLS 1.2.
    #[serde(rename = "1.2")]
    V1_2,
    /// TLS 1.3.
    #[serde(rename = "1.3")]
    V1_3,
}

/// What is spoken on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, by prior knowledge on plain TCP and by ALPN on TLS.
    Http2,
    /// gRPC over HTTP/2.
    Grpc,
    /// WebSocket over HTTP/1.1.
    #[serde(rename = "websocket")]
    WebSocket,
}

impl Protocol {
    /// Its name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
            Self::Grpc => "gRPC",
            Self::WebSocket => "WebSocket",
        }
    }
}

/// How long each phase lasts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Load that is not part of the result.
    pub warm_up: WarmUp,
    /// Load that is, ns.
    pub measurement_ns: u64,
    /// Time for the replies that are still due after the measurement, ns.
    pub drain_ns: u64,
}

/// Bounds that are no times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The measurement ends when so many requests have their outcome, if it is not over before. Of a sequence each step
    /// counts; one that has begun is not cut short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// A connection is closed after so many requests, and made again; 1: no connection is kept alive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_connection: Option<u32>,
    /// The longest message of a WebSocket, bytes; absent: as long as an event, [`LONGEST_EVENT`](crate::events::LONGEST_EVENT).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_message: Option<u64>,
    /// Whether a request that an idle connection lost counts as an error, instead of being sent once more where its method
    /// changes nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_retry: bool,
}

/// When the warm-up ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmUp {
    /// After this long, ns; 0: none.
    FixedNs(u64),
    /// When the generator is told `measure` on its standard input, or after this long, ns.
    UntilTold {
        /// The longest warm-up, ns.
        limit_ns: u64,
    },
}

/// How many replies are compared with their expectation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Share of the bodies that are compared, 0 to 1; the status is checked always. The engine compares all of them
    /// where that is cheap (a constant expected body).
    pub share: f64,
    /// Wrong replies that are kept to be shown.
    pub keep: u32,
}

/// How bytes are moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransportChoice {
    /// `io_uring` where the kernel allows it and a thread has no more connections than a ring serves well, else epoll.
    #[default]
    Auto,
    /// epoll.
    Epoll,
    /// `io_uring`, or an error.
    IoUring,
}
