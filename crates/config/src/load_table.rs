//! The table of a load, `{ kind = "closed", connections = 64 }`: of a workload of a contract, and of a group of a suite.

use crate::ConfigError;
use crate::format::{SourceFile, Spanned};
use prony_load::{Arrival, DurationText, Load, Profile, Rate, Spacing};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::ops::Range;
use std::time::Duration;

/// A duration above 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "DurationText")]
#[schemars(with = "String", extend("format" = "duration", "pattern" = "[1-9]", "x-give" = "a duration above 0, such as \"2s\""))]
pub(crate) struct PositiveDuration(DurationText);

impl PositiveDuration {
    pub(crate) const fn get(self) -> Duration {
        self.0.0
    }

    /// Whole nanoseconds.
    pub(crate) fn as_ns(self) -> u64 {
        self.0.as_ns()
    }
}

impl TryFrom<DurationText> for PositiveDuration {
    type Error = &'static str;

    fn try_from(written: DurationText) -> Result<Self, Self::Error> {
        if written.0.is_zero() {
            Err("the duration is 0: give more")
        } else {
            Ok(Self(written))
        }
    }
}

/// When requests are sent, and on how many connections.
///
/// The parameters are the types of a number of connections and of a rate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum LoadToml<C = NonZeroU32, R = Rate> {
    /// A closed loop: each connection sends its next request when the reply to its last one is complete.
    Closed {
        /// Connections that stay open.
        connections: Spanned<C>,
        /// Requests in flight on each connection: HTTP/1.1 pipelining or HTTP/2 streams; default: 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        in_flight: Option<NonZeroU32>,
        /// Connections in each room of a WebSocket, where a message of one is delivered to all.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-aliases" = ["members"]))]
        room_size: Option<Spanned<NonZeroU32>>,
        /// Pause between a reply and the next request; default: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        think: Option<DurationText>,
    },
    /// An open loop: requests are due at times that do not depend on replies.
    Open {
        /// Requests per second; of a ramp or of steps: at the start.
        rate: Spanned<R>,
        /// A rate that changes evenly.
        #[serde(skip_serializing_if = "Option::is_none")]
        ramp: Option<RampToml>,
        /// A rate that rises in steps.
        #[serde(skip_serializing_if = "Option::is_none")]
        steps: Option<Spanned<StepsToml>>,
        /// How requests are spaced; default: evenly.
        #[serde(skip_serializing_if = "Option::is_none")]
        spacing: Option<Spacing>,
        /// Connections that stay open.
        connections: Spanned<C>,
        /// Requests in flight on each connection: HTTP/1.1 pipelining or HTTP/2 streams; default: 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        in_flight: Option<NonZeroU32>,
        /// Requests that may wait for a free connection; default: a million.
        #[serde(skip_serializing_if = "Option::is_none")]
        backlog: Option<u64>,
        /// Connections in each room of a WebSocket, where a message of one is delivered to all.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-aliases" = ["members"]))]
        room_size: Option<Spanned<NonZeroU32>>,
    },
    /// Users arrive; each opens a connection, sends its requests one after the other, and leaves.
    Users {
        /// Users per second; of a ramp: at the start.
        rate: Spanned<R>,
        /// A rate that changes evenly.
        #[serde(skip_serializing_if = "Option::is_none")]
        ramp: Option<RampToml>,
        /// How users are spaced; default: evenly.
        #[serde(skip_serializing_if = "Option::is_none")]
        spacing: Option<Spacing>,
        /// Requests of each user.
        requests_per_user: NonZeroU32,
        /// Pause between a reply and the user's next request; default: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        think: Option<DurationText>,
        /// The largest number of users at the same time; default: 10,000.
        #[serde(skip_serializing_if = "Option::is_none")]
        max_users: Option<NonZeroU32>,
    },
}

/// A rate that changes evenly, and stays from then on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-give" = "a table, such as { to = 40, over = \"30s\" }"))]
pub(crate) struct RampToml {
    /// The rate at the end of the ramp, per second.
    to: Rate,
    /// Length of the ramp.
    over: PositiveDuration,
}

/// A rate that rises in steps, without an end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-give" = "a table, such as { by = 500, every = \"10s\" }"))]
pub(crate) struct StepsToml {
    /// Increase at each step, per second.
    by: Rate,
    /// Length of each step.
    every: PositiveDuration,
}

