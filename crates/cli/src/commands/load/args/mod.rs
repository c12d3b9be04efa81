//! The command line of `prony load`.

mod connect;
mod generator;
mod llm;
mod schedule;
mod streams;
mod tls;
mod values;

pub(super) use connect::ReachArgs;
pub(crate) use generator::{GeneratorArgs, Threads};
pub(crate) use llm::LlmArgs;
pub(crate) use schedule::{Connections, ScheduleArgs};
pub(crate) use streams::{ACCEPTED, CallArgs, StreamArgs, WebSocketArgs};
pub(crate) use tls::{TlsArgs, TrustArgs};
pub(crate) use values::Statuses;

use super::headers::HeaderArgs;
use super::metrics::MetricsAddress;
use crate::checkout::{StoreArgs, TestbedArgs};
use crate::option_values::{per_second, rate, time};
use crate::telemetry::CollectorArg;
use clap::ArgGroup;
use prony_config::input::form::FormField;
use prony_load::{DurationText, Objective, Rate, RateLevel, RateLevelError};
use prony_store::Store;
use std::path::PathBuf;
use values::{LogFile, log_share};

/// Load a URL and report success, throughput and latency
#[derive(Debug, clap::Args)]
#[command(override_usage = "prony load [OPTIONS] <URL|--urls <FILE>|--curl <LINE|@FILE>>")]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args(["url", "urls", "curl", "job"])))]
#[command(
    after_help = "\
Examples:
  prony load http://127.0.0.1:8080/api/test -c 64 -d 10s
  prony load http://127.0.0.1:8080/ --rate 2000 --objective 'p99<10ms,errors<1%'

These are the options that most loads need; --help has all of them: users, files of URLs and data, gRPC, WebSocket, TLS, a log.",
    after_long_help = "\
Examples:
  prony load http://127.0.0.1:8080/api/test -c 64 -d 10s
  prony load http://127.0.0.1:8080/ --rate 2000 --objective 'p99<10ms,errors<1%'
  prony load 'http://127.0.0.1:8080/fib/{n:range(1,100)}' --rate 500 --poisson
  prony load http://127.0.0.1:8080/ -X POST -H @headers --body @person.json
  prony load http://127.0.0.1:8080 --grpc -X shop.Shop/get --message '{\"id\": 1}'
  prony load http://127.0.0.1:8080/events -c 1000 --events 20
  prony load ws://127.0.0.1:8080/ws/echo -c 100 --message-size 1KiB
  prony load http://127.0.0.1:8000/v1 --llm --rate 4 --objective 'ttft<500ms'

Placeholders in the URL, in headers and in bodies are filled for each request: {n:range(1,100)} in order, {n:random(1,100)}, \
{id:counter(1)}, {key:hex(16)}, {name} with --feed name=FILE, one value per line, and {column} with --data FILE."
)]
pub(crate) struct Args {
    /// Target URL: http://host:port/path, or ws://… for WebSocket
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) testbed: TestbedArgs,
    /// File of `[WEIGHT] METHOD URL [BODY]` lines
    #[arg(long, value_name = "FILE", conflicts_with_all = ["grpc", "method", "body", "form", "curl", "llm"], hide_short_help = true, help_heading = "Request")]
    pub(crate) urls: Option<PathBuf>,
    /// Use the request of a curl command, or @FILE
    #[arg(long, value_name = "LINE|@FILE", conflicts_with_all = ["grpc", "method", "body", "form", "url", "llm"], hide_short_help = true, help_heading = "Request")]
    pub(crate) curl: Option<String>,
    /// File with the steps of each user
    #[arg(long, value_name = "FILE", requires = "url", conflicts_with_all = ["grpc", "method", "headers", "bearer_env", "body", "form", "curl", "urls", "data", "feeds", "expect", "decode", "StreamArgs", "LlmArgs"], hide_short_help = true, help_heading = "Request")]
    pub(crate) sequence: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    /// Exit 3 if missed, e.g. 'p99<10ms,errors<0.1%'
    #[arg(long, value_name = "LIST", help_heading = "Result")]
    pub(crate) objective: Option<Objective>,
    /// End the load once --objective is certainly missed
    #[arg(long, requires = "objective", hide_short_help = true, help_heading = "Result")]
    pub(crate) abort_on_miss: bool,
    /// Print one JSON object
    #[arg(long, help_heading = "Result")]
    pub(crate) json: bool,
    /// Send one request; print it and its reply, without secrets
    #[arg(long, conflicts_with_all = ["json", "objective", "save", "log", "metrics", "otlp"], hide_short_help = true, help_heading = "Result")]
    pub(crate) debug: bool,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
    /// Write measured requests to .csv, .jsonl or .ndjson
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = "Result")]
    pub(crate) log: Option<LogFile>,
    /// Share of requests to log, e.g. 1% [default: 100%]
    #[arg(long, value_name = "SHARE", requires = "log", value_parser = log_share, hide_short_help = true, help_heading = "Result")]
    pub(crate) log_share: Option<f64>,
    /// Serve Prometheus metrics on this port, or on ADDR:PORT
    #[arg(long, value_name = "ADDR", hide_short_help = true, help_heading = "Result")]
    pub(crate) metrics: Option<MetricsAddress>,
    /// Send live metrics to this OpenTelemetry collector [default: `OTEL_EXPORTER_OTLP_ENDPOINT`]
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "", hide_short_help = true, help_heading = "Result")]
    pub(crate) otlp: Option<CollectorArg>,
    /// `-`: read a job as JSON from standard input, then commands, and write events
    #[arg(long, hide = true, value_parser = ["-"], conflicts_with_all = NOT_BESIDE_A_JOB)]
    pub(crate) job: Option<String>,
}

