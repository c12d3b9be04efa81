//! What a service must hold: `p99<10ms,errors<0.1%`, of language models `ttft<500ms,itl<50ms`, and the search for the highest
//! rate at which it does.

use crate::events::Chat;
use crate::{Rate, WrittenDuration};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Conditions that must all hold; as text in files and on the command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Objective {
    conditions: Vec<Condition>,
    text: String,
}

/// One condition of an objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Condition {
    /// The response time at a quantile (0 to 1) lies below this, ns.
    Quantile {
        /// The quantile.
        quantile: f64,
        /// The bound, ns.
        below_ns: u64,
    },
    /// The mean response time lies below this, ns.
    Mean {
        /// The bound, ns.
        below_ns: u64,
    },
    /// The longest response time lies below this, ns.
    Max {
        /// The bound, ns.
        below_ns: u64,
    },
    /// The share (0 to 1) of requests without a valid reply lies below this.
    Errors {
        /// The bound.
        below: f64,
    },
    /// Valid replies per second are more than this.
    Goodput {
        /// The bound.
        above: f64,
    },
    /// The first token of a stream comes within this, ns: see [`GoodStreams`].
    Ttft {
        /// The bound, ns.
        below_ns: u64,
    },
    /// The mean time from one token of a stream to the next lies below this, ns: see [`GoodStreams`].
    Itl {
        /// The bound, ns.
        below_ns: u64,
    },
    /// The share (0 to 1) of the streams that are good is this or more: see [`GoodStreams`].
    Good {
        /// The bound.
        at_least: f64,
    },
}

/// The part of an objective that each answer of a language model meets or misses by itself. One that meets all of it is good.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GoodStreams {
    /// When a stream is good.
    pub chat: Chat,
    /// The share (0 to 1) of the streams that must be good: this or more.
    pub at_least: f64,
}

/// The share of the streams that must be good unless told otherwise: as many as lie below a p99.
const GOOD: f64 = 0.99;

/// A text that is no objective: the part that is wrong, and what can be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{part}`: {why}; write p99<10ms, p99.9<50ms, mean<5ms, max<1s, errors<0.1% or goodput>1000; of \
     language models ttft<500ms, itl<50ms and good>99%"
)]
pub struct ObjectiveError {
    part: String,
    why: &'static str,
}

/// A search for the highest offered rate that meets an objective, from the rate of an open load on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// What must hold.
    pub objective: Objective,
    /// Highest rate that is tried.
    pub limit: Rate,
    /// The search ends when its bounds are this close, as a share of the rate.
    pub precision: f64,
    /// Length of the measurement at each rate, ns.
    pub step_ns: u64,
}

impl Objective {
    /// The conditions.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// What the streams of a language model must hold, where that is said.
    pub fn streams(&self) -> Option<GoodStreams> {
        let mut chat = Chat::default();
        let mut at_least = None;
        for condition in &self.conditions {
            match *condition {
                Condition::Ttft { below_ns } => chat.ttft_below_ns = Some(below_ns),
                Condition::Itl { below_ns } => chat.itl_below_ns = Some(below_ns),
                Condition::Good { at_least: share } => at_least = Some(share),
                _ => {}
            }
        }
        let is_said = chat.has_objective() || at_least.is_some();
        is_said.then(|| GoodStreams {
            chat,
            at_least: at_least.unwrap_or(GOOD),
        })
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl From<Objective> for String {
    fn from(objective: Objective) -> Self {
        objective.text
    }
}

impl TryFrom<String> for Objective {
    type Error = ObjectiveError;

    fn try_from(text: String) -> Result<Self, ObjectiveError> {
        text.parse()
    }
}

impl std::str::FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Self, ObjectiveError> {
        let conditions = text
            .split(',')
            .map(|part| condition(part.trim()))
            .collect::<Result<_, _>>()?;
        let objective = Self {
            conditions,
            text: text.to_owned(),
        };
        match objective.streams() {
            Some(streams) if !streams.chat.has_objective() => Err(ObjectiveError {
                part: text.to_owned(),
                why: "a stream is good that meets ttft or itl: say one of them",
            }),
            _ => Ok(objective),
        }
    }
}

fn condition(text: &str) -> Result<Condition, ObjectiveError> {
    let wrong = |why| ObjectiveError {
        part: text.to_owned(),
        why,
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
            ("good", _) => match share(limit.trim()) {
                Some(at_least) => Ok(Condition::Good { at_least }),
                None => Err(wrong("no share")),
            },
            _ => Err(wrong("only goodput and good have a lower bound")),
        };
    }
    let (name, limit) = text.split_once('<').ok_or_else(|| wrong("there is no `<`"))?;
    let limit = limit.trim();
    match name.trim() {
        "errors" => Ok(Condition::Errors {
            below: share(limit).ok_or_else(|| wrong("no share"))?,
        }),
        "ttft" => Ok(Condition::Ttft {
            below_ns: below(limit)?,
        }),
        "itl" => Ok(Condition::Itl {
            below_ns: below(limit)?,
        }),
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

/// `0.1%` or `0.001`.
fn share(text: &str) -> Option<f64> {
    let (number, scale) = text
        .strip_suffix('%')
        .map_or((text, 1.0), |number| (number, 100.0));
    Some(number.trim().parse::<f64>().ok()? / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_are_read() {
        let text = "p99<10ms, p99.9 < 50ms,errors<0.1%,goodput>1000";
        let objective: Objective = text.parse().expect("a good one");
        assert_eq!(
            objective.conditions(),
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
        assert_eq!(objective.to_string(), text);
    }

    #[test]
    fn streams_are_good_or_not() {
        let streams = |text: &str| text.parse::<Objective>().expect("a good one").streams();
        let found = streams("ttft<500ms, itl < 50ms,errors<1%").expect("of streams");
        assert_eq!(found.chat.ttft_below_ns, Some(500_000_000));
        assert_eq!(found.chat.itl_below_ns, Some(50_000_000));
        assert!((found.at_least - 0.99).abs() < 1e-12);
        let found = streams("ttft<1s,good>90%").expect("of streams");
        assert_eq!(found.chat.itl_below_ns, None);
        assert!((found.at_least - 0.9).abs() < 1e-12);
        assert_eq!(streams("p99<1s"), None);
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
            "ttft<5",
            "ttft>1s",
            "good>90%",
            "ttft<1s,good>x",
            "ttft<1s,good<1%",
        ] {
            assert!(text.parse::<Objective>().is_err(), "{text}");
        }
    }
}
