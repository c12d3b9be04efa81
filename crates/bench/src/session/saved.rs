//! Loads that are kept by a name: each is a trial of the run of that name, so that they are shown and compared as runs are.

use crate::BenchError;
use crate::clock::now;
use crate::place::environment;
use prony_load::Job;
use prony_measurement::{
    Measurement, Recording, Resources, RunRecord, ServiceId, ServiceInfo, StartUp, TrialRecord,
};
use prony_store::{RunLock, Store};
use serde_json::json;

/// What stands for the suite, the contract and the service of a load that has none.
const SUITE: &str = "load";
const CONTRACT: &str = "url";
const SERVICE: (&str, &str) = ("url", "current");
/// Key of the plan: where the loads of the run go.
const TARGET: &str = "target";

/// A place for one more load of a name, found before the load begins. Nobody else may take it as long as this lives.
pub struct Saving<'a> {
    store: &'a Store,
    run: String,
    is_new: bool,
    round: u32,
    started_at: String,
    _lock: RunLock,
}

impl<'a> Saving<'a> {
    /// Finds the place. A name that keeps something else is refused.
    pub fn begin(store: &'a Store, name: &str, job: &Job) -> Result<Self, BenchError> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if name.is_empty() || name == "latest" || !name.chars().all(plain) {
            return Err(BenchError::Input(format!(
                "`{name}` is no name to keep a load by: use letters, digits, `-`, `_` and `.`, as in `before`"
            )));
        }
        let lock = store.lock_run(name)?;
        let is_new = !store.runs()?.iter().any(|run| run.id == name);
        if !is_new {
            fits(&store.run(name)?, job)?;
        }
        let round = if is_new {
            0
        } else {
            store.trials(name)?.len() as u32
        };
        Ok(Self {
            store,
            run: name.to_owned(),
            is_new,
            round,
            started_at: now(),
            _lock: lock,
        })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.run
    }

    /// Keeps what the load gave; gives how many loads the name has by now.
    pub fn keep(self, job: &Job, recording: Recording, took_s: f64) -> Result<u32, BenchError> {
        let count = self.round + 1;
        if self.is_new {
            self.store.begin_run(&self.record(job))?;
        }
        self.store.append_trial(
            &self.run,
            &TrialRecord {
                place: self.round,
                round: self.round,
                build: None,
                start: None,
                service: id(),
                contract: CONTRACT.to_owned(),
                workload: job.workload.name.clone(),
                load: load_of(job),
                rank_by: None,
                started_at: self.started_at.clone(),
                took_s,
                // Without a result it is kept as a failure: its figures must not be compared.
                result: match recording.exclusion() {
                    Some(excluded) => Err(excluded),
                    None => Ok(measurement(job, recording)),
                },
            },
        )?;
        self.store.extend_run(&self.run, count, &now())?;
        Ok(count)
    }

    fn record(&self, job: &Job) -> RunRecord {
        let target = &job.target.url;
        let mut environment = environment();
        environment.prony = String::from(env!("CARGO_PKG_VERSION"));
        let service = ServiceInfo {
            service: SERVICE.0.to_owned(),
            variant: SERVICE.1.to_owned(),
            title: target.clone(),
            ..ServiceInfo::default()
        };
        RunRecord {
            id: self.run.clone(),
            suite: SUITE.to_owned(),
            started_at: self.started_at.clone(),
            ended_at: None,
            environment,
            plan: json!({ TARGET: target, "services": [service] }),
            planned_trials: 1,
            seed: job.seed,
            warnings: Vec::new(),
        }
    }
}

/// Loads under one name go to one place.
fn fits(run: &RunRecord, job: &Job) -> Result<(), BenchError> {
    let kept = run.plan[TARGET].as_str();
    match kept {
        Some(target) if run.suite == SUITE && target == job.target.url => Ok(()),
        Some(target) if run.suite == SUITE => Err(BenchError::Input(format!(
            "`{}` keeps loads of {target}, and this one goes to {}: choose another name",
            run.id, job.target.url
        ))),
        _ => Err(BenchError::Input(format!(
            "`{}` is a run of the suite {}: choose another name",
            run.id, run.suite
        ))),
    }
}

fn id() -> ServiceId {
    ServiceId {
        service: SERVICE.0.to_owned(),
        variant: SERVICE.1.to_owned(),
    }
}

fn load_of(job: &Job) -> serde_json::Value {
    serde_json::to_value(&job.load).expect("invariant: a load is plain data")
}

/// Of the service nothing is known but how it answered.
fn measurement(job: &Job, recording: Recording) -> Measurement {
    Measurement {
        recording,
        service: Resources::default(),
        generator: None,
        companions: Vec::new(),
        after: Vec::new(),
        start_up: StartUp::default(),
        steadiness: None,
        service_cpus: Vec::new(),
        generator_cpus: job.cpus.clone(),
        other_cpu_ns: None,
        steal_ns: None,
        turns: None,
        warm_up_samples: Vec::new(),
        warnings: Vec::new(),
    }
}
