//! Options for the number and timing of requests and connections.

use super::rate_level;
use prony_load::{ArrivalStage, DurationText, Growth, Http2Offer};
use std::time::Duration;

/// Ends after a number of requests, and rates in stages
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct ScheduleArgs {
    /// Stop after this many requests instead of after a time
    #[arg(short = 'n', long, value_name = "N", conflicts_with_all = ["duration", "stages", "users"], value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// Offer several rates one after the other, each for a time, as in 10s:100,30s:500; at 0 nothing is sent; replaces --duration
    #[arg(
        long,
        value_name = "TIME:PER_S,…",
        value_delimiter = ',',
        conflicts_with = "duration",
        hide_short_help = true
    )]
    pub(crate) stages: Vec<StageToml>,
    /// Close each connection after this many requests, and open a new one
    #[arg(long, value_name = "N", conflicts_with = "users", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) requests_per_connection: Option<u32>,
    /// Use a new connection for each request (`Connection: close`)
    #[arg(long, conflicts_with_all = ["requests_per_connection", "users"], hide_short_help = true)]
    pub(crate) no_keepalive: bool,
    /// Count a request that was lost on an idle connection as an error, instead of sending it again (GET, HEAD and OPTIONS)
    #[arg(long, hide_short_help = true)]
    pub(crate) no_retry: bool,
}

/// Limit of a measurement that ends after a number of requests, ns: a year.
const LONGEST: u64 = 365 * 24 * 3_600 * 1_000_000_000;

impl ScheduleArgs {
    pub(crate) fn limits(&self) -> prony_load::Limits {
        prony_load::Limits {
            requests: self.requests,
            requests_per_connection: self.requests_per_connection.or(self.no_keepalive.then_some(1)),
            connection_age_ns: None,
            longest_message: None,
            no_retry: self.no_retry,
            redirects: 0,
            cookies: false,
            http2: Http2Offer::default(),
        }
    }

    /// How long to measure if nothing else ends the load first; `duration` is the value of `--duration`, or its default.
    pub(crate) fn measurement_ns(&self, duration: DurationText) -> u64 {
        if self.requests.is_some() {
            LONGEST
        } else if self.stages.is_empty() {
            duration.as_ns()
        } else {
            let stages = self.stages.iter().map(|stage| stage.0.for_ns);
            stages.fold(0, u64::saturating_add)
        }
    }
}

/// A stage: `10s:100`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StageToml(pub(crate) ArrivalStage);

impl std::str::FromStr for StageToml {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (time, per_second) = text
            .split_once(':')
            .ok_or("write a stage as TIME:PER_S, as in 10s:100")?;
        Ok(Self(ArrivalStage {
            rate: rate_level(per_second)?,
            for_ns: some_time(time)?.as_ns(),
        }))
    }
}

pub(super) fn some_time(text: &str) -> Result<DurationText, String> {
    let time: DurationText = text.parse().map_err(|error| format!("{error}"))?;
    if time.0 == Duration::ZERO {
        return Err("the time must not be 0".to_owned());
    }
    Ok(time)
}

/// `64`, or `10:200:30s`: from 10 to 200 within 30 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Connections {
    /// The number of connections, at the end of the growth if there is one.
    pub(crate) most: u32,
    pub(crate) growth: Option<Growth>,
}

impl std::str::FromStr for Connections {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.parse::<u32>()
                .map_err(|_| format!("`{text}` is not a number of connections"))
        };
        let parts: Vec<&str> = text.split(':').collect();
        match parts.as_slice() {
            [most] => Ok(Self {
                most: number(most)?,
                growth: None,
            }),
            [from, to, over] => {
                let (from, most) = (number(from)?, number(to)?);
                if from > most {
                    return Err("A must not be larger than B".to_owned());
                }
                let over_ns = some_time(over)?.as_ns();
                Ok(Self {
                    most,
                    growth: Some(Growth { from, over_ns }),
                })
            }
            _ => Err("write it as N, or as A:B:TIME for a growing number, as in 10:200:30s".to_owned()),
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
                .map_err(|_| format!("`{text}` is neither a number of threads nor auto")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_a_number_or_grow() {
        let growth = Some(Growth {
            from: 10,
            over_ns: 30_000_000_000,
        });
        assert_eq!("10:200:30s".parse(), Ok(Connections { most: 200, growth }));
        assert!("0:5:1s".parse::<Connections>().is_ok());
        assert_eq!(
            "64".parse(),
            Ok(Connections {
                most: 64,
                growth: None
            })
        );
        for wrong in ["", "x", "1:2", "6:5:1s", "1:5:0s", "1:5:soon", "1:2:3s:4"] {
            assert!(wrong.parse::<Connections>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn stages_have_a_time_and_a_rate() {
        let stage: StageToml = "10s:100".parse().expect("a stage");
        assert_eq!(stage.0.for_ns, 10_000_000_000);
        assert!(
            "10s:0"
                .parse::<StageToml>()
                .is_ok_and(|stage| stage.0.rate.is_zero())
        );
        assert!((stage.0.rate.as_per_second() - 100.0).abs() < 1e-9);
        for wrong in ["", "100", "0s:100", "10s:-1", "10s:x", "x:100"] {
            assert!(wrong.parse::<StageToml>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn threads_are_as_many_as_cpus_with_connections_for_each() {
        assert_eq!(Threads::Auto.number(Some(4), 64), 4);
        assert_eq!(Threads::Auto.number(Some(4), 17), 2);
        assert_eq!(Threads::Auto.number(Some(4), 1), 1);
        assert_eq!(Threads::Number(3).number(Some(1), 1), 3);
        assert!("many".parse::<Threads>().is_err());
    }
}
