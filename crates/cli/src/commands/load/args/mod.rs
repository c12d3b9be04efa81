//! The command line of `prony load`.

mod connect;
mod llm;
mod schedule;
mod streams;
mod tls;
mod values;

pub(super) use connect::ReachArgs;
pub(crate) use llm::LlmArgs;
pub(crate) use schedule::{Connections, ScheduleArgs, Threads};
pub(crate) use streams::{ACCEPTED, CallArgs, StreamArgs, WebSocketArgs};
pub(crate) use tls::{TlsArgs, TrustArgs};
pub(crate) use values::Statuses;

use super::headers::HeaderArgs;
use super::metrics::MetricsAddress;
use crate::checkout::{StoreArgs, TestbedArgs};
use clap::{ArgGroup, ValueEnum};
use prony_config::input::form::FormField;
use prony_load::{DurationText, Objective, Rate, RateLevel, RateLevelError, TransportChoice};
use prony_store::Store;
use prony_telemetry::Collector;
use std::path::PathBuf;
use values::{CpuList, LogFile, log_share};

/// Load a URL and report how the server responds
#[derive(Debug, clap::Args)]
#[command(override_usage = "prony load [OPTIONS] <URL|--urls <FILE>|--curl <LINE|@FILE>>")]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args(["url", "urls", "curl", "job"])))]
#[command(
    after_help = "\
Examples:
  prony load http://127.0.0.1:8080/api/test -c 64 -d 10s
  prony load http://127.0.0.1:8080/api/test --rate 2000 -d 30s --objective 'p99<10ms,errors<0.1%'

These are the options that most loads need; --help has all of them: users, files of URLs and data, gRPC, WebSocket, TLS, a log.",
    after_long_help = "\
Examples:
  prony load http://127.0.0.1:8080/api/test -c 64 -d 10s
  prony load http://127.0.0.1:8080/api/test --rate 2000 -d 30s --objective 'p99<10ms,errors<0.1%'
  prony load 'http://127.0.0.1:8080/api/fib/{n:range(1,100)}' --rate 500 --poisson
  prony load http://127.0.0.1:8080/person -X POST -H 'Content-Type: application/json' --body @person.json
  prony load http://127.0.0.1:8080 --grpc --method prony.person.PersonService/getPerson \
      --message '{\"id\": \"1\"}' -c 8 --in-flight 8
  prony load http://127.0.0.1:8080/events -c 1000 --events 20 --expect-event event:tick
  prony load ws://127.0.0.1:8080/ws/echo -c 100 --in-flight 8 --message-size 1KiB
  prony load http://127.0.0.1:8000/v1 --llm --rate 4 -d 60s --objective 'ttft<500ms,tpot<50ms'

Placeholders in the URL, in headers and in bodies are filled for each request: {n:range(1,100)} in order, {n:random(1,100)},
{id:counter(1)}, {key:hex(16)}, {name} with --feed name=FILE, one value per line, and {column} with --data FILE."
)]
pub(crate) struct Args {
    /// Target URL: http://host:port/path, or ws://… for WebSocket messages
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) testbed: TestbedArgs,
    /// Load a mix of URLs of one host: a file with `[WEIGHT] METHOD URL [BODY]` on each line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["grpc", "method", "body", "form", "curl", "llm"], hide_short_help = true, help_heading = "Request")]
    pub(crate) urls: Option<PathBuf>,
    /// Send the request in a curl command line that was copied from a browser, or in @FILE
    #[arg(long, value_name = "LINE|@FILE", conflicts_with_all = ["grpc", "method", "body", "form", "url", "llm"], hide_short_help = true, help_heading = "Request")]
    pub(crate) curl: Option<String>,
    /// Let each user send the steps of this file one after the other; later requests can use values of earlier replies
    #[arg(long, value_name = "FILE", requires = "url", conflicts_with_all = ["grpc", "method", "headers", "bearer_env", "body", "form", "curl", "urls", "data", "feeds", "expect", "decode", "StreamArgs", "LlmArgs"], hide_short_help = true, help_heading = "Request")]
    pub(crate) sequence: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    /// Fail (exit code 3) if this objective is missed, as in 'p99<10ms,errors<0.1%'
    #[arg(long, value_name = "LIST", help_heading = "Result")]
    pub(crate) objective: Option<Objective>,
    /// End the load as soon as it is certain to miss --objective: percentiles, mean, max and errors
    #[arg(long, requires = "objective", hide_short_help = true, help_heading = "Result")]
    pub(crate) abort_on_miss: bool,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Result")]
    pub(crate) json: bool,
    /// Send one request, and print it and its reply in full, without secrets
    #[arg(long, conflicts_with_all = ["json", "objective", "save", "log", "metrics", "otlp"], hide_short_help = true, help_heading = "Result")]
    pub(crate) debug: bool,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
    /// Write a line for each measured request to this file: CSV if it ends in .csv, JSON Lines if in .jsonl or .ndjson
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = "Result")]
    pub(crate) log: Option<LogFile>,
    /// Share of the requests to log, such as 1% [default: 100%]
    #[arg(long, value_name = "SHARE", requires = "log", value_parser = log_share, hide_short_help = true, help_heading = "Result")]
    pub(crate) log_share: Option<f64>,
    /// Serve live metrics for Prometheus on this port of 127.0.0.1, or on ADDR:PORT
    #[arg(long, value_name = "ADDR", hide_short_help = true, help_heading = "Result")]
    pub(crate) metrics: Option<MetricsAddress>,
    /// Send live metrics to an OpenTelemetry collector (OTLP over HTTP), such as `http://127.0.0.1:4318`
    #[arg(long, value_name = "URL", hide_short_help = true, help_heading = "Result")]
    pub(crate) otlp: Option<Collector>,
    /// `-`: read a job as JSON from standard input, then commands, and write events
    #[arg(long, hide = true, value_parser = ["-"], conflicts_with_all = NOT_BESIDE_A_JOB)]
    pub(crate) job: Option<String>,
}

