//! What the store keeps: trials and runs.

use crate::{Environment, Recording, ResourceSample, Resources, StartUp, Warning};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A service in one variant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ServiceId {
    /// The service's name.
    pub service: String,
    /// The variant's name.
    pub variant: String,
}

impl fmt::Display for ServiceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.service, self.variant)
    }
}

/// One trial: a service under a workload and a load, in one fresh start. The unit of every estimate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Place in the plan, from 0. A repeated trial has the place of the first one.
    pub place: u32,
    /// The round, from 0.
    pub round: u32,
    /// The build that it was started from, from 0; `None` where there was one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<u32>,
    /// Service and variant.
    pub service: ServiceId,
    /// The contract.
    pub contract: String,
    /// The workload of the contract.
    pub workload: String,
    /// The load, as the load crate writes it.
    pub load: serde_json::Value,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// Length of the whole trial, s.
    pub took_s: f64,
    /// What it gave, or why it gave nothing.
    pub result: Result<Measurement, Exclusion>,
}

/// What a trial gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// What the generator says.
    pub recording: Recording,
    /// What the service used.
    pub service: Resources,
    /// What the generator used, seen from outside.
    #[serde(default)]
    pub generator: Option<Resources>,
    /// What the backend used, where the contract needs one.
    #[serde(default)]
    pub backend: Option<Resources>,
    /// How the service came up.
    pub start_up: StartUp,
    /// How it warmed up.
    #[serde(default)]
    pub steadiness: Option<Steadiness>,
    /// CPUs of the service.
    #[serde(default)]
    pub service_cpus: Vec<usize>,
    /// CPUs of the generator.
    #[serde(default)]
    pub generator_cpus: Vec<usize>,
    /// CPU time of everything else on the machine in the measurement, ns.
    #[serde(default)]
    pub other_cpu_ns: Option<u64>,
    /// Time that the hypervisor took from the machine in the measurement, ns.
    #[serde(default)]
    pub steal_ns: Option<u64>,
    /// Samples of the warm-up, for the time series.
    #[serde(default)]
    pub warm_up_samples: Vec<ResourceSample>,
    /// Reasons to doubt these numbers, beside those of the recording.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

/// How a service warmed up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// The verdict.
    pub classification: Classification,
    /// Length of the warm-up, s.
    pub warm_up_s: f64,
    /// Highest p99 of an interval of the warm-up, ns.
    pub worst_p99_ns: Option<u64>,
    /// Intervals of the warm-up.
    #[serde(default)]
    pub intervals: Vec<crate::Interval>,
}

/// How throughput went over a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Classification {
    /// The same from the start.
    Flat,
    /// Became faster, then steady.
    WarmedUp,
    /// Became slower.
    SlowingDown,
    /// Never steady within the limit.
    NoSteadyState,
    /// The warm-up had a fixed length; nothing was detected.
    Fixed,
}

/// Why a trial gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exclusion {
    /// Where it failed.
    pub stage: Stage,
    /// What failed, in a sentence.
    pub reason: String,
    /// Last lines of the service's or the build's log.
    #[serde(default)]
    pub log_tail: Vec<String>,
}

/// The steps of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// A toolchain is missing.
    Toolchain,
    /// Building the service.
    Build,
    /// Starting it and waiting until it is ready.
    Start,
    /// Checking the contract.
    Check,
    /// Warming up.
    WarmUp,
    /// Measuring.
    Measure,
    /// Checking again after the load.
    Recheck,
    /// Stopping.
    Stop,
}

/// One run: the plan and the circumstances; its trials are stored apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Name: start and suite, `2026-11-21T08-30-00-hello`.
    pub id: String,
    /// The suite.
    pub suite: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// End; `None` while it runs or when it was killed.
    pub ended_at: Option<String>,
    /// The circumstances.
    pub environment: Environment,
    /// The plan as JSON: enough to continue the run.
    pub plan: serde_json::Value,
    /// Trials that the plan holds.
    pub planned_trials: u32,
    /// Seed of every random choice.
    pub seed: u64,
    /// Reasons to doubt the whole run.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}
