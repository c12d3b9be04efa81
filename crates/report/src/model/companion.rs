//! What stood beside a service.

use prony_measurement::{CompanionUse, Measurement};
use serde::Serialize;
use std::collections::BTreeMap;

/// What stood beside the service in one trial, and what it used in the measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompanionPoint {
    /// The contract's word for it.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Its version.
    pub version: Option<String>,
    /// How it was set up.
    pub settings: BTreeMap<String, String>,
    /// CPUs that it could use.
    pub cpus: Vec<usize>,
    /// CPU time, ns.
    pub cpu_ns: Option<u64>,
    /// CPU time per complete reply of the service, ns.
    pub cpu_ns_per_request: Option<f64>,
    /// Peak memory, bytes.
    pub memory_bytes_peak: Option<u64>,
    /// Bytes sent to disk.
    pub disk_written_bytes: Option<u64>,
}

/// Of one trial.
pub(super) fn companions(measured: &Measurement) -> Vec<CompanionPoint> {
    let completed = measured.recording.requests.completed;
    let of = |one: &CompanionUse| {
        let used = one.resources.as_ref();
        let cpu_ns = used.and_then(|used| used.cpu_ns);
        CompanionPoint {
            name: one.name.clone(),
            title: one.title.clone(),
            version: one.version.clone(),
            settings: one.settings.clone(),
            cpus: one.cpus.clone(),
            cpu_ns,
            cpu_ns_per_request: cpu_ns
                .filter(|_| completed > 0)
                .map(|ns| ns as f64 / completed as f64),
            memory_bytes_peak: used.and_then(|used| used.memory_bytes_peak),
            disk_written_bytes: used.and_then(|used| used.disk_written_bytes),
        }
    };
    measured.companions.iter().map(of).collect()
}
