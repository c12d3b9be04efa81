//! The distributions of which a recording otherwise has only percentiles.

use super::{CompactHistogram, Histogram, Latency};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A time of which a recording has percentiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// [`Recording::service_time_ns`](super::Recording::service_time_ns), unless it equals the response time.
    Service,
    /// [`Recording::schedule_lag_ns`](super::Recording::schedule_lag_ns).
    ScheduleLag,
    /// [`Recording::first_byte_ns`](super::Recording::first_byte_ns).
    FirstByte,
    /// [`Recording::connect_time_ns`](super::Recording::connect_time_ns).
    Connect,
    /// [`Recording::tls_time_ns`](super::Recording::tls_time_ns).
    Tls,
    /// [`Recording::sequence_time_ns`](super::Recording::sequence_time_ns).
    Sequence,
    /// [`UserCounts::visit_ns`](super::UserCounts::visit_ns).
    Visit,
    /// [`Messages::first_ns`](super::Messages::first_ns).
    FirstMessage,
    /// [`Messages::last_ns`](super::Messages::last_ns).
    LastMessage,
    /// [`Messages::gap_ns`](super::Messages::gap_ns).
    MessageGap,
    /// [`Rooms::delivery_ns`](super::Rooms::delivery_ns).
    Delivery,
}

/// The distributions behind the percentiles of a recording: with them, recordings can be joined without loss. The program that made
/// recordings joins them, and no file contains this.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timings(BTreeMap<Timing, CompactHistogram>);

impl Timings {
    /// Keeps these distributions.
    pub fn of<'a>(each: impl IntoIterator<Item = (Timing, Option<&'a Histogram>)>) -> Self {
        let known = each.into_iter().filter_map(|(timing, times)| {
            let times = times.filter(|times| !times.is_empty())?;
            Some((timing, CompactHistogram::of(times)))
        });
        Self(known.collect())
    }

    /// Whether nothing was recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of several recordings together.
    pub(crate) fn join<'a>(parts: impl Iterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        for (&timing, times) in parts.flat_map(|part| &part.0) {
            all.0.entry(timing).or_default().merge(times);
        }
        all
    }

    /// The percentiles of one; `None` if none was recorded.
    pub(crate) fn summary(&self, timing: Timing) -> Option<Latency> {
        self.0.get(&timing)?.histogram().summary()
    }
}
