//! Objectives: `p99<10ms,errors<0.1%`, for language models `ttft<500ms,tpot<50ms`, and the search for the highest
//! rate that meets one.

use crate::events::Chat;
use crate::{DurationText, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// Conditions that must all hold. Serialized as text, in files and on the command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Objective {
    conditions: Vec<Condition>,
    text: String,
    /// Whether a condition was written with the name another tool uses, see [`Objective::note`].
    is_aliased: bool,
}

/// One condition of an objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Condition {
    /// The response time at a quantile (0 to 1) is below this, ns.
    Quantile {
        /// The quantile.
        quantile: f64,
        /// The limit, ns.
        below_ns: u64,
    },
    /// The mean response time is below this, ns.
    Mean {
        /// The limit, ns.
        below_ns: u64,
    },
    /// The longest response time is below this, ns.
    Max {
        /// The limit, ns.
        below_ns: u64,
    },
    /// The share (0 to 1) of requests without a valid reply is below this.
    Errors {
        /// The limit.
        below: f64,
    },
    /// Valid replies per second exceed this.
    Goodput {
        /// The limit.
        above: f64,
    },
    /// The first token of a stream arrives within this time, ns: see [`GoodStreams`].
    Ttft {
        /// The limit, ns.
        below_ns: u64,
    },
    /// The mean time per output token of a stream, after its first, is below this, ns: see [`GoodStreams`].
    Tpot {
        /// The limit, ns.
        below_ns: u64,
    },
    /// The last token of a stream arrives within this time, ns: see [`GoodStreams`].
    E2el {
        /// The limit, ns.
        below_ns: u64,
    },
    /// The share (0 to 1) of good streams is at least this: see [`GoodStreams`].
    Good {
        /// The limit.
        at_least: f64,
    },
}

/// The part of an objective that applies to each answer of a language model separately. An answer that meets all of
/// it is good.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GoodStreams {
    /// The limits of a good stream.
    pub chat: Chat,
    /// The smallest share (0 to 1) of good streams.
    pub at_least: f64,
}

/// The default for the smallest share of good streams: the same share that is below a p99.
const GOOD: f64 = 0.99;

/// A text that is not an objective: names the wrong part and the valid forms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{part}`: {why}; write p99<10ms, p99.9<50ms, mean<5ms, max<1s, errors<0.1% or goodput>1000; for \
     language models ttft<500ms, tpot<50ms, e2el<10s and good>99%"
)]
pub struct ObjectiveError {
    part: String,
    why: &'static str,
}

/// A search for the highest offered rate that meets an objective, starting at the rate of an open load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The objective.
    pub objective: Objective,
    /// Highest rate to try.
    pub limit: Rate,
    /// The search ends when its lower and upper bound are this close, relative to the rate.
    pub precision: f64,
    /// Length of the measurement at each rate, ns.
    pub step_ns: u64,
}

impl Objective {
    /// The conditions that must all hold.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// A note for the user if the objective uses a name that means different things in different tools.
    pub fn note(&self) -> Option<&'static str> {
        self.is_aliased.then_some(
            "`itl` in an objective is read as `tpot`, the mean time per output token of each answer; some tools use `itl` for the gap \
             between chunks, which prony shows as inter-chunk latency (icl)",
        )
    }

    /// The limits for each stream of a language model, if the objective has any.
    pub fn streams(&self) -> Option<GoodStreams> {
        let mut chat = Chat::default();
        let mut at_least = None;
        for condition in &self.conditions {
            match *condition {
                Condition::Ttft { below_ns } => chat.ttft_below_ns = Some(below_ns),
                Condition::Tpot { below_ns } => chat.tpot_below_ns = Some(below_ns),
                Condition::E2el { below_ns } => chat.e2el_below_ns = Some(below_ns),
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

impl JsonSchema for Objective {
    fn schema_name() -> Cow<'static, str> {
        "Objective".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "objective",
            "description": "Conditions that must all hold: p99<10ms,errors<0.1%.",
        })
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
        let parts: Vec<Cow<'_, str>> = text.split(',').map(with_own_name).collect();
        let conditions = parts
            .iter()
            .map(|part| condition(part.trim()))
            .collect::<Result<_, _>>()?;
        let objective = Self {
            conditions,
            text: parts.join(","),
            is_aliased: parts.iter().any(|part| matches!(part, Cow::Owned(_))),
        };
        match objective.streams() {
            Some(streams) if !streams.chat.has_objective() => Err(ObjectiveError {
                part: text.to_owned(),
                why: "`good` needs a limit for each stream: add ttft, tpot or e2el",
            }),
            _ => Ok(objective),
        }
    }
}

