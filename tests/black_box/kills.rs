//! Killed at any moment, prony leaves no process, and a store that can be read and resumed.

use crate::common::{Checkout, until};
use std::time::Duration;

const ROUNDS: u32 = 8;
/// Time window in which a run is killed, ms: from before its first build to the middle of some trial.
const WITHIN: u64 = 4_000;

#[test]
fn killed_at_ten_random_moments_it_leaves_nothing_and_goes_on() {
    let checkout = Checkout::new(ROUNDS, &["right"]);
    let (mut moment, mut trials) = (20_261_121_u64, 0);
    for kill in 0..10 {
        // A multiplicative generator (Lehmer's) is random enough to choose moments.
        moment = moment * 48_271 % 0x7fff_ffff;
        let mut child = checkout.start(&[go_on(&checkout), &["--keep-disturbed"]].concat());
        std::thread::sleep(Duration::from_millis(moment % WITHIN));
        child.kill().expect("KILL");
        child.wait().expect("it is gone");
        until("nothing is left behind", || checkout.processes().is_empty());
        let listed = checkout.prony(&["list", "runs"]);
        assert_eq!(listed.code, Some(0), "after kill {kill}: {listed:?}");
        let kept = kept_trials(&checkout);
        assert!(
            kept >= trials,
            "after kill {kill}: {kept} trials are kept of {trials}"
        );
        trials = kept;
    }
    let ended = checkout.prony(&[go_on(&checkout), &["--json", "--keep-disturbed"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.json()["groups"][0]["services"][0]["trials"], ROUNDS);
}

/// Arguments that resume the run, or start it if it was killed before it was stored.
fn go_on(checkout: &Checkout) -> &'static [&'static str] {
    if checkout.prony(&["list", "runs"]).out.contains("toys") {
        &["run", "--resume"]
    } else {
        &["run", "toys"]
    }
}

/// Trials of the run that can be read back.
fn kept_trials(checkout: &Checkout) -> u64 {
    let report = checkout.prony(&["report", "--format", "json"]);
    if report.code != Some(0) {
        return 0;
    }
    let trials = &report.json()["groups"][0]["services"][0]["trials"];
    trials.as_u64().unwrap_or(0)
}
