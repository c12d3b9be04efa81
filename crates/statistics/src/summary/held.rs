//! The memory that a service takes for each connection that it holds open, and for what belongs to the connection, such as a session.

use super::sample::GroupSample;
use super::{Group, Options};
use crate::{Metric, interval};
use prony_records::{ServiceId, slope};
use serde_json::Value;
use std::collections::BTreeMap;

/// The smallest difference of the numbers of connections that shows what one of them takes.
const FEWEST: f64 = 200.0;

/// Sets the memory per connection in the group with the most connections, if the same load was tried with much fewer as well.
pub(super) fn set_memory_per_connection(
    samples: &[GroupSample<'_>],
    groups: &mut [Group],
    options: &Options,
) {
    for (index, largest) in samples.iter().enumerate() {
        let Some(most) = connections(largest) else {
            continue;
        };
        let alike: Vec<(u64, &GroupSample<'_>)> = samples
            .iter()
            .filter(|other| is_alike(largest, other))
            .filter_map(|other| Some((connections(other)?, other)))
            .collect();
        let counts = || alike.iter().map(|(count, _)| *count);
        if counts().any(|count| count > most) {
            continue;
        }
        for row in &mut groups[index].services {
            let rounds = groups_rounds(&alike, &row.id);
            let wide = rounds.iter().filter(|points| width(points) >= FEWEST);
            let slopes: Vec<f64> = wide.filter_map(|points| slope(points)).collect();
            row.memory_bytes_per_connection = interval::mean_interval(&slopes, options.confidence);
        }
    }
}

fn connections(group: &GroupSample<'_>) -> Option<u64> {
    let load = &group.first.load;
    (load["kind"] == "closed").then(|| load["connections"].as_u64())?
}

/// Whether two groups differ in nothing but the number of connections.
fn is_alike(one: &GroupSample<'_>, other: &GroupSample<'_>) -> bool {
    let rest = |load: &Value| {
        let mut load = load.clone();
        load["connections"] = Value::Null;
        load
    };
    one.first.contract == other.first.contract
        && one.first.workload == other.first.workload
        && rest(&one.first.load) == rest(&other.first.load)
}

/// For each round, the memory of a service at each number of connections that it held.
fn groups_rounds(alike: &[(u64, &GroupSample<'_>)], service: &ServiceId) -> Vec<Vec<(f64, f64)>> {
    let mut rounds: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for (count, group) in alike {
        let samples = group.services.iter().filter(|sample| sample.id == service);
        let measured = samples.flat_map(|sample| &sample.measured);
        for (round, measured) in measured.filter(|(_, measured)| measured.recording.outcomes.are_held()) {
            if let Some(bytes) = Metric::MemoryBytesMean.of(measured) {
                rounds.entry(*round).or_default().push((*count as f64, bytes));
            }
        }
    }
    rounds.into_values().collect()
}

/// The difference of the largest and the smallest number of connections.
fn width(points: &[(f64, f64)]) -> f64 {
    let counts = || points.iter().map(|(count, _)| *count);
    counts().fold(0.0, f64::max) - counts().fold(f64::INFINITY, f64::min)
}
