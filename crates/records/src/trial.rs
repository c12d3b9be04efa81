//! The records that the store keeps: trials, runs and checks.

use crate::{
    BackingUsage, Environment, Fingerprint, InterleavedWindows, PairedBlocks, Recording, ResourceSample,
    Resources, StartUp, Warning,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A service in one variant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ServiceId {
    /// Name of the service.
    pub service: String,
    /// Name of the variant.
    pub variant: String,
}

impl fmt::Display for ServiceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.service, self.variant)
    }
}

/// One trial: a service under a workload and a load, in one fresh process start. The unit of every estimate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Number of the trial in the plan, from 0. A repeated trial keeps the number of the first attempt.
    #[serde(rename = "place")]
    pub number: u32,
    /// Number of the round, from 0.
    pub round: u32,
    /// Number of the build that it ran, from 0; `None` if there was only one build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<u32>,
    /// The process start, if it is shared with other trials; `None` if the trial had its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<SharedStart>,
    /// Whether it was stored when its window ended, before its service was checked again and stopped. The complete record replaces
    /// it; it stays only if prony was killed in between.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provisional: bool,
    /// Service and variant under test.
    pub service: ServiceId,
    /// Name of the contract.
    pub contract: String,
    /// Name of the workload in the contract.
    pub workload: String,
    /// The load, as the load crate serialises it.
    #[serde(deserialize_with = "crate::upgrade::read_load")]
    pub load: serde_json::Value,
    /// Metric that its group is ranked by, if the suite sets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank_by: Option<String>,
    /// The service, as `name/variant`, that does the same without a framework, if the suite names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// Length of the whole trial, s.
    pub took_s: f64,
    /// The results, or the reason why there are none.
    pub result: Result<Measurement, Exclusion>,
}

impl TrialRecord {
    /// The failure, if it is an infrastructure failure rather than a failure of the service.
    pub fn void(&self) -> Option<&Exclusion> {
        let failed = self.result.as_ref().err();
        failed.filter(|excluded| excluded.fault == Fault::Infrastructure)
    }
}

/// A process start that is shared by several trials, one per workload of a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedStart {
    /// Number of the first trial that it served, which identifies it within the run.
    pub first: u32,
    /// Number of loads that it had served before this one.
    pub served: u32,
}

/// The results of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Recording of the generator.
    pub recording: Recording,
    /// Resources that the service used.
    pub service: Resources,
    /// Resources that the generator used, measured from outside.
    #[serde(default)]
    pub generator: Option<Resources>,
    /// Backing services and the resources they used.
    #[serde(default, alias = "companions", skip_serializing_if = "Vec::is_empty")]
    pub backing_services: Vec<BackingUsage>,
    /// Checks in backing services after the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<AfterLoad>,
    /// Start-up times of the service.
    pub start_up: StartUp,
    /// The files that the service used, if its start was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<StartFiles>,
    /// Warm-up of the service; `None` if it was not examined.
    #[serde(default)]
    pub steadiness: Option<Steadiness>,
    /// CPUs that the service ran on.
    #[serde(default)]
    pub service_cpus: Vec<usize>,
    /// CPUs that the generator ran on.
    #[serde(default)]
    pub generator_cpus: Vec<usize>,
    /// CPU time of all other programs on the machine in the measurement, ns.
    #[serde(default)]
    pub other_cpu_ns: Option<u64>,
    /// Time that the hypervisor stole from the machine in the measurement, ns.
    #[serde(default)]
    pub steal_ns: Option<u64>,
    /// Windows of the load, if the service was interleaved with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "turns")]
    pub interleaved: Option<InterleavedWindows>,
    /// Blocks of load via the service and directly to its backing service, if the design is paired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<PairedBlocks>,
    /// Resource samples of the warm-up, for the time series.
    #[serde(default)]
    pub warm_up_samples: Vec<ResourceSample>,
    /// Warnings about these numbers, in addition to those of the recording.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

