//! What can be typed after `prony load`.

mod connect;
mod cpus;
mod grpc;
mod llm;
mod log;
mod rules;
mod save;
mod schedule;
mod streams;
mod tls;
mod websocket;

pub(super) use connect::ReachArgs;
pub(crate) use grpc::CallArgs;
pub(crate) use llm::LlmArgs;
pub(crate) use rules::Statuses;
pub(super) use save::SaveArgs;
pub(crate) use schedule::{Connections, ScheduleArgs, Threads};
pub(crate) use streams::{ACCEPTED, StreamArgs};
pub(crate) use tls::{TlsArgs, TrustArgs};
pub(crate) use websocket::WebSocketArgs;

use super::metrics::MetricsAddress;
use crate::checkout::LabArgs;
use clap::{ArgGroup, ValueEnum};
use cpus::CpuList;
use log::{LogFile, log_share};
use prony_load::{Objective, Rate, TransportChoice, WrittenDuration};
use prony_telemetry::Collector;
use std::path::PathBuf;

/// Load a URL and say how it answered
#[derive(Debug, clap::Args)]
#[command(override_usage = "prony load [OPTIONS] <URL|--urls <FILE>|--curl <LINE|@FILE>>")]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args(["url", "urls", "curl", "job"])))]
#[command(
    after_help = "\
Examples:
  prony load http://127.0.0.1:8080/api/test -c 64 -d 10s
  prony load http://127.0.0.1:8080/api/test --rate 2000 -d 30s --objective 'p99<10ms,errors<0.1%'

These are the switches that most loads need; --help has all of them: users, files of URLs and data, gRPC, WebSocket, TLS, a log.",
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

Places in the URL, in headers and in bodies are filled for each request: {n:range(1,100)} in turn, {n:random(1,100)},
{id:counter(1)}, {key:hex(16)}, {name} with --feed name=FILE, a value a line, and {column} with --data FILE."
)]
pub(crate) struct Args {
    /// Where the requests go: http://host:port/path, or messages: ws://…; redirects are not followed
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) lab: LabArgs,
    /// Load several URLs of one host, in a mix: a file with `[WEIGHT] METHOD URL [BODY]` a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["grpc", "method", "body", "curl", "llm"], hide_short_help = true, help_heading = "Request")]
    pub(crate) urls: Option<PathBuf>,
    /// Load what a line of curl asks for, as a browser copies it; or @FILE with it
    #[arg(long, value_name = "LINE|@FILE", conflicts_with_all = ["grpc", "method", "body", "url", "llm"], hide_short_help = true, help_heading = "Request")]
    pub(crate) curl: Option<String>,
    /// Let each user send the steps of this file one after the other; values of replies go into later requests
    #[arg(long, value_name = "FILE", requires = "url", conflicts_with_all = ["grpc", "method", "headers", "body", "curl", "urls", "data", "feeds", "expect", "decode", "StreamArgs", "LlmArgs"], hide_short_help = true, help_heading = "Request")]
    pub(crate) sequence: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    /// Fail (exit code 3) when this is missed, as in 'p99<10ms,errors<0.1%'
    #[arg(long, value_name = "LIST", help_heading = "Result")]
    pub(crate) objective: Option<Objective>,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Result")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
    /// Write a line for each measured request to this file: .csv, or JSON Lines where it ends in .jsonl or .ndjson
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = "Result")]
    pub(crate) log: Option<LogFile>,
    /// Share of the requests that --log takes, as in 1%
    #[arg(long, value_name = "SHARE", requires = "log", value_parser = log_share, hide_short_help = true, help_heading = "Result")]
    pub(crate) log_share: Option<f64>,
    /// Serve live figures for Prometheus: a port of 127.0.0.1, or ADDR:PORT
    #[arg(long, value_name = "ADDR", hide_short_help = true, help_heading = "Result")]
    pub(crate) metrics: Option<MetricsAddress>,
    /// Send live metrics to a collector of OpenTelemetry (OTLP over HTTP), as `http://127.0.0.1:4318`
    #[arg(long, value_name = "URL", hide_short_help = true, help_heading = "Result")]
    pub(crate) otlp: Option<Collector>,
    /// `-`: read a job as JSON from standard input, then commands; write events
    #[arg(long, hide = true, value_parser = ["-"], conflicts_with_all = NOT_BESIDE_A_JOB)]
    pub(crate) job: Option<String>,
}

