//! Saved loads: each is a trial of the run with its name, and is shown and compared like a run.

use crate::CommandError;
use crate::digest::hex;
use crate::machine::environment;
use crate::secrets;
use crate::start_time::now;
use prony_host::{Neighbours, OtherUsage};
use prony_load::secrets::{MASK, is_secret, mask_path};
use prony_load::{Job, Part, Target, Template, WarmUp, Workload};
use prony_records::{
    Measurement, Recording, Resources, RunRecord, SAVED_LOADS, ServiceId, ServiceInfo, TrialRecord,
    check_run_name,
};
use prony_store::{RunLock, Store};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::net::{IpAddr, ToSocketAddrs as _, UdpSocket};

/// What stands for the contract and the service of a load that has none.
const CONTRACT: &str = "url";
const SERVICE: (&str, &str) = ("url", "current");
/// Keys of the plan: where the loads of the run go, and how they are made.
const TARGET: &str = "target";
const SETTINGS: &str = "settings";
/// The setting with a hash of the requests and expectations.
pub const REQUESTS_SETTING: &str = "requests and expectations";

/// The trial number of one more load of a name, reserved before the load begins. No other process may take it while this lives.
pub struct ReservedRun<'a> {
    store: &'a Store,
    run: String,
    is_new: bool,
    round: u32,
    started_at: String,
    _lock: RunLock,
}