/// The files that a service used until its first reply, and how much of them was in memory before its start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StartFiles {
    /// Size of the files of its build folder that it opened or mapped, bytes; `None` if they are unknown.
    pub artefact_used_bytes: Option<u64>,
    /// Size of all files of its build folder, bytes.
    pub artefact_bytes: Option<u64>,
    /// Share of the bytes of its files that was in the page cache before the start; `None` if it is unknown.
    pub resident_share: Option<f64>,
    /// Whether the page cache of the whole machine was dropped before the start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dropped_all: bool,
    /// Names of files that prony maps itself: they stay in the page cache, and the share is without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

impl Measurement {
    /// Whether a load was measured. A start alone has none.
    pub fn has_load(&self) -> bool {
        self.recording.duration_s > 0.0
    }
}

/// A number in a backing service that had to be right after the load, and was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AfterLoad {
    /// Name of the check in the contract.
    pub name: String,
    /// Backing service that was queried.
    #[serde(alias = "companion")]
    pub backing_service: String,
    /// Expected value, as written in the contract.
    pub equals: String,
    /// Value before the load.
    pub before: i64,
    /// Lowest accepted value.
    pub low: i64,
    /// Highest accepted value; above `low` only if the outcome of some requests is unknown.
    pub high: i64,
    /// Value after the load.
    pub found: i64,
    /// Number of requests that may or may not have been executed and so may have changed the value.
    pub uncertain: u64,
}

/// The warm-up of a service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// Classification of the warm-up.
    pub classification: Classification,
    /// Length of the warm-up under the planned load, s.
    pub warm_up_s: f64,
    /// Length of the light load before it, s; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub light_s: Option<f64>,
    /// Share of the compiler threads in the CPU time of the service at the end of the warm-up: in rehearsals with an idle compiler, if
    /// there were any. `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_share: Option<f64>,
    /// Time under the planned load from which on CPU time per request was stable, s; `None` if that was not shown in this start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_after_s: Option<f64>,
    /// Highest p99 of any interval of the warm-up, ns.
    pub worst_p99_ns: Option<u64>,
    /// Time series of the warm-up.
    #[serde(default)]
    pub intervals: Vec<crate::Interval>,
}

impl Steadiness {
    /// The warm-up with its light load before it. A compiler that was not idle then stays at work: under many connections it gets
    /// hardly any CPU time, and its share says nothing.
    #[must_use]
    pub fn after_light_load(self, light: &Self) -> Self {
        let classification = if light.classification == Classification::Warming {
            light.classification
        } else {
            self.classification
        };
        Self {
            classification,
            light_s: Some(light.warm_up_s),
            ..self
        }
    }
}

/// How a warm-up ended. Records of earlier versions have the last five.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Classification {
    /// The compiler is idle, and CPU time per request is stable.
    Settled,
    /// The compiler was still at work at the limit of the warm-up, or in the measurement.
    Warming,
    /// The compiler is idle, but CPU time per request was not shown to be stable.
    Unsettled,
    /// The warm-up had a fixed length; nothing was detected.
    Fixed,
    /// There was no warm-up: the first moments of load were measured on purpose.
    Cold,
    /// Steady from the start.
    Flat,
    /// Became faster, then steady.
    WarmedUp,
    /// Became slower.
    SlowingDown,
    /// Never steady within the limit.
    NoSteadyState,
    /// Steady, but after too few intervals to distinguish flat from warmed up.
    Short,
}

/// Why a trial has no results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exclusion {
    /// Stage that failed.
    pub stage: TrialStage,
    /// What failed, in one sentence.
    pub reason: String,
    /// Last lines of the log of the service or the build.
    #[serde(default)]
    pub log_tail: Vec<String>,
    /// Who caused the failure.
    #[serde(default, skip_serializing_if = "Fault::is_service")]
    pub fault: Fault,
}

/// Who caused a failed trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The service, which may be excluded for it.
    #[default]
    Service,
    /// The testbed, such as a generator that was killed: an infrastructure failure, which says nothing about the service.
    #[serde(alias = "lab")]
    Infrastructure,
}

