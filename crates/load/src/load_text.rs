//! Loads as written in contract and suite files, and defaults for common values.

use crate::{Arrival, DurationText, Load, Profile, Rate, Spacing};
use serde::{Deserialize, Serialize};

/// A [`Load`] as it is written in a TOML file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LoadText {
    /// `{ kind = "closed", connections = 64 }`
    Closed {
        /// Connections kept open.
        connections: u32,
        /// Requests in flight on one connection; default: 1.
        #[serde(default = "one")]
        in_flight: u32,
        /// Connections in a room of a WebSocket, where a message of one is delivered to all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        members: Option<u32>,
    },
    /// `{ kind = "open", rate = 2000, connections = 64 }`; with `to` and `over` a ramp, with `step` and `every` a
    /// step load.
    Open {
        /// Requests per second; for a ramp or step load, at the start.
        rate: Rate,
        /// Requests per second at the end of the ramp.
        #[serde(default)]
        to: Option<Rate>,
        /// Length of the ramp.
        #[serde(default)]
        over: Option<DurationText>,
        /// Increase per step, requests per second.
        #[serde(default)]
        step: Option<Rate>,
        /// Length of a step.
        #[serde(default)]
        every: Option<DurationText>,
        /// How requests are spaced; default: even.
        #[serde(default)]
        spacing: Spacing,
        /// Connections kept open.
        connections: u32,
        /// Requests in flight on one connection; default: 1.
        #[serde(default = "one")]
        in_flight: u32,
        /// Requests that may wait for a free slot; default: a million.
        #[serde(default = "million")]
        backlog: u64,
        /// Connections in a room of a WebSocket, where a message of one is delivered to all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        members: Option<u32>,
    },
    /// `{ kind = "users", rate = 4, to = 40, over = "30s", requests_per_user = 100 }`
    Users {
        /// Users per second; for a ramp, at the start.
        rate: Rate,
        /// Users per second at the end of the ramp.
        #[serde(default)]
        to: Option<Rate>,
        /// Length of the ramp.
        #[serde(default)]
        over: Option<DurationText>,
        /// How users are spaced; default: even.
        #[serde(default)]
        spacing: Spacing,
        /// Requests of one user.
        requests_per_user: u32,
        /// Pause between a reply and the next request; default: none.
        #[serde(default)]
        think: DurationText,
        /// Most users present at once; default: 10,000.
        #[serde(default = "ten_thousand")]
        max_users: u32,
    },
}

const fn one() -> u32 {
    1
}

const fn ten_thousand() -> u32 {
    10_000
}

const fn million() -> u64 {
    1_000_000
}

/// A written load that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// A count that must not be 0.
    #[error("`{0}` is 0: give at least 1")]
    Zero(&'static str),
    /// One of two keys that need each other.
    #[error("`{given}` without `{missing}`: give both, or neither")]
    Half {
        /// The key that is given.
        given: &'static str,
        /// The key that is missing.
        missing: &'static str,
    },
    /// A room that is not full.
    #[error("{connections} connections in rooms of {members}: give whole rooms")]
    HalfRoom {
        /// Connections of the load.
        connections: u32,
        /// Members of a room.
        members: u32,
    },
    /// A ramp and a step load at once.
    #[error("`to` and `step` at once: give a ramp or a step load, not both")]
    RampAndStepLoad,
}

impl TryFrom<LoadText> for Load {
    type Error = LoadError;

