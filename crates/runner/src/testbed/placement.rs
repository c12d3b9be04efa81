//! Assigns the roles of a trial to CPUs of several hosts. It depends only on the topologies.

use prony_host::{CpuDemand, Cpus, Placement, RolePlacement, Topology};

/// The properties of a host that determine a placement.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    /// Its name in the testbed.
    pub(crate) name: &'a str,
    /// The CPUs that prony uses.
    pub(crate) topology: &'a Topology,
    /// All of its CPUs.
    pub(crate) all: &'a Topology,
    pub(crate) address: &'a str,
}

/// Places service, backing service and workers, which are given as indexes of hosts. A host with one role gives it all of its
/// CPUs. Roles that share a host share its CPUs as on a single machine.
pub(crate) fn across(
    hosts: &[Site<'_>],
    (service, backing_service, workers): (usize, usize, &[usize]),
    wants: CpuDemand,
) -> Placement {
    let backing_service = wants.backing_service.then_some(backing_service);
    let shares: Vec<Share> = (0..hosts.len())
        .map(|host| {
            let roles = HostRoles {
                service: host == service,
                backing_service: backing_service == Some(host),
                load: workers.contains(&host),
            };
            share(hosts[host], roles, wants.service_cpus)
        })
        .collect();
    let place = |host: usize, cpus: &Cpus| RolePlacement {
        host: hosts[host].name.to_owned(),
        address: hosts[host].address.to_owned(),
        cpus: cpus.clone(),
        batch_policy: false,
        keepers: shares[host].keepers.clone(),
    };
    Placement {
        service: place(service, &shares[service].service),
        workers: workers
            .iter()
            .map(|&host| place(host, &shares[host].load))
            .collect(),
        backing_service: backing_service.map(|host| place(host, &shares[host].backing_service)),
        warnings: shares.iter().flat_map(|share| share.warnings.clone()).collect(),
    }
}

/// The roles of one host.
#[derive(Clone, Copy)]
struct HostRoles {
    service: bool,
    backing_service: bool,
    load: bool,
}

/// The CPUs of each role on one host.
#[derive(Default)]
struct Share {
    service: Cpus,
    backing_service: Cpus,
    load: Cpus,
    keepers: Cpus,
    warnings: Vec<prony_records::Warning>,
}

fn share(host: Site<'_>, roles: HostRoles, service_cpus: Option<usize>) -> Share {
    let topology = host.topology;
    if let HostRoles {
        service: true,
        load,
        backing_service,
    } = roles
        && (load || backing_service)
    {
        // If the generator runs on another host, the backing service gets its CPUs.
        let split = topology.split(CpuDemand {
            backing_service: load && backing_service,
            service_cpus,
        });
        return Share {
            backing_service: split.backing_service.unwrap_or_else(|| split.generator.clone()),
            keepers: split.generator.clone(),
            load: split.generator,
            service: split.service,
            warnings: split.warnings,
        };
    }
    if let HostRoles {
        backing_service: true,
        load: true,
        ..
    } = roles
    {
        let split = topology.split(CpuDemand {
            backing_service: false,
            service_cpus: None,
        });
        return Share {
            // The generator gets the larger part: a generator that is the bottleneck distorts results more than a backing
            // service does.
            load: split.service,
            backing_service: split.generator.clone(),
            keepers: split.generator,
            ..Share::default()
        };
    }
    let cpus = match (roles.service, service_cpus) {
        (true, Some(most)) => topology.within(most as f64).cpus(),
        _ => topology.cpus(),
    };
    Share {
        keepers: besides(host, &cpus),
        service: cpus.clone(),
        backing_service: cpus.clone(),
        load: cpus,
        warnings: Vec::new(),
    }
}

/// CPUs of a host that its only role does not use. Empty if the role uses all; then prony's own processes share them.
fn besides(host: Site<'_>, used: &Cpus) -> Cpus {
    let all = host.all.cpus();
    let free = all.as_slice().iter().copied();
    free.filter(|cpu| !used.as_slice().contains(cpu)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_host::Core;
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

    fn site<'a>(name: &'a str, topology: &'a Topology) -> Site<'a> {
        Site {
            name,
            topology,
            all: topology,
            address: name,
        }
    }

    const BESIDE: CpuDemand = CpuDemand {
        backing_service: true,
        service_cpus: None,
    };

    #[test]
    fn a_host_with_one_role_gives_it_all() {
        let (small, large) = (machine(2), machine(8));
        let hosts = [
            site("app", &large),
            site("load1", &small),
            site("load2", &small),
            site("db", &small),
        ];
        let placement = across(&hosts, (0, 3, &[1, 2]), BESIDE);
        assert_eq!(placement.service.cpus.to_string(), "0-7");
        assert_eq!(
            (
                placement.service.host.as_str(),
                placement.service.address.as_str()
            ),
            ("app", "app")
        );
        let workers: Vec<&str> = placement
            .workers
            .iter()
            .map(|worker| worker.host.as_str())
            .collect();
        assert_eq!(workers, ["load1", "load2"]);
        let backing_service = placement.backing_service.expect("wanted");
        assert_eq!(
            (
                backing_service.host.as_str(),
                backing_service.cpus.to_string().as_str()
            ),
            ("db", "0-1")
        );
        assert!(placement.warnings.is_empty());
    }

    #[test]
    fn cpus_that_are_left_are_those_of_prony() {
        let (part, all) = (machine(2), machine(3));
        let app = Site {
            all: &all,
            ..site("app", &part)
        };
        let placement = across(&[app, site("load", &part)], (0, 1, &[1]), CpuDemand::default());
        assert_eq!(placement.service.cpus.to_string(), "0-1");
        assert_eq!(placement.service.keepers.to_string(), "2");
        assert!(
            placement.generator().keepers.is_empty(),
            "all are the generator's"
        );
    }

    #[test]
    fn a_service_has_as_many_cpus_as_it_may() {
        let eight = machine(8);
        let wants = CpuDemand {
            backing_service: false,
            service_cpus: Some(2),
        };
        let placement = across(&[site("app", &eight), site("load", &eight)], (0, 1, &[1]), wants);
        assert_eq!(placement.service.cpus.len(), 2);
        assert_eq!(placement.generator().cpus.len(), 8);
    }

    #[test]
    fn on_one_host_every_role_has_its_address_and_its_own_cpus() {
        let placement = across(&[site("10.0.0.7", &machine(4))], (0, 0, &[0]), BESIDE);
        let backing_service = placement.backing_service.clone().expect("wanted");
        for place in [&placement.service, placement.generator(), &backing_service] {
            assert_eq!(place.address.as_str(), "10.0.0.7");
        }
        assert_eq!(placement.generator().cpus.to_string(), "0");
        assert_eq!(backing_service.cpus.to_string(), "1");
        assert_eq!(placement.service.cpus.to_string(), "2-3");
    }

    #[test]
    fn nobody_asked_for_a_backing_service() {
        let placement = across(
            &[site("127.0.0.1", &machine(4))],
            (0, 0, &[0]),
            CpuDemand::default(),
        );
        assert_eq!(placement.backing_service, None);
    }

    proptest! {
        #[test]
        fn on_one_host_it_says_what_the_split_says(cores in 0..40_usize, backing_service: bool, most in prop::option::of(0..9_usize)) {
            let (topology, wants) = (machine(cores), CpuDemand { backing_service, service_cpus: most });
            let (placement, split) = (across(&[site("", &topology)], (0, 0, &[0]), wants), topology.split(wants));
            prop_assert_eq!(&placement.service.cpus, &split.service);
            prop_assert_eq!(&placement.generator().cpus, &split.generator);
            prop_assert_eq!(placement.backing_service.as_ref().map(|place| &place.cpus), split.backing_service.as_ref());
            let keepers = [Some(&placement.service), Some(placement.generator()), placement.backing_service.as_ref()];
            prop_assert!(keepers.into_iter().flatten().all(|place| place.keepers == split.generator));
            prop_assert_eq!(&placement.warnings, &split.warnings);
            prop_assert_eq!(placement.clone().turned().turned(), placement);
        }

        #[test]
        fn roles_share_no_cpu_where_there_are_enough(
            cores in 3..12_usize,
            service in 0..3_usize,
            backing_service in 0..3_usize,
            workers in prop::sample::subsequence(vec![0_usize, 1, 2], 1..=3),
        ) {
            let topology = machine(cores);
            let hosts = [site("a", &topology), site("b", &topology), site("c", &topology)];
            let placement = across(&hosts, (service, backing_service, &workers), BESIDE);
            let places: Vec<&RolePlacement> =
                [&placement.service].into_iter().chain(&placement.workers).chain(&placement.backing_service).collect();
            for (number, one) in places.iter().enumerate() {
                prop_assert!(!one.cpus.is_empty());
                for other in &places[number + 1..] {
                    prop_assert!(one.host != other.host || !one.cpus.overlaps(&other.cpus), "{:?} {:?}", one, other);
                }
            }
        }
    }
}