impl<C, R> LoadToml<C, R> {
    pub(crate) const fn connections(&self) -> Option<&Spanned<C>> {
        match self {
            Self::Closed { connections, .. } | Self::Open { connections, .. } => Some(connections),
            Self::Users { .. } => None,
        }
    }

    pub(crate) const fn rate(&self) -> Option<&Spanned<R>> {
        match self {
            Self::Closed { .. } => None,
            Self::Open { rate, .. } | Self::Users { rate, .. } => Some(rate),
        }
    }

    /// The same load with another rate and number of connections; each must be given if the load has it.
    pub(crate) fn with<C2, R2>(
        &self,
        new_rate: Option<Spanned<R2>>,
        new_connections: Option<Spanned<C2>>,
    ) -> LoadToml<C2, R2> {
        let rate = || new_rate.expect("invariant: a load with a rate gets one");
        let connections = || new_connections.expect("invariant: a load with connections gets a number");
        match self {
            Self::Closed {
                in_flight,
                think,
                room_size,
                ..
            } => LoadToml::Closed {
                connections: connections(),
                in_flight: *in_flight,
                think: *think,
                room_size: room_size.clone(),
            },
            Self::Open {
                ramp,
                steps,
                spacing,
                in_flight,
                backlog,
                room_size,
                ..
            } => LoadToml::Open {
                rate: rate(),
                ramp: *ramp,
                steps: steps.clone(),
                spacing: *spacing,
                connections: connections(),
                in_flight: *in_flight,
                backlog: *backlog,
                room_size: room_size.clone(),
            },
            Self::Users {
                ramp,
                spacing,
                requests_per_user,
                think,
                max_users,
                ..
            } => LoadToml::Users {
                rate: rate(),
                ramp: *ramp,
                spacing: *spacing,
                requests_per_user: *requests_per_user,
                think: *think,
                max_users: *max_users,
            },
        }
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LoadKind {
    Closed,
    Open,
    Users,
}

/// The keys of every kind of load. A tagged enum of serde would lose the positions.
#[derive(Deserialize)]
#[serde(bound = "C: Deserialize<'de>, R: Deserialize<'de>")]
struct LoadKeys<C, R> {
    kind: LoadKind,
    connections: Option<Spanned<C>>,
    in_flight: Option<NonZeroU32>,
    room_size: Option<Spanned<NonZeroU32>>,
    rate: Option<Spanned<R>>,
    ramp: Option<RampToml>,
    steps: Option<Spanned<StepsToml>>,
    spacing: Option<Spacing>,
    backlog: Option<u64>,
    requests_per_user: Option<NonZeroU32>,
    think: Option<DurationText>,
    max_users: Option<NonZeroU32>,
}

impl<'de, C: Deserialize<'de>, R: Deserialize<'de>> Deserialize<'de> for LoadToml<C, R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys = LoadKeys::<C, R>::deserialize(deserializer)?;
        let missing = |key: &str| D::Error::custom(format!("the load has no `{key}`"));
        let connections = keys.connections.ok_or_else(|| missing("connections"));
        let rate = keys.rate.ok_or_else(|| missing("rate"));
        Ok(match keys.kind {
            LoadKind::Closed => Self::Closed {
                connections: connections?,
                in_flight: keys.in_flight,
                think: keys.think,
                room_size: keys.room_size,
            },
            LoadKind::Open => Self::Open {
                rate: rate?,
                ramp: keys.ramp,
                steps: keys.steps,
                spacing: keys.spacing,
                connections: connections?,
                in_flight: keys.in_flight,
                backlog: keys.backlog,
                room_size: keys.room_size,
            },
            LoadKind::Users => Self::Users {
                rate: rate?,
                ramp: keys.ramp,
                spacing: keys.spacing,
                requests_per_user: keys
                    .requests_per_user
                    .ok_or_else(|| missing("requests_per_user"))?,
                think: keys.think,
                max_users: keys.max_users,
            },
        })
    }
}

const MAX_USERS: u32 = 10_000;
const BACKLOG: u64 = 1_000_000;

/// A load whose keys contradict each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoadFault {
    span: Range<usize>,
    message: String,
    help: String,
}

impl TryFrom<LoadToml> for Load {
    type Error = LoadFault;

