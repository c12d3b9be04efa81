//! Which role of a trial runs where: what the crate of labs decides.

use crate::Cpus;
use prony_records::Warning;
use serde::{Deserialize, Serialize};

/// Where one role runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The host, as its lab calls it; empty: this machine, without a lab.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Where what listens there is reached.
    pub address: String,
    /// Its CPUs; empty: all.
    pub cpus: Cpus,
    /// CPUs of what looks after it; empty: all.
    #[serde(default, skip_serializing_if = "Cpus::is_empty")]
    pub keepers: Cpus,
}

/// Where every role of a trial runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The service.
    pub service: Place,
    /// The generator, on each of its workers; never empty.
    pub workers: Vec<Place>,
    /// What stands beside the service: its companions.
    pub companion: Option<Place>,
    /// What is not as it should be.
    pub warnings: Vec<Warning>,
}

impl Placement {
    /// The first worker.
    ///
    /// # Panics
    /// Where there is none.
    pub fn generator(&self) -> &Place {
        self.workers
            .first()
            .expect("invariant: a load is made by somebody")
    }

    /// The same with the CPUs of service and generator exchanged, where there are as many of each on one host.
    #[must_use]
    pub fn turned(mut self) -> Self {
        if let [worker] = &mut self.workers[..]
            && worker.host == self.service.host
            && worker.cpus.len() == self.service.cpus.len()
        {
            std::mem::swap(&mut self.service.cpus, &mut worker.cpus);
            let keepers = worker.cpus.clone();
            let places = [Some(&mut self.service), Some(worker), self.companion.as_mut()];
            for place in places.into_iter().flatten() {
                place.keepers.clone_from(&keepers);
            }
        }
        self
    }
}
