//! Why a step of a trial failed.

use prony_host::HostError;
use prony_measurement::{Exclusion, Stage};

/// Why a step failed; with the log it becomes an [`Exclusion`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Failure {
    /// Which step.
    pub stage: Stage,
    /// What failed, in a sentence.
    pub reason: String,
    /// Whether the user ended it: then there is no row at all.
    pub interrupted: bool,
}

impl Failure {
    /// A step failed.
    pub fn new(stage: Stage, reason: impl Into<String>) -> Self {
        Self {
            stage,
            reason: reason.into(),
            interrupted: false,
        }
    }

    /// The user asked to stop now.
    pub fn interrupted(stage: Stage) -> Self {
        Self {
            stage,
            reason: "stopped by the user".to_owned(),
            interrupted: true,
        }
    }

    /// The host failed in this step.
    pub fn host(stage: Stage, error: &HostError) -> Self {
        Self::new(stage, error.to_string())
    }

    /// With the last lines of a log.
    pub fn with_log(self, log_tail: Vec<String>) -> Exclusion {
        Exclusion {
            stage: self.stage,
            reason: self.reason,
            log_tail,
        }
    }
}