/// What a job that is read says itself. The groups of structs that hold another one have no members, so those are named.
#[rustfmt::skip]
const NOT_BESIDE_A_JOB: [&str; 49] = [
    "ScheduleArgs", "ReachArgs", "TlsArgs", "connections", "threads", "duration", "warmup", "rate", "ramp", "staircase", "users",
    "requests_per_user", "think", "max_users", "poisson", "in_flight", "backlog", "timeout", "transport", "cpus", "seed", "method",
    "headers", "body", "expect", "expect_json", "expect_body", "expect_status", "feeds", "data", "http2", "decode", "grpc", "proto", "message", "deadline", "url", "urls", "curl",
    "metrics", "otlp", "log", "json", "objective", "save", "StreamArgs", "WebSocketArgs", "LlmArgs", "CallArgs",
];

/// How requests arrive
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Load")]
#[command(group(ArgGroup::new("arrival").args(["rate", "ramp", "staircase", "stages", "users"])))]
pub(crate) struct LoadArgs {
    /// Connections held open; A:B:TIME: grow from A to B within a time, in a closed load
    #[arg(
        short,
        long,
        value_name = "N|A:B:TIME",
        default_value = "64",
        conflicts_with = "users"
    )]
    pub(crate) connections: Connections,
    /// Threads of the generator; auto: one for each CPU that it may use
    #[arg(short, long, value_name = "N|auto", default_value = "1")]
    pub(crate) threads: Threads,
    #[command(flatten)]
    pub(crate) schedule: ScheduleArgs,
    /// How long to measure
    #[arg(short, long, value_name = "TIME", default_value = "10s")]
    pub(crate) duration: WrittenDuration,
    /// Load before the measurement that is not part of the result
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) warmup: WrittenDuration,
    /// Send this many requests per second, whatever comes back
    #[arg(long, value_name = "PER_S", value_parser = rate)]
    pub(crate) rate: Option<Rate>,
    /// Let the rate rise or fall from A to B per second, then hold it: A:B or A:B:HOLD
    #[arg(long, value_name = "A:B[:HOLD]", hide_short_help = true)]
    pub(crate) ramp: Option<Ramp>,
    /// Begin at A per second and add B each TIME: A:B:TIME
    #[arg(long, value_name = "A:B:TIME", hide_short_help = true)]
    pub(crate) staircase: Option<Staircase>,
    /// Let users arrive, each with a connection of its own: RATE, or A:B[:HOLD] as in --ramp
    #[arg(long, value_name = "RATE|RAMP", hide_short_help = true)]
    pub(crate) users: Option<Users>,
    /// Requests of one user
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        requires = "users",
        hide_short_help = true
    )]
    pub(crate) requests_per_user: u32,
    /// Pause between a reply and the next request, of a user or of a place in a closed load
    #[arg(long, value_name = "TIME", default_value = "0s", conflicts_with_all = ["rate", "ramp", "staircase", "stages"], hide_short_help = true)]
    pub(crate) think: WrittenDuration,
    /// Users present at once, at most; those beyond are not let in
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        requires = "users",
        hide_short_help = true
    )]
    pub(crate) max_users: u32,
    /// Send at random times of the same mean rate, as many independent users would
    #[arg(long, requires = "arrival", hide_short_help = true)]
    pub(crate) poisson: bool,
    /// Requests under way on one connection: pipelining in HTTP/1.1, streams in HTTP/2, messages of a WebSocket
    #[arg(
        long,
        alias = "pipeline",
        value_name = "N",
        default_value_t = 1,
        conflicts_with = "users",
        hide_short_help = true
    )]
    pub(crate) in_flight: u32,
    /// Requests that may wait for a free connection before they count as not sent
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
    pub(crate) timeout: WrittenDuration,
    /// How bytes are moved
    #[arg(long, value_enum, default_value_t = Transport::Auto, hide_short_help = true)]
    pub(crate) transport: Transport,
    /// CPUs for the threads, as in 0,2-3
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub(crate) cpus: Option<CpuList>,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 1, hide_short_help = true)]
    pub(crate) seed: u64,
}

