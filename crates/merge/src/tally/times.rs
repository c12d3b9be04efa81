//! Times of replies, as they are recorded.

use prony_records::Histogram;
use serde::{Deserialize, Serialize};

/// Durations of replies, told apart by whether the first byte was seen together with the last one. Where it was, the
/// time to the first byte is the same duration, and need not be recorded again. A histogram is there once it is needed: there
/// may be many operations, and each thread has a few parts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplyTimes {
    /// First and last byte together.
    pub whole: Option<Box<Histogram>>,
    /// The first byte was seen before the last.
    pub split: Option<Box<Histogram>>,
}

impl ReplyTimes {
    /// Records one, ns.
    #[inline]
    pub fn record(&mut self, ns: u64, split: bool) {
        if split {
            self.split.get_or_insert_default().record(ns);
        } else {
            self.whole.get_or_insert_default().record(ns);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        merge_option(&mut self.whole, other.whole.as_deref());
        merge_option(&mut self.split, other.split.as_deref());
    }

    pub(super) fn clear(&mut self) {
        for histogram in [&mut self.whole, &mut self.split].into_iter().flatten() {
            histogram.clear();
        }
    }

    /// Adds all of them to `sum`.
    pub fn add_to(&self, sum: &mut Histogram) {
        for histogram in [&self.whole, &self.split].into_iter().flatten() {
            sum.merge(histogram);
        }
    }
}

pub(super) fn merge_option(ours: &mut Option<Box<Histogram>>, theirs: Option<&Histogram>) {
    if let Some(theirs) = theirs.filter(|theirs| !theirs.is_empty()) {
        ours.get_or_insert_default().merge(theirs);
    }
}