impl Fault {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_service(&self) -> bool {
        *self == Self::Service
    }
}

/// Returns the record that counts for each trial number of a plan, in ascending order: the last successful one, else the last one
/// that failed because of the service, else the last one. A failed repetition never replaces a valid trial, and a provisional
/// record counts only if there is no other.
pub fn that_count(trials: &[TrialRecord]) -> Vec<&TrialRecord> {
    let worth = |trial: &TrialRecord| match &trial.result {
        _ if trial.provisional => 0,
        Err(excluded) if excluded.fault == Fault::Infrastructure => 1,
        Err(_) => 2,
        Ok(_) => 3,
    };
    let mut counted: BTreeMap<u32, &TrialRecord> = BTreeMap::new();
    for trial in trials {
        let known = counted.entry(trial.number).or_insert(trial);
        if worth(trial) >= worth(known) {
            *known = trial;
        }
    }
    counted.into_values().collect()
}

/// The stages of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialStage {
    /// Checking that the toolchain is installed.
    Toolchain,
    /// Building the service.
    Build,
    /// Starting the service and waiting until it is ready.
    Start,
    /// Checking the contract before the load.
    Check,
    /// Warming up the service.
    WarmUp,
    /// Measuring the load.
    Measure,
    /// Checking the contract again after the load.
    Recheck,
    /// Stopping the service.
    Stop,
}

/// The suite of saved loads. Their users choose the names of the runs.
pub const SAVED_LOADS: &str = "load";

/// One run: its plan and environment. Its trials are stored separately.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Name of the run: start time and suite, `2026-11-21T08-30-00-hello`.
    pub id: String,
    /// Name of the suite.
    pub suite: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// End, RFC 3339 in UTC; `None` while the run is in progress or if it was killed.
    pub ended_at: Option<String>,
    /// Machine and versions.
    pub environment: Environment,
    /// The plan as JSON: sufficient to continue the run.
    #[serde(deserialize_with = "crate::upgrade::read_plan")]
    pub plan: serde_json::Value,
    /// Number of trials in the plan.
    pub planned_trials: u32,
    /// Seed of every random choice.
    pub seed: u64,
    /// Warnings about the whole run.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// Time that it took, s, without the pauses between its sessions; `None` while it is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent_s: Option<f64>,
}

impl RunRecord {
    /// The key of `plan` with what the results of each service depend on.
    pub const FINGERPRINTS: &str = "fingerprints";

    /// What the results of each service depend on, by the label of the service; `None` if an earlier version of prony measured it.
    pub fn fingerprints(&self) -> Option<BTreeMap<String, Fingerprint>> {
        Self::fingerprints_in(&self.plan)
    }

    /// The same, from a stored or exported plan.
    pub fn fingerprints_in(plan: &serde_json::Value) -> Option<BTreeMap<String, Fingerprint>> {
        serde_json::from_value(plan.get(Self::FINGERPRINTS)?.clone()).ok()
    }
}

/// Descriptive data of a variant of a service. Stored with the plan, so that a report describes what was run and not what is in
/// the checkout today.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceInfo {
    /// Name of the service.
    pub service: String,
    /// Name of the variant.
    pub variant: String,
    /// Display name of the service.
    pub title: String,
    /// Programming language.
    pub language: String,
    /// Name of the framework.
    pub framework: String,
    /// Class of software: `platform`, `micro`, `fullstack` or `stripped`.
    pub class: String,
    /// Version of the framework.
    pub version: Option<String>,
    /// How it uses CPUs, in one sentence.
    pub workers: Option<String>,
    /// Remark about the variant.
    pub note: Option<String>,
    /// Whether the variant is the pinned one of a published benchmark.
    #[serde(default, alias = "era")]
    pub pinned: bool,
    /// Earlier names of the variant, under which stored runs have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub formerly: Vec<String>,
    /// The container image that ran, with its digest: `name@sha256:…`. `None` if it did not run in a container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Folder of its source, relative to the root of the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Shell commands that build it, in its folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub build: Vec<String>,
    /// The shell command that starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
}

