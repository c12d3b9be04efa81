//! The CPUs of a machine, and who gets which.

mod read;
mod split;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
pub use split::{Split, Wants};

/// The CPUs that may be used, by core.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// The cores.
    pub cores: Vec<Core>,
}

/// A physical core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Core {
    /// Memory node that is near.
    pub node: u32,
    /// Socket.
    pub package: u32,
    /// Number within its socket.
    pub core: u32,
    /// Its CPUs that may be used (two or more with SMT), ascending.
    pub cpus: Vec<usize>,
}

impl Topology {
    /// The CPUs that this process may use on this machine.
    pub fn of_this_machine() -> Self {
        read::read()
    }

    /// All CPUs.
    pub fn cpus(&self) -> crate::Cpus {
        self.cores
            .iter()
            .flat_map(|core| core.cpus.iter().copied())
            .collect()
    }
}
