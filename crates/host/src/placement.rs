//! Which role of a trial runs where. With one host every role has its address; what differs are the CPUs. Over several
//! hosts the crate of labs decides.

use crate::{Cpus, Host, Topology, Wants};
use prony_measurement::Warning;
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
    /// What stands beside the service: its backend.
    pub companion: Option<Place>,
    /// What is not as it should be.
    pub warnings: Vec<Warning>,
}

impl Placement {
    /// All roles on one host, each on CPUs of its own where there are enough:
    /// the generator gets a third of the cores, and no role reaches over two memory nodes.
    pub fn on_one_host(topology: &Topology, address: &str, wants: Wants) -> Self {
        let split = topology.split(wants);
        // Everything of prony's own runs where the generator does.
        let keepers = split.generator.clone();
        let place = |cpus| Place {
            host: String::new(),
            address: address.to_owned(),
            cpus,
            keepers: keepers.clone(),
        };
        Self {
            service: place(split.service),
            workers: vec![place(split.generator)],
            companion: split.backend.map(place),
            warnings: split.warnings,
        }
    }

    /// All roles on this host.
    pub fn on(host: &dyn Host, wants: Wants) -> Self {
        Self::on_one_host(host.topology(), host.address(), wants)
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Core;
    use proptest::prelude::*;

    fn machine(cores: usize) -> Topology {
        let core = |core: usize| Core {
            node: 0,
            package: 0,
            core: core as u32,
            cpus: vec![core],
        };
        Topology {
            cores: (0..cores).map(core).collect(),
        }
    }

    #[test]
    fn every_role_has_an_address_and_its_own_cpus() {
        let wants = Wants {
            backend: true,
            service_cpus: None,
        };
        let placement = Placement::on_one_host(&machine(4), "10.0.0.7", wants);
        let companion = placement.companion.clone().expect("wanted");
        for place in [&placement.service, placement.generator(), &companion] {
            assert_eq!(place.address.as_str(), "10.0.0.7");
        }
        assert_eq!(placement.generator().cpus.to_string(), "0");
        assert_eq!(companion.cpus.to_string(), "1");
        assert_eq!(placement.service.cpus.to_string(), "2-3");
    }

    #[test]
    fn nobody_asked_for_a_companion() {
        let placement = Placement::on_one_host(&machine(4), "127.0.0.1", Wants::default());
        assert_eq!(placement.companion, None);
    }

    proptest! {
        #[test]
        fn it_says_what_the_split_says(cores in 0..40_usize, backend: bool, most in prop::option::of(0..9_usize)) {
            let wants = Wants { backend, service_cpus: most };
            let (placement, split) = (Placement::on_one_host(&machine(cores), "::1", wants), machine(cores).split(wants));
            prop_assert_eq!(&placement.service.cpus, &split.service);
            prop_assert_eq!(&placement.generator().cpus, &split.generator);
            prop_assert_eq!(placement.companion.as_ref().map(|place| &place.cpus), split.backend.as_ref());
            prop_assert_eq!(placement.clone().turned().turned(), placement);
        }
    }
}
