//! The project's own suites, and the example of the documentation.

use prony_config::{Catalogue, ConfigError, Design, Machine, Plan, PlanOverrides, Starts, Suite};
use prony_load::Load;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn catalogue() -> Catalogue {
    Catalogue::read(&root()).unwrap_or_else(|error| panic!("{error}"))
}

fn plan(catalogue: &Catalogue, file: &Path, profile: Option<&str>) -> Plan {
    let made = || -> Result<Plan, ConfigError> {
        Plan::of(catalogue, &Suite::read(file, profile)?, &PlanOverrides::default())
    };
    made().unwrap_or_else(|error| panic!("{} {profile:?}: {error}", file.display()))
}

#[test]
fn every_suite_can_be_planned_in_every_profile() {
    let catalogue = catalogue();
    let suites = catalogue.suites();
    assert!(suites.len() >= 9, "{suites:?}");
    for file in suites.values() {
        let suite = Suite::read(file, None).unwrap_or_else(|error| panic!("{error}"));
        for profile in suite
            .profiles
            .iter()
            .map(|profile| Some(profile.as_str()))
            .chain([None])
        {
            let plan = plan(&catalogue, file, profile);
            assert!(!plan.is_empty(), "{} {profile:?}", file.display());
        }
    }
}

#[test]
fn a_study_is_quick_and_still_has_five_rounds() {
    let catalogue = catalogue();
    for (name, file) in catalogue.suites() {
        let suite = Suite::read(&file, None).unwrap_or_else(|error| panic!("{error}"));
        assert!(suite.profiles.iter().any(|profile| profile == "quick"), "{name}");
        if name == "smoke" {
            continue;
        }
        let plan = plan(&catalogue, &file, Some("quick"));
        assert!(plan.rounds >= 5, "{name}: {} rounds", plan.rounds);
    }
}

#[test]
fn a_study_in_quick_has_time_for_its_rounds_within_150_minutes() {
    let catalogue = catalogue();
    for (name, file) in catalogue.suites() {
        let mut quick = plan(&catalogue, &file, Some("quick"));
        let budget = quick.budget_ns.take().map(Duration::from_nanos);
        let expected = quick.expected();
        assert!(expected <= Duration::from_mins(150), "{name}: {expected:?}");
        // `make bench` has ten minutes, for four or five rounds.
        let is_bounded = ["quick", "smoke"].contains(&name.as_str());
        assert!(
            is_bounded || budget.is_some_and(|budget| expected <= budget),
            "{name}: {expected:?} in {budget:?}"
        );
    }
}

/// Windows are rehearsed until the compiler is idle, unless the length of the warm-up is fixed.
#[test]
fn the_plan_of_an_interleaved_suite_counts_rehearsals() {
    let catalogue = catalogue();
    let suite =
        Suite::read(&root().join("suites/004-hello.toml"), None).unwrap_or_else(|error| panic!("{error}"));
    let rehearsals_s = |warm_up: Option<Duration>| {
        let overrides = PlanOverrides {
            services: vec!["java-netty".to_owned(), "go-nethttp".to_owned()],
            warm_up,
            ..PlanOverrides::default()
        };
        let plan = Plan::of(&catalogue, &suite, &overrides).unwrap_or_else(|error| panic!("{error}"));
        let expected_s = |name: &str| {
            let entry = plan.entries.iter().find(|entry| entry.service == name);
            let entry = entry.expect("a service of the suite");
            let until_warm = if warm_up.is_none() {
                entry.expected_warm_up_ns
            } else {
                0
            };
            plan.expected_trial(entry, 0).as_secs_f64() - until_warm as f64 / 1e9
        };
        expected_s("java-netty") - expected_s("go-nethttp")
    };
    assert!((rehearsals_s(None) - 3.0 * 1.4).abs() < 1e-6);
    assert!(rehearsals_s(Some(Duration::from_secs(2))).abs() < 1e-6);
}

/// The command line can shorten an interleaved suite, and select a service that has nothing to take turns with.
#[test]
fn an_interleaved_suite_follows_the_command_line() {
    let catalogue = catalogue();
    let suite =
        Suite::read(&root().join("suites/quick.toml"), None).unwrap_or_else(|error| panic!("{error}"));
    let design = |overrides: PlanOverrides| {
        let plan = Plan::of(&catalogue, &suite, &overrides);
        plan.unwrap_or_else(|error| panic!("{error}")).design
    };
    let windows = |window_ms: u64, cycles| Design::Interleaved {
        window_ns: window_ms * 1_000_000,
        cycles,
    };
    assert_eq!(design(PlanOverrides::default()), windows(1_000, 4));
    for (length_ms, expected) in [(300, windows(300, 1)), (2_500, windows(1_000, 3))] {
        let shorter = PlanOverrides {
            duration: Some(Duration::from_millis(length_ms)),
            ..PlanOverrides::default()
        };
        assert_eq!(design(shorter), expected);
    }
    let only = |services: &[&str], requested| PlanOverrides {
        services: services.iter().map(|&name| name.to_owned()).collect(),
        design: requested,
        ..PlanOverrides::default()
    };
    assert_eq!(design(only(&["go-nethttp"], None)), Design::Sequence);
    assert_eq!(design(only(&["go-*"], None)), windows(1_000, 4));
    assert_eq!(design(only(&[], Some(Design::Sequence))), Design::Sequence);
    let refused = Plan::of(
        &catalogue,
        &suite,
        &only(&["go-nethttp"], Some(Design::interleaved())),
    );
    assert!(refused.is_err_and(|error| error.to_string().contains("at least two services")));
}

