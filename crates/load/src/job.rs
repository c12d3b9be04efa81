//! The complete configuration of one generator process.

use crate::secrets::{KnownSecrets, MASK, is_secret};
use crate::{Load, Part, Partition, Request, Share, Template, Workload};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// The complete configuration of one generator process. The generator answers with `Event`s of the records crate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Where the requests are sent.
    pub target: Target,
    /// The protocol of the connections.
    pub protocol: Protocol,
    /// How requests arrive.
    pub load: Load,
    /// The requests, and the expected replies.
    pub workload: Workload,
    /// How long each phase lasts.
    pub phases: PhaseDurations,
    /// Limits other than times.
    #[serde(default)]
    pub limits: Limits,
    /// A request without a complete reply after this time has the outcome `timeout`, ns.
    pub timeout_ns: u64,
    /// How many replies are checked against their expectation.
    pub check: Check,
    /// Threads of the generator.
    pub threads: u32,
    /// CPUs that the threads are pinned to, one after the other; empty: not pinned.
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// How bytes are sent and received.
    #[serde(default)]
    pub transport: TransportChoice,
    /// Length of one interval of the recording, ns.
    pub interval_ns: u64,
    /// Seed of all random choices.
    pub seed: u64,
    /// A log file with one line for each measured request, or for a share of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogTo>,
    /// The part of the load that this worker makes, where several workers make it. Everything else describes the
    /// whole load: the jobs of all workers are equal except for their share and their threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// Whether replies are counted by operation and status over the whole load, including the warm-up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count_replies: bool,
}

impl Job {
    /// The part of the load that belongs to thread `thread` (from 0) of this job.
    ///
    /// # Panics
    /// If a thread would have no connection, or the job has no such thread.
    pub fn partition(&self, thread: u32) -> Partition {
        self.partition_of(self.first_thread() + thread)
    }

    /// The same for a thread numbered across all workers.
    fn partition_of(&self, thread: u32) -> Partition {
        let connections = (self.load.connections(), self.load.members().unwrap_or(1));
        Partition::in_rooms(thread, self.all_threads(), connections)
    }

    /// Threads of all workers.
    pub fn all_threads(&self) -> u32 {
        self.share.as_ref().map_or(self.threads, |share| share.of_threads)
    }

    /// The number of this job's first thread across all workers.
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
    /// The file, which is overwritten.
    pub path: String,
    /// The format of its lines.
    pub format: LogFormat,
    /// The share of the requests that get a line, above 0, at most 1: a seeded choice.
    pub share: f64,
}

/// The format of a log's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Comma-separated values after a header line.
    Csv,
    /// One JSON object per line.
    JsonLines,
}

/// Where the requests are sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The URL as the user wrote it, without its secrets, for reports.
    pub url: String,
    /// Name or address to connect to.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Value of `Host` / `:authority`.
    pub authority: String,
    /// TLS, where the URL is https.
    pub tls: Option<Tls>,
    /// Connect options.
    #[serde(default, skip_serializing_if = "ConnectOptions::is_usual")]
    pub connect: ConnectOptions,
    /// Name and password of the URL, sent with every request that has no `Authorization` of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
}

impl Target {
    /// Scheme and authority, as in `http://localhost:8080`.
    pub fn origin(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }

    /// Name or address, and port, that connections are made to.
    pub fn peer(&self) -> (&str, u16) {
        match &self.connect.proxy {
            Some(proxy) => (&proxy.host, proxy.port),
            None => (&self.host, self.port),
        }
    }

    /// The value of `Authorization` that this request needs in addition to its own headers.
    pub fn authorization(&self, request: &Request) -> Option<String> {
        let credentials = self.credentials.as_ref()?;
        let mut names = request.headers.iter().map(|header| &header.name);
        let is_given = names.any(|name| name.eq_ignore_ascii_case("authorization"));
        (!is_given).then(|| format!("Basic {}", credentials.token()))
    }
}

/// A name and a password for basic authentication (RFC 7617).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    /// The name of the user.
    pub user: String,
    /// The password.
    pub password: String,
}

impl Credentials {
    /// Name and password of a URL, percent-encoded; `None` if it has none.
    pub fn of_url(user: &str, password: Option<&str>) -> Option<Self> {
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let is_given = !user.is_empty() || password.is_some();
        is_given.then(|| Self {
            user: decoded(user),
            password: decoded(password.unwrap_or_default()),
        })
    }

    /// Both as they are sent.
    pub fn token(&self) -> String {
        STANDARD.encode(format!("{}:{}", self.user, self.password))
    }
}

impl KnownSecrets {
    /// Adds the passwords of a URL and of a proxy.
    pub fn add_target(&mut self, target: &Target) {
        let proxy = target.connect.proxy.as_ref();
        let of_proxy = proxy.and_then(|proxy| proxy.credentials.as_ref());
        for credentials in target.credentials.iter().chain(of_proxy) {
            self.add(&credentials.password);
            self.add(&credentials.token());
        }
    }

    /// Adds the secrets in the requests of a job: those in headers and in the query of a URL, by their names, and the password of its
    /// URL.
    pub fn add_job(&mut self, job: &Job) {
        self.add_target(&job.target);
        for operation in &job.workload.operations {
            let request = &operation.request;
            for header in request.headers.iter().filter(|header| is_secret(&header.name)) {
                if let Some(value) = constant(&header.value) {
                    self.add_header(&header.name, &value);
                }
            }
            self.add_query(&constant(&request.path).unwrap_or_default());
        }
    }
}

