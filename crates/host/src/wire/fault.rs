//! What failed on the other side.

use crate::HostError;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What failed on the other side, as its [`HostError`] says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// [`HostError::Start`].
    Start {
        /// The process's name.
        name: String,
        /// Why.
        reason: String,
    },
    /// [`HostError::NotIsolated`].
    NotIsolated {
        /// The process's name.
        name: String,
        /// Why.
        reason: String,
    },
    /// [`HostError::SupervisorLost`].
    SupervisorLost {
        /// The process's name.
        name: String,
        /// What it did.
        what: String,
    },
    /// [`HostError::Taken`].
    Taken {
        /// The CPU.
        cpu: usize,
        /// Who has it.
        holder: String,
    },
    /// [`HostError::NoRoom`].
    NoRoom {
        /// Where.
        path: PathBuf,
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// Anything else.
    Other {
        /// What failed, where, and what to do.
        text: String,
    },
}

impl Fault {
    /// Something of no sort of its own.
    pub(crate) fn other(text: impl Into<String>) -> Self {
        Self::Other { text: text.into() }
    }

    /// As it is told by whoever asked `host`.
    pub(crate) fn on(self, host: &str) -> HostError {
        let host = host.to_owned();
        match self {
            Self::Start { name, reason } => HostError::Start { name, reason },
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
