//! A service that runs, from when it is ready until it is ended.

use crate::backing::Invariants;
use crate::failure::FailureCause;
use crate::port_probe::is_listening;
use crate::start::{self, StartedService, wait_until_ready};
use crate::trial::Trial;
use crate::{Failure, RunContext};
use prony_check::CheckRequest;
use prony_host::ExitReport;
use prony_load::Target;
use prony_records::{Exclusion, StartUp, TrialStage, Warning};

/// Lines of a log that are kept with the reason of an exclusion.
pub(super) const LOG_LINES: usize = 20;

/// A service that runs.
pub(super) struct ReadyService {
    pub(super) subject: StartedService,
    /// How it came up.
    pub(super) start_up: StartUp,
    /// What casts doubt on its figures.
    pub(super) warnings: Vec<Warning>,
    /// What backing services held before its load.
    pub(super) invariants: Invariants,
}

impl ReadyService {
    /// Until it is ready, and still there.
    pub(super) fn wait(&mut self, context: &RunContext<'_>, trial: &Trial<'_>) -> Result<(), Failure> {
        let target = self.subject.target.clone();
        let service = &mut *self.subject.service;
        let limit = trial.service.start_timeout;
        let start_up = wait_until_ready(service, &request(trial, &target), limit, context)?;
        // What answered may be another process, which has the port.
        if let Some(ending) = service.ended() {
            let text = format!("the service {ending}, before it was ready");
            return Err(Failure::service_ended(TrialStage::Start, text));
        }
        self.start_up = start::start_up(trial.service, start_up);
        Ok(())
    }

    pub(super) fn port_is_taken(&self) -> bool {
        let target = &self.subject.target;
        is_listening(&target.host, target.port)
    }

    /// Ends it. Returns why its step failed, with the end of its log.
    pub(super) fn leave(mut self, failure: Failure) -> Exclusion {
        let backing_services = &mut self.subject.backing_services;
        let failure = failure.beside(backing_services.fault(), backing_services.blames());
        let service = &mut self.subject.service;
        let ended = service.ended();
        // The failure is known already, and the service is killed in any case. What the kernel kills loses its connections before
        // it has ended: then only its stop tells.
        let stopped = service.stop().ok().filter(|ending| ending.why.is_some());
        let failure = explained(failure, ended.or(stopped).as_ref());
        failure.with_log(service.log_tail(LOG_LINES))
    }
}

/// A failure where the service has ended: that is the cause, unless the failure says so itself.
fn explained(failure: Failure, ended: Option<&ExitReport>) -> Failure {
    let is_known = failure.stage == TrialStage::Start
        || matches!(
            failure.cause,
            FailureCause::ServiceEnded | FailureCause::Interrupted
        );
    match ended {
        // How a process ended that was lost with its host is not known: it is not to blame.
        Some(ending) if !is_known && *ending != ExitReport::default() => {
            let text = format!("the service {ending}; {}", failure.reason);
            Failure::service_ended(failure.stage, text)
        }
        _ => failure,
    }
}

/// The requests of a check before and after the load.
pub(super) fn request<'b>(trial: &Trial<'b>, target: &'b Target) -> CheckRequest<'b> {
    CheckRequest {
        contract: trial.contract,
        target,
        protocol: trial.entry().protocol,
        seed: trial.seed(),
        thorough: false,
    }
}
