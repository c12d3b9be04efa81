//! What can be typed after `prony load`.

use super::Objective;
use clap::{ArgGroup, ValueEnum};
use prony_load::{Rate, TransportChoice, WrittenDuration};
use std::path::PathBuf;

/// Load a URL and say how it answered
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("what").required(true).args(["url", "job"])))]
#[command(after_help = "\
Examples:
  prony load http://127.0.0.1:8080/api/test -c 64 -d 10s
  prony load http://127.0.0.1:8080/api/test --rate 2000 -d 30s --objective 'p99<10ms,errors<0.1%'
  prony load 'http://127.0.0.1:8080/api/fib/{n:range(1,100)}' --rate 500 --poisson
  prony load http://127.0.0.1:8080/person -X POST -H 'Content-Type: application/json' --body @person.json
  prony load http://127.0.0.1:8080 --grpc --proto person.proto --method prony.person.PersonService/getPerson \
      --message '{\"id\": \"1\"}' -c 8 --in-flight 8

Places in the URL, in headers and in bodies are filled for each request: {n:range(1,100)} in turn, {n:random(1,100)},
{id:counter(1)}, {key:hex(16)}, and {name} with --feed name=FILE, a value a line.")]
pub(crate) struct Args {
    /// Where the requests go: http://host:port/path
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    /// Fail (exit code 3) when this is missed, as in 'p99<10ms,errors<0.1%'
    #[arg(long, value_name = "LIST")]
    pub(crate) objective: Option<Objective>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// `-`: read a job as JSON from standard input, then commands; write events
    #[arg(long, hide = true, value_parser = ["-"], conflicts_with_all = ["LoadArgs", "RequestArgs", "json", "objective"])]
    pub(crate) job: Option<String>,
}

/// How requests arrive
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Load")]
#[command(group(ArgGroup::new("arrival").args(["rate", "ramp", "staircase", "users"])))]
pub(crate) struct LoadArgs {
    /// Connections held open
    #[arg(short, long, value_name = "N", default_value_t = 64, conflicts_with = "users")]
    pub(crate) connections: u32,
    /// Threads of the generator
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub(crate) threads: u32,
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
    #[arg(long, value_name = "A:B[:HOLD]")]
    pub(crate) ramp: Option<Ramp>,
    /// Begin at A per second and add B each TIME: A:B:TIME
    #[arg(long, value_name = "A:B:TIME")]
    pub(crate) staircase: Option<Staircase>,
    /// Let users arrive, each with a connection of its own: RATE, or A:B[:HOLD] as in --ramp
    #[arg(long, value_name = "RATE|RAMP")]
    pub(crate) users: Option<Users>,
    /// Requests of one user
    #[arg(long, value_name = "N", default_value_t = 10, requires = "users")]
    pub(crate) requests_per_user: u32,
    /// Pause of a user between a reply and the next request
    #[arg(long, value_name = "TIME", default_value = "0s", requires = "users")]
    pub(crate) think: WrittenDuration,
    /// Users present at once, at most; those beyond are not let in
    #[arg(long, value_name = "N", default_value_t = 10_000, requires = "users")]
    pub(crate) max_users: u32,
    /// Send at random times of the same mean rate, as many independent users would
    #[arg(long, requires = "arrival")]
    pub(crate) poisson: bool,
    /// Requests under way on one connection: pipelining in HTTP/1.1, streams in HTTP/2
    #[arg(
        long,
        alias = "pipeline",
        value_name = "N",
        default_value_t = 1,
        conflicts_with = "users"
    )]
    pub(crate) in_flight: u32,
    /// Requests that may wait for a free connection before they count as not sent
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_000_000,
        requires = "arrival",
        conflicts_with = "users"
    )]
    pub(crate) backlog: u64,
    /// How long to wait for a reply
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) timeout: WrittenDuration,
    /// How bytes are moved
    #[arg(long, value_enum, default_value_t = Transport::Auto)]
    pub(crate) transport: Transport,
    /// CPUs for the threads, as in 0,2-3
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuList>,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
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
    /// Values for the place {NAME}, a line each; may be given again
    #[arg(long = "feed", value_name = "NAME=FILE")]
    pub(crate) feeds: Vec<Feed>,
    /// Speak HTTP/2
    #[arg(long)]
    pub(crate) http2: bool,
    /// Call a method of gRPC; the URL has no path then
    #[arg(long, requires_all = ["proto", "method"], conflicts_with_all = ["http2", "body", "feeds"])]
    pub(crate) grpc: bool,
    /// The file that describes the method
    #[arg(long, value_name = "FILE", requires = "grpc")]
    pub(crate) proto: Option<PathBuf>,
    /// The message to send, as JSON, or @FILE; without it the empty message
    #[arg(long, value_name = "JSON|@FILE", requires = "grpc")]
    pub(crate) message: Option<String>,
    /// Accept any certificate
    #[arg(long, conflicts_with = "cacert")]
    pub(crate) insecure: bool,
    /// Trust the certificates in this file, in PEM, instead of the machine's own
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
}

/// A transport, as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// `io_uring` where the kernel allows it, else epoll
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

/// CPUs as the kernel writes them: `0,2-3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CpuList(pub(crate) Vec<usize>);

impl std::str::FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no list of CPUs: write it as 0,2-3");
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let low: usize = low.trim().parse().map_err(|_| wrong())?;
            let high: usize = high.trim().parse().map_err(|_| wrong())?;
            if low > high || high >= 1024 {
                return Err(wrong());
            }
            cpus.extend(low..=high);
        }
        Ok(Self(cpus))
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