/// The text of a template without placeholders.
fn constant(template: &Template) -> Option<String> {
    let mut text = String::new();
    for part in &template.0 {
        let Part::Literal(bytes) = part else { return None };
        text.push_str(std::str::from_utf8(bytes.as_slice()).ok()?);
    }
    Some(text)
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.user, MASK)
    }
}

/// Connect options, for cases in which the resolver and the kernel should not choose.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectOptions {
    /// Addresses to connect to; empty: those that the resolver returns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<IpAddr>,
    /// Path of a Unix socket to connect to instead of an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix: Option<String>,
    /// Local addresses of the connections, used one after the other; empty: the kernel chooses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<IpAddr>,
    /// Time limit for a connection attempt, ns; absent: the timeout of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_timeout_ns: Option<u64>,
    /// The proxy that connections go through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
}

/// A proxy of HTTP, which is connected to instead of the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    /// Name or address to connect to.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Name and password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
}

impl fmt::Display for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(formatter, "[{}]:{}", self.host, self.port)
        } else {
            write!(formatter, "{}:{}", self.host, self.port)
        }
    }
}

impl Proxy {
    /// The value of `Proxy-Authorization`.
    pub fn authorization(&self) -> Option<String> {
        let credentials = self.credentials.as_ref()?;
        Some(format!("Basic {}", credentials.token()))
    }
}

impl ConnectOptions {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// TLS settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Name sent in SNI and verified against the certificate.
    pub server_name: String,
    /// Accept any certificate.
    pub insecure: bool,
    /// Trusted certificates in PEM, instead of the machine's own; absent: the machine's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cacert: Option<String>,
    /// Client certificate, version and session settings.
    #[serde(default, skip_serializing_if = "TlsChoices::is_usual")]
    pub choices: TlsChoices,
}

/// Optional TLS settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsChoices {
    /// The client certificate, presented if the service requests one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// The only version allowed; absent: 1.3, else 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<TlsVersion>,
    /// Whether every connection makes a full handshake instead of resuming an earlier session.
    #[serde(default)]
    pub whole_handshakes: bool,
    /// Whether only TLS 1.3 with `TLS_AES_128_GCM_SHA256` and X25519 is offered, so that all services do the same work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uniform: bool,
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
    /// The certificate and its chain to the issuer, in PEM.
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

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-former-values" = { "http": "http1" }))]
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
    /// The name shown to users.
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
pub struct PhaseDurations {
    /// Load that is not part of the result.
    pub warm_up: WarmUp,
    /// Load that is part of the result, ns.
    pub measurement_ns: u64,
    /// Longest wait for outstanding replies after the measurement, ns.
    pub drain_ns: u64,
}

/// Limits other than times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The measurement ends early once this number of requests has an outcome. In a sequence, each step counts; a
    /// started sequence is completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// A connection is closed after this number of requests and replaced; 1: no keep-alive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_connection: Option<u32>,
    /// A connection that is older than this is closed after its next request and replaced, ns. Looked at once per
    /// interval of the recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_age_ns: Option<u64>,
    /// The longest WebSocket message, bytes; absent: [`LONGEST_EVENT`](crate::events::LONGEST_EVENT).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_message: Option<u64>,
    /// Whether a request that was lost on an idle connection counts as an error, instead of being sent once more if
    /// its method is safe.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_retry: bool,
    /// How many redirects a request may follow, within the origin of the target.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redirects: u8,
    /// Whether each slot keeps the cookies that replies set, and sends them back; arriving users begin without any.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cookies: bool,
    /// What is offered to the peer over HTTP/2.
    #[serde(default, skip_serializing_if = "Http2Offer::is_usual")]
    pub http2: Http2Offer,
}

/// What a client of HTTP/2 offers to its peer: how much the peer may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http2Offer {
    /// Flow-control window of each stream, bytes: `SETTINGS_INITIAL_WINDOW_SIZE`.
    pub window: u32,
    /// Flow-control window of each connection, bytes: at least 65,535, the one before any update.
    pub connection_window: u32,
    /// The largest frame, bytes: `SETTINGS_MAX_FRAME_SIZE`.
    pub max_frame: u32,
}

impl Default for Http2Offer {
    /// A generator must never hold a reply back, so its windows are practically unlimited; TCP buffers still apply.
    fn default() -> Self {
        Self {
            window: 1 << 30,
            connection_window: 1 << 30,
            max_frame: 16_384,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_zero(count: &u8) -> bool {
    *count == 0
}

impl Http2Offer {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// When the warm-up ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmUp {
    /// After this time, ns; 0: no warm-up.
    FixedNs(u64),
    /// When the generator reads `measure` on its standard input, or after this time, ns.
    UntilTold {
        /// The longest warm-up, ns.
        limit_ns: u64,
    },
}

/// How many replies are checked against their expectation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Share of the bodies that are checked, 0 to 1; the status is always checked. The generator checks all bodies
    /// where that is cheap: a constant expected body, or JSON.
    pub share: f64,
    /// Number of unexpected replies kept for display.
    pub keep: u32,
}

/// How bytes are sent and received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransportChoice {
    /// `io_uring` where the kernel allows it and no thread has more connections than a ring serves efficiently, else
    /// epoll.
    #[default]
    Auto,
    /// epoll.
    Epoll,
    /// `io_uring`; an error where it is not available.
    IoUring,
}
