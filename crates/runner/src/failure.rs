//! Why a step of a trial failed.

use prony_host::HostError;
use prony_records::{Exclusion, Fault, TrialStage};

/// Why a step failed; with the log it becomes an [`Exclusion`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Failure {
    /// Which step.
    pub stage: TrialStage,
    /// What failed, in a sentence.
    pub reason: String,
    /// Whose fault it is.
    pub fault: Fault,
    /// What is known of it beyond the sentence.
    pub cause: FailureCause,
}

/// What caused a failure, as far as decisions depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// The step itself failed.
    Step,
    /// The service ended; the reason says how.
    ServiceEnded,
    /// A backing service failed; the reason names it.
    BackingService,
    /// The user asked to stop now: then there is no record at all.
    Interrupted,
}

impl Failure {
    /// A step failed, by the service's fault.
    pub fn new(stage: TrialStage, reason: impl Into<String>) -> Self {
        Self {
            stage,
            reason: reason.into(),
            fault: Fault::Service,
            cause: FailureCause::Step,
        }
    }

    /// An infrastructure failure: nothing is known of the service.
    pub fn infrastructure(stage: TrialStage, reason: impl Into<String>) -> Self {
        Self {
            fault: Fault::Infrastructure,
            ..Self::new(stage, reason)
        }
    }

    /// The service ended by itself.
    pub fn service_ended(stage: TrialStage, reason: impl Into<String>) -> Self {
        Self {
            cause: FailureCause::ServiceEnded,
            ..Self::new(stage, reason)
        }
    }

    /// A backing service failed, which says nothing of the service.
    pub fn backing_service(stage: TrialStage, reason: impl Into<String>) -> Self {
        Self {
            cause: FailureCause::BackingService,
            ..Self::infrastructure(stage, reason)
        }
    }

    /// The user asked to stop now.
    pub fn interrupted(stage: TrialStage) -> Self {
        Self {
            cause: FailureCause::Interrupted,
            ..Self::new(stage, "stopped by the user")
        }
    }

    /// The host failed in this step.
    pub fn host(stage: TrialStage, error: &HostError) -> Self {
        Self::infrastructure(stage, error.to_string())
    }

    /// Whether the user asked to stop.
    pub fn is_interrupted(&self) -> bool {
        self.cause == FailureCause::Interrupted
    }

    /// The same failure next to backing services. One that failed itself is the cause, and nothing is known of the service;
    /// what they say that the service asked too much of comes first.
    #[must_use]
    pub(crate) fn beside(self, fault: Option<String>, blames: Option<String>) -> Self {
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

    /// With the last lines of a log.
    pub fn with_log(self, log_tail: Vec<String>) -> Exclusion {
        Exclusion {
            stage: self.stage,
            reason: self.reason,
            log_tail,
            fault: self.fault,
        }
    }
}
