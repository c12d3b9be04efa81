//! Files of services with every kind of mistake, the error messages of each, and the order of trials.

use super::checkout::{Checkout, SERVICE};
use prony_config::{Catalogue, Plan, PlanOverrides};
use prony_load::Protocol;
use std::collections::BTreeSet;

fn with_service(from: &str, to: &str) -> String {
    let checkout = Checkout::new();
    checkout.write(
        "services/go-one/service.toml",
        &SERVICE.replace("NAME", "go-one").replace(from, to),
    );
    checkout.error()
}

#[test]
fn a_plan_holds_every_service_once_a_round() {
    let plan = Checkout::new().plan(&PlanOverrides::default()).expect("a plan");
    let labels: Vec<String> = plan
        .entries
        .iter()
        .map(|entry| format!("{}/{}", entry.service, entry.variant))
        .collect();
    assert_eq!(labels, ["go-one/current", "go-two/current", "go-two/single"]);
    assert!(plan.entries.iter().all(|entry| entry.protocol == Protocol::Http1));
    for round in 0..3 {
        let entries: BTreeSet<usize> = plan.round(round).iter().map(|trial| trial.entry).collect();
        assert_eq!(entries.len(), 3, "round {round}");
    }
    let numbers: Vec<u32> = plan.trials().map(|trial| trial.number).collect();
    assert_eq!(numbers, (0..9).collect::<Vec<u32>>());
}

/// Compared trials are measured within minutes of each other, and no workload always comes first.
#[test]
fn the_trials_of_a_workload_stand_next_to_each_other() {
    let mut plan = Checkout::new().plan(&PlanOverrides::default()).expect("a plan");
    let services = plan.entries.len();
    plan.groups.push(plan.groups[0].clone());
    let again: Vec<_> = plan
        .entries
        .iter()
        .cloned()
        .map(|entry| prony_config::Entry { group: 1, ..entry })
        .collect();
    plan.entries.extend(again);
    let mut firsts = BTreeSet::new();
    for round in 0..20 {
        let groups: Vec<usize> = plan
            .round(round)
            .iter()
            .map(|trial| plan.entries[trial.entry].group)
            .collect();
        let (first, second) = groups.split_at(services);
        assert!(
            first.iter().all(|group| *group == first[0]),
            "round {round}: {groups:?}"
        );
        assert!(
            second.iter().all(|group| *group != first[0]),
            "round {round}: {groups:?}"
        );
        firsts.insert(first[0]);
    }
    assert_eq!(firsts.len(), 2, "one workload is always the first");
}