/// What is sent and what must come back
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct RequestArgs {
    /// Method; of gRPC package.Service/method
    #[arg(short = 'X', long, value_name = "METHOD", default_value = "GET")]
    pub(crate) method: String,
    /// A header: 'Name: value'; may be given again
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// The body, or @FILE
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) body: Option<String>,
    /// The body that must come back, or @FILE; another one is a wrong reply. Of gRPC the message as JSON
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) expect: Option<String>,
    /// What a JSON reply must hold: /POINTER (there, not null), !/POINTER (absent or null), /POINTER=VALUE, /POINTER!=VALUE or
    /// /POINTER~REGEX; may be given again
    #[arg(long, value_name = "RULE", hide_short_help = true)]
    pub(crate) expect_json: Vec<String>,
    /// A regular expression that must be found in the body
    #[arg(long, value_name = "REGEX", hide_short_help = true)]
    pub(crate) expect_body: Option<String>,
    /// The statuses that are right, as in 200,404,500-599 [default: 200-299]
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub(crate) expect_status: Option<Statuses>,
    /// Values for the place {NAME}, a line each; may be given again
    #[arg(long = "feed", value_name = "NAME=FILE", hide_short_help = true)]
    pub(crate) feeds: Vec<Feed>,
    /// Values for places from a table: CSV with a line of names, or JSON Lines (.jsonl); a request takes a row for its {COLUMN}s
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) data: Option<PathBuf>,
    /// Speak HTTP/2
    #[arg(long)]
    pub(crate) http2: bool,
    /// Ask for bodies in gzip, br or zstd, and judge them when they are decoded
    #[arg(long, conflicts_with = "grpc", hide_short_help = true)]
    pub(crate) decode: bool,
    /// Call a method of gRPC; the URL has no path then
    #[arg(long, requires = "method", conflicts_with_all = ["http2", "body", "feeds"], hide_short_help = true, help_heading = "gRPC")]
    pub(crate) grpc: bool,
    /// The file that describes the method; without it the service is asked (server reflection)
    #[arg(
        long,
        value_name = "FILE",
        requires = "grpc",
        hide_short_help = true,
        help_heading = "gRPC"
    )]
    pub(crate) proto: Option<PathBuf>,
    /// The message to send, or @FILE: of gRPC as JSON, the empty one without it; over ws:// a text, 16 random digits without it
    #[arg(
        long,
        value_name = "TEXT|@FILE",
        hide_short_help = true,
        help_heading = "gRPC"
    )]
    pub(crate) message: Option<String>,
    /// Tell the service how long the caller of gRPC waits (grpc-timeout)
    #[arg(
        long,
        value_name = "TIME",
        requires = "grpc",
        hide_short_help = true,
        help_heading = "gRPC"
    )]
    pub(crate) deadline: Option<WrittenDuration>,
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

/// A transport, as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// `io_uring` where the kernel allows it and a thread has 8,192 connections at most, else epoll
    Auto,
    /// epoll
    Epoll,
    /// `io_uring`, or an error
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
    let number: f64 = text
        .trim()
        .parse()
        .map_err(|_| format!("`{text}` is no number of events per second"))?;
    Rate::per_second(number).map_err(|error| error.to_string())
}

/// A rate that goes from one value to another and is then held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ramp {
    pub(crate) from: Rate,
    pub(crate) to: Rate,
    pub(crate) hold: WrittenDuration,
}

impl std::str::FromStr for Ramp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(3, ':');
        let (Some(from), Some(to)) = (parts.next(), parts.next()) else {
            return Err("write it as A:B or A:B:HOLD, as in 100:5000:10s".to_owned());
        };
        let hold = parts.next().map(str::parse).transpose();
        Ok(Self {
            from: rate(from)?,
            to: rate(to)?,
            hold: hold
                .map_err(|error| format!("the hold is no duration: {error}"))?
                .unwrap_or_default(),
        })
    }
}

/// A rate that rises by the same step each time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Staircase {
    pub(crate) from: Rate,
    pub(crate) step: Rate,
    pub(crate) every: WrittenDuration,
}

impl std::str::FromStr for Staircase {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.splitn(3, ':').collect();
        let [from, step, every] = parts.as_slice() else {
            return Err("write it as A:B:TIME, as in 1000:500:5s".to_owned());
        };
        let every: WrittenDuration = every
            .parse()
            .map_err(|error| format!("the time is no duration: {error}"))?;
        if every.0.is_zero() {
            return Err("the time of a stair is 0: give it a length".to_owned());
        }
        Ok(Self {
            from: rate(from)?,
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

/// A file with the values of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Feed {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl std::str::FromStr for Feed {
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
