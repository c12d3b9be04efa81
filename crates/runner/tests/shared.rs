//! One process start serves all workloads of a contract: who is started how often, what a failure does to the rest of the
//! start, and going on after a break.

use crate::common::{TestJournal, Testbed, leftovers};
use prony_config::{Entry, GroupPlan, Starts};
use prony_records::{Phase, SharedStart, TrialRecord, TrialStage};
use prony_runner::{Progress, RunEnd};
use std::collections::BTreeMap;

/// Toys under three loads of one contract, each start serving all of them.
fn testbed(behaviours: &[&str]) -> Testbed {
    let mut testbed = Testbed::new(behaviours);
    let plan = &mut testbed.plan;
    plan.starts = Starts::Shared;
    plan.rounds = 2;
    let (group, entries): (GroupPlan, Vec<Entry>) = (plan.groups[0].clone(), plan.entries.clone());
    for (index, connections) in [(1, 2), (2, 3)] {
        plan.groups.push(GroupPlan {
            load: prony_load::Load::closed(connections, 1),
            ..group.clone()
        });
        plan.entries.extend(entries.iter().cloned().map(|entry| Entry {
            group: index,
            ..entry
        }));
    }
    testbed
}

fn start(record: &TrialRecord) -> SharedStart {
    record.start.unwrap_or_else(|| panic!("no start: {record:?}"))
}

/// How often services were started: each start is checked once.
fn checks(heard: &TestJournal) -> usize {
    let checked = |progress: &&Progress| matches!(progress, Progress::Checked(_));
    heard.progress.iter().filter(checked).count()
}

#[test]
fn a_start_serves_every_load_of_its_round_and_says_so() {
    let testbed = testbed(&["ok", "late 1"]);
    let mut heard = TestJournal::default();
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    assert_eq!(heard.records.len(), 12);
    assert_eq!(checks(&heard), 4, "two services in two rounds");
    let mut starts: BTreeMap<u32, Vec<&TrialRecord>> = BTreeMap::new();
    for record in &heard.records {
        assert!(record.result.is_ok(), "{record:?}");
        starts.entry(start(record).first).or_default().push(record);
    }
    assert_eq!(starts.len(), 4);
    for (first, trials) in starts {
        let served: Vec<u32> = trials.iter().map(|trial| start(trial).served).collect();
        assert_eq!(served, [0, 1, 2]);
        assert_eq!(trials[0].number, first);
        let same =
            |trial: &&TrialRecord| (&trial.service, trial.round) == (&trials[0].service, trials[0].round);
        assert!(trials.iter().all(same));
        let up = |trial: &TrialRecord| {
            trial
                .result
                .as_ref()
                .ok()
                .map(|measured| measured.start_up.first_valid_ms)
        };
        assert!(
            trials.iter().all(|trial| up(trial) == up(trials[0])),
            "one start has one start-up"
        );
        for trial in &trials {
            let measured = trial.result.as_ref().expect("measured");
            let warm_up_s = measured
                .steadiness
                .as_ref()
                .map_or(0.0, |steady| steady.warm_up_s);
            let before = measured.warm_up_samples.iter().map(|sample| sample.at_s);
            assert!(
                before.fold(0.0, f64::min) >= -warm_up_s,
                "samples of another load"
            );
        }
    }
    assert!(leftovers(&testbed).is_empty(), "{:?}", leftovers(&testbed));
}

#[test]
fn a_start_is_warmed_by_all_its_loads_before_the_first_is_measured() {
    let mut testbed = testbed(&["ok"]);
    testbed.plan.rounds = 1;
    let mut heard = TestJournal::default();
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    let phases = heard.progress.iter().filter_map(|progress| match progress {
        Progress::Phase(phase) => Some(*phase),
        _ => None,
    });
    // Its own load, the two others, its own again; then each of the others has a warm-up of its own.
    let one = [Phase::WarmUp, Phase::Measurement, Phase::Drain];
    let expected = [&[Phase::WarmUp; 3][..], &one, &one, &one].concat();
    assert_eq!(phases.collect::<Vec<_>>(), expected);
}

