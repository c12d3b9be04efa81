//! A running service, from its start to its end.

use crate::backing::Invariants;
use crate::failure::FailureCause;
use crate::start::{self, LATER, SOON, ServiceTargets, StartedService, is_listening, wait_until_ready};
use crate::trial::Trial;
use crate::{Failure, RunContext};
use prony_check::CheckRequest;
use prony_config::{Channel, Design};
use prony_host::ExitReport;
use prony_load::Target;
use prony_records::{Exclusion, StartUp, TrialStage, Warning};

/// Log lines that are stored with an exclusion.
pub(super) const LOG_LINES: usize = 20;

/// A running service.
pub(super) struct ReadyService {
    pub(super) subject: StartedService,
    /// Start-up times.
    pub(super) start_up: StartUp,
    /// Warnings about its numbers.
    pub(super) warnings: Vec<Warning>,
    /// Data of backing services before its load.
    pub(super) invariants: Invariants,
}

impl ReadyService {
    /// Waits until it is ready.
    pub(super) fn wait(&mut self, context: &RunContext<'_>, trial: &Trial<'_>) -> Result<(), Failure> {
        let targets = self.subject.targets.clone();
        let service = &mut *self.subject.service;
        let limit = trial.service.start_timeout;
        let is_measured = trial.plan.design == Design::Starts;
        let later = if is_measured { SOON } else { LATER };
        let mut start_up = wait_until_ready(service, readiness(trial, &targets), (limit, later), context)?;
        if is_measured {
            start_up.first_reply = Some(service.footprint());
            // That is after a rest.
            start_up.idle_memory_bytes = None;
        }
        // The reply may have come from another process that has the port.
        if let Some(ending) = service.ended() {
            let text = format!("the service {ending} before it was ready");
            return Err(Failure::service_ended(TrialStage::Start, &ending, text));
        }
        start::forget_unobserved_start(trial.service, &mut start_up);
        self.start_up = start_up;
        Ok(())
    }

    pub(super) fn port_is_taken(&self) -> bool {
        let targets = &self.subject.targets;
        let mut ports = std::iter::once(&targets.clear).chain(targets.tls());
        ports.any(|target| is_listening(&target.host, target.port))
    }

    /// Ends it after a failed step. Returns the reason, with the end of its log.
    pub(super) fn end_after(mut self, failure: Failure) -> Exclusion {
        let backing_services = &mut self.subject.backing_services;
        let failure = failure.with_backing_services(backing_services.fault(), backing_services.blames());
        let service = &mut self.subject.service;
        let ended = service.ended();
        // A service that the kernel kills loses its connections before its process has ended; then only `stop` reports why. Errors of
        // `stop` are ignored: the service is killed in any case.
        let stopped = service.stop().ok();
        if let Some(ending) = &stopped {
            self.subject.build.changed_by_service(ending);
        }
        let stopped = stopped.filter(|ending| ending.why.is_some());
        let failure = with_exit(failure, ended.or(stopped).as_ref());
        failure.with_log(service.log_tail(LOG_LINES))
    }
}

/// Adds that the service has ended: this is the cause, unless the failure states it already.
fn with_exit(failure: Failure, ended: Option<&ExitReport>) -> Failure {
    let is_known = failure.stage == TrialStage::Start
        || matches!(
            failure.cause,
            FailureCause::ServiceEnded | FailureCause::Interrupted
        );
    match ended {
        // It is unknown how a process ended whose host is lost: the service is not to blame.
        Some(ending) if !is_known && *ending != ExitReport::default() => {
            let text = format!("the service {ending}; {}", failure.reason);
            Failure::service_ended(failure.stage, ending, text)
        }
        _ => failure,
    }
}

/// The request for the checks before and after the load.
pub(super) fn request<'b>(trial: &Trial<'b>, targets: &'b ServiceTargets) -> CheckRequest<'b> {
    let checked = (trial.contract, trial.entry().channel);
    targets.check_request(trial.service, checked, (trial.seed(), false))
}

/// The request that a service must answer to be ready, and its TLS port. Start-up times are those without TLS where the service offers
/// its protocol so.
pub(super) fn readiness<'b>(
    trial: &Trial<'b>,
    targets: &'b ServiceTargets,
) -> (CheckRequest<'b>, Option<&'b Target>) {
    let channel = trial.entry().channel;
    let clear = Channel::from(channel.protocol());
    let is_offered = trial.service.offers(&trial.contract.name, clear);
    let checked = (trial.contract, if is_offered { clear } else { channel });
    let request = targets.check_request(trial.service, checked, (trial.seed(), false));
    (request, targets.tls())
}
