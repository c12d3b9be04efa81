//! A run: rounds, going on after a break, ending early, repeating what was disturbed.

use crate::common::{TestJournal, Testbed, leftovers, quiet};
use prony_config::Design;
use prony_records::{Exclusion, Fault, ServiceId, TrialRecord, TrialStage, WarningKind};
use prony_runner::{NoiseLimits, Progress, RunEnd};
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::time::Duration;

fn numbers(heard: &TestJournal) -> Vec<u32> {
    heard.records.iter().map(|record| record.number).collect()
}

#[test]
fn rounds_hold_every_service_in_the_order_of_the_plan() {
    let mut testbed = Testbed::new(&["ok", "late 1"]);
    testbed.plan.rounds = 2;
    let mut heard = TestJournal::default();
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    assert_eq!(numbers(&heard), [0, 1, 2, 3]);
    let planned: Vec<String> = testbed
        .plan
        .trials()
        .map(|trial| testbed.plan.entries[trial.entry].service.clone())
        .collect();
    let done: Vec<String> = heard
        .records
        .iter()
        .map(|record| record.service.service.clone())
        .collect();
    assert_eq!(done, planned);
    assert!(heard.records.iter().all(|record| record.result.is_ok()));
    let begins = heard
        .progress
        .iter()
        .filter(|progress| matches!(progress, Progress::Begins { of: 4, .. }));
    assert_eq!(begins.count(), 4);
}

/// Together they may use up what neither does alone, such as a network.
#[test]
fn loads_at_the_same_time_are_judged_together() {
    for (design, loads) in [(Design::Duet, 2), (Design::Sequence, 0)] {
        let mut testbed = Testbed::new(&["ok", "late 1"]);
        testbed.plan.design = design;
        for measured in testbed.results() {
            let warnings = measured.expect("measured").warnings;
            let bound = warnings
                .iter()
                .find(|warning| warning.kind == WarningKind::NetworkBound);
            let expected = (loads > 0).then(|| format!("{loads} loads at once"));
            assert_eq!(bound.map(|warning| warning.text.clone()), expected);
        }
    }
}

#[test]
fn a_broken_run_is_continued_where_it_was() {
    let mut testbed = Testbed::new(&["ok"]);
    testbed.plan.rounds = 3;
    let mut whole = TestJournal::default();
    assert_eq!(testbed.run(&mut whole), RunEnd::Complete);
    let mut heard = TestJournal {
        stored: [&whole.records[..1], &whole.records[2..]].concat(),
        ..TestJournal::default()
    };
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    assert_eq!(numbers(&heard), [1]);
}

#[test]
fn a_measured_window_is_kept_at_once_and_is_not_measured_again_after_a_kill() {
    let mut testbed = Testbed::new(&["ok"]);
    testbed.plan.rounds = 2;
    let mut whole = TestJournal::default();
    assert_eq!(testbed.run(&mut whole), RunEnd::Complete);
    let provisional: Vec<u32> = whole.provisional.iter().map(|record| record.number).collect();
    assert_eq!((provisional, numbers(&whole)), (vec![0, 1], vec![0, 1]));
    let [first, second] = [&whole.provisional[0], &whole.records[0]];
    let measured = |record: &TrialRecord| record.result.clone().expect("measured").recording;
    assert_eq!(measured(first), measured(second));
    // As after a kill in the first trial, before its service was stopped.
    let mut heard = TestJournal {
        stored: whole.provisional[..1].to_vec(),
        ..TestJournal::default()
    };
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    assert_eq!(numbers(&heard), [1]);
}

#[test]
fn asking_once_ends_after_the_trial() {
    let mut testbed = Testbed::new(&["ok"]);
    testbed.plan.rounds = 3;
    let mut heard = TestJournal::that_cancels(testbed.cancel.clone());
    assert_eq!(testbed.run(&mut heard), RunEnd::Interrupted);
    assert_eq!(numbers(&heard), [0]);
    assert!(heard.records[0].result.is_ok());
}