    fn try_from(written: LoadToml) -> Result<Self, LoadFault> {
        Ok(match written {
            LoadToml::Closed {
                connections,
                in_flight,
                think,
                room_size,
            } => Self::Closed {
                members: whole_rooms(&connections, room_size.as_ref())?,
                connections: connections.get_ref().get(),
                in_flight: in_flight.map_or(1, NonZeroU32::get),
                think_ns: think.map_or(0, DurationText::as_ns),
                growth: None,
            },
            LoadToml::Open {
                rate,
                ramp,
                steps,
                spacing,
                connections,
                in_flight,
                backlog,
                room_size,
            } => Self::Open {
                arrival: Arrival {
                    profile: profile(*rate.get_ref(), ramp, steps)?,
                    spacing: spacing.unwrap_or_default(),
                },
                members: whole_rooms(&connections, room_size.as_ref())?,
                connections: connections.get_ref().get(),
                in_flight: in_flight.map_or(1, NonZeroU32::get),
                backlog: backlog.unwrap_or(BACKLOG),
            },
            LoadToml::Users {
                rate,
                ramp,
                spacing,
                requests_per_user,
                think,
                max_users,
            } => Self::Users {
                arrival: Arrival {
                    profile: profile(*rate.get_ref(), ramp, None)?,
                    spacing: spacing.unwrap_or_default(),
                },
                requests_per_user: requests_per_user.get(),
                think_ns: think.map_or(0, DurationText::as_ns),
                max_users: max_users.map_or(MAX_USERS, NonZeroU32::get),
            },
        })
    }
}

impl LoadToml {
    /// The load, or the error at the keys that contradict each other.
    pub(crate) fn resolve(self, source: &SourceFile) -> Result<Load, ConfigError> {
        let load = Load::try_from(self);
        load.map_err(|LoadFault { span, message, help }| source.invalid_with(span, message, help))
    }
}

fn profile(
    from: Rate,
    ramp: Option<RampToml>,
    steps: Option<Spanned<StepsToml>>,
) -> Result<Profile, LoadFault> {
    match (ramp, steps) {
        (None, None) => Ok(Profile::Constant { rate: from }),
        (Some(ramp), None) => Ok(Profile::Ramp {
            from: from.into(),
            to: ramp.to.into(),
            over_ns: ramp.over.as_ns(),
        }),
        (None, Some(steps)) => Ok(Profile::StepLoad {
            from: from.into(),
            step: steps.get_ref().by,
            every_ns: steps.get_ref().every.as_ns(),
        }),
        (Some(_), Some(steps)) => Err(LoadFault {
            span: steps.span(),
            message: "`ramp` and `steps` at once".to_owned(),
            help: "remove one of the two".to_owned(),
        }),
    }
}

