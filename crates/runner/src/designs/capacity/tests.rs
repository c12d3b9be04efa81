use super::*;
use prony_load::{Arrival, Profile, Rate, Search, Spacing};
use serde_json::json;

/// A thousand requests a second on 64 connections.
pub(super) fn open(spacing: Spacing) -> Load {
    Load::Open {
        arrival: Arrival {
            profile: Profile::Constant {
                rate: Rate::per_second(1_000.0).expect("a rate"),
            },
            spacing,
        },
        connections: 64,
        in_flight: 1,
        backlog: 1,
        members: None,
    }
}

/// A recording of an open load of one second: requests due, valid replies, and valid replies within the second.
pub(super) fn recording(due: u64, valid: u64, within: u64) -> Recording {
    let recording = json!({
        "schema": 1, "target": "http://127.0.0.1/", "protocol": "http1", "load": { "kind": "open" },
        "duration_s": 1.0, "timeout_ns": 1_000_000_000,
        "requests": { "offered": due, "sent": due, "completed": due, "valid": valid },
        "throughput_per_s": due, "goodput_per_s": within,
        "outcomes": { "valid": valid, "unexpected": 0, "status": due - valid, "timeout": 0, "refused": 0, "reset": 0, "dropped": 0 },
        "status_codes": { "503": due - valid }, "bytes": { "sent": 0, "received": 0 },
        "response_time_ns": null, "service_time_ns": null, "schedule_lag_ns": null,
        "connections": { "asked": 64, "established": 64, "reconnects": 0 },
        "generator": { "threads": 1, "cpu_s": 0.1, "busiest_thread": 0.1, "transport": "epoll", "saturated": false },
        "intervals": [], "histogram": prony_records::Histogram::new().encode(), "warnings": []
    });
    let mut recording: Recording = serde_json::from_value(recording).expect("a recording");
    recording.warnings.extend(recording.failure(None));
    recording
}

fn missed(objective: &str, recording: &Recording) -> Vec<String> {
    let objective = objective.parse().expect("an objective");
    misses(&objective, recording, 100.0, 64.0)
        .expect("no fault of the machine")
        .0
}

#[test]
fn a_fast_503_meets_nothing() {
    assert_eq!(
        missed("errors<100%", &recording(5, 0, 0)),
        ["all 5 replies have status 503"]
    );
    assert!(missed("goodput>0", &recording(100, 40, 40))[0].starts_with("only 40 of 100 requests"));
}

/// Connections times in flight is no number of requests that may be lost.
#[test]
fn few_requests_that_are_lost_are_not_forgiven() {
    assert_eq!(
        missed("goodput>0", &recording(4, 3, 3)),
        ["errors 25.0 %, not below 1 %"]
    );
    assert_eq!(
        missed("goodput>0,errors<50%", &recording(40, 36, 36)),
        ["goodput 36.0/s of 100/s offered"]
    );
    assert_eq!(missed("goodput>0", &recording(1_000, 1_000, 1_000)), [""; 0]);
}

/// What is in flight when the measurement ends, and is answered then, is no miss, up to what may be in flight at once.
#[test]
fn a_service_that_falls_behind_misses() {
    assert_eq!(missed("goodput>0", &recording(1_000, 1_000, 940)), [""; 0]);
    assert_eq!(
        missed("goodput>0", &recording(1_000, 1_000, 900)),
        ["goodput 900/s of 100/s offered"]
    );
}

#[test]
fn a_fault_of_the_machine_ends_the_search() {
    let mut nothing = recording(0, 0, 0);
    nothing.connections.established = 0;
    nothing.warnings = nothing.failure(None).into_iter().collect();
    let objective = "p99<1h".parse().expect("an objective");
    let error = misses(&objective, &nothing, 100.0, 64.0).expect_err("the machine's");
    assert_eq!(error.fault(), prony_records::Fault::Infrastructure);
}

#[test]
fn a_first_rate_without_a_valid_reply_ends_the_search_of_a_server_that_prony_did_not_start() {
    let load = open(Spacing::Even);
    let search = Search {
        objective: "p99<1h".parse().expect("an objective"),
        limit: Rate::per_second(2_000.0).expect("a rate"),
        precision: 0.02,
        step_ns: 1_000_000_000,
    };
    let mut load_once = |_: f64, _: Duration| Ok::<_, CommandError>(recording(1_000, 0, 0));
    let steps = CapacitySteps::running(&load, &search, Duration::from_secs(30));
    let result = search_running(steps, &mut load_once, &mut |_| {}).expect("an end");
    let rates: Vec<f64> = result.points.iter().map(|point| point.rate).collect();
    assert_eq!(rates, [1_000.0]);
    assert!(result.points.iter().all(|point| point.failed));
    assert!(!matches!(
        result.end,
        SearchStep::Found(_) | SearchStep::Beyond(_)
    ));
}