#[test]
fn asking_twice_ends_now() {
    let mut testbed = Testbed::new(&["ok"]);
    testbed.plan.groups[0].duration_ns = 60_000_000_000;
    let cancel = testbed.cancel.clone();
    let mut heard = TestJournal {
        react: Some(Box::new(move |progress| {
            if matches!(progress, Progress::Phase(_)) {
                cancel.ask();
            }
        })),
        ..TestJournal::default()
    };
    assert_eq!(testbed.run(&mut heard), RunEnd::Interrupted);
    assert_eq!(numbers(&heard), Vec::<u32>::new());
    assert_eq!(leftovers(&testbed), Vec::<String>::new());
}

/// The interrupt ends the service as well as prony: what the check sees then says nothing about the service.
#[test]
fn an_interrupted_check_excludes_nobody() {
    let testbed = Testbed::new(&["short"]);
    let cancel = testbed.cancel.clone();
    let mut heard = TestJournal {
        react: Some(Box::new(move |progress| {
            if matches!(progress, Progress::Checked(_)) {
                cancel.ask();
                cancel.ask();
            }
        })),
        ..TestJournal::default()
    };
    assert_eq!(testbed.run(&mut heard), RunEnd::Interrupted);
    assert_eq!(numbers(&heard), Vec::<u32>::new());
    assert_eq!(leftovers(&testbed), Vec::<String>::new());
}

#[test]
fn precise_enough_is_the_end() {
    let mut testbed = Testbed::new(&["ok"]);
    testbed.plan.rounds = 9;
    let mut heard = TestJournal {
        enough_after: Some(1),
        ..TestJournal::default()
    };
    assert_eq!(testbed.run(&mut heard), RunEnd::Precise);
    assert_eq!(numbers(&heard), [0, 1]);
}

#[test]
fn who_is_settled_is_left_out_and_that_is_said() {
    let mut testbed = Testbed::new(&["ok", "late 1", "late 2"]);
    testbed.plan.rounds = 4;
    let mut heard = TestJournal {
        only: Some((1, BTreeSet::from([0, 2]))),
        ..TestJournal::default()
    };
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    let trials = |service: &str| {
        let own = heard
            .records
            .iter()
            .filter(|record| record.service.service == service);
        own.map(|record| record.round).collect::<Vec<_>>()
    };
    assert_eq!(
        [trials("ok"), trials("late-1"), trials("late-2")],
        [vec![0, 1, 2, 3], vec![0, 1], vec![0, 1, 2, 3]]
    );
    let said: Vec<(u32, &[usize])> = heard
        .progress
        .iter()
        .filter_map(|progress| match progress {
            Progress::LeavesOut { round, entries } => Some((*round, entries.as_slice())),
            _ => None,
        })
        .collect();
    assert_eq!(said, [(2, &[1][..])], "late-1 is the second entry");
}

#[test]
fn every_check_is_told() {
    let testbed = Testbed::new(&["ok"]);
    let mut heard = TestJournal::default();
    testbed.run(&mut heard);
    let checks: Vec<_> = heard
        .progress
        .iter()
        .filter_map(|progress| match progress {
            Progress::Checked(check) => Some(check),
            _ => None,
        })
        .collect();
    assert_eq!(checks.len(), 1);
    assert!(checks[0].passed && !checks[0].cases.is_empty() && checks[0].contract == "hello");
}

#[test]
fn no_round_begins_after_the_budget() {
    let mut testbed = Testbed::new(&["ok"]);
    testbed.plan.rounds = 9;
    testbed.plan.budget_ns = Some(1);
    let mut heard = TestJournal::default();
    assert_eq!(testbed.run(&mut heard), RunEnd::BudgetSpent);
    assert_eq!(numbers(&heard), Vec::<u32>::new());
}

#[test]
fn earlier_sessions_have_used_up_a_part_of_the_budget() {
    let mut testbed = Testbed::new(&["ok"]);
    testbed.plan.rounds = 9;
    testbed.plan.budget_ns = Some(3_600_000_000_000);
    let mut heard = TestJournal {
        time_spent: Duration::from_hours(1),
        ..TestJournal::default()
    };
    assert_eq!(testbed.run(&mut heard), RunEnd::BudgetSpent);
    assert_eq!(numbers(&heard), Vec::<u32>::new());
}

