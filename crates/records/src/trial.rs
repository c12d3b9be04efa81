//! What the store keeps: trials and runs.

use crate::{BackingUsage, Environment, Recording, ResourceSample, Resources, StartUp, Turns, Warning};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
    /// Which process start it had, where that one served other trials too; `None`: it had one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<SharedStart>,
    /// Whether it was stored when its window ended, before its service was checked again and stopped. The trial that is complete
    /// takes its place; one stays where prony was killed in between.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provisional: bool,
    /// Service and variant.
    pub service: ServiceId,
    /// The contract.
    pub contract: String,
    /// The workload of the contract.
    pub workload: String,
    /// The load, as the load crate writes it.
    pub load: serde_json::Value,
    /// The metric that its group is ranked by, where the suite says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank_by: Option<String>,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// Length of the whole trial, s.
    pub took_s: f64,
    /// What it gave, or why it gave nothing.
    pub result: Result<Measurement, Exclusion>,
}

impl TrialRecord {
    /// Why it is void, where it is: the bench failed in it, not the service.
    pub fn void(&self) -> Option<&Exclusion> {
        let failed = self.result.as_ref().err();
        failed.filter(|excluded| excluded.fault == Fault::Infrastructure)
    }
}

/// A process start that serves several trials, one for each workload of a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedStart {
    /// Place of the first trial that it served: its name within the run.
    pub first: u32,
    /// Loads that it had served before this one.
    pub served: u32,
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
    /// What stood beside the service, and what it used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backing_services: Vec<BackingUsage>,
    /// What was looked at behind it when the load was over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<AfterLoad>,
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
    /// The windows, where it took turns with other services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Turns>,
    /// Samples of the warm-up, for the time series.
    #[serde(default)]
    pub warm_up_samples: Vec<ResourceSample>,
    /// Reasons to doubt these numbers, beside those of the recording.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

/// A number behind a service that must be right when its load is over, and was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AfterLoad {
    /// What must hold, in the contract's words.
    pub name: String,
    /// The backing service that was asked.
    pub backing_service: String,
    /// What the number must be, as the contract writes it.
    pub equals: String,
    /// What it was before the load.
    pub before: i64,
    /// The lowest right number.
    pub low: i64,
    /// The highest right number; above `low` only where the outcome of requests is not known.
    pub high: i64,
    /// What was found.
    pub found: i64,
    /// Requests that may have changed it, of which nobody knows whether they were carried out.
    pub uncertain: u64,
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
    /// Steady, but after too few intervals to tell flat from warmed up.
    Short,
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
    /// Whose fault it is.
    #[serde(default, skip_serializing_if = "Fault::is_service")]
    pub fault: Fault,
}

/// Whose fault it is that a trial gave nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The service's: it may be excluded for it.
    #[default]
    Service,
    /// The bench's, as of a generator that was killed: the trial is void, and says nothing of the service.
    Testbed,
}

impl Fault {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    fn is_service(&self) -> bool {
        *self == Self::Service
    }
}

/// The trial that counts at each place of a plan, in the order of places: the last one that gave numbers, else the last one
/// that failed by the service's fault, else the last one. What fails when it is repeated never replaces a valid trial; a provisional
/// one counts where there is no other.
pub fn that_count(trials: &[TrialRecord]) -> Vec<&TrialRecord> {
    let worth = |trial: &TrialRecord| match &trial.result {
        _ if trial.provisional => 0,
        Err(excluded) if excluded.fault == Fault::Infrastructure => 1,
        Err(_) => 2,
        Ok(_) => 3,
    };
    let mut places: BTreeMap<u32, &TrialRecord> = BTreeMap::new();
    for trial in trials {
        let known = places.entry(trial.place).or_insert(trial);
        if worth(trial) >= worth(known) {
            *known = trial;
        }
    }
    places.into_values().collect()
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

/// What is known of a service in a variant beside its numbers. Stored with the plan, so that a report tells what was run
/// and not what lies in the checkout today.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceInfo {
    /// Its name.
    pub service: String,
    /// The variant's name.
    pub variant: String,
    /// What people call it.
    pub title: String,
    /// Its language.
    pub language: String,
    /// Its framework.
    pub framework: String,
    /// What kind of software it is: `platform`, `micro`, `full` or `stripped`.
    pub class: String,
    /// Version of the framework.
    pub version: Option<String>,
    /// How it uses CPUs, in a sentence.
    pub workers: Option<String>,
    /// What is special about the variant.
    pub note: Option<String>,
    /// Whether the variant is that of a seed document.
    #[serde(default)]
    pub era: bool,
    /// The container image that ran, with what tells it from every other: `name@sha256:…`. `None`: it ran in no container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The folder of its source, from the root of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(place: u32, fault: Fault) -> TrialRecord {
        TrialRecord {
            place,
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
            started_at: String::new(),
            took_s: 0.0,
            result: Err(Exclusion {
                stage: Stage::Measure,
                reason: String::new(),
                log_tail: Vec::new(),
                fault,
            }),
        }
    }

    #[test]
    fn a_provisional_trial_counts_where_there_is_no_other() {
        let provisional = TrialRecord {
            provisional: true,
            ..failed(0, Fault::Service)
        };
        let complete = failed(0, Fault::Infrastructure);
        for both in [
            [provisional.clone(), complete.clone()],
            [complete.clone(), provisional.clone()],
        ] {
            assert_eq!(that_count(&both), [&complete]);
        }
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