/// Options that conflict with `--job` because the job has these settings. A struct that flattens another one has an empty
/// clap group, so its options are listed one by one.
#[rustfmt::skip]
const NOT_BESIDE_A_JOB: [&str; 46] = [
    "GeneratorArgs", "ScheduleArgs", "ReachArgs", "TlsArgs", "connections", "rate", "ramp", "step_load", "users",
    "requests_per_user", "think", "max_users", "poisson", "backlog", "method",
    "headers", "bearer_env", "body", "form", "expect", "expect_json", "expect_body", "expect_status", "feeds", "data", "http2", "http1", "decode", "grpc", "proto", "message", "deadline", "url", "urls", "curl",
    "metrics", "otlp", "log", "json", "debug", "objective", "save", "StreamArgs", "WebSocketArgs", "LlmArgs", "CallArgs",
];

/// How requests arrive
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Load")]
#[command(group(ArgGroup::new("arrival").args(["rate", "ramp", "step_load", "stages", "users"])))]
pub(crate) struct LoadArgs {
    /// Open connections; A:B:TIME grows from A to B
    #[arg(short, long, value_name = "N", default_value = "64", conflicts_with = "users")]
    pub(crate) connections: Connections,
    #[command(flatten)]
    pub(crate) generator: GeneratorArgs,
    #[command(flatten)]
    pub(crate) schedule: ScheduleArgs,
    /// Open load: requests per second, independent of replies
    #[arg(long, value_name = "PER_S", value_parser = rate)]
    pub(crate) rate: Option<Rate>,
    /// Open load: go from A to B, then hold
    #[arg(long, value_name = "A:B[:HOLD]", hide_short_help = true)]
    pub(crate) ramp: Option<Ramp>,
    /// Open load: start at A, add B every TIME
    #[arg(long, alias = "staircase", value_name = "A:B:TIME", hide_short_help = true)]
    pub(crate) step_load: Option<StepLoad>,
    /// Users arriving per second, each with a connection
    #[arg(
        long,
        value_name = "RATE|RAMP",
        conflicts_with_all = ["in_flight", "members", "requests_per_connection", "no_keepalive"],
        hide_short_help = true
    )]
    pub(crate) users: Option<Users>,
    /// Requests per user
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        requires = "users",
        hide_short_help = true
    )]
    pub(crate) requests_per_user: u32,
    /// Pause between a reply and the next request
    #[arg(
        long,
        value_name = "TIME",
        default_value = "0s",
        value_parser = time,
        conflicts_with_all = ["rate", "ramp", "step_load", "stages"],
        hide_short_help = true
    )]
    pub(crate) think: DurationText,
    /// Maximum users present; others are turned away
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        requires = "users",
        hide_short_help = true
    )]
    pub(crate) max_users: u32,
    /// Random arrivals with the same mean rate
    #[arg(long, requires = "arrival", hide_short_help = true)]
    pub(crate) poisson: bool,
    /// Requests that may wait for a connection
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_000_000,
        requires = "arrival",
        conflicts_with = "users",
        hide_short_help = true
    )]
    pub(crate) backlog: u64,
}