#[test]
fn what_was_not_built_is_a_row_in_each_round() {
    let mut testbed = Testbed::new(&["ok"]);
    testbed.plan.rounds = 2;
    let excluded = Exclusion {
        stage: TrialStage::Toolchain,
        reason: "Toy is not installed on this machine".to_owned(),
        log_tail: Vec::new(),
        fault: Fault::Service,
    };
    testbed
        .built
        .values_mut()
        .for_each(|built| *built = Err(excluded.clone()));
    let mut heard = TestJournal::default();
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    assert_eq!(numbers(&heard), [0, 1]);
    assert!(
        heard
            .records
            .iter()
            .all(|record| record.result.as_ref().err() == Some(&excluded))
    );
}

#[test]
fn services_that_are_up_at_once_have_the_planned_port_and_those_after_it() {
    let mut testbed = Testbed::new(&["ok", "late 1"]);
    testbed.plan.design = Design::Interleaved {
        window_ns: 150_000_000,
        cycles: 2,
    };
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let first = (20_000..30_000).find(|&port| is_free(port) && is_free(port + 1));
    testbed.plan.address.port = first;
    let mut heard = TestJournal::default();
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    let failures = heard
        .records
        .iter()
        .filter_map(|record| record.result.as_ref().err());
    assert_eq!(failures.collect::<Vec<_>>(), Vec::<&Exclusion>::new());
    let loaded = heard.progress.iter().filter_map(|progress| match progress {
        Progress::Loads { port, .. } => Some(*port),
        _ => None,
    });
    let ports: BTreeSet<u16> = loaded.collect();
    let first = first.expect("free ports");
    assert_eq!(ports, BTreeSet::from([first, first + 1]));
}

/// Otherwise each resumed session would measure all interleaved services of a finished round again.
#[test]
fn a_build_that_fails_again_after_a_break_repeats_nothing() {
    let mut testbed = Testbed::new(&["ok", "late 1", "late 2"]);
    testbed.plan.rounds = 2;
    testbed.plan.design = Design::Interleaved {
        window_ns: 150_000_000,
        cycles: 3,
    };
    let unbuilt = testbed.plan.entries[2].service.clone();
    let other = |id: &ServiceId| id.service == unbuilt;
    let working = testbed.built.clone();
    let no_registry = Exclusion {
        stage: TrialStage::Build,
        reason: "the registry does not answer".to_owned(),
        log_tail: Vec::new(),
        fault: Fault::Infrastructure,
    };
    for (_, built) in testbed.built.iter_mut().filter(|(id, _)| other(id)) {
        *built = Err(no_registry.clone());
    }
    let mut whole = TestJournal::default();
    assert_eq!(testbed.run(&mut whole), RunEnd::Complete);
    let first_round = whole.records.iter().filter(|record| record.round == 0).cloned();
    let stored: Vec<TrialRecord> = first_round.collect();
    assert_eq!(stored.len(), 3);
    let mut heard = TestJournal {
        stored: stored.clone(),
        ..TestJournal::default()
    };
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    let rounds = |heard: &TestJournal| {
        heard
            .records
            .iter()
            .map(|record| record.round)
            .collect::<Vec<_>>()
    };
    assert_eq!(rounds(&heard), [1, 1, 1], "only the second round was measured");
    // Once it can be built, its round is measured again: windows are compared within a block.
    testbed.built = working;
    let mut heard = TestJournal {
        stored,
        ..TestJournal::default()
    };
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    assert_eq!(rounds(&heard), [0, 0, 0, 1, 1, 1]);
    assert!(heard.records.iter().all(|record| record.result.is_ok()));
}