#[test]
fn the_seed_decides_the_order() {
    let order = |seed| {
        let wishes = PlanOverrides {
            seed,
            rounds: Some(20),
            ..PlanOverrides::default()
        };
        let plan = Checkout::new().plan(&wishes).expect("a plan");
        plan.trials().map(|trial| trial.entry).collect::<Vec<usize>>()
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
    let first = order(1);
    assert!(
        first.chunks(3).any(|round| round != &first[..3]),
        "every round has the same order"
    );
}

#[test]
fn a_plan_survives_the_store() {
    let plan = Checkout::new().plan(&PlanOverrides::default()).expect("a plan");
    let text = serde_json::to_string(&plan).expect("JSON");
    assert_eq!(serde_json::from_str::<Plan>(&text).expect("a plan"), plan);
}

#[test]
fn wishes_narrow_the_plan() {
    let wishes = PlanOverrides {
        services: vec!["go-two".into()],
        rounds: Some(1),
        ..PlanOverrides::default()
    };
    assert_eq!(Checkout::new().plan(&wishes).expect("a plan").len(), 2);
    let wishes = PlanOverrides {
        services: vec!["go-tow".into()],
        ..PlanOverrides::default()
    };
    let error = Checkout::new()
        .plan(&wishes)
        .expect_err("no such service")
        .to_string();
    assert_eq!(
        error,
        "no service `go-tow/*`: did you mean `go-two`?"
    );
}

#[test]
fn an_unknown_key_of_a_service_is_told_with_its_line() {
    let error = with_service("class = \"platform\"", "clas = \"platform\"");
    assert!(
        error.starts_with("services/go-one/service.toml:5: unknown field `clas`, expected one of"),
        "{error}"
    );
}

#[test]
fn a_variant_without_a_version_is_told() {
    let error = with_service("name = \"single\"\nversion = \"1.26\"", "name = \"single\"");
    let expected = "services/go-one/service.toml:20: variant `single` has no `version`: give it in the variant or above the variants";
    assert_eq!(error, expected);
}

#[test]
fn a_command_may_tell_the_version_in_place_of_the_file() {
    let checkout = Checkout::new();
    checkout.write(
        "services/go-one/service.toml",
        &SERVICE.replace("NAME", "go-one").replace(
            "name = \"single\"\nversion = \"1.26\"",
            "name = \"single\"\nversion_from = \"cat made\"",
        ),
    );
    let catalogue = Catalogue::read(checkout.0.path()).expect("valid");
    let find = |variant: &str| {
        let of = |service: &&prony_config::Service| service.name == "go-one" && service.variant == variant;
        catalogue.services.iter().find(of).expect("there")
    };
    let (written, built) = (find("current"), find("single"));
    assert_eq!(
        (written.written_version(), &written.version_from),
        (Some("1.26"), &None)
    );
    assert_eq!(built.written_version(), None);
    assert_eq!(built.version_from.as_deref(), Some("cat made"));
}

#[test]
fn a_service_under_a_wrong_name_is_told() {
    let error = with_service("name = \"go-one\"", "name = \"go-1\"");
    assert_eq!(
        error,
        "services/go-one/service.toml:1: `name` is `go-1`: it must be the name of the folder"
    );
}

#[test]
fn a_wrong_class_is_reported_with_the_allowed_ones() {
    let error = with_service("\"platform\"", "\"huge\"");
    assert!(
        error.contains(
            ":5: unknown variant `huge`, expected one of `platform`, `micro`, `fullstack`, `stripped`, `reference`"
        ),
        "{error}"
    );
}

#[test]
fn the_former_name_of_a_class_is_accepted() {
    let checkout = Checkout::new();
    let service = SERVICE
        .replace("NAME", "go-two")
        .replace("\"platform\"", "\"full\"");
    checkout.write("services/go-two/service.toml", &service);
    let catalogue = Catalogue::read(checkout.0.path()).expect("valid");
    let found = catalogue.services.iter().find(|service| service.name == "go-two");
    assert_eq!(found.map(|service| service.class.word()), Some("fullstack"));
}

#[test]
fn a_reference_service_is_found_by_its_name_alone() {
    let checkout = Checkout::new();
    let reference = SERVICE
        .replace("NAME", "go-two")
        .replace("\"platform\"", "\"reference\"");
    checkout.write("services/go-two/service.toml", &reference);
    let catalogue = Catalogue::read(checkout.0.path()).expect("valid");
    let names = |pattern: &str| -> Vec<String> {
        let found = catalogue.select(pattern).expect("some");
        found.into_iter().map(prony_config::Service::label).collect()
    };
    assert_eq!(names("*/*"), ["go-one/current", "go-one/single"]);
    assert_eq!(names("go-*"), ["go-one/current"]);
    assert_eq!(names("go-two"), ["go-two/current"]);
    assert_eq!(names("go-two/*"), ["go-two/current", "go-two/single"]);
    assert!(catalogue.select("*-two").is_err());
}

#[test]
fn what_is_copied_stands_in_the_checkout_and_lands_in_the_build_folder() {
    let with_copy = |from: &str, to: &str| {
        let run = "run = \"exec ./server\"";
        with_service(run, &format!("copies = {{ \"{to}\" = \"{from}\" }}\n{run}"))
    };
    for (from, to) in [
        ("services/none.proto", "none.proto"),
        ("services/toolchains.toml", "../toolchains.toml"),
        ("../elsewhere", "elsewhere"),
        ("services/toolchains.toml", "/toolchains.toml"),
    ] {
        let error = with_copy(from, to);
        assert!(
            error.starts_with("services/go-one/service.toml:9: `copies`: ") && error.contains(from),
            "{error}"
        );
    }
}

#[test]
fn unknown_names_in_a_service_are_told() {
    assert!(with_service("[\"hello\"]", "[\"helo\"]").contains("names `helo`: did you mean `hello`?"));
    assert!(with_service("go >= 1.22", "goo >= 1.22").contains("names `goo`: did you mean `go`?"));
    assert!(with_service("go >= 1.22", "go > 1").contains(":7: `toolchains`: `go > 1` is neither"));
}
