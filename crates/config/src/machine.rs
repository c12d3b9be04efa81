//! Plain data about the machine and the network, for plans.

use serde::{Deserialize, Serialize};

/// The resources of the machine. A suite that exceeds them is rejected before anything starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    pub cpus: u32,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// The memory that prony and its child processes may use, bytes; `None`: all.
    pub memory_limit_bytes: Option<u64>,
    /// The limit of open files of a process.
    pub open_files: Option<u64>,
    /// The number of local ports for connections to one address.
    pub local_ports: Option<u32>,
}

impl Machine {
    /// The memory available for services, bytes, and a phrase that names its source.
    pub(crate) fn memory(&self) -> Option<(u64, &'static str)> {
        let granted = self.memory_limit_bytes.map(|bytes| {
            let whose = "prony may have here (the limit of its container or control group)";
            (bytes, whose)
        });
        granted.or(self.memory_bytes.map(|bytes| (bytes, "this machine has")))
    }
}

/// Where services listen; absent values are chosen again for each start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Address {
    /// Address of the interface; default: the loopback address of the host.
    #[serde(default)]
    pub host: Option<String>,
    /// Port; default: a free one.
    #[serde(default)]
    pub port: Option<u16>,
}

impl Address {
    /// This address, with absent values taken from another.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        Self {
            host: self.host.or_else(|| other.host.clone()),
            port: self.port.or(other.port),
        }
    }
}
