//! When requests or users are due: a rate profile, a spacing, and the schedule they give.
//!
//! Every profile is an intensity λ(t). With Λ(t) = ∫₀ᵗ λ, the k-th event of an even spacing is due at Λ⁻¹(k), and the
//! k-th of a Poisson process at Λ⁻¹(E₁ + … + `E_k`) with independent unit exponentials (inversion of the cumulative
//! intensity: Çinlar, *Introduction to Stochastic Processes*, 1975, §4.7; Lewis and Shedler, 1979).

use crate::Partition;
use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// When events are due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// How the rate changes with time.
    pub profile: Profile,
    /// How events are spaced within it.
    pub spacing: Spacing,
}

/// How the rate changes with time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Profile {
    /// The same rate all the time.
    Constant {
        /// The rate, events per second.
        rate: Rate,
    },
    /// Linear from one rate to another, then held.
    Ramp {
        /// Rate at the start, events per second.
        from: RateLevel,
        /// Rate at the end of the ramp and after it, events per second.
        to: RateLevel,
        /// Length of the ramp, ns.
        over_ns: u64,
    },
    /// Step load: the rate rises by the same amount at fixed intervals.
    #[serde(alias = "staircase")]
    StepLoad {
        /// Rate of the first step, events per second.
        from: RateLevel,
        /// Increase per step, events per second.
        step: Rate,
        /// Length of a step, ns.
        every_ns: u64,
    },
    /// One rate after the other, rising or falling; the last one is held.
    Stages {
        /// The stages in order; at least one.
        stages: Vec<ArrivalStage>,
    },
}

/// One stage of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrivalStage {
    /// Events per second.
    pub rate: RateLevel,
    /// How long the stage lasts, ns.
    pub for_ns: u64,
}

/// How events are spaced within a profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// As evenly as the profile allows.
    #[default]
    Even,
    /// A Poisson process: events are independent of each other, like requests of many independent users.
    Poisson,
}

const NS: f64 = 1e9;

impl Profile {
    /// Whether no event is ever due.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Constant { .. } | Self::StepLoad { .. } => false,
            Self::Ramp { from, to, .. } => from.is_zero() && to.is_zero(),
            Self::Stages { stages } => stages.iter().all(|stage| stage.rate.is_zero()),
        }
    }

    /// Λ⁻¹: the time in seconds at which `events` events are due. Where the rate is 0, nothing is due: the time is that at which
    /// the rate is above 0 again, or infinite.
    fn time_of(&self, events: f64) -> f64 {
        match self {
            Self::Constant { rate } => events / rate.as_per_second(),
            Self::Ramp { from, to, over_ns } => ramp_time(*from, *to, *over_ns as f64 / NS, events),
            Self::StepLoad { from, step, every_ns } => {
                step_load_time(*from, *step, *every_ns as f64 / NS, events)
            }
            Self::Stages { stages } => stages_time(stages, events),
        }
    }

    /// Λ: how many events are due in the first `seconds` seconds.
    pub fn events_within(&self, seconds: f64) -> f64 {
        match self {
            Self::Constant { rate } => rate.as_per_second() * seconds,
            Self::Ramp { from, to, over_ns } => {
                let (low, high, over) = (from.as_per_second(), to.as_per_second(), *over_ns as f64 / NS);
                let inside = seconds.min(over);
                let risen = if over > 0.0 {
                    (high - low) * inside * inside / (2.0 * over)
                } else {
                    0.0
                };
                low * inside + risen + high * (seconds - inside)
            }
            Self::StepLoad { from, step, every_ns } => {
                let every = *every_ns as f64 / NS;
                let stairs = (seconds / every).floor();
                let full = every
                    * (stairs * from.as_per_second() + step.as_per_second() * stairs * (stairs - 1.0) / 2.0);
                full + (seconds - stairs * every) * (from.as_per_second() + stairs * step.as_per_second())
            }
            Self::Stages { stages } => {
                let (mut left, mut events) = (seconds, 0.0);
                for (place, stage) in stages.iter().enumerate() {
                    let is_last = place + 1 == stages.len();
                    let here = if is_last {
                        left
                    } else {
                        left.min(stage.for_ns as f64 / NS)
                    };
                    events += stage.rate.as_per_second() * here;
                    left -= here;
                }
                events
            }
        }
    }
}

fn stages_time(stages: &[ArrivalStage], events: f64) -> f64 {
    let (mut left, mut time) = (events, 0.0);
    for (place, stage) in stages.iter().enumerate() {
        let (rate, length) = (stage.rate.as_per_second(), stage.for_ns as f64 / NS);
        if rate > 0.0 && (place + 1 == stages.len() || left < rate * length) {
            return time + left / rate;
        }
        left -= rate * length;
        time += length;
    }
    f64::INFINITY
}

/// Solves `from·t + (to − from)·t²/(2·over) = events` on the ramp; after it, the rate stays at `to`.
fn ramp_time(from: RateLevel, to: RateLevel, over: f64, events: f64) -> f64 {
    let (low, high) = (from.as_per_second(), to.as_per_second());
    let on_ramp = f64::midpoint(low, high) * over;
    if events >= on_ramp {
        return if high > 0.0 {
            over + (events - on_ramp) / high
        } else {
            f64::INFINITY
        };
    }
    if events <= 0.0 {
        return 0.0;
    }
    // The form 2c / (b + √(b² + 4ac)) of the root keeps its precision where the ramp is almost flat.
    let slope = (high - low) / over;
    2.0 * events / (low + (low * low + 2.0 * slope * events).max(0.0).sqrt())
}

