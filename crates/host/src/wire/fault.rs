//! Errors that an agent sends to the controller.

use crate::HostError;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A [`HostError`] in serializable form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// [`HostError::Start`].
    Start {
        /// The name of the process.
        name: String,
        reason: String,
    },
    /// [`HostError::Program`].
    Program {
        /// The name of the process.
        name: String,
        reason: String,
    },
    /// [`HostError::NotIsolated`].
    NotIsolated {
        /// The name of the process.
        name: String,
        reason: String,
    },
    /// [`HostError::SupervisorLost`].
    SupervisorLost {
        /// The name of the process.
        name: String,
        /// What the supervisor did: the predicate of the sentence.
        what: String,
    },
    /// [`HostError::Taken`].
    Taken {
        cpu: usize,
        /// The run that has it.
        holder: String,
    },
    /// [`HostError::NoRoom`].
    NoRoom {
        path: PathBuf,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// Any other error.
    Other {
        /// What failed, where, and what to do.
        text: String,
    },
}

impl Fault {
    /// An error without a variant of its own.
    pub(crate) fn other(text: impl Into<String>) -> Self {
        Self::Other { text: text.into() }
    }

    /// The same error for the controller, which knows the agent's host as `host`.
    pub(crate) fn on(self, host: &str) -> HostError {
        let host = host.to_owned();
        match self {
            Self::Start { name, reason } => HostError::Start { name, reason },
            Self::Program { name, reason } => HostError::Program { name, reason },
            Self::NotIsolated { name, reason } => HostError::NotIsolated { name, reason },
            Self::SupervisorLost { name, what } => HostError::SupervisorLost { name, what },
            Self::Taken { cpu, holder } => HostError::Taken { host, cpu, holder },
            Self::NoRoom { path, needed, free } => HostError::NoRoom {
                host,
                path,
                needed,
                free,
            },
            Self::Other { text } => HostError::There { host, text },
        }
    }
}

impl From<HostError> for Fault {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Start { name, reason } => Self::Start { name, reason },
            HostError::Program { name, reason } => Self::Program { name, reason },
            HostError::NotIsolated { name, reason } => Self::NotIsolated { name, reason },
            HostError::SupervisorLost { name, what } => Self::SupervisorLost { name, what },
            HostError::Taken { cpu, holder, .. } => Self::Taken { cpu, holder },
            HostError::NoRoom {
                path, needed, free, ..
            } => Self::NoRoom { path, needed, free },
            other => Self::other(other.to_string()),
        }
    }
}
