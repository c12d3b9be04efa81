//! `prony run --turns` from outside: interleaved services, one that crashes in between, and services that cannot be interleaved.

use crate::common::{Checkout, signal, until};
use serde_json::Value;

const TURNS: &str = r#"title = "Interleaved toys"
rounds = 2
warm_up = "200ms"
duration = "300ms"
design = "turns"
turns = { window = "150ms", cycles = 6 }

[[group]]
contract = "hello"
load = LOAD
services = ["toy-*"]
"#;

const CLOSED: &str = r#"{ kind = "closed", connections = 4 }"#;

fn checkout(modes: &[&str], load: &str) -> Checkout {
    let checkout = Checkout::new(2, modes);
    checkout.write("suites/turns.toml", &TURNS.replace("LOAD", load));
    checkout
}

fn row<'a>(report: &'a Value, service: &str) -> &'a Value {
    report["groups"][0]["services"]
        .as_array()
        .and_then(|rows| rows.iter().find(|row| row["service"] == service))
        .unwrap_or_else(|| panic!("no {service}: {report}"))
}

#[test]
fn the_cheaper_service_ranks_first_by_cpu_time_per_request() {
    let checkout = checkout(&["right", "heavy"], CLOSED);
    let ended = checkout.prony(&["run", "turns", "--json", "--seed", "7"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    assert_eq!(report["groups"][0]["ranked_by"], "cpu_ns_per_request", "{report}");
    let cost = |service| {
        let metric = &row(&report, service)["cpu_ns_per_request"];
        metric["point"]
            .as_f64()
            .unwrap_or_else(|| panic!("no cost: {metric}"))
    };
    assert!(cost("toy-heavy") > 2.0 * cost("toy-right"), "{report}");
    let windows = row(&report, "toy-heavy")["details"]["interleaved"].as_array();
    let windows = windows.unwrap_or_else(|| panic!("no windows: {report}"));
    assert_eq!(windows.len(), 12, "{windows:?}");
    for window in windows {
        let known = window["cpu_speed_probe_ns"].as_f64();
        assert!(
            known.is_some_and(|ns| ns > 0.0),
            "the speed of its CPUs is not known: {window}"
        );
    }
    let first = &report["groups"][0]["services"][0]["service"];
    assert_eq!(first, "toy-right");
    assert!(
        checkout.processes().is_empty(),
        "left behind: {:?}",
        checkout.processes()
    );
}

#[test]
fn a_service_that_dies_between_its_windows_is_excluded_and_the_others_go_on() {
    let checkout = checkout(&["right", "heavy", "mortal"], CLOSED);
    let ended = checkout.prony(&["run", "turns", "--json", "--seed", "7"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let reason = row(&report, "toy-mortal")["excluded"]["reason"].clone();
    assert!(
        reason
            .as_str()
            .is_some_and(|reason| reason.contains("exit code 3")),
        "{reason}"
    );
    for other in ["toy-right", "toy-heavy"] {
        assert!(row(&report, other)["excluded"].is_null(), "{report}");
    }
}

#[test]
fn what_cannot_take_turns_is_refused_with_the_reason() {
    let users = checkout(
        &["right", "slow"],
        r#"{ kind = "users", rate = 20, requests_per_user = 5 }"#,
    );
    let ended = users.prony(&["run", "turns"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.err.contains("a load of users cannot be interleaved"),
        "{}",
        ended.err
    );
    let alone = checkout(&["right"], CLOSED);
    let ended = alone.prony(&["run", "turns"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended
            .err
            .contains("an interleaved design needs at least two services"),
        "{}",
        ended.err
    );
}

#[test]
fn an_open_load_takes_turns_at_the_same_rate_for_all() {
    let open = r#"{ kind = "open", rate = 100, connections = 4 }"#;
    let checkout = checkout(&["right", "heavy"], open);
    let ended = checkout.prony(&["run", "turns", "--json", "--seed", "3"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    for service in ["toy-right", "toy-heavy"] {
        let offered = &row(&report, service)["offered_per_s"]["point"];
        let offered = offered.as_f64().unwrap_or_else(|| panic!("no rate: {report}"));
        assert!((offered / 100.0 - 1.0).abs() < 0.1, "{offered}");
        // The distributions of all windows are joined, not only that of the response time.
        for metric in ["service_time_ns_p50", "service_time_ns_p99"] {
            let time = row(&report, service)[metric]["point"].as_f64();
            assert!(time.is_some_and(|ns| ns > 0.0), "no {metric}: {report}");
        }
    }
}

/// Replies take almost as long as a window. By Little's law all connections wait for one throughout, so the load before a window has to
/// last until the first of them are replaced.
#[test]
fn a_window_begins_when_its_load_is_steady() {
    let checkout = Checkout::new(2, &["right", "waiting"]);
    let suite = TURNS
        .replace("LOAD", r#"{ kind = "closed", connections = 40 }"#)
        .replace(
            r#"window = "150ms", cycles = 6"#,
            r#"window = "250ms", cycles = 12"#,
        )
        .replace("rounds = 2", "rounds = 1")
        .replace(r#"warm_up = "200ms""#, r#"warm_up = "1s""#);
    checkout.write("suites/turns.toml", &suite);
    let ended = checkout.prony(&["run", "turns", "--json", "--seed", "7"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    let observed = |metric: &str| {
        let figure = &row(&report, "toy-waiting")[metric];
        let value = figure["observed"][0].as_f64();
        value.unwrap_or_else(|| panic!("{metric} is not known: {figure}"))
    };
    let (rate, mean_ns) = (observed("throughput_per_s"), observed("response_time_ns_mean"));
    let waiting = rate * mean_ns / 1e9;
    assert!(
        (36.0..=44.0).contains(&waiting),
        "{waiting}: {rate}/s, {mean_ns} ns"
    );
}

#[test]
fn a_killed_run_in_turns_leaves_nothing_and_is_resumed() {
    let checkout = checkout(&["right", "heavy"], CLOSED);
    let mut child = checkout.start(&["run", "turns", "--seed", "7"]);
    until("the run has started", || {
        let runs = checkout.prony(&["list", "runs", "--json"]);
        runs.code == Some(0)
            && runs.json()["runs"]
                .as_array()
                .is_some_and(|runs| !runs.is_empty())
    });
    signal(&child, "KILL");
    child.wait().expect("ended");
    until("nothing is left", || checkout.processes().is_empty());
    let ended = checkout.prony(&["run", "--resume", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    for service in ["toy-right", "toy-heavy"] {
        assert_eq!(
            row(&report, service)["cpu_ns_per_request"]["trials"],
            2,
            "{report}"
        );
    }
}
