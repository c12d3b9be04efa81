//! What stood beside a service: how it was set up, what it used, and what the service's connections did there.

use crate::Resources;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Software beside a service, as its contract asks for it: how it was set up, and what it used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompanionUse {
    /// The contract's word for it.
    pub name: String,
    /// Which companion it is: the name of its folder.
    pub uses: String,
    /// What people call it.
    pub title: String,
    /// Its version; `None`: nobody told.
    pub version: Option<String>,
    /// How it was set up.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// CPUs that it could use; empty: all of its host.
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// Time from its start, with the copy of its data, until it was ready, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_s: Option<f64>,
    /// What it used in the measurement.
    pub resources: Option<Resources>,
    /// What the service's connections did there in the measurement; `None`: it was not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<Watched>,
}

impl CompanionUse {
    /// What companions used in several windows, each of which has all of them in the same order.
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
                ..one.clone()
            }
        });
        joined.collect()
    }
}

/// What the connections of a service did in a companion, seen in samples a few times a second.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// Samples.
    pub samples: u64,
    /// Most connections in one sample.
    pub connections_most: u64,
    /// How many connections did what, summed over the samples: [`Watched::IDLE`], [`Watched::RUNNING`], or what they
    /// waited for in the companion's words.
    pub doing: BTreeMap<String, u64>,
}

impl Watched {
    /// Has nothing to do.
    pub const IDLE: &str = "idle";
    /// Has work, and waits for nothing.
    pub const RUNNING: &str = "running";

    /// Adds a sample: how many connections did what.
    pub fn add(&mut self, sample: impl IntoIterator<Item = (String, u64)>) {
        let mut connections = 0;
        for (doing, count) in sample {
            connections += count;
            *self.doing.entry(doing).or_default() += count;
        }
        self.samples += 1;
        self.connections_most = self.connections_most.max(connections);
    }

    /// Both together.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.samples += other.samples;
        self.connections_most = self.connections_most.max(other.connections_most);
        for (doing, count) in &other.doing {
            *self.doing.entry(doing.clone()).or_default() += count;
        }
        self
    }

    /// Connections, summed over the samples.
    pub fn connections(&self) -> u64 {
        self.doing.values().sum()
    }

    /// What was waited for, and by how many connections, summed over the samples; most first.
    pub fn waits(&self) -> Vec<(&str, u64)> {
        let all = self.doing.iter().map(|(doing, count)| (doing.as_str(), *count));
        let mut waits: Vec<_> = all
            .filter(|(doing, _)| ![Self::IDLE, Self::RUNNING].contains(doing))
            .collect();
        waits.sort_by_key(|(doing, count)| (std::cmp::Reverse(*count), *doing));
        waits
    }

    /// Connections that waited, summed over the samples.
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
        let mut one = Watched::default();
        one.add(sample(&[("idle", 3), ("lock", 1)]));
        one.add(sample(&[]));
        let mut other = Watched::default();
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
    fn windows_of_a_companion_are_joined() {
        let used = |cpu_ns, watched| CompanionUse {
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
        };
        let mut seen = Watched::default();
        seen.add(sample(&[("idle", 2)]));
        let joined =
            CompanionUse::join(&[vec![used(Some(3), None)], vec![used(Some(4), Some(seen.clone()))]]);
        let resources = joined[0].resources.as_ref().expect("known in both");
        assert_eq!((resources.window_ns, resources.cpu_ns), (20, Some(7)));
        assert_eq!(joined[0].watched, Some(seen));
        assert_eq!(CompanionUse::join(&[]), []);
    }
}
