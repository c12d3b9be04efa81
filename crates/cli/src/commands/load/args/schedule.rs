//! Options for when requests are sent: connections, stages, and the number of requests.

use super::rate_level;
use crate::option_values::time;
use prony_load::{ArrivalStage, DurationText, Growth};
use std::time::Duration;

/// Number of requests, and rates in stages
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct ScheduleArgs {
    /// Stop after this many requests
    #[arg(short = 'n', long, value_name = "N", conflicts_with_all = ["duration", "stages", "users"], value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// Open load: rates in sequence, e.g. 10s:100,30s:500
    #[arg(
        long,
        value_name = "TIME:PER_S,…",
        value_delimiter = ',',
        conflicts_with = "duration",
        hide_short_help = true
    )]
    pub(crate) stages: Vec<StageToml>,
}

/// Limit of a measurement that ends after a number of requests, ns: a year.
const LONGEST: u64 = 365 * 24 * 3_600 * 1_000_000_000;

impl ScheduleArgs {
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
    let time = time(text)?;
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
            text.parse::<u32>().map_err(|_| {
                format!("invalid connection count `{text}` → Example: 64, or 10:200:30s to grow.")
            })
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
            _ => Err(format!(
                "invalid connection count `{text}` → Example: 64, or 10:200:30s to grow."
            )),
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
}
