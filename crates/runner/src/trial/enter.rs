//! The way of a service into its measurement, the same for every command: started, ready, checked, its load begun.

use super::start::{self, PORTS, Start, Subject};
use super::window::{self, Window};
use super::{LOG_LINES, Trial, blamed, bound, job, ready};
use crate::RunContext;
use crate::TrialPlacement;
use crate::backing::{Behind, Companions, judge_during};
use crate::generators::Loading;
use crate::port_probe::is_listening;
use crate::{Failure, Progress};
use prony_check::{CheckReport, CheckRequest};
use prony_config::contract::Contract;
use prony_config::{Service, WorkersUse};
use prony_host::Placement;
use prony_load::Target;
use prony_records::{
    Answers, Exclusion, Measurement, Recording, Stage, StartUp, Steadiness, Warning, WarningKind,
};
use std::time::Duration;

/// Time for a service to answer again after its companions were started anew.
const RECOVERS: Duration = Duration::from_secs(10);

/// A trial on its way: where, and with what.
#[derive(Clone, Copy)]
pub(super) struct Course<'a> {
    pub(super) bench: &'a RunContext<'a>,
    pub(super) trial: &'a Trial<'a>,
    pub(super) seat: &'a TrialPlacement,
}

/// A service that runs, fulfils its contract, and whose load has begun.
pub struct Entered {
    /// The service.
    pub subject: Subject,
    /// Its load.
    pub loading: Box<dyn Loading>,
    known: Known,
}

/// What is known of a service before its measurement.
struct Known {
    /// How it came up.
    start_up: StartUp,
    /// Reasons to doubt its numbers.
    warnings: Vec<Warning>,
    seat: TrialPlacement,
    /// What stood behind it before its load.
    behind: Behind,
}

/// Starts the service of a trial, waits until it is ready, checks it and begins its load. The error has the service's log.
pub fn enter(
    bench: &RunContext<'_>,
    trial: &Trial<'_>,
    seat: &TrialPlacement,
    watch: &mut dyn FnMut(Progress),
) -> Result<Entered, Exclusion> {
    let course = Course { bench, trial, seat };
    let entered = course.as_far_as(watch, |entered, _| Ok(entered));
    entered.map_err(|(failure, log)| failure.with_log(log))
}

/// A step that failed, with the service that it failed for.
pub(super) struct Broken {
    failure: Failure,
    subject: Box<Subject>,
}

impl Broken {
    pub(super) fn new(failure: Failure, subject: Subject) -> Self {
        Self {
            failure,
            subject: Box::new(subject),
        }
    }

    /// Stops the service. Says why it failed, with the end of its log, and whether its port was taken between the moment at
    /// which it was chosen and that at which the service bound it.
    pub(super) fn leave(mut self) -> (Failure, Vec<String>, bool) {
        let beside = &mut self.subject.companions;
        let failure = self.failure.beside(beside.fault(), beside.blames());
        let service = &mut self.subject.service;
        let ended = service.ended();
        // What failed is known already, and the service is killed in any case. What the kernel kills loses its connections before
        // it has ended: then only its stop tells.
        let stopped = service.stop().ok().filter(|ending| ending.why.is_some());
        let ended = ended.or(stopped);
        let target = &self.subject.target;
        let taken = ended.is_some() && is_listening(&target.host, target.port);
        let failure = blamed(failure, ended.as_ref());
        (failure, service.log_tail(LOG_LINES), taken)
    }
}

impl<'a> Course<'a> {
    /// Starts the service, and goes with it as far as `go` does: again, on another port, where its port was taken. The error
    /// has the service's log.
    pub(super) fn as_far_as<T>(
        self,
        watch: &mut dyn FnMut(Progress),
        mut go: impl FnMut(Entered, &mut dyn FnMut(Progress)) -> Result<T, Broken>,
    ) -> Result<T, (Failure, Vec<String>)> {
        self.mend().map_err(|failure| (failure, Vec::new()))?;
        let mut tries = 0;
        loop {
            tries += 1;
            let subject = self.start().map_err(|failure| (failure, Vec::new()))?;
            let entered = self.prepare(subject, watch);
            match entered
                .and_then(|entered| go(entered, watch))
                .map_err(Broken::leave)
            {
                Ok(done) => return Ok(done),
                Err((.., true)) if tries < PORTS => {}
                Err((failure, log, _)) => return Err((failure, log)),
            }
        }
    }

