//! Runs over hosts with OpenSSH that fail: they lose power, freeze, are disconnected, or are unfit for a run.

use crate::common::{Checkout, PATIENCE, attempts, signal, two_variants, until};
use crate::ssh_hosts::{SshHosts, send};
use crate::testbed::{built_here, sent_to, service};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Instant;

#[test]
fn services_are_built_here_and_sent_over_ssh() {
    let Some(remote) = SshHosts::new(1, "300ms") else {
        return;
    };
    let testbed = fs::read_to_string(remote.checkout.path("testbed.toml")).expect("the testbed");
    remote.checkout.write("testbed.toml", &built_here(&testbed));
    // A host with an older C library cannot run builds of this machine.
    let library = remote.hosts.of("h1", "bin").join("getconf");
    fs::write(&library, "#!/bin/sh\necho glibc 2.3\n").expect("a file");
    fs::set_permissions(&library, fs::Permissions::from_mode(0o755)).expect("made");
    let refused = SshHosts::ended(remote.run());
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let reason = service(&refused.json())["excluded"]["reason"].to_string();
    for part in ["app has glibc 2.3", "this machine", "[host.app]"] {
        assert!(reason.contains(part), "no `{part}` in {reason}");
    }
    fs::remove_file(&library).expect("it is there");
    let ended = SshHosts::ended(remote.run());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(service(&ended.json())["trials"], 1, "{ended:?}");
    let sent = sent_to(&remote.hosts.of("h1", "home").join(".cache/prony"));
    assert_eq!(sent.len(), 1, "{sent:?}");
    remote.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_testbed_that_is_not_fit_is_refused_before_anything_is_built() {
    let Some(remote) = SshHosts::new(1, "300ms") else {
        return;
    };
    let testbed = fs::read_to_string(remote.checkout.path("testbed.toml")).expect("the testbed");
    let elsewhere = testbed.replace("ssh = \"h1\"", "ssh = \"h1\"\naddress = \"10.79.0.99\"");
    remote.checkout.write("testbed.toml", &elsewhere);
    let ended = SshHosts::ended(remote.run());
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
    remote.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_killed_worker_voids_the_trial_which_is_done_again() {
    let Some(remote) = SshHosts::new(1, "4s") else {
        return;
    };
    let child = remote.run();
    send("KILL", remote.generator("h3"));
    let ended = SshHosts::ended(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.err.contains("infrastructure failure: the generator on two"),
        "{ended:?}"
    );
    assert_eq!(service(&ended.json())["trials"], 1, "{ended:?}");
    remote.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_worker_that_stands_still_is_named_in_time() {
    let Some(remote) = SshHosts::new(1, "4s") else {
        return;
    };
    let child = remote.run();
    let late = remote.generator("h3");
    send("STOP", late);
    let began = Instant::now();
    let ended = SshHosts::ended(child);
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
    remote.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_host_without_power_ends_the_run_and_is_named() {
    let Some(mut remote) = SshHosts::new(4, "20s") else {
        return;
    };
    let child = remote.run();
    remote.generator("h2");
    remote.hosts.switch_off(1);
    let began = Instant::now();
    let ended = SshHosts::ended(child);
    assert!(began.elapsed() < PATIENCE * 2, "{ended:?}");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let report = ended.json();
    let excluded = &service(&report)["excluded"];
    let reason = excluded["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("app"), "{excluded}");
    assert!(
        ended
            .err
            .contains("ended early, since a host of the testbed is lost: cannot reach app"),
        "{ended:?}"
    );
    assert!(report["ended_at"].is_null(), "it can be resumed: {report}");
    remote.nothing_is_left(&["h2", "h3"]);
}

#[test]
fn a_duet_that_lost_its_host_is_continued_when_that_is_back() {
    let Some(mut remote) = SshHosts::with(two_variants()) else {
        return;
    };
    remote.testbed("testbed.toml", "load = \"one\"");
    let duet = [
        "duet",
        "toy-right/current",
        "toy-right/slow",
        "--rounds=4",
        "-d2s",
        "--warmup=200ms",
        "-c2",
        "--testbed=testbed.toml",
        "--json",
    ];
    let latest = |remote: &SshHosts| {
        let listed = remote.checkout.prony(&["list", "runs", "--json"]);
        (listed.code == Some(0)).then(|| listed.json()["runs"][0].clone())
    };
    let child = remote.start(&duet);
    until("a round is stored", || {
        latest(&remote).is_some_and(|run| run["trials"].as_u64() >= Some(2))
    });
    remote.hosts.switch_off(1);
    let ended = SshHosts::ended(child);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.err.contains("a host is lost") && ended.err.contains("--resume "),
        "{ended:?}"
    );
    let run = latest(&remote).expect("a run");
    assert!(run["ended_at"].is_null(), "it can be resumed: {run}");
    remote.hosts.switch_on(1);
    let resumed = SshHosts::ended(remote.start(&[&duet[..], &["--resume"]].concat()));
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let found = resumed.json();
    assert_eq!(found["run"], run["run"], "{found}");
    assert_eq!(found["rounds"].as_array().map(Vec::len), Some(4), "{found}");
    remote.nothing_is_left(&["h1", "h2"]);
}

#[test]
fn a_host_that_comes_back_is_used_again() {
    let Some(remote) = SshHosts::new(1, "3s") else {
        return;
    };
    let child = remote.run();
    remote.generator("h3");
    let connections = remote.connections("h3");
    remote.hosts.cut("h3");
    until("the host has dropped the controller", || {
        remote.processes("h3").is_empty()
    });
    until("the controller makes another connection", || {
        let now = remote.connections("h3");
        now.iter().any(|pid| !connections.contains(pid))
    });
    remote.hosts.mend("h3");
    let ended = SshHosts::ended(child);
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
    remote.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn an_interleaved_group_survives_the_end_of_a_worker() {
    let checkout = Checkout::new(1, &["right", "heavy"]);
    let suite = fs::read_to_string(checkout.path("suites/toys.toml")).expect("the suite");
    let interleaved =
        "design = \"interleaved\"\ninterleaved = { window = \"500ms\", cycles = 10 }\n\n[[group]]";
    checkout.write("suites/toys.toml", &suite.replace("[[group]]", interleaved));
    let Some(mut remote) = SshHosts::with(checkout) else {
        return;
    };
    let child = remote.run();
    until("both have had a window", || {
        let services = ["toy-right", "toy-heavy"];
        services
            .iter()
            .all(|service| !attempts(&remote.checkout, service).is_empty())
    });
    remote.hosts.switch_off(3);
    remote.hosts.switch_on(3);
    let ended = SshHosts::ended(child);
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
    remote.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn ended_by_the_user_it_leaves_nothing() {
    let Some(remote) = SshHosts::new(3, "2s") else {
        return;
    };
    let child = remote.run();
    remote.generator("h3");
    signal(&child, "INT");
    let ended = SshHosts::ended(child);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    remote.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn two_runs_on_one_host_refuse_each_other() {
    let Some(remote) = SshHosts::new(1, "20s") else {
        return;
    };
    let mut first = remote.run();
    remote.generator("h2");
    let second = SshHosts::ended(remote.run());
    assert_eq!(second.code, Some(2), "{second:?}");
    assert!(
        second.err.contains("is taken by `prony run` (process"),
        "{second:?}"
    );
    first.kill().expect("KILL");
    first.wait().expect("it is gone");
    remote.nothing_is_left(&["h1", "h2", "h3"]);
}

#[test]
fn a_cut_that_is_shorter_than_the_lease_is_survived() {
    let Some(remote) = SshHosts::new(1, "4s") else {
        return;
    };
    let child = remote.run();
    remote.generator("h2");
    remote.hosts.cut("h2");
    remote.hosts.until_a_cut_is_felt(2);
    remote.hosts.mend("h2");
    let ended = SshHosts::ended(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(service(&ended.json())["trials"], 1, "{ended:?}");
    remote.nothing_is_left(&["h1", "h2", "h3"]);
}
