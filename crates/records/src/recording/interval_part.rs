//! An interval that can be merged with the intervals of other workers.

use super::{CompactHistogram, Interval};
use serde::{Deserialize, Serialize};

/// The counts of one or more workers in an interval of a phase: an [`Interval`] with its distribution, so that the intervals of
/// several workers merge without loss. All sums are integers, so the result is the same in any order and grouping.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalPart {
    /// Index in the phase, from 0. Intervals with the same index belong together: each worker counts from the start of its own
    /// phase, and all phases start together.
    pub index: u64,
    /// Start, from the start of the phase, ns.
    pub begin_ns: u64,
    /// End, from the start of the phase, ns.
    pub end_ns: u64,
    /// Number of complete replies.
    pub completed: u64,
    /// Number of valid replies.
    pub valid: u64,
    /// Number of failed requests, whatever the outcome.
    pub errors: u64,
    /// Number of stream messages, if the replies are streams.
    #[serde(default)]
    pub messages: Option<u64>,
    /// Response times of valid replies.
    pub times: CompactHistogram,
}

impl IntervalPart {
    /// Adds what another worker recorded in the same interval.
    pub fn merge(&mut self, other: &Self) {
        self.add_counts(other);
        self.times.merge(&other.times);
    }

    /// Adds everything except the distribution, for callers that add many distributions at once.
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

    /// Converts it to the form that reports show.
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