impl ServiceInfo {
    /// Whether `id` is this variant, under its name or an earlier one.
    pub fn is_or_was(&self, id: &ServiceId) -> bool {
        self.service == id.service && (self.variant == id.variant || self.formerly.contains(&id.variant))
    }
}

/// The result of checking services against contracts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckMatrix {
    /// Version of the JSON format.
    pub schema: u32,
    /// One row per service, variant and contract.
    pub services: Vec<ServiceCheck>,
}

/// The result of checking one service against one contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceCheck {
    /// Name of the service, or the URL of a server that was already running.
    pub service: String,
    /// Name of the variant.
    pub variant: String,
    /// Name of the contract.
    pub contract: String,
    /// Protocol: `http`, `http2`, `grpc`, `websocket`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Whether every case passed.
    pub passed: bool,
    /// Every case that was checked, in the contract's order.
    #[serde(default)]
    pub cases: Vec<String>,
    /// The operations of each case. A case that names none has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub operations: BTreeMap<String, Vec<String>>,
    /// The traits that were tried, and whether the service has each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub traits: BTreeMap<String, bool>,
    /// The cases that failed.
    #[serde(default)]
    pub failures: Vec<CaseFailure>,
    /// Remarks that are no failures.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The operations and cases that were not sent, because they may change data on a server that prony did not start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// Why the service could not be checked on this machine; `None` if it was checked.
    pub unavailable: Option<String>,
    /// How long the check took, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
}

/// A case that a service failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseFailure {
    /// Name of the case.
    pub case: String,
    /// The expected value.
    pub expected: String,
    /// The received value.
    pub got: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(number: u32, fault: Fault) -> TrialRecord {
        TrialRecord {
            number,
            round: 0,
            build: None,
            start: None,
            provisional: false,
            service: ServiceId {
                service: "toy".to_owned(),
                variant: "current".to_owned(),
            },
            contract: "hello".to_owned(),
            workload: "hello".to_owned(),
            load: serde_json::Value::Null,
            rank_by: None,
            baseline: None,
            started_at: String::new(),
            took_s: 0.0,
            result: Err(Exclusion {
                stage: TrialStage::Measure,
                reason: String::new(),
                log_tail: Vec::new(),
                fault,
            }),
        }
    }

    #[test]
    fn a_provisional_trial_counts_only_without_a_final_one() {
        let provisional = TrialRecord {
            provisional: true,
            ..failed(0, Fault::Service)
        };
        let complete = failed(0, Fault::Infrastructure);
        let is_complete = |first: &TrialRecord, second: &TrialRecord| {
            assert_eq!(that_count(&[first.clone(), second.clone()]), [&complete]);
        };
        is_complete(&provisional, &complete);
        is_complete(&complete, &provisional);
        assert_eq!(that_count(std::slice::from_ref(&provisional)), [&provisional]);
    }

    #[test]
    fn an_exclusion_without_a_fault_is_the_service_s_and_is_written_as_before() {
        let text = r#"{"stage":"check","reason":"r","log_tail":[]}"#;
        let read: Exclusion = serde_json::from_str(text).expect("an old record");
        assert_eq!(read.fault, Fault::Service);
        assert_eq!(serde_json::to_string(&read).expect("plain data"), text);
    }

    #[test]
    fn a_void_trial_replaces_no_other() {
        let trials = [
            failed(0, Fault::Service),
            failed(0, Fault::Infrastructure),
            failed(1, Fault::Infrastructure),
        ];
        let fault = |trial: &TrialRecord| trial.result.as_ref().map_err(|failed| failed.fault).err();
        let counted: Vec<Option<Fault>> = that_count(&trials).into_iter().map(fault).collect();
        assert_eq!(counted, [Some(Fault::Service), Some(Fault::Infrastructure)]);
    }
}
