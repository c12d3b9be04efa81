//! The CPUs of a machine, and their assignment to roles.

mod read;
mod split;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
pub use split::{CpuDemand, Split};

/// The usable CPUs, by core.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    pub cores: Vec<Core>,
}

/// A physical core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Core {
    /// NUMA node.
    pub node: u32,
    pub package: u32,
    /// Number within its socket.
    pub core: u32,
    /// Its usable CPUs (two or more with SMT), ascending.
    pub cpus: Vec<usize>,
}

impl Topology {
    /// The CPUs that this process may use on this machine.
    pub fn of_this_machine() -> Self {
        read::read()
    }

    /// Reduces the CPUs to as many as a CPU quota pays for, at least one: more CPUs would only use it up sooner, and then all stop
    /// at once. They are in one NUMA node if it has enough, and on as many cores as possible. Prefers the last CPUs, since
    /// interrupts and housekeeping prefer the first.
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
        // The first CPU of each core, then the second of each. The sort is stable, so the last cores stay in front.
        cpus.sort_by_key(|(thread, _)| *thread);
        let chosen: crate::Cpus = cpus.into_iter().take(most).map(|(_, cpu)| cpu).collect();
        self.only(&chosen)
    }

    /// Reduces the CPUs to those in `chosen`.
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

    pub fn cpus(&self) -> crate::Cpus {
        self.cores
            .iter()
            .flat_map(|core| core.cpus.iter().copied())
            .collect()
    }
}