impl<'a> ReservedRun<'a> {
    /// Finds the place. A name that keeps something else is refused.
    pub fn begin(store: &'a Store, name: &str, job: &Job) -> Result<Self, CommandError> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if check_run_name(name).is_err() || !name.chars().all(plain) {
            return Err(CommandError::Input(format!(
                "`{name}` is no name to keep a load by → Use letters, digits, `-`, `_` and `.`, as in `before`"
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

    /// Keeps what the load gave, and what other programs used meanwhile, where that is known; gives how many loads the name has by
    /// now.
    pub fn keep(
        self,
        job: &Job,
        mut recording: Recording,
        took_s: f64,
        others: Option<OtherUsage>,
    ) -> Result<u32, CommandError> {
        secrets::mask_recording(&mut recording);
        let count = self.round + 1;
        if self.is_new {
            self.store.begin_run(&self.record(job))?;
        }
        self.store.append_trial(
            &self.run,
            &TrialRecord {
                number: self.round,
                round: self.round,
                build: None,
                start: None,
                provisional: false,
                service: id(),
                contract: CONTRACT.to_owned(),
                workload: job.workload.name.clone(),
                load: load_of(job),
                rank_by: None,
                baseline: None,
                started_at: self.started_at.clone(),
                took_s,
                // Without a result it is kept as a failure: its figures must not be compared.
                result: match recording.exclusion() {
                    Some(excluded) => Err(excluded),
                    None => Ok(measurement(job, recording, others)),
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
            suite: SAVED_LOADS.to_owned(),
            started_at: self.started_at.clone(),
            ended_at: None,
            environment,
            plan: json!({ TARGET: target, SETTINGS: settings(job), "services": [service] }),
            planned_trials: 1,
            spent_s: None,
            seed: job.seed,
            warnings: Vec::new(),
        }
    }
}

/// Counters of this machine at the start of a load that this process makes: what is neither its own nor the server's is of others.
pub fn neighbours(target: &Target) -> Option<Neighbours> {
    let is_here = target.connect.unix.is_some() || addresses(target).into_iter().any(is_own);
    Neighbours::begin(is_here.then_some(target.port))
}

fn addresses(target: &Target) -> Vec<IpAddr> {
    if !target.connect.addresses.is_empty() {
        return target.connect.addresses.clone();
    }
    let found = (target.host.as_str(), target.port).to_socket_addrs();
    found.into_iter().flatten().map(|address| address.ip()).collect()
}

/// Whether an address is one of this machine: only those can be bound.
fn is_own(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// How a load is made, by the name of each setting, but for the load itself and where it goes. What may hold a secret is a hash.
fn settings(job: &Job) -> BTreeMap<&'static str, String> {
    let seconds = |ns: u64| format!("{} s", ns as f64 / 1e9);
    let text = |value: serde_json::Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), ToOwned::to_owned)
    };
    let plain =
        |value: serde_json::Result<serde_json::Value>| text(value.expect("invariant: a job is plain data"));
    let warm_up = match job.phases.warm_up {
        WarmUp::FixedNs(ns) => seconds(ns),
        WarmUp::UntilTold { limit_ns } => format!("until steady, at most {}", seconds(limit_ns)),
    };
    let count = |limit: Option<u64>| limit.map_or_else(|| "any".to_owned(), |limit| limit.to_string());
    [
        ("protocol", plain(serde_json::to_value(job.protocol))),
        ("duration", seconds(job.phases.measurement_ns)),
        ("warm-up", warm_up),
        ("timeout", seconds(job.timeout_ns)),
        ("number of requests", count(job.limits.requests)),
        (
            "requests per connection",
            count(job.limits.requests_per_connection.map(u64::from)),
        ),
        (
            REQUESTS_SETTING,
            hash(&plain(serde_json::to_value(comparable(&job.workload)))),
        ),
        ("share of replies that is checked", job.check.share.to_string()),
        ("generator threads", job.threads.to_string()),
        ("generator CPUs", plain(serde_json::to_value(&job.cpus))),
        ("TLS", hash(&plain(serde_json::to_value(&job.target.tls)))),
    ]
    .into()
}

/// The requests and expectations as they are compared: a load with another token is made in the same way.
fn comparable(workload: &Workload) -> Workload {
    let mut workload = workload.clone();
    for operation in &mut workload.operations {
        let request = &mut operation.request;
        for header in &mut request.headers {
            if is_secret(&header.name) && header.value.is_constant() {
                header.value = Template::literal(MASK);
            }
        }
        for part in &mut request.path.0 {
            if let Part::Literal(bytes) = part
                && let Ok(text) = std::str::from_utf8(bytes.as_slice())
            {
                *bytes = mask_path(text).as_str().into();
            }
        }
    }
    workload
}

/// The first digits of a hash: enough to tell two settings apart, and nothing to read them by.
fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    hex(&digest[..6])
}

/// Loads under one name go to one place and are made in the same way.
fn fits(run: &RunRecord, job: &Job) -> Result<(), CommandError> {
    let kept = run.plan[TARGET].as_str();
    match kept {
        Some(target) if run.suite == SAVED_LOADS && target == job.target.url => same_settings(run, job),
        Some(target) if run.suite == SAVED_LOADS => Err(CommandError::Input(format!(
            "`{}` keeps loads of {target}, and this one goes to {} → Choose another name.",
            run.id, job.target.url
        ))),
        _ => Err(CommandError::Input(format!(
            "`{}` is a run of the suite {} → Choose another name.",
            run.id, run.suite
        ))),
    }
}

fn same_settings(run: &RunRecord, job: &Job) -> Result<(), CommandError> {
    let now = settings(job);
    let different = now.iter().find_map(|(name, value)| {
        let kept = run.plan[SETTINGS][name].as_str()?;
        (kept != value).then(|| format!("{name}: {kept} there, {value} now"))
    });
    different.map_or(Ok(()), |different| {
        Err(CommandError::Input(format!(
            "`{}` keeps loads with other settings ({different}) → Choose another name.",
            run.id
        )))
    })
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
fn measurement(job: &Job, recording: Recording, others: Option<OtherUsage>) -> Measurement {
    Measurement {
        recording,
        service: Resources {
            window_ns: others.map_or(0, |others| others.machine.window_ns),
            ..Resources::default()
        },
        generator_cpus: job.cpus.clone(),
        other_cpu_ns: others.and_then(|others| others.other_cpu_ns),
        steal_ns: others.map(|others| others.machine.steal_ns),
        ..Measurement::default()
    }
}
