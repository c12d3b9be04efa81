//! Percentiles of the response time over every request that was due, with or without a reply.

use super::Latency;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::cmp::Ordering;

/// A percentile, the mean or the maximum of the response times of all requests that were due.
///
/// An exact value is a JSON number of ns, like in old records; the other variants are `{"at_least": ns}` and `"no_bound"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantile {
    /// The request received a valid reply after this time, ns.
    Exact(u64),
    /// The request was still open when the load ended, at this age, ns.
    AtLeast(u64),
    /// The request failed or was dropped, so there is no upper bound.
    Unbounded,
}

impl Quantile {
    /// The time in ns, if it is exact.
    pub const fn exact(self) -> Option<u64> {
        match self {
            Self::Exact(ns) => Some(ns),
            Self::AtLeast(_) | Self::Unbounded => None,
        }
    }

    /// The exact time or the lower bound, ns; `None` without either.
    pub const fn at_least(self) -> Option<u64> {
        match self {
            Self::Exact(ns) | Self::AtLeast(ns) => Some(ns),
            Self::Unbounded => None,
        }
    }

    /// Whether the time is known to be below `limit_ns`. A request that is still open never is.
    pub const fn is_below(self, limit_ns: u64) -> bool {
        matches!(self, Self::Exact(ns) if ns < limit_ns)
    }
}

/// Ordered by time. An exact time sorts before an equal lower bound, and no bound sorts after every time.
impl Ord for Quantile {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |quantile: &Self| match *quantile {
            Self::Exact(ns) => (0, ns, 0),
            Self::AtLeast(ns) => (0, ns, 1),
            Self::Unbounded => (1, 0, 0),
        };
        rank(self).cmp(&rank(other))
    }
}

impl PartialOrd for Quantile {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum QuantileForm {
    Exact(f64),
    AtLeast { at_least: u64 },
    Word(String),
}

const NO_BOUND: &str = "no_bound";

impl Serialize for Quantile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Exact(ns) => serializer.serialize_u64(ns),
            Self::AtLeast(at_least) => QuantileForm::AtLeast { at_least }.serialize(serializer),
            Self::Unbounded => serializer.serialize_str(NO_BOUND),
        }
    }
}

impl<'de> Deserialize<'de> for Quantile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match QuantileForm::deserialize(deserializer)? {
            // The mean in old records has a fraction.
            QuantileForm::Exact(ns) => Ok(Self::Exact(ns.round() as u64)),
            QuantileForm::AtLeast { at_least } => Ok(Self::AtLeast(at_least)),
            QuantileForm::Word(word) if word == NO_BOUND => Ok(Self::Unbounded),
            QuantileForm::Word(word) => Err(D::Error::custom(format!(
                "invalid time `{word}`: expected ns, {{\"at_least\": ns}} or \"{NO_BOUND}\""
            ))),
        }
    }
}

/// The response times of every request that was due. It has the JSON keys of [`Latency`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseTimes {
    /// Arithmetic mean; without a bound if any request had no valid reply.
    pub mean: Quantile,
    /// Shortest.
    pub min: Quantile,
    /// Median.
    pub p50: Quantile,
    /// 75th percentile.
    pub p75: Quantile,
    /// 90th percentile.
    pub p90: Quantile,
    /// 95th percentile.
    pub p95: Quantile,
    /// 99th percentile.
    pub p99: Quantile,
    /// 99.9th percentile.
    pub p99_9: Quantile,
    /// 99.99th percentile.
    pub p99_99: Quantile,
    /// Longest; without a bound if any request had no valid reply.
    pub max: Quantile,
}

impl From<Latency> for ResponseTimes {
    /// Converts the times of a load in which every request received a valid reply.
    fn from(times: Latency) -> Self {
        Self {
            mean: Quantile::Exact(times.mean.round() as u64),
            min: Quantile::Exact(times.min),
            p50: Quantile::Exact(times.p50),
            p75: Quantile::Exact(times.p75),
            p90: Quantile::Exact(times.p90),
            p95: Quantile::Exact(times.p95),
            p99: Quantile::Exact(times.p99),
            p99_9: Quantile::Exact(times.p99_9),
            p99_99: Quantile::Exact(times.p99_99),
            max: Quantile::Exact(times.max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Quantile::{AtLeast, Exact, Unbounded};
    use super::*;

    #[test]
    fn each_form_is_read_as_it_was_written() {
        for (quantile, json) in [
            (Exact(1_234), "1234"),
            (AtLeast(9), r#"{"at_least":9}"#),
            (Unbounded, r#""no_bound""#),
        ] {
            assert_eq!(serde_json::to_string(&quantile).expect("plain data"), json);
            assert_eq!(
                serde_json::from_str::<Quantile>(json).expect("own text"),
                quantile
            );
        }
        assert_eq!(
            serde_json::from_str::<Quantile>("12.6").expect("old mean"),
            Exact(13)
        );
        assert!(serde_json::from_str::<Quantile>(r#""soon""#).is_err());
    }

    #[test]
    fn what_has_no_bound_is_longer_than_any_time() {
        let mut all = [Unbounded, AtLeast(5), Exact(7), Exact(5)];
        all.sort();
        assert_eq!(all, [Exact(5), AtLeast(5), Exact(7), Unbounded]);
    }

    #[test]
    fn only_an_exact_time_is_below_a_limit() {
        assert!(Exact(9).is_below(10));
        assert!(!Exact(10).is_below(10) && !AtLeast(1).is_below(10) && !Unbounded.is_below(10));
    }
}
