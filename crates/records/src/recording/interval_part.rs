//! An interval that can be merged with those of others.

use super::{CompactHistogram, Interval};
use serde::{Deserialize, Serialize};

/// What one or more workers recorded in an interval of a phase: an [`Interval`] with its distribution, so that those of
/// several workers make one without loss. The sums are integers: merging gives the same in any order and grouping.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalPart {
    /// Number in the phase, from 0. Intervals of the same number belong together: each worker counts from the begin of its
    /// own phase, and all of them begin together.
    pub index: u64,
    /// Begin, from the start of the phase, ns.
    pub begin_ns: u64,
    /// End, from the start of the phase, ns.
    pub end_ns: u64,
    /// Complete replies.
    pub completed: u64,
    /// Valid replies.
    pub valid: u64,
    /// Requests that failed, whatever the outcome.
    pub errors: u64,
    /// Messages of streams, where there are any.
    #[serde(default)]
    pub messages: Option<u64>,
    /// Response times.
    pub times: CompactHistogram,
}

impl IntervalPart {
    /// Adds what others recorded in the same interval.
    pub fn merge(&mut self, other: &Self) {
        self.add_counts(other);
        self.times.merge(&other.times);
    }

    /// Adds all but the distribution, for those who add many distributions at once.
    pub fn add_counts(&mut self, other: &Self) {
        self.begin_ns = self.begin_ns.min(other.begin_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        self.completed += other.completed;
        self.valid += other.valid;
        self.errors += other.errors;
        self.messages = match (self.messages, other.messages) {
            (Some(ours), Some(theirs)) => Some(ours + theirs),
            (ours, theirs) => ours.or(theirs),
        };
    }

    /// The interval as reports show it.
    pub fn interval(&self) -> Interval {
        let quantiles = self.times.quantiles([0.5, 0.99]);
        Interval {
            start_s: self.begin_ns as f64 / 1e9,
            length_s: self.end_ns.saturating_sub(self.begin_ns) as f64 / 1e9,
            completed: self.completed,
            valid: self.valid,
            errors: self.errors,
            messages: self.messages,
            response_time_ns_p50: quantiles.map(|[p50, _]| p50),
            response_time_ns_p99: quantiles.map(|[_, p99]| p99),
        }
    }
}
