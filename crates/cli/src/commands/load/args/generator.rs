//! Options of the generator itself, which every load has.

use super::values::CpuList;
use crate::option_values::time;
use clap::ValueEnum;
use prony_load::{DurationText, Http2Offer, Limits, TransportChoice};

/// How the generator sends requests
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct GeneratorArgs {
    /// Generator threads; auto: one per CPU
    #[arg(short, long, value_name = "N|auto", default_value = "1")]
    pub(crate) threads: Threads,
    /// Measurement time
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub(crate) duration: DurationText,
    /// Load before the measurement, not counted
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = time)]
    pub(crate) warmup: DurationText,
    /// Concurrent requests per connection
    #[arg(
        long,
        alias = "pipeline",
        value_name = "N",
        default_value_t = 1,
        hide_short_help = true
    )]
    pub(crate) in_flight: u32,
    /// Maximum wait for a reply
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub(crate) timeout: DurationText,
    /// Reconnect after this many requests
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) requests_per_connection: Option<u32>,
    /// Use a new connection for each request
    #[arg(long, conflicts_with_all = ["requests_per_connection"], hide_short_help = true)]
    pub(crate) no_keepalive: bool,
    /// Count requests lost on idle connections as errors
    #[arg(long, hide_short_help = true)]
    pub(crate) no_retry: bool,
    /// I/O method
    #[arg(long, value_enum, default_value_t = Transport::Auto, hide_short_help = true)]
    pub(crate) transport: Transport,
    /// CPUs for the generator, e.g. 0,2-3
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub(crate) cpus: Option<CpuList>,
    /// Seed for random choices
    #[arg(long, value_name = "N", default_value_t = 1, hide_short_help = true)]
    pub(crate) seed: u64,
}

impl GeneratorArgs {
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            requests: None,
            requests_per_connection: self.requests_per_connection.or(self.no_keepalive.then_some(1)),
            connection_age_ns: None,
            longest_message: None,
            no_retry: self.no_retry,
            redirects: 0,
            cookies: false,
            http2: Http2Offer::default(),
        }
    }
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

/// `4`, or `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Threads {
    Auto,
    Number(u32),
}

/// The fewest connections that `auto` gives a thread.
const WORTH_A_THREAD: u32 = 8;

impl Threads {
    /// The number of threads. `auto` is one for each usable CPU, but no more than have enough connections to be busy.
    pub(crate) fn number(self, cpus: Option<usize>, connections: u32) -> u32 {
        let usable = || std::thread::available_parallelism().map_or(1, usize::from);
        match self {
            Self::Number(number) => number,
            Self::Auto => (cpus.unwrap_or_else(usable) as u32)
                .min(connections / WORTH_A_THREAD)
                .max(1),
        }
    }
}

impl std::str::FromStr for Threads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => text
                .parse()
                .map(Self::Number)
                .map_err(|_| format!("invalid number of threads `{text}` → Example: 4, or auto.")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_as_many_as_cpus_with_connections_for_each() {
        assert_eq!(Threads::Auto.number(Some(4), 64), 4);
        assert_eq!(Threads::Auto.number(Some(4), 17), 2);
        assert_eq!(Threads::Auto.number(Some(4), 1), 1);
        assert_eq!(Threads::Number(3).number(Some(1), 1), 3);
        assert!("many".parse::<Threads>().is_err());
    }
}
