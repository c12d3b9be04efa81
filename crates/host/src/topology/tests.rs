use super::*;
use proptest::prelude::*;

/// `cores` cores with `threads` CPUs each, numbered as Linux does: all first threads, then all second ones.
fn machine(cores: usize, threads: usize) -> Topology {
    let core = |core: usize| Core {
        node: 0,
        package: 0,
        core: core as u32,
        cpus: (0..threads).map(|thread| core + thread * cores).collect(),
    };
    Topology {
        cores: (0..cores).map(core).collect(),
    }
}

fn cpus(set: &crate::Cpus) -> String {
    set.to_string()
}

#[test]
fn one_cpu_is_shared_and_says_so() {
    let split = machine(1, 1).split(CpuDemand {
        backing_service: true,
        service_cpus: None,
    });
    assert_eq!(
        (cpus(&split.service), cpus(&split.generator)),
        ("0".into(), "0".into())
    );
    assert_eq!(split.warnings.len(), 1);
    assert_eq!(split.warnings[0].kind, prony_records::WarningKind::SharedCpus);
}

#[test]
fn two_threads_of_one_core_are_split_and_say_so() {
    let split = machine(1, 2).split(CpuDemand::default());
    assert_eq!(
        (cpus(&split.service), cpus(&split.generator)),
        ("1".into(), "0".into())
    );
    assert!(
        split.warnings[0].text.contains("one core"),
        "{:?}",
        split.warnings
    );
}

#[test]
fn two_cores_get_one_each() {
    let split = machine(2, 1).split(CpuDemand::default());
    assert_eq!(
        (cpus(&split.service), cpus(&split.generator)),
        ("1".into(), "0".into())
    );
    assert!(split.warnings.is_empty() && split.backing_service.is_none());
}

#[test]
fn with_two_cores_the_backing_service_sits_beside_the_generator() {
    let split = machine(2, 1).split(CpuDemand {
        backing_service: true,
        service_cpus: None,
    });
    assert_eq!(split.backing_service.as_ref().map(cpus), Some("0".into()));
    assert_eq!(split.warnings.len(), 1);
}

#[test]
fn with_three_cores_the_backing_service_has_its_own() {
    let split = machine(3, 1).split(CpuDemand {
        backing_service: true,
        service_cpus: None,
    });
    assert_eq!(split.backing_service.as_ref().map(cpus), Some("1".into()));
    assert_eq!(
        (cpus(&split.service), cpus(&split.generator)),
        ("2".into(), "0".into())
    );
    assert!(split.warnings.is_empty());
}

#[test]
fn smt_siblings_stay_together() {
    let split = machine(8, 2).split(CpuDemand {
        backing_service: true,
        service_cpus: None,
    });
    assert_eq!(cpus(&split.generator), "0-2,8-10");
    assert_eq!(split.backing_service.as_ref().map(cpus), Some("3,11".into()));
    assert_eq!(cpus(&split.service), "4-7,12-15");
}

#[test]
fn a_service_gets_no_more_than_it_wants() {
    let split = machine(8, 1).split(CpuDemand {
        backing_service: false,
        service_cpus: Some(2),
    });
    assert_eq!(cpus(&split.service), "6-7");
}

proptest! {
    #[test]
    fn sets_are_disjoint_and_cores_whole(cores in 3..64usize, threads in 1..3usize, backing_service: bool) {
        let topology = machine(cores, threads);
        let split = topology.split(CpuDemand { backing_service, service_cpus: None });
        let backing_service_cpus = split.backing_service.clone().unwrap_or_default();
        prop_assert!(!split.service.overlaps(&split.generator));
        prop_assert!(!split.service.overlaps(&backing_service_cpus) && !split.generator.overlaps(&backing_service_cpus));
        prop_assert_eq!(backing_service_cpus.is_empty(), !backing_service);
        let all = split.service.len() + split.generator.len() + backing_service_cpus.len();
        prop_assert_eq!(all, cores * threads);
        for core in &topology.cores {
            let inside = core.cpus.iter().filter(|cpu| split.service.as_slice().contains(cpu)).count();
            prop_assert!(inside == 0 || inside == threads);
        }
        prop_assert!(split.service.len() >= split.generator.len());
        prop_assert!(split.warnings.is_empty());
    }
}