/// Verifies that every room is full.
fn whole_rooms(
    connections: &Spanned<NonZeroU32>,
    room_size: Option<&Spanned<NonZeroU32>>,
) -> Result<Option<u32>, LoadFault> {
    let Some(room_size) = room_size else {
        return Ok(None);
    };
    let (all, one) = (connections.get_ref().get(), room_size.get_ref().get());
    let rest = all % one;
    if rest == 0 {
        return Ok(Some(one));
    }
    let proposals = match all - rest {
        0 => one.to_string(),
        fewer => format!("{fewer} or {}", u64::from(fewer) + u64::from(one)),
    };
    Err(LoadFault {
        span: connections.span(),
        message: format!("{all} connections do not fill rooms of {one}"),
        help: format!("give {proposals} connections"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::FileKind;
    use std::path::Path;

    #[derive(Deserialize, JsonSchema)]
    struct File {
        load: Spanned<LoadToml>,
    }

    fn read(text: &str) -> Result<Load, String> {
        let source = SourceFile::new(Path::new("f.toml"), format!("load = {text}"));
        let file: Result<File, ConfigError> = source.parse(FileKind::Sequence);
        let file = file.map_err(|error| error.to_string())?;
        file.load
            .into_inner()
            .resolve(&source)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn arriving_users_ramp_up() {
        let load = read(
            r#"{ kind = "users", rate = 4, ramp = { to = 40, over = "30s" }, requests_per_user = 100 }"#,
        );
        let Ok(Load::Users {
            arrival,
            requests_per_user: 100,
            think_ns: 0,
            max_users: 10_000,
        }) = load
        else {
            panic!("{load:?}")
        };
        assert!((arrival.profile.events_within(90.0) - (22.0 * 30.0 + 40.0 * 60.0)).abs() < 1e-6);
    }

    #[test]
    fn a_rate_rises_in_steps() {
        let load =
            read(r#"{ kind = "open", rate = 100, steps = { by = 50, every = "10s" }, connections = 8 }"#);
        let Ok(Load::Open {
            arrival,
            backlog: 1_000_000,
            in_flight: 1,
            ..
        }) = load
        else {
            panic!("{load:?}")
        };
        assert_eq!(arrival.spacing, Spacing::Even);
        assert!((arrival.profile.events_within(20.0) - 2_500.0).abs() < 1e-6);
    }

    #[test]
    fn a_load_survives_its_own_text() {
        for text in [
            r#"{ kind = "closed", connections = 16, in_flight = 4, room_size = 8 }"#,
            r#"{ kind = "closed", connections = 16, think = "250ms" }"#,
            r#"{ kind = "open", rate = 5.5, spacing = "poisson", connections = 2, backlog = 7 }"#,
            r#"{ kind = "users", rate = 1, requests_per_user = 3, think = "250ms", max_users = 9 }"#,
        ] {
            let source = SourceFile::new(Path::new("f.toml"), format!("load = {text}"));
            let file: File = source.parse(FileKind::Sequence).expect(text);
            let again = toml::to_string(file.load.get_ref()).expect(text);
            assert_eq!(
                toml::from_str::<LoadToml>(&again).expect(text),
                file.load.into_inner()
            );
        }
    }

    #[test]
    fn faults_are_marked_where_they_are() {
        for (text, message) in [
            (
                r#"{ kind = "closed", connections = 0 }"#,
                "`connections` is 0: give at least 1\n  f.toml:1:41",
            ),
            (
                r#"{ kind = "open", rate = -1, connections = 1 }"#,
                "`rate` is -1: give a number above 0\n  f.toml:1:32",
            ),
            (
                r#"{ kind = "open", rate = inf, connections = 1 }"#,
                "`rate` is inf: give a number above 0\n  f.toml:1:32",
            ),
            (
                r#"{ kind = "open", rate = 5, ramp = { to = 9 }, connections = 1 }"#,
                "`ramp` has no `over`\n  f.toml:1:42",
            ),
            (
                r#"{ kind = "open", rate = 5, ramp = 9, connections = 1 }"#,
                "`ramp` is the number 9: give a table, such as { to = 40, over = \"30s\" }\n  f.toml:1:42",
            ),
            (
                r#"{ kind = "open", rate = 5, steps = { by = 9, every = "0s" }, connections = 1 }"#,
                "`every` is \"0s\": give a duration above 0, such as \"2s\"\n  f.toml:1:61",
            ),
            (
                r#"{ kind = "open", rate = 5, ramp = { to = 9, over = "1s" }, steps = { by = 9, every = "1s" }, connections = 1 }"#,
                "`ramp` and `steps` at once\n  f.toml:1:75",
            ),
            (
                r#"{ kind = "open", rate = 5, connections = 6, room_size = 4 }"#,
                "6 connections do not fill rooms of 4\n  f.toml:1:49\n    1 | load = { kind = \"open\", rate = 5, connections = 6, room_size = 4 }\n      |                                                 ^ give 4 or 8 connections",
            ),
            (
                r#"{ kind = "closed", connections = 5000000000 }"#,
                "`connections` is 5000000000: give at most 4294967295\n  f.toml:1:41",
            ),
            (
                r#"{ kind = "closed", connections = 1, rate = 5 }"#,
                "unknown key `rate`\n  f.toml:1:44",
            ),
            (
                r#"{ kind = "shut", connections = 1 }"#,
                "`kind` is \"shut\"\n  f.toml:1:17",
            ),
            (
                "{ connections = 1 }",
                "`load` has no `kind`\n  f.toml:1:8\n    1 | load = { connections = 1 }\n      |        ^^^^^^^^^^^^^^^^^^^ add `kind`: \"closed\", \"open\" or \"users\"",
            ),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.starts_with(message), "{text}: {error}");
        }
    }
}
