//! Ctrl-C and TERM at any moment leave no process, and a run that can be read and continued.

use crate::common::{Checkout, CommandOutput, signal};
use std::thread;
use std::time::Duration;

const ROUNDS: u32 = 6;
/// Time window in which a run is stopped, ms: from before its first build to the middle of some trial.
const WITHIN: u64 = 4_000;

/// The signals of one attempt, which are sent one after the other.
const SIGNALS: [&[&str]; 4] = [&["INT"], &["INT", "INT"], &["TERM"], &["INT", "TERM", "INT"]];

#[test]
fn stopped_at_eight_random_moments_it_leaves_nothing_and_goes_on() {
    let checkout = Checkout::new(ROUNDS, &["right"]);
    // A build and a start that take time, so that signals arrive in them as well.
    let file = "services/toy-right/service.toml";
    let text = std::fs::read_to_string(checkout.path(file)).expect("the service");
    let text = text
        .replace("build = []", "build = [\"sleep 0.5\"]")
        .replace("run = \"exec", "run = \"sleep 0.3; exec");
    checkout.write(file, &text);
    let (mut moment, mut trials) = (20_261_126_u64, 0);
    for attempt in 0..8 {
        // A multiplicative generator (Lehmer's) is random enough to choose moments.
        moment = moment * 48_271 % 0x7fff_ffff;
        let child = checkout.start(&[go_on(&checkout), &["--keep-disturbed"]].concat());
        thread::sleep(Duration::from_millis(moment % WITHIN));
        for name in SIGNALS[attempt % SIGNALS.len()] {
            signal(&child, name);
        }
        let ended = CommandOutput::of(&child.wait_with_output().expect("it ends"));
        // The services have ended before prony has.
        assert_eq!(checkout.processes(), Vec::<String>::new(), "attempt {attempt}");
        // At first, signals have their default effect: no code. A run that had just ended is complete.
        assert!(
            matches!(ended.code, None | Some(0 | 130 | 143)),
            "attempt {attempt}: {ended:?}"
        );
        let listed = checkout.prony(&["list", "runs", "--json"]);
        let stored = listed.json()["runs"][0]["trials"].as_u64().unwrap_or(0);
        assert!(
            stored >= trials,
            "attempt {attempt}: {stored} trials are left of {trials}"
        );
        trials = stored;
    }
    let ended = checkout.prony(&[go_on(&checkout), &["--json", "--keep-disturbed"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.json()["groups"][0]["services"][0]["trials"], ROUNDS);
}

/// Arguments that resume the run, or start it if it was stopped before it was stored.
fn go_on(checkout: &Checkout) -> &'static [&'static str] {
    if checkout.prony(&["list", "runs"]).out.contains("toys") {
        &["run", "--resume"]
    } else {
        &["run", "toys"]
    }
}