/// Requests and expected replies
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct RequestArgs {
    /// HTTP method, or gRPC package.Service/method
    #[arg(short = 'X', long, value_name = "METHOD", default_value = "GET")]
    pub(crate) method: String,
    #[command(flatten)]
    pub(crate) headers: HeaderArgs,
    /// Request body, or @FILE
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) body: Option<String>,
    /// Form field as in curl: NAME=VALUE, NAME=@FILE; repeatable
    #[arg(
        short = 'F',
        long,
        value_name = "FIELD",
        conflicts_with = "body",
        hide_short_help = true
    )]
    pub(crate) form: Vec<FormField>,
    /// Expected body (gRPC: JSON), or @FILE
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) expect: Option<String>,
    /// Rule for a JSON reply, e.g. /id=7 or /name~REGEX; repeatable
    #[arg(long, value_name = "RULE", hide_short_help = true)]
    pub(crate) expect_json: Vec<String>,
    /// Regular expression that the body must match
    #[arg(long, value_name = "REGEX", hide_short_help = true)]
    pub(crate) expect_body: Option<String>,
    /// Expected statuses, e.g. 200,404,500-599 [default: 200-299]
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub(crate) expect_status: Option<Statuses>,
    /// Values for {NAME}, one per line; repeatable
    #[arg(long = "feed", value_name = "NAME=FILE", hide_short_help = true)]
    pub(crate) feeds: Vec<FeedArgs>,
    /// Values for {COLUMN} from CSV or JSON Lines
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) data: Option<PathBuf>,
    /// Use HTTP/2 [default for https: the server's choice]
    #[arg(long, conflicts_with = "http1")]
    pub(crate) http2: bool,
    /// Use HTTP/1.1
    #[arg(long, conflicts_with = "grpc", hide_short_help = true)]
    pub(crate) http1: bool,
    /// Follow up to N redirects to the same host
    #[arg(long, value_name = "N", conflicts_with = "grpc", hide_short_help = true, value_parser = clap::value_parser!(u8).range(1..=50))]
    pub(crate) follow: Option<u8>,
    /// Keep the cookies of the server, per connection or user
    #[arg(long, conflicts_with_all = ["grpc", "llm"], hide_short_help = true)]
    pub(crate) cookies: bool,
    /// Request and decode gzip, br or zstd
    #[arg(long, conflicts_with = "grpc", hide_short_help = true)]
    pub(crate) decode: bool,
    /// Call a gRPC method
    #[arg(long, requires = "method", conflicts_with_all = ["http2", "body", "form", "feeds"], hide_short_help = true, help_heading = "gRPC")]
    pub(crate) grpc: bool,
    /// Protocol file [default: server reflection]
    #[arg(
        long,
        value_name = "FILE",
        requires = "grpc",
        hide_short_help = true,
        help_heading = "gRPC"
    )]
    pub(crate) proto: Option<PathBuf>,
    /// Folder with the imports of --proto; repeatable
    #[arg(
        long,
        value_name = "DIR",
        requires = "proto",
        hide_short_help = true,
        help_heading = "gRPC"
    )]
    pub(crate) proto_path: Vec<PathBuf>,
    /// Message (gRPC: JSON; WebSocket: text), or @FILE
    #[arg(
        long,
        value_name = "TEXT|@FILE",
        hide_short_help = true,
        help_heading = "gRPC"
    )]
    pub(crate) message: Option<String>,
    /// gRPC deadline sent to the server
    #[arg(
        long,
        value_name = "TIME",
        requires = "grpc",
        hide_short_help = true,
        help_heading = "gRPC",
        value_parser = time
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

/// A rate of a load that changes; at 0, nothing is sent.
fn rate_level(text: &str) -> Result<RateLevel, String> {
    per_second(text)?
        .try_into()
        .map_err(|error: RateLevelError| error.to_string())
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
    /// Save the result under this name
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) save: Option<String>,
    /// File that stores runs [default: that of the project, else ~/.local/share/prony/store.db]
    #[arg(long, value_name = "FILE", env = "PRONY_STORE", hide_short_help = true)]
    store: Option<PathBuf>,
}

impl SaveArgs {
    /// The name of the result and the store for it; `None` without `--save`.
    pub(crate) fn wanted(&self) -> anyhow::Result<Option<(&str, Store)>> {
        match &self.save {
            Some(name) => Ok(Some((name, self.store().open()?))),
            None => Ok(None),
        }
    }

    /// The file with the result, if neither the user nor a project named it.
    pub(crate) fn user_store(&self) -> Option<PathBuf> {
        let store = self.store();
        store.path().ok().filter(|_| store.is_of_user())
    }

    fn store(&self) -> StoreArgs {
        StoreArgs {
            store: self.store.clone(),
        }
    }
}