/// `nodes`: the number of cores of each NUMA node, with two CPUs per core.
fn server(nodes: &[usize]) -> Topology {
    let mut topology = machine(nodes.iter().sum(), 2);
    let numbers = nodes
        .iter()
        .enumerate()
        .flat_map(|(node, &cores)| vec![node as u32; cores]);
    for (core, node) in topology.cores.iter_mut().zip(numbers) {
        core.node = node;
    }
    topology
}

#[test]
fn no_role_reaches_over_two_nodes() {
    let wants = CpuDemand {
        backing_service: true,
        service_cpus: None,
    };
    let split = server(&[4, 4]).split(wants);
    assert_eq!(cpus(&split.service), "4-7,12-15");
    assert_eq!(split.backing_service.as_ref().map(cpus), Some("0,8".into()));
    assert_eq!(cpus(&split.generator), "1-2,9-10");
    assert!(split.warnings.is_empty());
}

#[test]
fn a_node_too_small_for_a_generator_stays_idle() {
    let split = server(&[1, 6]).split(CpuDemand::default());
    assert_eq!(
        (cpus(&split.generator), cpus(&split.service)),
        ("1-2,8-9".into(), "3-6,10-13".into())
    );
}

#[test]
fn a_quota_of_two_of_sixteen_cpus_means_two() {
    let cut = machine(8, 2).within(2.0);
    assert_eq!(cpus(&cut.cpus()), "6-7");
    let split = cut.split(CpuDemand::default());
    assert_eq!(
        (cpus(&split.generator), cpus(&split.service)),
        ("6".into(), "7".into())
    );
    assert_eq!(cpus(&machine(8, 2).within(1.9).cpus()), "7");
    assert_eq!(cpus(&machine(8, 2).within(0.5).cpus()), "7");
    assert_eq!(cpus(&machine(8, 2).within(10.0).cpus()), "0-7,14-15");
    assert_eq!(machine(8, 2).within(16.0), machine(8, 2));
    assert_eq!(machine(8, 2).within(64.0), machine(8, 2));
}

#[test]
fn a_quota_stays_within_a_node_where_it_can() {
    assert_eq!(cpus(&server(&[4, 4]).within(8.0).cpus()), "4-7,12-15");
    assert_eq!(server(&[4, 4]).within(9.0).cpus().len(), 9);
}

proptest! {
    #[test]
    fn every_role_has_its_node(nodes in prop::collection::vec(1..20usize, 1..5), backing_service: bool, quota in 1.0..50.0_f64) {
        let topology = server(&nodes).within(quota);
        prop_assert!(topology.cpus().len() as f64 <= quota.floor().max(1.0));
        let split = topology.split(CpuDemand { backing_service, service_cpus: None });
        let reaches = |set: &crate::Cpus| {
            let holds = |core: &&Core| core.cpus.iter().any(|cpu| set.as_slice().contains(cpu));
            let nodes: std::collections::BTreeSet<u32> = topology.cores.iter().filter(holds).map(|core| core.node).collect();
            nodes.len()
        };
        prop_assert_eq!(reaches(&split.service), 1);
        prop_assert_eq!(reaches(&split.generator), 1);
        if topology.cpus().len() >= 2 {
            prop_assert!(!split.service.overlaps(&split.generator));
        }
        if let Some(backing_service) = &split.backing_service {
            prop_assert_eq!(reaches(backing_service), 1);
            prop_assert!(topology.cpus().len() < 2 || !split.service.overlaps(backing_service));
        }
    }
}
