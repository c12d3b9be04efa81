//! The story of one trial.

mod job;
mod phases;
mod ready;
mod start;
mod window;

use crate::build::Built;
use crate::check::{self, CheckReport, CheckRequest};
use crate::{Cancel, Failure, Generator, Loading, Progress};
use phases::Phases;
use prony_contract::Contract;
use prony_host::{Ending, Host, Isolation, Split, Wants};
use prony_load::Target;
use prony_measurement::{Exclusion, Measurement, ServiceId, Stage, TrialRecord, Warning, WarningKind};
use prony_plan::{Entry, GroupPlan, Plan, PlannedTrial, Service, WorkersUse};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

pub use job::target_of;
pub use ready::wait as wait_until_ready;
pub use start::{Subject, start_backend, start_service};

/// What all trials of a run share.
#[derive(Clone, Copy)]
pub struct Bench<'a> {
    /// Where services run.
    pub host: &'a dyn Host,
    /// What loads them.
    pub generator: &'a dyn Generator,
    /// How.
    pub options: &'a Options,
    /// How it is ended early.
    pub cancel: &'a Cancel,
}

/// How trials are done.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder of the logs.
    pub logs: PathBuf,
    /// Whether limits that cannot be set are errors.
    pub isolation: Isolation,
    /// Program and arguments that start a backend; it reads `HOST`, `PORT` and `DELAY_MS` from its environment.
    pub backend: Vec<String>,
    /// The noise beyond which a trial is repeated; `None`: it is never repeated.
    pub noise: Option<crate::NoiseLimits>,
}

/// One trial that is to be done.
#[derive(Debug, Clone, Copy)]
pub struct Trial<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Its place in the plan.
    pub planned: PlannedTrial,
    /// The service.
    pub service: &'a Service,
    /// Where it was built.
    pub built: &'a Built,
    /// The contract.
    pub contract: &'a Contract,
}

/// Lines of a log that are kept with the reason of an exclusion.
const LOG_LINES: usize = 20;
/// Tries with another port when the one that was free is taken by the time the service binds it.
const PORTS: u32 = 3;
/// Tries of the check after the load, and the pause between them: a service may still be busy with what it was sent.
const RECHECKS: u32 = 3;
const RECHECK_PAUSE: Duration = Duration::from_millis(300);

