//! The placement of a trial: which role runs on which host and CPUs. `prony-testbed` computes it.

use crate::Cpus;
use prony_records::Warning;
use serde::{Deserialize, Serialize};

/// The placement of one role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolePlacement {
    /// The name of the host in its testbed file; empty: this machine, without a testbed file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// The address at which its servers are reachable.
    pub address: String,
    /// Its CPUs; empty: all.
    pub cpus: Cpus,
    /// CPUs of its supervisor; empty: all.
    #[serde(default, skip_serializing_if = "Cpus::is_empty")]
    pub keepers: Cpus,
}

/// The placement of every role of a trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    pub service: RolePlacement,
    /// The generator's workers; never empty.
    pub workers: Vec<RolePlacement>,
    /// The backing services.
    pub backing_service: Option<RolePlacement>,
    /// Deviations from the ideal placement.
    pub warnings: Vec<Warning>,
}

impl Placement {
    /// The first worker.
    ///
    /// # Panics
    /// If there is no worker.
    pub fn generator(&self) -> &RolePlacement {
        self.workers
            .first()
            .expect("invariant: a load has at least one worker")
    }

    /// Swaps the CPUs of service and generator if both are on one host and have equally many.
    #[must_use]
    pub fn turned(mut self) -> Self {
        if let [worker] = &mut self.workers[..]
            && worker.host == self.service.host
            && worker.cpus.len() == self.service.cpus.len()
        {
            std::mem::swap(&mut self.service.cpus, &mut worker.cpus);
            let keepers = worker.cpus.clone();
            let places = [
                Some(&mut self.service),
                Some(worker),
                self.backing_service.as_mut(),
            ];
            for place in places.into_iter().flatten() {
                place.keepers.clone_from(&keepers);
            }
        }
        self
    }
}