#[test]
fn a_load_that_only_warms_waits_for_its_replies() {
    let testbed = testbed(&["dies-of-hang-up"]);
    let mut heard = TestJournal::default();
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    assert_eq!(heard.records.len(), 6);
    for record in &heard.records {
        assert!(record.result.is_ok(), "{record:?}");
    }
}

#[test]
fn loads_of_a_start_come_in_an_order_of_their_own() {
    let mut testbed = testbed(&["ok", "late 1"]);
    testbed.plan.rounds = 40;
    let mut first: BTreeMap<(String, usize), u32> = BTreeMap::new();
    for round in 0..testbed.plan.rounds {
        let starts = testbed.plan.starts(round);
        assert_eq!(starts.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3]);
        for start in starts {
            let entry = &testbed.plan.entries[start[0].entry];
            *first.entry((entry.service.clone(), entry.group)).or_default() += 1;
        }
    }
    // Of 40 rounds each of three loads is first in about 13.
    assert_eq!(first.len(), 6, "{first:?}");
    assert!(
        first.values().all(|&count| (4..=24).contains(&count)),
        "{first:?}"
    );
}

fn reasons(heard: &TestJournal) -> Vec<&str> {
    let failed = heard
        .records
        .iter()
        .map(|record| record.result.as_ref().expect_err("excluded"));
    failed.map(|excluded| excluded.reason.as_str()).collect()
}

#[test]
fn a_service_that_does_not_start_is_started_twice_for_all_its_loads() {
    let mut testbed = testbed(&["crashes"]);
    testbed.plan.rounds = 3;
    let mut heard = TestJournal::default();
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    let reasons = reasons(&heard);
    // Two tries in each of two rounds, and a row for each load of the third.
    assert_eq!(reasons.len(), 15);
    let rest = "its start failed under `hello`: the service ended";
    for start in reasons[..12].chunks(3) {
        assert!(start[0].starts_with("the service ended"), "{}", start[0]);
        assert!(
            start[1..].iter().all(|reason| reason.starts_with(rest)),
            "{start:?}"
        );
    }
    let again = "not started again after failures of its own in 2 rounds";
    assert!(
        reasons[12..].iter().all(|reason| reason.starts_with(again)),
        "{reasons:?}"
    );
    assert!(heard.records.iter().all(|record| {
        let failed = record.result.as_ref().expect_err("excluded");
        failed.stage == TrialStage::Start
    }));
}

#[test]
fn what_one_load_does_to_a_service_leaves_the_others_their_chance() {
    let mut testbed = testbed(&["dies 600"]);
    testbed.plan.rounds = 1;
    let mut heard = TestJournal::default();
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    // Each load has two starts in which it is the first, and the service dies in each.
    assert_eq!(checks(&heard), 6);
    let reasons = reasons(&heard);
    assert!(
        reasons
            .iter()
            .all(|reason| reason.starts_with("the service ended")),
        "{reasons:?}"
    );
    let numbers: Vec<u32> = heard.records.iter().map(|record| record.number).collect();
    assert_eq!(numbers, [0, 0, 1, 1, 2, 2]);
}

#[test]
fn a_start_that_was_broken_off_is_continued_by_another_one() {
    let mut testbed = testbed(&["ok"]);
    testbed.plan.rounds = 1;
    let mut whole = TestJournal::default();
    assert_eq!(testbed.run(&mut whole), RunEnd::Complete);
    let mut heard = TestJournal {
        stored: whole.records[..1].to_vec(),
        ..TestJournal::default()
    };
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    let found: Vec<(u32, SharedStart)> = heard
        .records
        .iter()
        .map(|record| (record.number, start(record)))
        .collect();
    assert_eq!(
        found,
        [
            (1, SharedStart { first: 1, served: 0 }),
            (2, SharedStart { first: 1, served: 1 })
        ]
    );
}

#[test]
fn asking_once_keeps_what_the_start_has_served() {
    let testbed = testbed(&["ok"]);
    let mut heard = TestJournal::that_cancels(testbed.cancel.clone());
    assert_eq!(testbed.run(&mut heard), RunEnd::Interrupted);
    assert_eq!(heard.records.len(), 1);
    assert_eq!(start(&heard.records[0]), SharedStart { first: 0, served: 0 });
    assert!(leftovers(&testbed).is_empty(), "{:?}", leftovers(&testbed));
}
