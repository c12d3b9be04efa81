//! What a plan needs to know of the machine and of the network, as plain data.

use serde::{Deserialize, Serialize};

/// What the machine has: what a suite asks beyond it is refused before anything starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// CPUs that are online.
    pub cpus: u32,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// What prony and all that it starts may have of it, bytes; `None`: all.
    pub memory_limit_bytes: Option<u64>,
    /// Files that a process may have open.
    pub open_files: Option<u64>,
    /// Ports that connections to one address can come from.
    pub local_ports: Option<u32>,
}

impl Machine {
    /// The memory that there is for services, bytes, and whose it is, in words.
    pub(crate) fn memory(&self) -> Option<(u64, &'static str)> {
        let granted = self.memory_limit_bytes.map(|bytes| {
            let whose = "prony may have here (the limit of its container or control group)";
            (bytes, whose)
        });
        granted.or(self.memory_bytes.map(|bytes| (bytes, "this machine has")))
    }
}

/// Where services listen; what is absent is chosen anew for each start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Address {
    /// Address of the interface; that of the host's loopback where absent.
    #[serde(default)]
    pub host: Option<String>,
    /// Port; a free one where absent.
    #[serde(default)]
    pub port: Option<u16>,
}

impl Address {
    /// This address, and what it leaves open from another.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        Self {
            host: self.host.or_else(|| other.host.clone()),
            port: self.port.or(other.port),
        }
    }
}
