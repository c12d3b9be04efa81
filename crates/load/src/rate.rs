//! Rates in events per second.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

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

impl fmt::Display for Rate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/s", self.0)
    }
}
