//! What a service must hold: `p99<10ms,errors<0.1%`.

use super::duration;
use prony_load::WrittenDuration;
use prony_measurement::Recording;

/// Conditions that must all hold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Objective(Vec<Condition>);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Condition {
    /// The response time at a quantile (0 to 1) lies below this, ns.
    Quantile { quantile: f64, below_ns: u64 },
    /// The mean response time lies below this, ns.
    Mean { below_ns: u64 },
    /// The longest response time lies below this, ns.
    Max { below_ns: u64 },
    /// The share (0 to 1) of requests without a valid reply lies below this.
    Errors { below: f64 },
    /// Valid replies per second are more than this.
    Goodput { above: f64 },
}

impl std::str::FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',')
            .map(|part| condition(part.trim()))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

fn condition(text: &str) -> Result<Condition, String> {
    let wrong = |why: &str| {
        format!("`{text}`: {why}; write p99<10ms, p99.9<50ms, mean<5ms, max<1s, errors<0.1% or goodput>1000")
    };
    let below = |limit: &str| {
        limit
            .parse::<WrittenDuration>()
            .map(WrittenDuration::as_ns)
            .map_err(|_| wrong("no duration"))
    };
    if let Some((name, limit)) = text.split_once('>') {
        return match (name.trim(), limit.trim().parse()) {
            ("goodput", Ok(above)) => Ok(Condition::Goodput { above }),
            ("goodput", Err(_)) => Err(wrong("no number of replies per second")),
            _ => Err(wrong("only goodput has a lower bound")),
        };
    }
    let (name, limit) = text.split_once('<').ok_or_else(|| wrong("there is no `<`"))?;
    let limit = limit.trim();
    match name.trim() {
        "errors" => {
            let (number, scale) = limit
                .strip_suffix('%')
                .map_or((limit, 1.0), |number| (number, 100.0));
            let share: f64 = number.trim().parse().map_err(|_| wrong("no share"))?;
            Ok(Condition::Errors { below: share / scale })
        }
        "mean" => Ok(Condition::Mean {
            below_ns: below(limit)?,
        }),
        "max" => Ok(Condition::Max {
            below_ns: below(limit)?,
        }),
        name => {
            let percent: Option<f64> = name.strip_prefix('p').and_then(|number| number.parse().ok());
            let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
            Ok(Condition::Quantile {
                quantile: percent.ok_or_else(|| wrong("not known"))? / 100.0,
                below_ns: below(limit)?,
            })
        }
    }
}

impl Objective {
    /// The conditions that a recording does not meet, in words.
    pub(crate) fn missed_by(&self, recording: &Recording) -> Vec<String> {
        self.0
            .iter()
            .filter_map(|condition| condition.missed_by(recording))
            .collect()
    }
}

impl Condition {
    fn missed_by(self, recording: &Recording) -> Option<String> {
        let times = recording.response_time_ns;
        let time = |name: String, found: Option<u64>, below_ns: u64| match found {
            Some(ns) if ns < below_ns => None,
            Some(ns) => Some(format!(
                "{name} is {}, not below {}",
                duration(ns),
                duration(below_ns)
            )),
            None => Some(format!("{name} is not known: no reply came")),
        };
        match self {
            Self::Quantile { quantile, below_ns } => {
                let found = recording
                    .response_times()
                    .ok()
                    .and_then(|histogram| histogram.quantile(quantile));
                time(format!("p{}", (quantile * 1e6).round() / 1e4), found, below_ns)
            }
            Self::Mean { below_ns } => {
                time("mean".to_owned(), times.map(|times| times.mean as u64), below_ns)
            }
            Self::Max { below_ns } => time("max".to_owned(), times.map(|times| times.max), below_ns),
            Self::Errors { below } => {
                let (errors, all) = (recording.outcomes.errors(), recording.requests.offered);
                let share = if all > 0 { errors as f64 / all as f64 } else { 1.0 };
                let fine = share < below || (errors == 0 && all > 0);
                (!fine).then(|| {
                    format!(
                        "{:.4} % of the requests had no valid reply, not below {} %",
                        share * 100.0,
                        below * 100.0
                    )
                })
            }
            Self::Goodput { above } => {
                let found = recording.goodput_per_s;
                (found <= above).then(|| format!("goodput is {found:.1}/s, not above {above}/s"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_are_read() {
        let objective: Objective = "p99<10ms, p99.9 < 50ms,errors<0.1%,goodput>1000"
            .parse()
            .expect("a good one");
        assert_eq!(
            objective.0,
            [
                Condition::Quantile {
                    quantile: 0.99,
                    below_ns: 10_000_000
                },
                Condition::Quantile {
                    quantile: 99.9 / 100.0,
                    below_ns: 50_000_000
                },
                Condition::Errors { below: 0.001 },
                Condition::Goodput { above: 1000.0 },
            ]
        );
    }

    #[test]
    fn wrong_objectives_are_told() {
        for text in [
            "",
            "p99",
            "p101<1s",
            "p99<10",
            "q<1s",
            "errors<x",
            "p99>1s",
            "goodput>x",
        ] {
            assert!(text.parse::<Objective>().is_err(), "{text}");
        }
    }
}
