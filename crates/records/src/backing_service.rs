//! Backing services: how they were set up, what they used, and what the connections of the measured service did there.

use crate::Resources;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A backing service that a contract requires: how it was set up, and what it used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BackingUsage {
    /// Name that the contract gives it.
    pub name: String,
    /// The backing service that it is an instance of: the name of its folder.
    pub uses: String,
    /// Display name.
    pub title: String,
    /// Its version; `None` if it did not report one.
    pub version: Option<String>,
    /// Settings that it ran with, by name.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// CPUs that it could use; empty means all CPUs of its host.
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// Time from its start, including copying its data, until it was ready, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_s: Option<f64>,
    /// Resources that it used during the measurement.
    pub resources: Option<Resources>,
    /// Activity of the service's connections during the measurement; `None` if it was not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<ConnectionSamples>,
    /// The events that it sent during the measurement; `None` if it does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<SentEvents>,
}

/// The events that a backing service sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentEvents {
    /// Their number.
    pub sent: u64,
    /// How many of them were sent later than they should.
    pub late: u64,
}

impl BackingUsage {
    /// Joins what backing services used in several windows. Each window lists all of them in the same order.
    pub fn join(windows: &[Vec<Self>]) -> Vec<Self> {
        let Some(first) = windows.first() else {
            return Vec::new();
        };
        let joined = first.iter().enumerate().map(|(place, one)| {
            let of = || windows.iter().filter_map(|window| window.get(place));
            let resources: Option<Vec<Resources>> = of().map(|one| one.resources.clone()).collect();
            Self {
                resources: resources.map(|windows| Resources::join(&windows)),
                watched: of()
                    .filter_map(|one| one.watched.clone())
                    .reduce(|all, window| all.and(&window)),
                events: of()
                    .filter_map(|one| one.events)
                    .reduce(|all, window| SentEvents {
                        sent: all.sent + window.sent,
                        late: all.late + window.late,
                    }),
                ..one.clone()
            }
        });
        joined.collect()
    }
}

/// Activity of the connections of a service in a backing service, sampled a few times a second.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionSamples {
    /// Number of samples.
    pub samples: u64,
    /// Highest number of connections in one sample.
    pub connections_most: u64,
    /// Connections by activity, summed over the samples: [`ConnectionSamples::IDLE`], [`ConnectionSamples::RUNNING`], or the wait event as the
    /// backing service names it.
    pub doing: BTreeMap<String, u64>,
}

impl ConnectionSamples {
    /// Activity of a connection that has nothing to do.
    pub const IDLE: &str = "idle";
    /// Activity of a connection that has work and does not wait.
    pub const RUNNING: &str = "running";

    /// Adds a sample: the number of connections by activity.
    pub fn add(&mut self, sample: impl IntoIterator<Item = (String, u64)>) {
        let mut connections = 0;
        for (doing, count) in sample {
            connections += count;
            *self.doing.entry(doing).or_default() += count;
        }
        self.samples += 1;
        self.connections_most = self.connections_most.max(connections);
    }

    /// The sum of both.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.samples += other.samples;
        self.connections_most = self.connections_most.max(other.connections_most);
        for (doing, count) in &other.doing {
            *self.doing.entry(doing.clone()).or_default() += count;
        }
        self
    }

    /// Number of connections, summed over the samples.
    pub fn connections(&self) -> u64 {
        self.doing.values().sum()
    }

    /// Wait events and the number of connections waiting for each, summed over the samples; most frequent first.
    pub fn waits(&self) -> Vec<(&str, u64)> {
        let all = self.doing.iter().map(|(doing, count)| (doing.as_str(), *count));
        let mut waits: Vec<_> = all
            .filter(|(doing, _)| ![Self::IDLE, Self::RUNNING].contains(doing))
            .collect();
        waits.sort_by_key(|(doing, count)| (std::cmp::Reverse(*count), *doing));
        waits
    }

    /// Number of waiting connections, summed over the samples.
    pub fn waiting(&self) -> u64 {
        self.waits().iter().map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(doing: &[(&str, u64)]) -> Vec<(String, u64)> {
        doing
            .iter()
            .map(|(what, count)| ((*what).to_owned(), *count))
            .collect()
    }

    #[test]
    fn samples_of_all_windows_count() {
        let mut one = ConnectionSamples::default();
        one.add(sample(&[("idle", 3), ("lock", 1)]));
        one.add(sample(&[]));
        let mut other = ConnectionSamples::default();
        other.add(sample(&[("running", 1), ("lock", 2), ("io", 3)]));
        let both = one.and(&other);
        assert_eq!(
            (both.samples, both.connections_most, both.connections()),
            (3, 6, 10)
        );
        assert_eq!(both.waits(), [("io", 3), ("lock", 3)]);
        assert_eq!(both.waiting(), 6);
    }

    #[test]
    fn windows_of_a_backing_service_are_joined() {
        let used = |cpu_ns, watched| BackingUsage {
            name: "db".to_owned(),
            uses: "postgresql".to_owned(),
            title: "PostgreSQL".to_owned(),
            version: None,
            settings: BTreeMap::new(),
            cpus: vec![1],
            start_s: None,
            resources: Some(Resources {
                window_ns: 10,
                cpu_ns,
                ..Resources::default()
            }),
            watched,
            events: None,
        };
        let mut seen = ConnectionSamples::default();
        seen.add(sample(&[("idle", 2)]));
        let joined =
            BackingUsage::join(&[vec![used(Some(3), None)], vec![used(Some(4), Some(seen.clone()))]]);
        let resources = joined[0].resources.as_ref().expect("known in both");
        assert_eq!((resources.window_ns, resources.cpu_ns), (20, Some(7)));
        assert_eq!(joined[0].watched, Some(seen));
        assert_eq!(BackingUsage::join(&[]), []);
    }
}
