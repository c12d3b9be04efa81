//! The trials of a plan and their order.

use super::checkout::Checkout;
use prony_config::{Channel, Plan, PlanOverrides};
use std::collections::BTreeSet;

#[test]
fn a_plan_holds_every_service_once_a_round() {
    let plan = Checkout::new().plan(&PlanOverrides::default()).expect("a plan");
    let labels: Vec<String> = plan
        .entries
        .iter()
        .map(|entry| format!("{}/{}", entry.service, entry.variant))
        .collect();
    assert_eq!(labels, ["go-one/current", "go-two/current", "go-two/single"]);
    assert!(plan.entries.iter().all(|entry| entry.channel == Channel::Http1));
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
        let overrides = PlanOverrides {
            seed,
            rounds: Some(20),
            ..PlanOverrides::default()
        };
        let plan = Checkout::new().plan(&overrides).expect("a plan");
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
fn overrides_narrow_the_plan() {
    let overrides = PlanOverrides {
        services: vec!["go-two".into()],
        rounds: Some(1),
        ..PlanOverrides::default()
    };
    assert_eq!(Checkout::new().plan(&overrides).expect("a plan").len(), 2);
    let overrides = PlanOverrides {
        services: vec!["go-tow".into()],
        ..PlanOverrides::default()
    };
    let error = Checkout::new()
        .plan(&overrides)
        .expect_err("no such service")
        .to_string();
    assert_eq!(error, "no service `go-tow/*`: did you mean `go-two`?");
}
