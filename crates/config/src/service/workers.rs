//! How a service uses CPUs.

use serde::{Deserialize, Serialize};

/// How a service uses CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workers {
    /// With what.
    pub uses: WorkersUse,
    /// In a sentence.
    pub how: String,
}

impl Workers {
    /// Of an image, or of a service that runs already, where nothing is written.
    pub(super) fn unknown(how: &str) -> Self {
        Self {
            uses: WorkersUse::Threads,
            how: how.to_owned(),
        }
    }
}

/// With what a service uses CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkersUse {
    /// Threads of one process.
    Threads,
    /// Processes.
    Processes,
    /// Event loops in threads of one process.
    EventLoops,
    /// It cannot use more than one CPU.
    OneCpu,
}
