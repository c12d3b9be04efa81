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

    /// As many of the CPUs as a quota of CPU time pays for, at least one: more of them would only use it up sooner, and all
    /// stop at once then. They lie in one memory node where that has enough, and on as many cores as possible; the last ones,
    /// since interrupts and housekeeping prefer the first.
    #[must_use]
    pub fn within(&self, quota: f64) -> Self {
        let most = (quota.floor() as usize).max(1);
        if self.cpus().len() <= most {
            return self.clone();
        }
        let in_node = |node: u32| self.cores.iter().filter(move |core| core.node == node);
        let has_enough = |node: &u32| in_node(*node).map(|core| core.cpus.len()).sum::<usize>() >= most;
        let node = self.cores.iter().rev().map(|core| core.node).find(has_enough);
        let eligible = |core: &&Core| node.is_none_or(|node| core.node == node);
        let mut cpus: Vec<(usize, usize)> = Vec::new();
        for core in self.cores.iter().filter(eligible).rev() {
            cpus.extend(core.cpus.iter().copied().enumerate());
        }
        // The first CPU of each core, then the second of each; stable, so the last cores stay in front.
        cpus.sort_by_key(|(thread, _)| *thread);
        let chosen: crate::Cpus = cpus.into_iter().take(most).map(|(_, cpu)| cpu).collect();
        self.only(&chosen)
    }

    /// These of the CPUs.
    #[must_use]
    pub fn only(&self, chosen: &crate::Cpus) -> Self {
        let part = |core: &Core| {
            let cpus = core
                .cpus
                .iter()
                .copied()
                .filter(|cpu| chosen.as_slice().contains(cpu));
            Core {
                cpus: cpus.collect(),
                ..core.clone()
            }
        };
        let cores = self.cores.iter().map(part).filter(|core| !core.cpus.is_empty());
        Self {
            cores: cores.collect(),
        }
    }

    /// All CPUs.
    pub fn cpus(&self) -> crate::Cpus {
        self.cores
            .iter()
            .flat_map(|core| core.cpus.iter().copied())
            .collect()
    }
}
