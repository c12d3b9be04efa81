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
    let split = machine(1, 1).split(Wants {
        backend: true,
        service_cpus: None,
    });
    assert_eq!(
        (cpus(&split.service), cpus(&split.generator)),
        ("0".into(), "0".into())
    );
    assert_eq!(split.warnings.len(), 1);
    assert_eq!(split.warnings[0].kind, prony_measurement::WarningKind::SharedCpus);
}

#[test]
fn two_threads_of_one_core_are_split_and_say_so() {
    let split = machine(1, 2).split(Wants::default());
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
    let split = machine(2, 1).split(Wants::default());
    assert_eq!(
        (cpus(&split.service), cpus(&split.generator)),
        ("1".into(), "0".into())
    );
    assert!(split.warnings.is_empty() && split.backend.is_none());
}

#[test]
fn with_two_cores_the_backend_sits_beside_the_generator() {
    let split = machine(2, 1).split(Wants {
        backend: true,
        service_cpus: None,
    });
    assert_eq!(split.backend.as_ref().map(cpus), Some("0".into()));
    assert_eq!(split.warnings.len(), 1);
}

#[test]
fn with_three_cores_the_backend_has_its_own() {
    let split = machine(3, 1).split(Wants {
        backend: true,
        service_cpus: None,
    });
    assert_eq!(split.backend.as_ref().map(cpus), Some("1".into()));
    assert_eq!(
        (cpus(&split.service), cpus(&split.generator)),
        ("2".into(), "0".into())
    );
    assert!(split.warnings.is_empty());
}

#[test]
fn smt_siblings_stay_together() {
    let split = machine(8, 2).split(Wants {
        backend: true,
        service_cpus: None,
    });
    assert_eq!(cpus(&split.generator), "0-2,8-10");
    assert_eq!(split.backend.as_ref().map(cpus), Some("3,11".into()));
    assert_eq!(cpus(&split.service), "4-7,12-15");
}

#[test]
fn a_service_gets_no_more_than_it_wants() {
    let split = machine(8, 1).split(Wants {
        backend: false,
        service_cpus: Some(2),
    });
    assert_eq!(cpus(&split.service), "6-7");
}

proptest! {
    #[test]
    fn sets_are_disjoint_and_cores_whole(cores in 3..64usize, threads in 1..3usize, backend: bool) {
        let topology = machine(cores, threads);
        let split = topology.split(Wants { backend, service_cpus: None });
        let backend_cpus = split.backend.clone().unwrap_or_default();
        prop_assert!(!split.service.overlaps(&split.generator));
        prop_assert!(!split.service.overlaps(&backend_cpus) && !split.generator.overlaps(&backend_cpus));
        prop_assert_eq!(backend_cpus.is_empty(), !backend);
        let all = split.service.len() + split.generator.len() + backend_cpus.len();
        prop_assert_eq!(all, cores * threads);
        for core in &topology.cores {
            let inside = core.cpus.iter().filter(|cpu| split.service.as_slice().contains(cpu)).count();
            prop_assert!(inside == 0 || inside == threads);
        }
        prop_assert!(split.service.len() >= split.generator.len());
        prop_assert!(split.warnings.is_empty());
    }
}
