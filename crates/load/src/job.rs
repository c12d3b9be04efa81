//! All that a generator is told.

use crate::{Load, Search, Workload};
use serde::{Deserialize, Serialize};

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
    /// `io_uring` where the kernel allows it, else epoll.
    #[default]
    Auto,
    /// epoll.
    Epoll,
    /// `io_uring`, or an error.
    IoUring,
}