    fn try_from(written: LoadText) -> Result<Self, LoadError> {
        Ok(match written {
            LoadText::Closed {
                connections,
                in_flight,
                members,
            } => Self::Closed {
                connections: above_zero("connections", connections)?,
                in_flight: above_zero("in_flight", in_flight)?,
                think_ns: 0,
                growth: None,
                members: whole_rooms(connections, members)?,
            },
            LoadText::Open {
                rate,
                to,
                over,
                step,
                every,
                spacing,
                connections,
                in_flight,
                backlog,
                members,
            } => Self::Open {
                arrival: Arrival {
                    profile: profile(
                        rate,
                        pair(to, over, ["to", "over"])?,
                        pair(step, every, ["step", "every"])?,
                    )?,
                    spacing,
                },
                connections: above_zero("connections", connections)?,
                in_flight: above_zero("in_flight", in_flight)?,
                backlog,
                members: whole_rooms(connections, members)?,
            },
            LoadText::Users {
                rate,
                to,
                over,
                spacing,
                requests_per_user,
                think,
                max_users,
            } => Self::Users {
                arrival: Arrival {
                    profile: profile(rate, pair(to, over, ["to", "over"])?, None)?,
                    spacing,
                },
                requests_per_user: above_zero("requests_per_user", requests_per_user)?,
                think_ns: think.as_ns(),
                max_users: above_zero("max_users", max_users)?,
            },
        })
    }
}

type Change = Option<(Rate, DurationText)>;

fn profile(rate: Rate, ramp: Change, stairs: Change) -> Result<Profile, LoadError> {
    match (ramp, stairs) {
        (None, None) => Ok(Profile::Constant { rate }),
        (Some((to, over)), None) => Ok(Profile::Ramp {
            from: rate,
            to,
            over_ns: above_zero("over", over.as_ns())?,
        }),
        (None, Some((step, every))) => Ok(Profile::StepLoad {
            from: rate,
            step,
            every_ns: above_zero("every", every.as_ns())?,
        }),
        (Some(_), Some(_)) => Err(LoadError::RampAndStepLoad),
    }
}

fn pair(
    rate: Option<Rate>,
    time: Option<DurationText>,
    names: [&'static str; 2],
) -> Result<Change, LoadError> {
    match (rate, time) {
        (Some(rate), Some(time)) => Ok(Some((rate, time))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(LoadError::Half {
            given: names[0],
            missing: names[1],
        }),
        (None, Some(_)) => Err(LoadError::Half {
            given: names[1],
            missing: names[0],
        }),
    }
}

/// Checks that rooms are full.
fn whole_rooms(connections: u32, members: Option<u32>) -> Result<Option<u32>, LoadError> {
    let Some(members) = members else { return Ok(None) };
    match connections % above_zero("members", members)? {
        0 => Ok(Some(members)),
        _ => Err(LoadError::HalfRoom { connections, members }),
    }
}

fn above_zero<T: PartialEq + Default>(name: &'static str, count: T) -> Result<T, LoadError> {
    if count == T::default() {
        Err(LoadError::Zero(name))
    } else {
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Load, String> {
        let written: LoadText = serde_json::from_str(json).map_err(|error| error.to_string())?;
        Load::try_from(written).map_err(|error| error.to_string())
    }

    #[test]
    fn users_ramp_as_document_003_has_them() {
        let load = read(r#"{"kind":"users","rate":4,"to":40,"over":"30s","requests_per_user":100}"#)
            .expect("a load");
        let Load::Users {
            arrival,
            requests_per_user: 100,
            think_ns: 0,
            ..
        } = load
        else {
            panic!("{load:?}")
        };
        assert!((arrival.profile.events_within(90.0) - (22.0 * 30.0 + 40.0 * 60.0)).abs() < 1e-6);
    }

    #[test]
    fn contradictions_are_reported() {
        for (json, part) in [
            (r#"{"kind":"closed","connections":0}"#, "`connections` is 0"),
            (
                r#"{"kind":"open","rate":5,"to":9,"connections":1}"#,
                "`to` without `over`",
            ),
            (r#"{"kind":"open","rate":-1,"connections":1}"#, "above 0"),
            (
                r#"{"kind":"closed","connections":6,"members":0}"#,
                "`members` is 0",
            ),
            (
                r#"{"kind":"open","rate":5,"connections":6,"members":4}"#,
                "6 connections in rooms of 4",
            ),
            (
                r#"{"kind":"closed","connections":1,"rate":5}"#,
                "unknown field `rate`",
            ),
            (
                r#"{"kind":"open","rate":5,"to":9,"over":"soon","connections":1}"#,
                "`soon` is not a duration",
            ),
        ] {
            let error = read(json).expect_err(json);
            assert!(error.contains(part), "{json}: {error}");
        }
    }
}
