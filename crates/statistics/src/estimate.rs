//! A point with its interval, and what stands where there is none.

use crate::distribution::student_two_sided;
use serde::{Deserialize, Serialize};

/// A point and its confidence interval, which never travel apart.
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
    /// Share of such intervals that hold the true value, 0 to 1.
    pub confidence: f64,
}

impl Estimate {
    /// The same in a scale that `scale` maps to, which must not decrease.
    #[must_use]
    pub fn map(self, scale: impl Fn(f64) -> f64) -> Self {
        Self {
            point: scale(self.point),
            low: scale(self.low),
            high: scale(self.high),
            confidence: self.confidence,
        }
    }

    /// The reciprocal: a ratio seen from the other side. The interval must lie above 0.
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

    /// The wider side of the interval as a share of the point: 0.02 is ±2 %.
    pub fn half_width(&self) -> f64 {
        let widest = (self.high - self.point).max(self.point - self.low);
        if widest == 0.0 {
            0.0
        } else {
            widest / self.point.abs()
        }
    }

    /// How to show the interval, in every place that shows one.
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
        // Logarithms that are symmetric make sides that differ by a sixth at 20 %.
        let is_symmetric = below.min(above) >= SYMMETRIC * below.max(above);
        if half >= UNKNOWN {
            Precision::Unknown
        } else if half <= NARROW && is_symmetric {
            Precision::PlusMinus(half)
        } else {
            Precision::Ends
        }
    }

    /// Whether the interval holds `value`.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The largest half-width that is shown as one number: 0.2 is ±20 %.
const NARROW: f64 = 0.2;
/// The half-width from which a value is as good as unknown.
const UNKNOWN: f64 = 1.0;
/// The least share that the narrower side of an interval is of the wider one, for both to be one number.
const SYMMETRIC: f64 = 0.75;

/// How much an interval says of its value, and so how it is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Precision {
    /// The value and its half-width, as a share of it: `72,086 ± 2.3 %`.
    PlusMinus(f64),
    /// Both ends of the interval: it is wide, or one side is much wider.
    Ends,
    /// Nothing: the interval is wider than the value.
    Unknown,
}

/// How an interval was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Student's t on the logarithms, with a variance that borrows from the other services of the group.
    #[serde(alias = "pooled", alias = "per_service")]
    Moderated,
    /// Student's t on the values themselves, because some are zero.
    Linear,
}

/// What is known of one metric of one service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Quantity {
    /// Two trials or more.
    Estimated(Box<Estimated>),
    /// Too few trials for an interval: what was seen, and no claim.
    TooFewTrials(TooFewTrials),
    /// Response times of which one trial or more have no bound.
    NoBound(NoBound),
}

/// An estimate with how it was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimated {
    /// The estimate.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Trials behind it.
    pub trials: u32,
    /// How the interval was found.
    pub method: Method,
    /// Degrees of freedom of the interval.
    pub degrees_of_freedom: f64,
    /// Arithmetic mean and error as JMH prints them.
    pub jmh: Option<Score>,
}

/// The arithmetic mean and the half-width of its 99.9 % interval, as the Java Microbenchmark Harness prints them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Arithmetic mean.
    pub score: f64,
    /// Half-width of the interval, in the same unit.
    pub error: f64,
    /// 0.999.
    pub confidence: f64,
}

/// What was seen where an interval is impossible.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TooFewTrials {
    /// The values.
    pub observed: Vec<f64>,
    /// Trials that an interval needs.
    pub trials_needed: u32,
}

/// A percentile that falls on a request without a valid reply in some trials: it is longer than any time, and has no mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoBound {
    /// Trials in which it has no bound.
    pub without_bound: u32,
    /// Trials.
    pub trials: u32,
}

impl Estimated {
    /// Standard error on the log scale, from the interval and its degrees of freedom; `None` where the interval is on the
    /// scale of the values themselves.
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
    /// The estimate, where there is one.
    pub fn estimate(&self) -> Option<&Estimate> {
        match self {
            Self::Estimated(estimated) => Some(&estimated.estimate),
            Self::TooFewTrials(_) | Self::NoBound(_) => None,
        }
    }

    /// The estimate with how it was found, where there is one.
    pub fn estimated(&self) -> Option<&Estimated> {
        match self {
            Self::Estimated(estimated) => Some(estimated),
            Self::TooFewTrials(_) | Self::NoBound(_) => None,
        }
    }

    /// The point, or what the only trial gave: for order and charts, never to be shown as a result.
    pub fn position(&self) -> Option<f64> {
        match self {
            Self::Estimated(estimated) => Some(estimated.estimate.point),
            Self::TooFewTrials(few) => few.observed.first().copied(),
            Self::NoBound(_) => None,
        }
    }

    /// In how many trials it has no bound, where it has none in some.
    pub const fn no_bound(&self) -> Option<&NoBound> {
        match self {
            Self::NoBound(none) => Some(none),
            Self::Estimated(_) | Self::TooFewTrials(_) => None,
        }
    }
}