/// Replaces another tool's name in a condition by prony's own: `itl<50ms` becomes `tpot<50ms`.
fn with_own_name(part: &str) -> Cow<'_, str> {
    match part.split_once('<') {
        Some((name, limit)) if name.trim() == "itl" => Cow::Owned(format!("tpot<{limit}")),
        _ => Cow::Borrowed(part),
    }
}

fn condition(text: &str) -> Result<Condition, ObjectiveError> {
    let wrong = |why| ObjectiveError {
        part: text.to_owned(),
        why,
    };
    let below = |limit: &str| {
        limit
            .parse::<DurationText>()
            .map(DurationText::as_ns)
            .map_err(|_| wrong("not a duration"))
    };
    if let Some((name, limit)) = text.split_once('>') {
        return match (name.trim(), limit.trim().parse()) {
            ("goodput", Ok(above)) => Ok(Condition::Goodput { above }),
            ("goodput", Err(_)) => Err(wrong("not a number of replies per second")),
            ("good", _) => match share(limit.trim()) {
                Some(at_least) => Ok(Condition::Good { at_least }),
                None => Err(wrong("not a share")),
            },
            _ => Err(wrong("only goodput and good have a lower bound")),
        };
    }
    let (name, limit) = text.split_once('<').ok_or_else(|| wrong("there is no `<`"))?;
    let limit = limit.trim();
    match name.trim() {
        "errors" => Ok(Condition::Errors {
            below: share(limit).ok_or_else(|| wrong("not a share"))?,
        }),
        "ttft" => Ok(Condition::Ttft {
            below_ns: below(limit)?,
        }),
        "tpot" => Ok(Condition::Tpot {
            below_ns: below(limit)?,
        }),
        "e2el" => Ok(Condition::E2el {
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

/// Parses `0.1%` or `0.001`.
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
        let found = streams("ttft<500ms, tpot < 50ms,errors<1%").expect("of streams");
        assert_eq!(found.chat.ttft_below_ns, Some(500_000_000));
        assert_eq!(found.chat.tpot_below_ns, Some(50_000_000));
        assert!((found.at_least - 0.99).abs() < 1e-12);
        let found = streams("ttft<1s,good>90%").expect("of streams");
        assert_eq!(found.chat.tpot_below_ns, None);
        assert!((found.at_least - 0.9).abs() < 1e-12);
        assert_eq!(streams("p99<1s"), None);
        let found = streams("e2el<10s").expect("of streams");
        assert_eq!(found.chat.e2el_below_ns, Some(10_000_000_000));
    }

    #[test]
    fn itl_is_another_name_of_tpot_and_noted() {
        let objective: Objective = "ttft<1s,itl<50ms".parse().expect("a good one");
        assert_eq!(objective.to_string(), "ttft<1s,tpot<50ms");
        assert_eq!(
            objective.conditions()[1],
            Condition::Tpot { below_ns: 50_000_000 }
        );
        assert!(objective.note().expect("a note").contains("`tpot`"));
        let own: Objective = "tpot<50ms".parse().expect("a good one");
        assert_eq!(own.note(), None);
    }

    #[test]
    fn invalid_objectives_are_reported() {
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
