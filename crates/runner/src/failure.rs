//! Why a step of a trial failed.

use prony_host::HostError;
use prony_records::{Exclusion, Fault, Stage};

/// Why a step failed; with the log it becomes an [`Exclusion`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Failure {
    /// Which step.
    pub stage: Stage,
    /// What failed, in a sentence.
    pub reason: String,
    /// Whose fault it is.
    pub fault: Fault,
    /// Whether the user ended it: then there is no row at all.
    pub interrupted: bool,
}

impl Failure {
    /// A step failed, by the service's fault.
    pub fn new(stage: Stage, reason: impl Into<String>) -> Self {
        Self {
            stage,
            reason: reason.into(),
            fault: Fault::Service,
            interrupted: false,
        }
    }

    /// A step failed, by the bench's fault: nothing is known of the service.
    pub fn infrastructure(stage: Stage, reason: impl Into<String>) -> Self {
        Self {
            fault: Fault::Infrastructure,
            ..Self::new(stage, reason)
        }
    }

    /// The user asked to stop now.
    pub fn interrupted(stage: Stage) -> Self {
        Self {
            interrupted: true,
            ..Self::new(stage, "stopped by the user")
        }
    }

    /// The host failed in this step.
    pub fn host(stage: Stage, error: &HostError) -> Self {
        Self::infrastructure(stage, error.to_string())
    }

    /// The same beside backing services: one that failed itself is why, and nothing is known of the service; what they say that it
    /// asked too much of is told.
    #[must_use]
    pub(crate) fn beside(self, fault: Option<String>, blames: Option<String>) -> Self {
        match (fault, blames) {
            _ if self.interrupted => self,
            (Some(fault), _) if !self.reason.contains(&fault) => {
                Self::infrastructure(self.stage, format!("{fault}; {}", self.reason))
            }
            (None, Some(blames)) => Self {
                reason: format!("{blames}; {}", self.reason),
                ..self
            },
            _ => self,
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
