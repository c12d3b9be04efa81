//! Recorded times of replies.

use prony_records::Histogram;
use serde::{Deserialize, Serialize};

/// Durations of replies, split by whether the first byte arrived together with the last one. If it did, the time to the first
/// byte is the same duration and is not recorded again. A histogram is allocated when it is first needed: there may be many
/// operations, and each thread keeps several tallies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplyTimes {
    /// First and last byte arrived together.
    pub whole: Option<Box<Histogram>>,
    /// The first byte arrived before the last one.
    pub split: Option<Box<Histogram>>,
}

impl ReplyTimes {
    /// Records one duration, ns.
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

    /// Adds all durations to `sum`.
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