impl Trial<'_> {
    /// Its entry in the plan.
    pub fn entry(&self) -> &Entry {
        &self.plan.entries[self.planned.entry]
    }

    /// Its group in the plan.
    pub fn group(&self) -> &GroupPlan {
        self.plan.group_of(self.entry())
    }

    /// Decides its random choices; the same for all services of a round.
    pub fn seed(&self) -> u64 {
        self.plan
            .seed
            .wrapping_add(u64::from(self.planned.round).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Service and variant.
    pub fn id(&self) -> ServiceId {
        ServiceId {
            service: self.service.name.clone(),
            variant: self.service.variant.clone(),
        }
    }

    /// Its record, with this result.
    pub fn record(&self, started: SystemTime, result: Result<Measurement, Exclusion>) -> TrialRecord {
        let group = self.group();
        TrialRecord {
            place: self.planned.place,
            round: self.planned.round,
            build: self.plan.build_number(self.planned.round),
            service: self.id(),
            contract: group.contract.clone(),
            workload: group.workload.clone(),
            load: group.load_record(),
            started_at: humantime::format_rfc3339_seconds(started).to_string(),
            took_s: started.elapsed().unwrap_or_default().as_secs_f64(),
            result,
        }
    }
}

/// Does one trial. The service's failures are in the record; `None`: the user asked to stop now.
pub fn run_trial(
    bench: &Bench<'_>,
    trial: &Trial<'_>,
    watch: &mut dyn FnMut(Progress),
) -> Option<TrialRecord> {
    let started = SystemTime::now();
    match attempt(bench, trial, watch) {
        Ok(measurement) => Some(trial.record(started, Ok(measurement))),
        Err((failure, _)) if failure.interrupted => None,
        Err((failure, log)) => Some(trial.record(started, Err(failure.with_log(log)))),
    }
}

/// The service lives in here: whatever happens, it is gone when this returns, and its log is complete.
fn attempt(
    bench: &Bench<'_>,
    trial: &Trial<'_>,
    watch: &mut dyn FnMut(Progress),
) -> Result<Measurement, (Failure, Vec<String>)> {
    let split = bench.host.topology().split(Wants {
        backend: trial.contract.backend.is_some(),
        service_cpus: trial.plan.limits.cpus.map(|cpus| cpus.ceil() as usize),
    });
    let mut tries = 0;
    loop {
        tries += 1;
        let without_log = |failure| (failure, Vec::new());
        let backend = start_backend(bench, trial.contract, &split).map_err(without_log)?;
        let mut subject = start_service(bench, trial, &split, backend).map_err(without_log)?;
        let measured = steps(bench, trial, &split, &mut subject, watch);
        let ended = subject.service.ended();
        let stopped = subject.service.stop();
        if tries < PORTS && measured.is_err() && ended.is_some() && somebody_else_listens(&subject.target) {
            continue;
        }
        let done = judge_ending(measured, ended, stopped);
        return done.map_err(|failure| (failure, subject.service.log_tail(LOG_LINES)));
    }
}

/// Whether the service ended because its port was taken between the moment it was chosen and the moment it was used.
fn somebody_else_listens(target: &Target) -> bool {
    std::net::TcpStream::connect((target.host.as_str(), target.port)).is_ok()
}

/// The steps between start and stop.
fn steps(
    bench: &Bench<'_>,
    trial: &Trial<'_>,
    split: &Split,
    subject: &mut Subject,
    watch: &mut dyn FnMut(Progress),
) -> Result<Measurement, Failure> {
    let target = subject.target.clone();
    let request = request_of(trial, &target);
    let limit = trial.service.start_timeout;
    let start_up = ready::wait(&mut *subject.service, &request, limit, bench.cancel)?;
    let checked = check_before(bench, trial, &request, watch)?;
    let mut loading = begin_load(bench, trial, &target, split)?;
    let mut phases = Phases::new(bench.cancel, &mut *loading, subject, watch);
    let steadiness = phases.warm_up(trial.group().warm_up)?;
    let (recording, window) = phases.measure()?;
    drop(loading);
    judge_recording(trial.plan, &recording)?;
    check_after(bench, trial, &request, watch)?;
    let mut measurement = window.measurement(recording, steadiness, start_up);
    measurement.service_cpus = split.service.as_slice().to_vec();
    measurement.generator_cpus = split.generator.as_slice().to_vec();
    let warnings = [&split.warnings, subject.service.warnings(), &checked.warnings];
    measurement
        .warnings
        .extend(warnings.into_iter().flatten().cloned());
    measurement.warnings.extend(one_cpu(trial.service, split));
    Ok(measurement)
}

fn begin_load(
    bench: &Bench<'_>,
    trial: &Trial<'_>,
    target: &Target,
    split: &Split,
) -> Result<Box<dyn Loading>, Failure> {
    let job = job::job(trial, target, split);
    let job = job.map_err(|error| Failure::new(Stage::WarmUp, error.to_string()))?;
    let log = bench.options.logs.join("generator.log");
    bench.generator.begin(bench.host, &job, &split.generator, &log)
}

fn request_of<'a>(trial: &Trial<'a>, target: &'a Target) -> CheckRequest<'a> {
    CheckRequest {
        contract: trial.contract,
        target,
        protocol: trial.entry().protocol,
        seed: trial.seed(),
        thorough: false,
    }
}

fn check_before(
    bench: &Bench<'_>,
    trial: &Trial<'_>,
    request: &CheckRequest<'_>,
    watch: &mut dyn FnMut(Progress),
) -> Result<CheckReport, Failure> {
    if bench.cancel.is_now() {
        return Err(Failure::interrupted(Stage::Check));
    }
    let report = check::check(request);
    watch(Progress::Checked(Box::new(report.row(&trial.id()))));
    match report.first_failure() {
        None => Ok(report),
        Some(failure) => Err(Failure::new(
            Stage::Check,
            format!("it breaks its contract: {failure}"),
        )),
    }
}

/// A service that answers rightly before the load and wrongly after it is excluded as well.
fn check_after(
    bench: &Bench<'_>,
    trial: &Trial<'_>,
    request: &CheckRequest<'_>,
    watch: &mut dyn FnMut(Progress),
) -> Result<(), Failure> {
    let mut last = (String::new(), None);
    for attempt in 0..RECHECKS {
        if bench.cancel.is_now() {
            return Err(Failure::interrupted(Stage::Recheck));
        }
        if attempt > 0 {
            thread::sleep(RECHECK_PAUSE);
        }
        let report = check::recheck(request);
        match report.first_failure() {
            None => return Ok(()),
            Some(failure) => last = (failure, Some(report)),
        }
    }
    let (failure, report) = last;
    if let Some(report) = report {
        watch(Progress::Checked(Box::new(report.row(&trial.id()))));
    }
    Err(Failure::new(
        Stage::Recheck,
        format!("after the load it breaks its contract: {failure}"),
    ))
}

fn judge_recording(plan: &Plan, recording: &prony_measurement::Recording) -> Result<(), Failure> {
    let outcomes = &recording.outcomes;
    let wrong = || {
        let first = recording.wrong_replies.first();
        first.map_or(String::new(), |reply| {
            format!(
                "; {}: {}: expected {}, got {}",
                reply.operation, reply.what, reply.expected, reply.got
            )
        })
    };
    let counts = || {
        let all = prony_measurement::Outcome::ALL
            .iter()
            .map(|&outcome| (outcome, outcomes.of(outcome)));
        let named = all.filter(|(_, count)| *count > 0);
        let words = named.map(|(outcome, count)| format!("{count} {}", word(outcome)));
        words.collect::<Vec<_>>().join(", ")
    };
    if outcomes.valid == 0 {
        let text = format!("no reply in the measurement was valid ({}{})", counts(), wrong());
        return Err(Failure::new(Stage::Measure, text));
    }
    if plan.no_errors && outcomes.errors() > 0 {
        let text = format!(
            "there were errors, and the suite allows none ({}{})",
            counts(),
            wrong()
        );
        return Err(Failure::new(Stage::Measure, text));
    }
    Ok(())
}

/// The word of an outcome in JSON, with spaces.
fn word(outcome: prony_measurement::Outcome) -> String {
    let json = serde_json::to_value(outcome).unwrap_or_default();
    json.as_str().unwrap_or_default().replace('_', " ")
}

/// A service that ended by itself gave nothing, whatever else was noticed of it.
fn judge_ending(
    measured: Result<Measurement, Failure>,
    ended: Option<Ending>,
    stopped: Result<Ending, prony_host::HostError>,
) -> Result<Measurement, Failure> {
    let mut measurement = match (measured, ended) {
        (Err(failure), _) if failure.interrupted || failure.stage == Stage::Start => return Err(failure),
        (Err(failure), Some(ending)) => {
            let text = format!("the service {ending}; {}", failure.reason);
            // Phases notice it themselves and have said so.
            let told = failure.reason.starts_with("the service ");
            return Err(if told {
                failure
            } else {
                Failure::new(failure.stage, text)
            });
        }
        (Ok(_), Some(ending)) => {
            return Err(Failure::new(
                Stage::Measure,
                format!("the service {ending}, under the load"),
            ));
        }
        (measured, None) => measured?,
    };
    let ending = stopped.map_err(|error| Failure::host(Stage::Stop, &error))?;
    if ending.why.is_some() {
        // One of several processes: the service as a whole went on.
        return Err(Failure::new(
            Stage::Measure,
            format!("one of its processes {ending}"),
        ));
    }
    if ending.ignored_term {
        let text = "the service did not end on TERM within its grace time and was killed";
        measurement.warnings.push(Warning::new(WarningKind::Note, text));
    }
    Ok(measurement)
}

fn one_cpu(service: &Service, split: &Split) -> Option<Warning> {
    let several = split.service.len();
    (service.workers.uses == WorkersUse::OneCpu && several > 1).then(|| {
        let text = format!(
            "it can use one of its {several} CPUs only ({})",
            service.workers.how
        );
        Warning::new(WarningKind::OneCpu, text)
    })
}

/// Waits at most this long for something that ends soon, then looks at the rest of the world.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// A deadline that silence must not pass.
pub(crate) fn silent_since(heard: Instant, most: Duration) -> bool {
    heard.elapsed() > most
}