/// Options that conflict with `--job` because the job has these settings. A struct that flattens another one has an empty
/// clap group, so its options are listed one by one.
#[rustfmt::skip]
const NOT_BESIDE_A_JOB: [&str; 53] = [
    "ScheduleArgs", "ReachArgs", "TlsArgs", "connections", "threads", "duration", "warmup", "rate", "ramp", "step_load", "users",
    "requests_per_user", "think", "max_users", "poisson", "in_flight", "backlog", "timeout", "transport", "cpus", "seed", "method",
    "headers", "bearer_env", "body", "form", "expect", "expect_json", "expect_body", "expect_status", "feeds", "data", "http2", "http1", "decode", "grpc", "proto", "message", "deadline", "url", "urls", "curl",
    "metrics", "otlp", "log", "json", "debug", "objective", "save", "StreamArgs", "WebSocketArgs", "LlmArgs", "CallArgs",
];

/// How requests arrive
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Load")]
#[command(group(ArgGroup::new("arrival").args(["rate", "ramp", "step_load", "stages", "users"])))]
pub(crate) struct LoadArgs {
    /// Number of connections; A:B:TIME grows it from A to B within TIME, in a closed load
    #[arg(
        short,
        long,
        value_name = "N|A:B:TIME",
        default_value = "64",
        conflicts_with = "users"
    )]
    pub(crate) connections: Connections,
    /// Number of generator threads; auto: one for each CPU that it may use
    #[arg(short, long, value_name = "N|auto", default_value = "1")]
    pub(crate) threads: Threads,
    #[command(flatten)]
    pub(crate) schedule: ScheduleArgs,
    /// How long to measure
    #[arg(short, long, value_name = "TIME", default_value = "10s")]
    pub(crate) duration: DurationText,
    /// Warm-up load before the measurement, not part of the result
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) warmup: DurationText,
    /// Send this many requests per second, independently of replies
    #[arg(long, value_name = "PER_S", value_parser = rate)]
    pub(crate) rate: Option<Rate>,
    /// Ramp the rate from A to B per second, then hold it: A:B or A:B:HOLD; at 0 nothing is sent
    #[arg(long, value_name = "A:B[:HOLD]", hide_short_help = true)]
    pub(crate) ramp: Option<Ramp>,
    /// Step load: start at A per second and add B every TIME: A:B:TIME
    #[arg(long, alias = "staircase", value_name = "A:B:TIME", hide_short_help = true)]
    pub(crate) step_load: Option<StepLoad>,
    /// Let users arrive at a rate, each with a connection of its own: RATE, or A:B[:HOLD] as in --ramp
    #[arg(long, value_name = "RATE|RAMP", hide_short_help = true)]
    pub(crate) users: Option<Users>,
    /// Number of requests of each user
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        requires = "users",
        hide_short_help = true
    )]
    pub(crate) requests_per_user: u32,
    /// Pause between a reply and the next request, of a user or of a slot in a closed load
    #[arg(long, value_name = "TIME", default_value = "0s", conflicts_with_all = ["rate", "ramp", "step_load", "stages"], hide_short_help = true)]
    pub(crate) think: DurationText,
    /// Maximum number of users at the same time; further ones are dropped
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        requires = "users",
        hide_short_help = true
    )]
    pub(crate) max_users: u32,
    /// Send at random times with the same mean rate, like many independent users
    #[arg(long, requires = "arrival", hide_short_help = true)]
    pub(crate) poisson: bool,
    /// Requests in flight on one connection: pipelining in HTTP/1.1, streams in HTTP/2, messages on a WebSocket
    #[arg(
        long,
        alias = "pipeline",
        value_name = "N",
        default_value_t = 1,
        conflicts_with = "users",
        hide_short_help = true
    )]
    pub(crate) in_flight: u32,
    /// Maximum number of requests that wait for a free connection; further ones are dropped
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_000_000,
        requires = "arrival",
        conflicts_with = "users",
        hide_short_help = true
    )]
    pub(crate) backlog: u64,
    /// How long to wait for a reply
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) timeout: DurationText,
    /// I/O interface of the generator
    #[arg(long, value_enum, default_value_t = Transport::Auto, hide_short_help = true)]
    pub(crate) transport: Transport,
    /// CPUs for the generator threads, as in 0,2-3
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub(crate) cpus: Option<CpuList>,
    /// Seed for all random choices
    #[arg(long, value_name = "N", default_value_t = 1, hide_short_help = true)]
    pub(crate) seed: u64,
}

