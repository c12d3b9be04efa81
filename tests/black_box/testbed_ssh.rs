//! Runs over hosts with OpenSSH that fail: they lose power, freeze, are disconnected, or are unfit for a run.

use crate::away::{Away, send};
use crate::common::{Checkout, PATIENCE, signal, until};
use crate::testbed::{built_here, sent_to, service};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Instant;

#[test]
fn services_are_built_here_and_sent_over_ssh() {
    let Some(away) = Away::new(1, "300ms") else { return };
    let testbed = fs::read_to_string(away.checkout.path("testbed.toml")).expect("the testbed");
    away.checkout.write("testbed.toml", &built_here(&testbed));
    // A host with an older C library cannot run builds of this machine.
    let library = away.hosts.of("h1", "bin").join("getconf");
    fs::write(&library, "#!/bin/sh\necho glibc 2.3\n").expect("a file");
    fs::set_permissions(&library, fs::Permissions::from_mode(0o755)).expect("made");
    let refused = Away::ended(away.run());
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let reason = service(&refused.json())["excluded"]["reason"].to_string();
    for part in ["app has glibc 2.3", "this machine", "[host.app]"] {
        assert!(reason.contains(part), "no `{part}` in {reason}");
    }
    fs::remove_file(&library).expect("it is there");
    let ended = Away::ended(away.run());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(service(&ended.json())["trials"], 1, "{ended:?}");
    let sent = sent_to(&away.hosts.of("h1", "home").join(".cache/prony"));
    assert_eq!(sent.len(), 1, "{sent:?}");
    away.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_testbed_that_is_not_fit_is_refused_before_anything_is_built() {
    let Some(away) = Away::new(1, "300ms") else { return };
    let testbed = fs::read_to_string(away.checkout.path("testbed.toml")).expect("the testbed");
    let elsewhere = testbed.replace("ssh = \"h1\"", "ssh = \"h1\"\naddress = \"10.79.0.99\"");
    away.checkout.write("testbed.toml", &elsewhere);
    let ended = Away::ended(away.run());
    assert_eq!(ended.code, Some(2), "{ended:?}");
    for part in [
        "the testbed is not ready for a run",
        "one: app (10.79.0.99) cannot be reached from this host",
        "two: app (10.79.0.99) cannot be reached from this host",
        "correct `address` in [host.app]",
    ] {
        assert!(ended.err.contains(part), "{part}: {ended:?}");
    }
    assert!(!ended.err.contains("building"), "{ended:?}");
    away.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_killed_worker_voids_the_trial_which_is_done_again() {
    let Some(away) = Away::new(1, "4s") else { return };
    let child = away.run();
    send("KILL", away.generator("h3"));
    let ended = Away::ended(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.err.contains("infrastructure failure: the generator on two"),
        "{ended:?}"
    );
    assert_eq!(service(&ended.json())["trials"], 1, "{ended:?}");
    away.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_worker_that_stands_still_is_named_in_time() {
    let Some(away) = Away::new(1, "4s") else { return };
    let child = away.run();
    let late = away.generator("h3");
    send("STOP", late);
    let began = Instant::now();
    let ended = Away::ended(child);
    println!("a frozen worker: the run ended after {:?}", began.elapsed());
    assert!(began.elapsed() < PATIENCE * 2, "{ended:?}");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .err
            .contains("infrastructure failure: two did not catch up with the other workers"),
        "{ended:?}"
    );
    assert_eq!(service(&ended.json())["trials"], 1, "{ended:?}");
    away.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_host_without_power_ends_the_run_and_is_named() {
    let Some(mut away) = Away::new(4, "20s") else {
        return;
    };
    let child = away.run();
    away.generator("h2");
    away.hosts.switch_off(1);
    let began = Instant::now();
    let ended = Away::ended(child);
    assert!(began.elapsed() < PATIENCE * 2, "{ended:?}");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let report = ended.json();
    let excluded = &service(&report)["excluded"];
    let reason = excluded["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("app"), "{excluded}");
    assert!(
        ended
            .err
            .contains("stopped early because a host of the testbed was lost: cannot reach app"),
        "{ended:?}"
    );
    assert!(report["ended_at"].is_null(), "it can be resumed: {report}");
    away.nothing_is_left(&["h2", "h3"]);
}

#[test]
fn a_host_that_comes_back_is_used_again() {
    let Some(away) = Away::new(1, "3s") else { return };
    let child = away.run();
    away.generator("h3");
    let connections = away.connections("h3");
    away.hosts.cut("h3");
    until("the host has dropped the controller", || {
        away.processes("h3").is_empty()
    });
    until("the controller makes another connection", || {
        let now = away.connections("h3");
        now.iter().any(|pid| !connections.contains(pid))
    });
    away.hosts.mend("h3");
    let ended = Away::ended(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .err
            .contains("infrastructure failure: lost the connection to two"),
        "{ended:?}"
    );
    let report = ended.json();
    assert_eq!(service(&report)["trials"], 1, "{report}");
    assert_eq!(report["state"], "ended", "{report}");
    away.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_board_in_turns_survives_the_end_of_a_worker() {
    let checkout = Checkout::new(1, &["right", "heavy"]);
    let suite = fs::read_to_string(checkout.path("suites/toys.toml")).expect("the suite");
    let turns = "design = \"turns\"\nturns = { window = \"200ms\", cycles = 6 }\n\n[[group]]";
    checkout.write("suites/toys.toml", &suite.replace("[[group]]", turns));
    let Some(mut away) = Away::with(checkout) else {
        return;
    };
    let child = away.run();
    let toys = |away: &Away| {
        let all = away.processes("h1");
        all.iter()
            .filter(|(_, line)| line.starts_with("python3 toy.py"))
            .count()
    };
    until("both are up and interleaved", || {
        toys(&away) == 2 && away.running("h3", "load --job").is_some()
    });
    away.hosts.switch_off(3);
    away.hosts.switch_on(3);
    let ended = Away::ended(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    for row in report["groups"][0]["services"].as_array().expect("rows") {
        assert!(row["excluded"].is_null(), "{row}");
        assert_eq!(row["trials"], 1, "{row}");
    }
    assert!(
        ended.err.contains("repeated: infrastructure failure: ") && ended.err.contains("two"),
        "{ended:?}"
    );
    assert_eq!(report["state"], "ended", "{report}");
    away.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn ended_by_the_user_it_leaves_nothing() {
    let Some(away) = Away::new(3, "2s") else { return };
    let child = away.run();
    away.generator("h3");
    signal(&child, "INT");
    let ended = Away::ended(child);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    away.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn two_runs_on_one_host_refuse_each_other() {
    let Some(away) = Away::new(1, "20s") else { return };
    let mut first = away.run();
    away.generator("h2");
    let second = Away::ended(away.run());
    assert_eq!(second.code, Some(2), "{second:?}");
    assert!(second.err.contains("is taken by `prony run toys"), "{second:?}");
    first.kill().expect("KILL");
    first.wait().expect("it is gone");
    away.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_cut_that_is_shorter_than_the_lease_is_survived() {
    let Some(away) = Away::new(1, "4s") else { return };
    let child = away.run();
    away.generator("h2");
    away.hosts.cut("h2");
    away.hosts.until_a_cut_is_felt(2);
    away.hosts.mend("h2");
    let ended = Away::ended(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(service(&ended.json())["trials"], 1, "{ended:?}");
    away.nothing_is_left(&["h1", "h2", "h3"]);
}