    /// A host that was lost is reached again first.
    fn mend(self) -> Result<(), Failure> {
        let cancel = self.bench.cancel;
        let mended = self.bench.lab.mend(&|| !cancel.is_asked());
        mended.map_err(|error| {
            if cancel.is_now() {
                Failure::interrupted(Stage::Start)
            } else {
                Failure::host(Stage::Start, &error)
            }
        })
    }

    /// The service beside the companions that it needs.
    fn start(self) -> Result<Subject, Failure> {
        let (trial, seat) = (self.trial, self.seat);
        let companions = Companions::start(self.bench, trial.contract, trial.plan.seed, seat)?;
        start::start_service(self.bench, &Start::of(trial), seat, companions)
    }

    /// From its start until its load has begun.
    fn prepare(self, mut subject: Subject, watch: &mut dyn FnMut(Progress)) -> Result<Entered, Broken> {
        match self.known(&mut subject, watch) {
            Err(failure) => Err(Broken::new(failure, subject)),
            Ok(known) => self.load(Done { subject, known }),
        }
    }

    /// Begins the load of this trial on a service that is up and fulfils its contract.
    pub(super) fn load(self, done: Done) -> Result<Entered, Broken> {
        let Done { mut subject, known } = done;
        let begun = self.renew(&mut subject).and_then(|()| {
            subject.companions.watch()?;
            let behind = Behind::before(&mut subject.companions, self.trial.contract)?;
            Ok((behind, self.begin_load(&subject.target)?))
        });
        match begun {
            Err(failure) => Err(Broken::new(failure, subject)),
            Ok((behind, loading)) => Ok(Entered {
                subject,
                loading,
                known: Known { behind, ..known },
            }),
        }
    }

    /// Every load begins with the data that was seeded. A companion that was started anew for it cut off what the service had
    /// open there: it must answer again.
    fn renew(self, subject: &mut Subject) -> Result<(), Failure> {
        if subject.companions.reset()? {
            let target = subject.target.clone();
            let request = self.request(&target);
            let limit = subject.service.age() + RECOVERS;
            ready::wait(&mut *subject.service, &request, limit, self.bench).map_err(|failure| Failure {
                reason: format!("its companions were started anew, and then {}", failure.reason),
                ..failure
            })?;
        }
        Ok(())
    }

    /// From its start until its contract is checked.
    fn known(self, subject: &mut Subject, watch: &mut dyn FnMut(Progress)) -> Result<Known, Failure> {
        let target = subject.target.clone();
        let request = self.request(&target);
        let limit = self.trial.service.start_timeout;
        let start_up = ready::wait(&mut *subject.service, &request, limit, self.bench)?;
        let checked = self.check(&request, subject, watch)?;
        let placement = &self.seat.placement;
        let doubts = [&placement.warnings, subject.service.warnings(), &checked.warnings];
        let mut warnings: Vec<Warning> = doubts.into_iter().flatten().cloned().collect();
        warnings.extend(one_cpu(self.trial.service, placement));
        warnings.extend(start::doubt(self.trial.service, self.trial.plan.limits));
        Ok(Known {
            start_up: start::start_up(self.trial.service, start_up),
            warnings,
            seat: self.seat.clone(),
            behind: Behind::default(),
        })
    }