/// Requests and expected replies
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct RequestArgs {
    /// Request method; for gRPC package.Service/method
    #[arg(short = 'X', long, value_name = "METHOD", default_value = "GET")]
    pub(crate) method: String,
    #[command(flatten)]
    pub(crate) headers: HeaderArgs,
    /// Request body, or @FILE
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) body: Option<String>,
    /// Send a multipart form with this field, with POST: NAME=VALUE, NAME=@FILE or NAME=<FILE, each with ;type=MEDIA/TYPE and
    /// ;filename=NAME as in curl; can be repeated
    #[arg(
        short = 'F',
        long,
        value_name = "FIELD",
        conflicts_with = "body",
        hide_short_help = true
    )]
    pub(crate) form: Vec<FormField>,
    /// Expected response body, or @FILE; any other is an unexpected reply. For gRPC the message as JSON
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) expect: Option<String>,
    /// Rule for a JSON reply: /POINTER (present and not null), !/POINTER (absent or null), /POINTER=VALUE, /POINTER!=VALUE or
    /// /POINTER~REGEX; can be repeated
    #[arg(long, value_name = "RULE", hide_short_help = true)]
    pub(crate) expect_json: Vec<String>,
    /// Regular expression that must match somewhere in the body
    #[arg(long, value_name = "REGEX", hide_short_help = true)]
    pub(crate) expect_body: Option<String>,
    /// Expected statuses, as in 200,404,500-599 [default: 200-299]
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub(crate) expect_status: Option<Statuses>,
    /// Values for the placeholder {NAME}, one per line; can be repeated
    #[arg(long = "feed", value_name = "NAME=FILE", hide_short_help = true)]
    pub(crate) feeds: Vec<FeedArgs>,
    /// Table with values for placeholders: CSV with a header line, or JSON Lines (.jsonl); each request fills its {COLUMN}s from a row
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) data: Option<PathBuf>,
    /// Use HTTP/2 [default for https: what the server chooses between HTTP/2 and HTTP/1.1 (ALPN), asked on a connection before the load]
    #[arg(long, conflicts_with = "http1")]
    pub(crate) http2: bool,
    /// Use HTTP/1.1
    #[arg(long, conflicts_with = "grpc", hide_short_help = true)]
    pub(crate) http1: bool,
    /// Follow up to N redirects of a request to the same scheme, host and port; the time of all of them is one response time. One to
    /// elsewhere is an unexpected reply [default: none is followed]
    #[arg(long, value_name = "N", conflicts_with = "grpc", hide_short_help = true, value_parser = clap::value_parser!(u8).range(1..=50))]
    pub(crate) follow: Option<u8>,
    /// Let each connection (each of its --in-flight slots, each arriving user) keep the cookies that the server sets, and send them back
    #[arg(long, conflicts_with_all = ["grpc", "llm"], hide_short_help = true)]
    pub(crate) cookies: bool,
    /// Ask for bodies in gzip, br or zstd, and decode them before they are checked
    #[arg(long, conflicts_with = "grpc", hide_short_help = true)]
    pub(crate) decode: bool,
    /// Call a gRPC method; the URL must not have a path
    #[arg(long, requires = "method", conflicts_with_all = ["http2", "body", "form", "feeds"], hide_short_help = true, help_heading = "gRPC")]
    pub(crate) grpc: bool,
    /// File that describes the method [default: ask the service (server reflection), with the metadata of -H]
    #[arg(
        long,
        value_name = "FILE",
        requires = "grpc",
        hide_short_help = true,
        help_heading = "gRPC"
    )]
    pub(crate) proto: Option<PathBuf>,
    /// Folder in which the imports of --proto are looked up before the folder of the file itself; can be repeated
    #[arg(
        long,
        value_name = "DIR",
        requires = "proto",
        hide_short_help = true,
        help_heading = "gRPC"
    )]
    pub(crate) proto_path: Vec<PathBuf>,
    /// Message to send, or @FILE: for gRPC JSON [default: the empty message]; over ws:// text [default: 16 random digits]
    #[arg(
        long,
        value_name = "TEXT|@FILE",
        hide_short_help = true,
        help_heading = "gRPC"
    )]
    pub(crate) message: Option<String>,
    /// Deadline of gRPC calls, sent to the service (grpc-timeout)
    #[arg(
        long,
        value_name = "TIME",
        requires = "grpc",
        hide_short_help = true,
        help_heading = "gRPC"
    )]
    pub(crate) deadline: Option<DurationText>,
    #[command(flatten)]
    pub(crate) call: CallArgs,
    #[command(flatten)]
    pub(crate) web_socket: WebSocketArgs,
    #[command(flatten)]
    pub(crate) stream: StreamArgs,
    #[command(flatten)]
    pub(crate) llm: LlmArgs,
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
}

