//! The story of one trial.

mod bound;
mod enter;
mod job;
mod phases;

mod ready;
mod shared;
mod start;
mod turns;
mod window;

use crate::build::Built;
use crate::warm_up::Pace;
use crate::{Began, Failure, Progress, RunContext, TrialPlacement};
use enter::{Broken, Course, Done};
use phases::Phases;
use prony_check::CheckRequest;
use prony_config::contract::Contract;
use prony_config::{Entry, GroupPlan, Plan, PlannedTrial, Service};
use prony_host::Ending;
use prony_records::{
    Exclusion, Measurement, Recording, ServiceId, Stage, Steadiness, TrialRecord, Warning, WarningKind,
};
use std::thread;
use std::time::Duration;

pub use enter::{Entered, enter};
pub use job::target_of;
pub(crate) use ready::wait as wait_until_ready;
pub use shared::{SharedService, run_on};
pub(crate) use start::start_service;
pub use start::{Start, Subject};
pub use turns::{TurnsOf, run_turns};
pub use window::Window;

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
    pub fn record(&self, began: Began, result: Result<Measurement, Exclusion>) -> TrialRecord {
        let group = self.group();
        TrialRecord {
            place: self.planned.place,
            round: self.planned.round,
            build: self.plan.build_number(self.planned.round),
            start: None,
            service: self.id(),
            contract: group.contract.clone(),
            workload: group.workload.clone(),
            load: group.load_record(),
            rank_by: group.ranked_by(),
            started_at: began.time_of_day(),
            took_s: began.elapsed().as_secs_f64(),
            result,
        }
    }
}

/// Does one trial. The service's failures are in the record; `None`: the user asked to stop now.
pub fn run_trial(
    bench: &RunContext<'_>,
    trial: &Trial<'_>,
    watch: &mut dyn FnMut(Progress),
) -> Option<TrialRecord> {
    let began = Began::now();
    match attempt(bench, trial, watch) {
        Ok(measurement) => Some(trial.record(began, Ok(measurement))),
        Err((failure, _)) if failure.interrupted => None,
        Err((failure, log)) => Some(trial.record(began, Err(failure.with_log(log)))),
    }
}

/// The service lives in here: whatever happens, it is gone when this returns, and its log is complete.
fn attempt(
    bench: &RunContext<'_>,
    trial: &Trial<'_>,
    watch: &mut dyn FnMut(Progress),
) -> Result<Measurement, (Failure, Vec<String>)> {
    let seat = TrialPlacement::alone(bench.lab, trial.contract, trial.plan.limits.cpus);
    let course = Course {
        bench,
        trial,
        seat: &seat,
    };
    let (done, measurement) = course.as_far_as(watch, |entered, watch| course.measure(entered, watch))?;
    let mut subject = done.subject;
    let ended = subject.service.ended();
    let stopped = subject.service.stop();
    let done = judge_ending(measurement, ended, stopped);
    done.map_err(|failure| (failure, subject.service.log_tail(LOG_LINES)))
}

