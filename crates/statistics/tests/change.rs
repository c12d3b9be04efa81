//! Comparisons of two runs.

use crate::common::{TrialSpec, trials};
use prony_records::TrialStage;
use prony_statistics::{
    ChangeOptions, Metric, Options, RunChange, Verdict, compare, compare_in_run, same_twice, summarise,
};

const BASE: [f64; 6] = [1000.0, 1012.0, 991.0, 1004.0, 997.0, 1003.0];

fn scaled(factor: f64) -> Vec<f64> {
    BASE.iter().rev().map(|value| value * factor).collect()
}

fn change(base: &[TrialSpec], new: &[TrialSpec], options: &ChangeOptions) -> RunChange {
    let summary = |specs| summarise(&trials(specs), &Options::default()).expect("sound records");
    compare(&summary(base), &summary(new), options).expect("sound options")
}

fn goodput(change: &RunChange) -> &prony_statistics::Change {
    let changes = &change.groups[0].services[0].changes;
    changes
        .iter()
        .find(|change| change.metric == Metric::GoodputPerS)
        .expect("ranked by it")
}

#[test]
fn a_slower_run_fails_and_the_same_does_not() {
    let base = [TrialSpec::closed("a", &BASE)];
    let slower = change(
        &base,
        &[TrialSpec::closed("a", &scaled(0.9))],
        &ChangeOptions::default(),
    );
    assert_eq!(goodput(&slower).verdict, Verdict::Slower);
    assert!(goodput(&slower).ratio.contains(0.9) && slower.regressed);
    let same = change(
        &base,
        &[TrialSpec::closed("a", &scaled(1.0))],
        &ChangeOptions::default(),
    );
    assert!(!same.regressed && goodput(&same).verdict != Verdict::Slower);
    let faster = change(
        &base,
        &[TrialSpec::closed("a", &scaled(1.2))],
        &ChangeOptions::default(),
    );
    assert_eq!(goodput(&faster).verdict, Verdict::Faster);
}

#[test]
fn a_slowdown_within_the_limit_is_reported_but_does_not_fail() {
    let options = ChangeOptions {
        max_slowdown: 0.15,
        ..ChangeOptions::default()
    };
    let found = change(
        &[TrialSpec::closed("a", &BASE)],
        &[TrialSpec::closed("a", &scaled(0.9))],
        &options,
    );
    assert_eq!(goodput(&found).verdict, Verdict::Slower);
    assert!(!found.regressed);
}

/// 3 % ± 1 % slower: certainly more than 1 %, possibly more than 2.5 %, certainly not more than 5 %.
#[test]
fn a_gate_fails_only_beyond_its_limit_and_clears_only_within_it() {
    let base: Vec<f64> = BASE.to_vec();
    let judged = |max_slowdown: f64| {
        let options = ChangeOptions {
            max_slowdown,
            ..ChangeOptions::default()
        };
        let new = [TrialSpec::closed("a", &scaled(0.97))];
        let found = change(&[TrialSpec::closed("a", &base)], &new, &options);
        (found.regressed, found.inconclusive)
    };
    assert_eq!(judged(0.01), (true, false));
    assert_eq!(judged(0.025), (false, true));
    assert_eq!(judged(0.05), (false, false));
}

/// A comparison that could not have seen a factor of two does not prove "no regression".
#[test]
fn a_blind_comparison_is_inconclusive() {
    let options = ChangeOptions {
        max_slowdown: 0.02,
        ..ChangeOptions::default()
    };
    let found = change(
        &[TrialSpec::closed("a", &[1000.0, 400.0])],
        &[TrialSpec::closed("a", &[700.0, 300.0])],
        &options,
    );
    assert_eq!(goodput(&found).verdict, Verdict::CannotTell);
    assert!(found.inconclusive && !found.regressed);
}

#[test]
fn what_cannot_be_compared_is_named() {
    let base = [
        TrialSpec::closed("a", &BASE),
        TrialSpec::closed("old", &BASE),
        TrialSpec::closed("b", &BASE),
    ];
    let new = [
        TrialSpec::closed("a", &BASE[..1]),
        TrialSpec::closed("new", &BASE),
        TrialSpec::failing("b", TrialStage::Check),
    ];
    let found = change(&base, &new, &ChangeOptions::default());
    let text = found.missing.join("\n");
    for part in [
        "a/current in hello · hello has fewer than two trials",
        "old/current in hello · hello is only in the base",
        "new/current in hello · hello is only in the new run",
        "b/current in hello · hello has no numbers in the new run: made to fail",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn rounds_of_one_run_see_what_two_runs_cannot() {
    let drifting = [1000.0, 1300.0, 900.0, 1500.0, 1100.0, 800.0];
    let wobble = [1.001, 0.999, 1.002, 1.0, 0.998, 1.001];
    let slower: Vec<f64> = drifting
        .iter()
        .zip(wobble)
        .map(|(value, wobble)| value * 0.97 * wobble)
        .collect();
    let run = trials(&[
        TrialSpec::closed("old", &drifting),
        TrialSpec::closed("new", &slower),
    ]);
    let id = |name: &str| {
        run.iter()
            .find(|trial| trial.service.service == name)
            .expect("in the run")
            .service
            .clone()
    };
    let found =
        compare_in_run(&run, &id("old"), &id("new"), &ChangeOptions::default()).expect("sound records");
    assert_eq!(goodput(&found).verdict, Verdict::Slower);
    assert!(found.regressed && goodput(&found).ratio.contains(0.97));
    let apart = change(
        &[TrialSpec::closed("a", &drifting)],
        &[TrialSpec::closed("a", &slower)],
        &ChangeOptions::default(),
    );
    assert_eq!(goodput(&apart).verdict, Verdict::CannotTell);
}

#[test]
fn one_service_twice_ties_and_yields_the_noise_floor() {
    let run = trials(&[
        TrialSpec::closed("one", &BASE),
        TrialSpec::closed("two", &scaled(1.0)),
    ]);
    let (same, noise) = same_twice(&run, &Options::default()).expect("sound records");
    assert!(same.ties && same.rounds == 6);
    assert!(noise.trial_deviation > 0.003 && noise.trial_deviation < 0.01);
    let differences: Vec<f64> = noise
        .smallest_differences
        .iter()
        .map(|smallest| smallest.difference)
        .collect();
    assert!(
        differences.windows(2).all(|pair| pair[0] > pair[1]),
        "more rounds find smaller differences: {differences:?}"
    );
}