fn step_load_time(from: RateLevel, step: Rate, every: f64, events: f64) -> f64 {
    let (first, rise) = (from.as_per_second(), step.as_per_second());
    // n full steps hold every·(n·first + rise·n(n−1)/2) events; solve for n, then walk inside the next step.
    let half = rise / 2.0;
    let linear = first - half;
    let root = ((linear * linear + 4.0 * half * events / every).sqrt() - linear) / (2.0 * half);
    let mut stairs = root.floor().max(0.0);
    let before = |n: f64| every * (n * first + half * n * (n - 1.0));
    // Rounding may put an event that is due exactly at the edge of a step one step off.
    while stairs > 0.0 && before(stairs) > events {
        stairs -= 1.0;
    }
    while before(stairs + 1.0) <= events {
        stairs += 1.0;
    }
    stairs * every + (events - before(stairs)) / (first + stairs * rise)
}

/// The due times of one thread's share of an arrival, in ns from the start of the load: never decreasing, endless.
///
/// All threads share the events of one process, which is the same for any number of threads: each thread gets the
/// events whose numbers belong to its [`Partition`].
#[derive(Debug, Clone)]
pub struct Schedule {
    profile: Profile,
    partition: Partition,
    /// Events of this thread so far.
    own: u64,
    /// The random process; `None` where events are spaced evenly.
    poisson: Option<Poisson>,
}

/// A Poisson process of rate 1.
#[derive(Debug, Clone)]
struct Poisson {
    random: SmallRng,
    /// Events so far, and the time of the last one.
    count: u64,
    last: f64,
}

impl Poisson {
    /// The time of event `number`; numbers must increase from call to call.
    fn time_of(&mut self, number: u64) -> f64 {
        while self.count <= number {
            let uniform: f64 = self.random.random();
            // 1 − u lies in (0, 1], where the logarithm is finite.
            self.last -= (1.0 - uniform).ln();
            self.count += 1;
        }
        self.last
    }
}

impl Schedule {
    /// The share that `partition` describes. `seed` sets the Poisson process.
    pub fn new(arrival: &Arrival, seed: u64, partition: Partition) -> Self {
        let poisson = (arrival.spacing == Spacing::Poisson).then(|| Poisson {
            random: SmallRng::seed_from_u64(seed),
            count: 0,
            last: 0.0,
        });
        Self {
            profile: arrival.profile.clone(),
            partition,
            own: 0,
            poisson,
        }
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let number = self.partition.number(self.own);
        self.own += 1;
        let events = match &mut self.poisson {
            None => number as f64,
            Some(poisson) => poisson.time_of(number),
        };
        Some((self.profile.time_of(events) * NS).round() as u64)
    }
}

/// Events per second: finite and above zero.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Rate(f64);

/// A number that is not a rate.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{0} is not a rate: give a number of events per second above 0")]
pub struct RateError(f64);

impl Rate {
    /// Creates a rate; `per_second` must be finite and above 0.
    pub fn per_second(per_second: f64) -> Result<Self, RateError> {
        if per_second.is_finite() && per_second > 0.0 {
            Ok(Self(per_second))
        } else {
            Err(RateError(per_second))
        }
    }

    /// The rate in events per second.
    pub const fn as_per_second(self) -> f64 {
        self.0
    }

    /// The time between two evenly spaced events.
    pub fn interval(self) -> Duration {
        Duration::from_secs_f64(1.0 / self.0)
    }
}

/// Events per second at one place of a profile: finite, and 0 where no event is due.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct RateLevel(f64);

/// A number that is not a rate, nor 0.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{0} is not a rate: give a number of events per second, 0 or more")]
pub struct RateLevelError(f64);

impl RateLevel {
    /// The rate in events per second.
    pub const fn as_per_second(self) -> f64 {
        self.0
    }

    /// Whether no event is due.
    pub const fn is_zero(self) -> bool {
        self.0 <= 0.0
    }
}

impl From<Rate> for RateLevel {
    fn from(rate: Rate) -> Self {
        Self(rate.0)
    }
}

impl TryFrom<f64> for RateLevel {
    type Error = RateLevelError;

    fn try_from(value: f64) -> Result<Self, RateLevelError> {
        if value.is_finite() && value >= 0.0 {
            Ok(Self(value))
        } else {
            Err(RateLevelError(value))
        }
    }
}

impl From<RateLevel> for f64 {
    fn from(rate: RateLevel) -> Self {
        rate.0
    }
}

impl fmt::Display for RateLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/s", self.0)
    }
}

impl TryFrom<f64> for Rate {
    type Error = RateError;

    fn try_from(value: f64) -> Result<Self, RateError> {
        Self::per_second(value)
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> Self {
        rate.0
    }
}

impl JsonSchema for Rate {
    fn schema_name() -> Cow<'static, str> {
        "Rate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "Events per second, above 0.",
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/s", self.0)
    }
}

#[cfg(test)]
mod tests;