impl Course<'_> {
    /// From the begin of its load until the service has answered rightly after it.
    fn measure(
        self,
        mut entered: Entered,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<(Done, Measurement), Broken> {
        let phases = self.phases(&mut entered, watch);
        let mut done = entered.done();
        let target = done.subject.target.clone();
        let measured = phases.and_then(|(steadiness, recording, window)| {
            judge_recording(self.trial.plan, &recording).map_err(|failure| window.beside(failure))?;
            // What is checked after it writes, too.
            done.look_behind((self.bench, self.trial.contract), recording.answers.as_ref())?;
            check_after(self.bench, self.trial, &self.request(&target), watch)?;
            if let Some(fault) = done.subject.companions.fault() {
                return Err(Failure::lab(Stage::Measure, fault));
            }
            let mut measurement = done.measurement(recording, steadiness, Some(window));
            done.judge_during(self.trial.contract, &measurement)?;
            let blamed = done.subject.companions.blames();
            (measurement.warnings).extend(blamed.map(|text| Warning::new(WarningKind::Errors, text)));
            Ok(measurement)
        });
        match measured {
            Ok(measurement) => Ok((done, measurement)),
            Err(failure) => Err(Broken::new(failure, done.subject)),
        }
    }

    fn phases(
        self,
        entered: &mut Entered,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<(Steadiness, Recording, Window), Failure> {
        let mut phases = Phases::new(self.bench, entered, watch);
        let group = self.trial.group();
        let steadiness = phases.warm_up(group.warm_up, Pace::of(&group.load))?;
        let (recording, window) = phases.measure()?;
        Ok((steadiness, recording, window))
    }
}

/// A service that answers rightly before the load and wrongly after it is excluded as well.
fn check_after(
    bench: &RunContext<'_>,
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
        let report = prony_check::recheck(request);
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

fn judge_recording(plan: &Plan, recording: &Recording) -> Result<(), Failure> {
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
        let all = prony_records::Outcome::ALL
            .iter()
            .map(|&outcome| (outcome, outcomes.of(outcome)));
        let named = all.filter(|(_, count)| *count > 0);
        let words: Vec<String> = named
            .map(|(outcome, count)| format!("{count} {}", word(outcome)))
            .collect();
        if words.is_empty() {
            return "nothing was answered".to_owned();
        }
        words.join(", ")
    };
    if let Some(excluded) = recording.exclusion() {
        let text = format!("{} ({}{})", excluded.reason, counts(), wrong());
        return Err(Failure {
            fault: excluded.fault,
            ..Failure::new(excluded.stage, text)
        });
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
fn word(outcome: prony_records::Outcome) -> String {
    let json = serde_json::to_value(outcome).unwrap_or_default();
    json.as_str().unwrap_or_default().replace('_', " ")
}

/// A failure as it is told where the service has ended: that is why, unless the failure says so itself.
fn blamed(failure: Failure, ended: Option<&Ending>) -> Failure {
    let told = failure.interrupted
        || failure.stage == Stage::Start
        // Phases notice it themselves and have said so.
        || failure.reason.starts_with("the service ");
    match ended {
        // Of what was lost with its host nobody knows how it ended: it is not to blame.
        Some(ending) if !told && *ending != Ending::default() => {
            let text = format!("the service {ending}; {}", failure.reason);
            Failure::new(failure.stage, text)
        }
        _ => failure,
    }
}

/// A service that ended by itself gave nothing, whatever else was noticed of it.
fn judge_ending(
    mut measurement: Measurement,
    ended: Option<Ending>,
    stopped: Result<Ending, prony_host::HostError>,
) -> Result<Measurement, Failure> {
    if let Some(ending) = ended {
        return Err(Failure::new(
            Stage::Measure,
            format!("the service {ending}, under the load"),
        ));
    }
    measurement.warnings.extend(judge_stop(stopped)?);
    Ok(measurement)
}

/// How a service that was still there was stopped.
fn judge_stop(stopped: Result<Ending, prony_host::HostError>) -> Result<Option<Warning>, Failure> {
    let ending = stopped.map_err(|error| Failure::host(Stage::Stop, &error))?;
    if ending.why.is_some() {
        // One of several processes: the service as a whole went on.
        return Err(Failure::new(
            Stage::Measure,
            format!("one of its processes {ending}"),
        ));
    }
    let text = "the service did not end on TERM within its grace time and was killed";
    Ok(ending.ignored_term.then(|| Warning::new(WarningKind::Note, text)))
}

/// CPU time that a service uses in a window of this length, starting now; `None` where it cannot be counted.
pub(crate) fn cpu_time(service: &mut dyn prony_host::Process, window: Duration) -> Option<Duration> {
    service.begin_window().ok()?;
    thread::sleep(window);
    let usage = service.end_window().ok()?;
    usage.resources.cpu_ns.map(Duration::from_nanos)
}
