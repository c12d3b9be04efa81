//! How a service uses CPUs.

use serde::{Deserialize, Serialize};

/// How a service uses CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workers {
    pub uses: WorkersUse,
    /// A description in a sentence.
    pub how: String,
}

impl Workers {
    /// For an image or an external service whose file does not describe it.
    pub(super) fn unknown(how: &str) -> Self {
        Self {
            uses: WorkersUse::Threads,
            how: how.to_owned(),
        }
    }
}

/// The kind of workers of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkersUse {
    Threads,
    Processes,
    /// Event loops in threads of one process.
    EventLoops,
    /// It can use only one CPU.
    OneCpu,
}
