//! Estimates with their intervals, and the values that replace them when there is no estimate.

use crate::distribution::student_two_sided;
use serde::{Deserialize, Serialize};

/// A point and its confidence interval, which always belong together.
///
/// ```
/// let estimate = prony_statistics::Estimate { point: 100.0, low: 97.0, high: 103.0, confidence: 0.95 };
/// assert_eq!(estimate.half_width(), 0.03);
/// assert!(estimate.contains(101.0) && !estimate.contains(104.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The best single value.
    pub point: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Share of such intervals that contain the true value, 0 to 1.
    pub confidence: f64,
}

impl Estimate {
    /// The estimate on another scale; `scale` must not decrease.
    #[must_use]
    pub fn map(self, scale: impl Fn(f64) -> f64) -> Self {
        Self {
            point: scale(self.point),
            low: scale(self.low),
            high: scale(self.high),
            confidence: self.confidence,
        }
    }

    /// The reciprocal: the ratio with its sides swapped. The interval must be above 0.
    ///
    /// ```
    /// let ratio = prony_statistics::Estimate { point: 2.0, low: 1.0, high: 4.0, confidence: 0.95 };
    /// let reversed = ratio.reversed();
    /// assert_eq!((reversed.low, reversed.point, reversed.high), (0.25, 0.5, 1.0));
    /// ```
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            point: self.point.recip(),
            low: self.high.recip(),
            high: self.low.recip(),
            confidence: self.confidence,
        }
    }

    /// The estimate with an interval that reaches at least this share of the point to either side.
    #[must_use]
    pub(crate) fn at_least(self, share: f64) -> Self {
        Self {
            low: self.low.min(self.point / (1.0 + share)),
            high: self.high.max(self.point * (1.0 + share)),
            ..self
        }
    }

    /// The wider side of the interval as a share of the point: 0.02 is ±2 %.
    pub fn half_width(&self) -> f64 {
        let widest = (self.high - self.point).max(self.point - self.low);
        if widest == 0.0 {
            0.0
        } else {
            widest / self.point.abs()
        }
    }

    /// How to show the interval. Used by everything that displays one.
    ///
    /// ```
    /// use prony_statistics::{Estimate, Precision};
    /// let shown = |low, high| Estimate { point: 100.0, low, high, confidence: 0.95 }.precision();
    /// assert_eq!(shown(97.0, 103.0), Precision::PlusMinus(0.03));
    /// assert_eq!(shown(60.0, 170.0), Precision::Ends);
    /// assert_eq!(shown(95.0, 110.0), Precision::Ends);
    /// assert_eq!(shown(30.0, 330.0), Precision::Unknown);
    /// ```
    #[must_use]
    pub fn precision(&self) -> Precision {
        let half = self.half_width();
        let (below, above) = (self.point - self.low, self.high - self.point);
        // An interval that is symmetric on the log scale has sides that differ by a sixth at 20 %.
        let is_symmetric = below.min(above) >= SYMMETRIC * below.max(above);
        if half >= UNKNOWN {
            Precision::Unknown
        } else if half <= NARROW && is_symmetric {
            Precision::PlusMinus(half)
        } else {
            Precision::Ends
        }
    }

    /// Whether the interval contains `value`.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The largest half-width that is shown as one number: 0.2 is ±20 %.
const NARROW: f64 = 0.2;
/// The half-width from which a value counts as unknown.
const UNKNOWN: f64 = 1.0;
/// An interval is shown as one number only if its narrower side is at least this share of the wider one.
const SYMMETRIC: f64 = 0.75;

/// How precise an estimate is, and so how it is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Precision {
    /// The value and its half-width, as a share of it: `72,086 ± 2.3 %`.
    PlusMinus(f64),
    /// Both ends of the interval: it is wide, or one side is much wider than the other.
    Ends,
    /// Nothing, since the interval is wider than the value.
    Unknown,
}

/// How an interval was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Student's t on the logarithms, with a variance that borrows from the other services of the group.
    #[serde(alias = "pooled", alias = "per_service")]
    Moderated,
    /// Student's t on the values themselves, because some are zero.
    Linear,
}

/// The value of one metric of one service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Quantity {
    /// An estimate from two trials or more.
    Estimated(Box<MethodEstimate>),
    /// Too few trials for an interval: the observed values, without a claim.
    TooFewTrials(TooFewTrials),
    /// A response time that has no bound in one trial or more.
    NoBound(NoBound),
}

/// An estimate and the way it was computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MethodEstimate {
    /// Point and interval.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Number of trials that it is based on.
    pub trials: u32,
    /// How the interval was computed.
    pub method: Method,
    /// Degrees of freedom of the interval.
    pub degrees_of_freedom: f64,
    /// Arithmetic mean and error in the form that JMH prints.
    pub jmh: Option<Score>,
}

/// The arithmetic mean and the half-width of its 99.9 % interval, as printed by the Java Microbenchmark Harness.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Arithmetic mean.
    pub score: f64,
    /// Half-width of the interval, in the same unit.
    pub error: f64,
    /// Confidence of the interval: 0.999.
    pub confidence: f64,
}

/// The observed values if there are too few for an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TooFewTrials {
    /// One value per trial.
    pub observed: Vec<f64>,
    /// Number of trials that an interval needs.
    pub trials_needed: u32,
}

/// A percentile that falls on a request without a valid reply in some trials: it is longer than any time and has no mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoBound {
    /// Number of trials in which the percentile has no bound.
    pub without_bound: u32,
    /// Number of all trials.
    pub trials: u32,
}

impl MethodEstimate {
    /// Standard error on the log scale, computed back from the interval and its degrees of freedom; `None` if the interval is on
    /// the linear scale.
    pub fn log_error(&self) -> Option<f64> {
        let Estimate {
            point,
            low,
            high,
            confidence,
        } = self.estimate;
        if self.method == Method::Linear || point <= 0.0 {
            return None;
        }
        let reach = 0.5 * (high / low).ln();
        Some(reach / student_two_sided(confidence, self.degrees_of_freedom))
    }
}

impl Quantity {
    /// The estimate, if there is one.
    pub fn estimate(&self) -> Option<&Estimate> {
        match self {
            Self::Estimated(estimated) => Some(&estimated.estimate),
            Self::TooFewTrials(_) | Self::NoBound(_) => None,
        }
    }

    /// The estimate and its method, if there is one.
    pub fn estimated(&self) -> Option<&MethodEstimate> {
        match self {
            Self::Estimated(estimated) => Some(estimated),
            Self::TooFewTrials(_) | Self::NoBound(_) => None,
        }
    }

    /// The point, or the value of the only trial. Only for sorting and charts, never to be shown as a result.
    pub fn position(&self) -> Option<f64> {
        match self {
            Self::Estimated(estimated) => Some(estimated.estimate.point),
            Self::TooFewTrials(few) => few.observed.first().copied(),
            Self::NoBound(_) => None,
        }
    }

    /// The counts of trials, if the metric has no bound in some of them.
    pub const fn no_bound(&self) -> Option<&NoBound> {
        match self {
            Self::NoBound(none) => Some(none),
            Self::Estimated(_) | Self::TooFewTrials(_) => None,
        }
    }
}