#[test]
fn a_service_that_fails_twice_in_two_rounds_is_not_started_again() {
    let mut testbed = Testbed::new(&["crashes"]);
    testbed.plan.rounds = 4;
    let mut heard = TestJournal::default();
    testbed.run(&mut heard);
    assert_eq!(numbers(&heard), [0, 0, 1, 1, 2, 3]);
    let reason = |attempt: usize| {
        heard.records[attempt]
            .result
            .as_ref()
            .expect_err("excluded")
            .reason
            .clone()
    };
    for attempt in 0..4 {
        let first = reason(attempt);
        assert!(first.starts_with("the service ended"), "{first}");
    }
    for attempt in 4..6 {
        let again = reason(attempt);
        assert!(
            again.starts_with("not started again after failures of its own in 2 rounds: the service ended"),
            "{again}"
        );
    }
}

#[test]
fn failures_of_earlier_sessions_count() {
    let mut testbed = Testbed::new(&["crashes"]);
    testbed.plan.rounds = 4;
    let mut whole = TestJournal::default();
    testbed.run(&mut whole);
    // Stopped after the first try of the second round: it has its second try there, and no start after that.
    let mut heard = TestJournal {
        stored: whole.records[..3].to_vec(),
        ..TestJournal::default()
    };
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    assert_eq!(numbers(&heard), [1, 2, 3]);
    let failed = |record: &TrialRecord| record.result.as_ref().expect_err("excluded").reason.clone();
    assert!(failed(&heard.records[0]).starts_with("the service ended"));
    for record in &heard.records[1..] {
        let again = failed(record);
        assert!(
            again.starts_with("not started again after failures of its own in 2 rounds"),
            "{again}"
        );
    }
}

#[test]
fn infrastructure_failures_of_earlier_sessions_are_done_again_with_all_their_retries() {
    let testbed = Testbed::new(&["ok"]);
    let mut whole = TestJournal::default();
    testbed.run(&mut whole);
    let mut void = whole.records[0].clone();
    void.result = Err(Exclusion {
        stage: TrialStage::Measure,
        reason: "the generator ended".to_owned(),
        log_tail: Vec::new(),
        fault: Fault::Infrastructure,
    });
    let mut heard = TestJournal {
        stored: vec![void; 3],
        ..TestJournal::default()
    };
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    assert_eq!(numbers(&heard), [0]);
    assert!(heard.records[0].result.is_ok());
}

#[test]
fn a_disturbed_trial_is_repeated_once_and_says_so() {
    let mut testbed = Testbed::new(&["ok"]);
    // Every trial is noisier than that.
    testbed.options.noise = Some(NoiseLimits {
        others: -1.0,
        steal: 1.1,
    });
    let mut heard = TestJournal::default();
    assert_eq!(testbed.run(&mut heard), RunEnd::Complete);
    assert_eq!(numbers(&heard), [0, 0]);
    let kinds = |index: usize| -> Vec<WarningKind> {
        let measurement = heard.records[index].result.as_ref().expect("measured");
        measurement.warnings.iter().map(|warning| warning.kind).collect()
    };
    assert!(!kinds(0).contains(&WarningKind::Repeated));
    assert!(
        kinds(1).contains(&WarningKind::Repeated) && kinds(1).contains(&WarningKind::Noise),
        "{:?}",
        kinds(1)
    );
}

#[test]
fn noise_that_stays_is_not_repeated_for_ever() {
    let mut testbed = Testbed::new(&["ok"]);
    testbed.plan.rounds = 5;
    testbed.options.noise = Some(NoiseLimits {
        others: -1.0,
        steal: 1.1,
    });
    let mut heard = TestJournal::default();
    testbed.run(&mut heard);
    assert_eq!(numbers(&heard), [0, 0, 1, 1, 2, 2, 3, 4]);
    let warnings = heard
        .progress
        .iter()
        .filter(|progress| matches!(progress, Progress::Warning(_)));
    assert_eq!(warnings.count(), 1);
}

#[test]
fn a_quiet_trial_is_not_repeated() {
    let mut testbed = Testbed::new(&["ok"]);
    testbed.options.noise = Some(quiet());
    let mut heard = TestJournal::default();
    testbed.run(&mut heard);
    assert_eq!(numbers(&heard), [0]);
}