    /// What the service is asked before and after the load.
    pub(super) fn request<'b>(self, target: &'b Target) -> CheckRequest<'b>
    where
        'a: 'b,
    {
        CheckRequest {
            contract: self.trial.contract,
            target,
            protocol: self.trial.entry().protocol,
            seed: self.trial.seed(),
            thorough: false,
        }
    }

    fn check(
        self,
        request: &CheckRequest<'_>,
        subject: &mut Subject,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<CheckReport, Failure> {
        if self.bench.cancel.is_now() {
            return Err(Failure::interrupted(Stage::Check));
        }
        // Once in a run: it takes seconds, and what a service does when others go away is a matter of how it is written.
        let seen = if self.trial.planned.round == 0 {
            Some(prony_check::Subject {
                backing: &mut subject.companions,
                cpu_time: &mut |window| super::cpu_time(&mut *subject.service, window),
            })
        } else {
            None
        };
        let report = prony_check::check_beside(request, seen)?;
        watch(Progress::Checked(Box::new(report.row(&self.trial.id()))));
        match report.first_failure() {
            None => Ok(report),
            Some(failure) => Err(Failure::new(
                Stage::Check,
                format!("it breaks its contract: {failure}"),
            )),
        }
    }

    fn begin_load(self, target: &Target) -> Result<Box<dyn Loading>, Failure> {
        let job = job::job(self.trial, target, self.seat);
        let job = job.map_err(|error| Failure::lab(Stage::WarmUp, error.to_string()))?;
        let begun = (self.bench.generator).begin(&job, &self.seat.placement, &self.seat.log("generator"));
        begun.map_err(|error| Failure::host(Stage::WarmUp, &error))
    }
}

impl Entered {
    /// The measurement begins: from here on its resources count.
    pub fn begin_window(&mut self) -> Result<(), Failure> {
        window::begin(&mut self.subject, &mut *self.loading)
    }

    /// The measurement ends.
    pub fn end_window(&mut self) -> Result<Window, Failure> {
        window::end(&mut self.subject, &mut *self.loading)
    }

    /// What it gave, once what stands behind it was looked at. Without a window nothing is known of resources. The service and
    /// its load end here.
    pub fn measurement(
        self,
        bench: &RunContext<'_>,
        contract: &Contract,
        (recording, steadiness, window): (Recording, Steadiness, Option<Window>),
    ) -> Result<Measurement, Failure> {
        let mut done = self.done();
        done.look_behind((bench, contract), recording.answers.as_ref())?;
        let measurement = done.measurement(recording, steadiness, window);
        done.judge_during(contract, &measurement)?;
        Ok(measurement)
    }

    /// What is left of it when its load is over.
    pub(super) fn done(self) -> Done {
        Done {
            subject: self.subject,
            known: self.known,
        }
    }
}

/// A service whose load is over.
pub(super) struct Done {
    pub(super) subject: Subject,
    known: Known,
}

impl Done {
    /// Looks behind it when its load is over: what its companions hold must follow from the replies that came.
    pub(super) fn look_behind(
        &mut self,
        (bench, contract): (&RunContext<'_>, &Contract),
        answers: Option<&Answers>,
    ) -> Result<(), Failure> {
        let (behind, companions) = (&mut self.known.behind, &mut self.subject.companions);
        behind.judge(companions, contract, answers, bench.cancel)
    }

    /// Whether all was right behind it while its load went on.
    pub(super) fn judge_during(&self, contract: &Contract, measurement: &Measurement) -> Result<(), Failure> {
        judge_during(&self.subject.companions, contract, &measurement.companions)
    }

    /// What it gave.
    pub(super) fn measurement(
        &self,
        recording: Recording,
        steadiness: Steadiness,
        window: Option<Window>,
    ) -> Measurement {
        let mut measurement = window::measurement(window, recording, steadiness, self.known.start_up);
        measurement.after.clone_from(&self.known.behind.found);
        measurement.service_cpus = self.known.seat.placement.service.cpus.as_slice().to_vec();
        measurement.generator_cpus = self.known.seat.placement.generator().cpus.as_slice().to_vec();
        let bound = bound::companion_bound(&measurement, &self.known.seat.placement);
        measurement.warnings.extend(bound);
        measurement.warnings.extend(self.known.warnings.iter().cloned());
        if self.known.seat.lane.is_some() {
            // What the trials beside it used is not the noise of others.
            measurement.other_cpu_ns = None;
        }
        measurement
    }
}

fn one_cpu(service: &Service, placement: &Placement) -> Option<Warning> {
    let several = placement.service.cpus.len();
    (service.workers.uses == WorkersUse::OneCpu && several > 1).then(|| {
        let text = format!(
            "it can use one of its {several} CPUs only ({})",
            service.workers.how
        );
        Warning::new(WarningKind::OneCpu, text)
    })
}
