//! Resource use of backing services.

use prony_records::{BackingUsage, ConnectionSamples, Measurement};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A backing service in one trial, and its resource use during the measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BackingPoint {
    /// Name in the contract.
    pub name: String,
    /// Display name.
    pub title: String,
    pub version: Option<String>,
    pub settings: BTreeMap<String, String>,
    /// CPUs that it may use.
    pub cpus: Vec<usize>,
    /// Time from its start, including the copy of its data, until it was ready, s.
    pub start_s: Option<f64>,
    pub cpu_ns: Option<u64>,
    /// CPU time per complete reply of the service, ns.
    pub cpu_ns_per_request: Option<f64>,
    /// Peak memory, bytes.
    pub memory_bytes_peak: Option<u64>,
    /// Bytes written to disk.
    pub disk_written_bytes: Option<u64>,
    /// Activity of the service's connections; `None` if they were not watched.
    pub watched: Option<WatchedPoint>,
}

/// Activity of a service's connections in a backing service during the measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WatchedPoint {
    /// Number of observations.
    pub samples: u64,
    /// Maximum number of connections at one time.
    pub connections_most: u64,
    /// Average number of connections by state: `idle`, `running`, or the reason for waiting.
    pub connections: BTreeMap<String, f64>,
}

impl From<&ConnectionSamples> for WatchedPoint {
    fn from(watched: &ConnectionSamples) -> Self {
        let mean = |count: &u64| *count as f64 / watched.samples.max(1) as f64;
        let doing = watched.doing.iter();
        Self {
            samples: watched.samples,
            connections_most: watched.connections_most,
            connections: doing.map(|(what, count)| (what.clone(), mean(count))).collect(),
        }
    }
}

/// The backing services of one trial.
pub(super) fn backing_services(measured: &Measurement) -> Vec<BackingPoint> {
    let completed = measured.recording.replies();
    let of = |one: &BackingUsage| {
        let used = one.resources.as_ref();
        let cpu_ns = used.and_then(|used| used.cpu_ns);
        BackingPoint {
            name: one.name.clone(),
            title: one.title.clone(),
            version: one.version.clone(),
            settings: one.settings.clone(),
            cpus: one.cpus.clone(),
            start_s: one.start_s,
            cpu_ns,
            cpu_ns_per_request: cpu_ns
                .filter(|_| completed > 0)
                .map(|ns| ns as f64 / completed as f64),
            memory_bytes_peak: used.and_then(|used| used.memory_bytes_peak),
            disk_written_bytes: used.and_then(|used| used.disk_written_bytes),
            watched: one.watched.as_ref().map(WatchedPoint::from),
        }
    };
    measured.backing_services.iter().map(of).collect()
}