#[test]
fn starts_are_shared_where_a_suite_or_a_profile_says_so() {
    let catalogue = catalogue();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.toml");
    let text = r#"
title = "Mine"
starts = "shared"
interleaved = { window = "200ms", cycles = 7 }
[profile.full]
starts = "fresh"
[[group]]
contract = "sequence"
workload = "count"
services = ["go-nethttp", "rust-axum"]
[[group]]
contract = "sequence"
workload = "fib"
services = ["go-nethttp", "rust-axum"]
[[group]]
contract = "hello"
services = ["go-nethttp", "rust-axum"]
"#;
    std::fs::write(&file, text).expect("written");
    let shared = plan(&catalogue, &file, None);
    // Each service has one start for both workloads of `sequence`, and one for `hello`.
    let mut sizes: Vec<usize> = shared.starts(0).iter().map(Vec::len).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 1, 2, 2]);
    let fresh = plan(&catalogue, &file, Some("full"));
    assert_eq!(fresh.starts(0).len(), 6);
    assert!(shared.expected() < fresh.expected());
    let overrides = PlanOverrides {
        design: Some(Design::interleaved()),
        ..PlanOverrides::default()
    };
    let suite = Suite::read(&file, None).unwrap_or_else(|error| panic!("{error}"));
    let interleaved = Plan::of(&catalogue, &suite, &overrides).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(interleaved.starts, Starts::Shared);
    let as_the_suite_says = Design::Interleaved {
        window_ns: 200_000_000,
        cycles: 7,
    };
    assert_eq!(interleaved.design, as_the_suite_says);
}

#[test]
fn a_profile_may_change_the_services_and_the_search() {
    let catalogue = catalogue();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.toml");
    let text = r#"
title = "Mine"
[profile.full]
[[group]]
contract = "hello"
services = ["go-nethttp"]
[group.profile.full]
services = ["go-nethttp", "rust-axum"]
"#;
    std::fs::write(&file, text).expect("written");
    assert_eq!(plan(&catalogue, &file, None).entries.len(), 1);
    assert_eq!(plan(&catalogue, &file, Some("full")).entries.len(), 2);
    let file = catalogue
        .suite_file("capacity")
        .unwrap_or_else(|error| panic!("{error}"));
    let limit = |profile| {
        let plan = plan(&catalogue, &file, Some(profile));
        let search = plan.groups[0].search.clone().expect("a search");
        assert!(matches!(plan.groups[0].load, Load::Open { .. }));
        assert_eq!(plan.groups[0].load_record()["kind"], "capacity");
        search.limit.as_per_second()
    };
    assert!(limit("smoke") < limit("quick") && limit("quick") < limit("full"));
}

#[test]
fn what_the_machine_lacks_is_refused() {
    let catalogue = catalogue();
    let error_of = |suite: &str, machine: Machine| {
        let file = catalogue
            .suite_file(suite)
            .unwrap_or_else(|error| panic!("{error}"));
        let suite = Suite::read(&file, None).unwrap_or_else(|error| panic!("{error}"));
        let overrides = PlanOverrides {
            machine: Some(machine),
            ..PlanOverrides::default()
        };
        match Plan::of(&catalogue, &suite, &overrides) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    };
    let machine = Machine {
        cpus: 2,
        memory_bytes: Some(8 << 30),
        memory_limit_bytes: None,
        open_files: Some(65_536),
        local_ports: Some(28_000),
    };
    assert_eq!(error_of("003-snoop", machine), "");
    assert_eq!(error_of("002-relay", machine), "");
    let small = Machine { cpus: 1, ..machine };
    assert!(error_of("003-snoop", small).contains("`cpus` is 2, and this machine has 1"));
    let forgetful = Machine {
        memory_bytes: Some(1 << 30),
        ..machine
    };
    assert!(error_of("003-snoop", forgetful).contains("`memory` is 2048 MiB, and this machine has 1024 MiB"));
    // A container with a limit can request at most that limit, regardless of the machine.
    let contained = Machine {
        memory_limit_bytes: Some(1_536 << 20),
        ..machine
    };
    let error = error_of("003-snoop", contained);
    assert!(
        error.contains("`memory` is 2048 MiB, and prony may have here") && error.contains(") 1536 MiB\n"),
        "{error}"
    );
    let narrow = Machine {
        open_files: Some(1_024),
        ..machine
    };
    let error = error_of("002-relay", narrow);
    assert!(
        error.contains("002-relay.toml:")
            && error.contains("2000 connections need")
            && error.contains("ulimit -n 2064"),
        "{error}"
    );
    let few = Machine {
        local_ports: Some(1_000),
        ..machine
    };
    assert!(error_of("002-relay", few).contains("as many local ports"));
}