/// The value of `--transport`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// `io_uring` if the kernel allows it and no thread has more than 8,192 connections, else epoll
    Auto,
    /// epoll
    Epoll,
    /// `io_uring`; an error if it is not available
    IoUring,
}

impl From<Transport> for TransportChoice {
    fn from(typed: Transport) -> Self {
        match typed {
            Transport::Auto => Self::Auto,
            Transport::Epoll => Self::Epoll,
            Transport::IoUring => Self::IoUring,
        }
    }
}

fn rate(text: &str) -> Result<Rate, String> {
    Rate::per_second(per_second(text)?).map_err(|error| error.to_string())
}

/// A rate of a load that changes; at 0, nothing is sent.
fn rate_level(text: &str) -> Result<RateLevel, String> {
    per_second(text)?
        .try_into()
        .map_err(|error: RateLevelError| error.to_string())
}

fn per_second(text: &str) -> Result<f64, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("`{text}` is not a number of events per second"))
}

/// A rate that changes from one value to another and is then held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ramp {
    pub(crate) from: RateLevel,
    pub(crate) to: RateLevel,
    pub(crate) hold: DurationText,
}

impl std::str::FromStr for Ramp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(3, ':');
        let (Some(from), Some(to)) = (parts.next(), parts.next()) else {
            return Err("write it as A:B or A:B:HOLD, as in 100:5000:10s".to_owned());
        };
        let hold = parts.next().map(str::parse).transpose();
        let (from, to) = (rate_level(from)?, rate_level(to)?);
        if from.is_zero() && to.is_zero() {
            return Err("one of A and B must be above 0".to_owned());
        }
        Ok(Self {
            from,
            to,
            hold: hold
                .map_err(|error| format!("HOLD is not a duration: {error}"))?
                .unwrap_or_default(),
        })
    }
}

/// A step load: a rate that rises by the same step at equal intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StepLoad {
    pub(crate) from: RateLevel,
    pub(crate) step: Rate,
    pub(crate) every: DurationText,
}

impl std::str::FromStr for StepLoad {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.splitn(3, ':').collect();
        let [from, step, every] = parts.as_slice() else {
            return Err("write it as A:B:TIME, as in 1000:500:5s".to_owned());
        };
        let every: DurationText = every.parse().map_err(|error| format!("TIME: {error}"))?;
        if every.0.is_zero() {
            return Err("the duration of a step must not be 0".to_owned());
        }
        Ok(Self {
            from: rate_level(from)?,
            step: rate(step)?,
            every,
        })
    }
}

/// How users arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Users {
    Constant(Rate),
    Ramp(Ramp),
}

impl std::str::FromStr for Users {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains(':') {
            text.parse().map(Self::Ramp)
        } else {
            rate(text).map(Self::Constant)
        }
    }
}

/// A file with values of a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FeedArgs {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl std::str::FromStr for FeedArgs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok(Self {
                name: name.to_owned(),
                path: path.into(),
            }),
            _ => Err("write it as NAME=FILE".to_owned()),
        }
    }
}

/// Where a result is saved
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Result")]
pub(crate) struct SaveArgs {
    /// Save the result under this name, for `prony compare NAME NAME`; further loads under the name are repetitions
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) save: Option<String>,
    /// File in which --save stores results [default: .prony/store.db in the project]
    #[arg(long, value_name = "FILE", env = "PRONY_STORE", hide_short_help = true)]
    store: Option<PathBuf>,
}

impl SaveArgs {
    /// The name of the result and the store for it; `None` without `--save`.
    pub(crate) fn wanted(&self) -> anyhow::Result<Option<(&str, Store)>> {
        let Some(name) = &self.save else {
            return Ok(None);
        };
        let store = StoreArgs {
            store: self.store.clone(),
        };
        Ok(Some((name, store.open()?)))
    }
}
