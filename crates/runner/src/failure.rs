//! Why a step of a trial failed.

use prony_host::{ExitReport, HostError};
use prony_records::{Exclusion, Fault, TrialStage};

/// Why a step failed. With the log it becomes an [`Exclusion`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Failure {
    /// The step.
    pub stage: TrialStage,
    /// The reason, as a sentence.
    pub reason: String,
    /// Whether the service or the infrastructure is at fault.
    pub fault: Fault,
    /// The kind of cause.
    pub cause: FailureCause,
}

/// The causes that are handled differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// The step itself failed.
    Step,
    /// The service ended; the reason says how.
    ServiceEnded,
    /// A backing service failed; the reason names it.
    BackingService,
    /// The user cancelled the run: the trial has no record.
    Interrupted,
}

impl Failure {
    /// A failure of the service.
    pub fn new(stage: TrialStage, reason: impl Into<String>) -> Self {
        Self {
            stage,
            reason: reason.into(),
            fault: Fault::Service,
            cause: FailureCause::Step,
        }
    }

    /// An infrastructure failure, which says nothing about the service.
    pub fn infrastructure(stage: TrialStage, reason: impl Into<String>) -> Self {
        Self {
            fault: Fault::Infrastructure,
            ..Self::new(stage, reason)
        }
    }

    /// The service ended. It is not to blame if it was killed from outside.
    pub fn service_ended(stage: TrialStage, ending: &ExitReport, reason: impl Into<String>) -> Self {
        Self {
            cause: FailureCause::ServiceEnded,
            fault: fault_of(ending),
            ..Self::new(stage, reason)
        }
    }

    /// A backing service failed, which says nothing about the service.
    pub fn backing_service(stage: TrialStage, reason: impl Into<String>) -> Self {
        Self {
            cause: FailureCause::BackingService,
            ..Self::infrastructure(stage, reason)
        }
    }

    /// The user cancelled the run.
    pub fn interrupted(stage: TrialStage) -> Self {
        Self {
            cause: FailureCause::Interrupted,
            ..Self::new(stage, "stopped by the user")
        }
    }

    /// An operation on a host failed: an infrastructure failure, unless the program of a container cannot be executed.
    pub fn host(stage: TrialStage, error: &HostError) -> Self {
        match error {
            HostError::Program { .. } => Self::new(stage, error.to_string()),
            _ => Self::infrastructure(stage, error.to_string()),
        }
    }

    /// Whether the user cancelled the run.
    pub fn is_interrupted(&self) -> bool {
        self.cause == FailureCause::Interrupted
    }

    /// Adds the state of the backing services. A failed backing service is the cause, and the service is not to blame. If a backing
    /// service logged that the service exceeded a limit (`blames`), this is stated first.
    #[must_use]
    pub(crate) fn with_backing_services(self, fault: Option<String>, blames: Option<String>) -> Self {
        match (self.cause, fault, blames) {
            (FailureCause::Interrupted, ..) | (_, None, None) => self,
            (FailureCause::BackingService, Some(fault), _) => Self::backing_service(self.stage, fault),
            (_, Some(fault), _) => Self::backing_service(self.stage, format!("{fault}; {}", self.reason)),
            (_, None, Some(blames)) => Self {
                reason: format!("{blames}; {}", self.reason),
                ..self
            },
        }
    }

    /// Adds the last lines of a log.
    pub fn with_log(self, log_tail: Vec<String>) -> Exclusion {
        Exclusion {
            stage: self.stage,
            reason: self.reason,
            log_tail,
            fault: self.fault,
        }
    }
}

/// Who is to blame for the end of a service, or of one of its processes.
pub(crate) const fn fault_of(ending: &ExitReport) -> Fault {
    if ending.is_from_outside() {
        Fault::Infrastructure
    } else {
        Fault::Service
    }
}
