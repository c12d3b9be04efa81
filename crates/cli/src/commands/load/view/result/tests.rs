use super::*;
use prony_records::{Histogram, Outcomes, Responses};
use serde_json::json;

/// Widths of terminals.
const WIDTHS: [usize; 3] = [60, 80, 120];

fn merge(into: &mut Value, more: Value) {
    let Value::Object(more) = more else { return };
    for (key, value) in more {
        into[key] = value;
    }
}

fn latency(ms: [f64; 10]) -> Value {
    let ns = ms.map(|ms| (ms * 1e6).round() as u64);
    json!({
        "mean": ns[0], "min": ns[1], "p50": ns[2], "p75": ns[3], "p90": ns[4], "p95": ns[5], "p99": ns[6], "p99_9": ns[7],
        "p99_99": ns[8], "max": ns[9]
    })
}

/// A histogram of `count` replies with these shares at and below these times, ms.
fn histogram(count: u64, steps: &[(f64, f64)]) -> Histogram {
    let mut all = Histogram::new();
    let mut before = 0;
    for &(share, ms) in steps {
        // Up to the reply at which a percentile is read.
        let until = (share * count as f64).ceil() as u64;
        all.record_many((ms * 1e6) as u64, until - before);
        before = until;
    }
    all
}

const RESPONSE: [(f64, f64); 6] = [
    (0.5, 1.18),
    (0.9, 1.61),
    (0.95, 1.92),
    (0.99, 3.02),
    (0.999, 5.4),
    (1.0, 12.4),
];

/// A recording with these outcomes; counts and warnings follow from them as they do in the generator.
fn recording(outcomes: Value, more: Value) -> Recording {
    let mut counted = json!({ "valid": 0, "unexpected": 0, "status": 0, "timeout": 0, "connect_error": 0, "reset": 0, "dropped": 0 });
    merge(&mut counted, outcomes);
    let outcomes: Outcomes = serde_json::from_value(counted).expect("outcomes");
    let completed = outcomes.valid + outcomes.status + outcomes.unexpected;
    let sent = completed + outcomes.timeout + outcomes.reset;
    let times = histogram(outcomes.valid, &RESPONSE);
    let response = Responses::new(times.clone(), None, &outcomes).times();
    let mut all = json!({
        "schema": 1, "target": "http://127.0.0.1:8080/api/test", "protocol": "http1",
        "load": { "kind": "closed", "connections": 64, "in_flight": 1 },
        "duration_s": 10.0, "timeout_ns": 10_000_000_000_u64,
        "requests": { "offered": outcomes.total(), "sent": sent, "completed": completed, "valid": outcomes.valid },
        "throughput_per_s": completed as f64 / 10.0, "goodput_per_s": outcomes.valid as f64 / 10.0,
        "outcomes": outcomes, "status_codes": { "200": outcomes.valid }, "bytes": { "sent": 22_544_384, "received": 79_691_776 },
        "coverage": "every_request", "response_time_ns": response, "valid_time_ns": times.summary(), "service_time_ns": times.summary(), "schedule_lag_ns": null,
        "first_byte_ns": times.summary(),
        "connect_time_ns": latency([0.242, 0.2, 0.231, 0.25, 0.31, 0.344, 0.402, 0.402, 0.402, 0.402]),
        "connections": { "asked": 64, "established": 64, "reconnects": 0 },
        "generator": { "threads": 1, "cpu_s": 6.1, "busiest_thread": 0.61, "transport": "io_uring", "saturated": false },
        "intervals": [], "histogram": times.encode(), "warnings": []
    });
    merge(&mut all, more);
    let mut recording: Recording = serde_json::from_value(all).expect("a recording");
    recording.warnings.splice(0..0, recording.failure(None));
    recording
}

fn warning(kind: &str, text: &str, advice: &str) -> Value {
    json!({ "kind": kind, "text": text, "advice": advice })
}

fn open(rate: f64) -> Value {
    json!({
        "kind": "open", "arrival": { "profile": { "kind": "constant", "rate": rate }, "spacing": "even" },
        "connections": 64, "in_flight": 1, "backlog": 1000
    })
}

/// The texts for every width, one below the other.
fn shown(recording: &Recording, objective: Option<&str>) -> String {
    let objective = objective.map(|text| text.parse().expect("an objective"));
    at_all_widths(&LoadResult::new(recording, objective.as_ref(), None))
}

fn at_all_widths(result: &LoadResult<'_>) -> String {
    let at = |columns: usize| {
        let text = result.text(columns);
        for line in text.lines() {
            assert!(text::width(line) <= columns, "{columns}: {line}");
        }
        format!("{columns} columns:\n{text}")
    };
    WIDTHS.map(at).join("\n\n")
}

fn word_and_exit(recording: &Recording) -> (&'static str, u8) {
    let result = LoadResult::new(recording, None, None);
    (result.word.key(), result.exit().code())
}

#[test]
fn a_healthy_closed_load() {
    let recording = recording(json!({ "valid": 524_180 }), json!({}));
    assert_eq!(word_and_exit(&recording), ("ok", 0));
    insta::assert_snapshot!(shown(&recording, None));
}

#[test]
fn an_open_load_that_misses_an_objective() {
    let times = latency([1.87, 0.3, 1.22, 2.0, 3.41, 5.15, 12.0, 18.3, 19.0, 20.1]);
    let lag = latency([0.23, 0.005, 0.0091, 0.02, 0.41, 0.92, 3.1, 4.6, 5.0, 5.2]);
    let recording = recording(
        json!({ "valid": 60_000 }),
        json!({ "load": open(2_000.0), "duration_s": 30.0, "goodput_per_s": 2_000.0, "throughput_per_s": 2_000.0,
                "service_time_ns": times, "schedule_lag_ns": lag, "first_byte_ns": times }),
    );
    insta::assert_snapshot!(shown(&recording, Some("p99<3ms,errors<0.1%")));
}

#[test]
fn nothing_but_404() {
    let wrong = json!({ "operation": "GET /nothere", "what": "status", "expected": "200 to 299",
        "got": "404, text/html, 153 bytes: <html>\\r\\n<head><title>404 Not Found</title></head>\\r\\n<body>\\r\\n<center>…" });
    let recording = recording(
        json!({ "status": 41_872 }),
        json!({ "target": "http://127.0.0.1:8080/nothere", "status_codes": { "404": 41_872 }, "unexpected_replies": [wrong, wrong],
                "operations": [{ "name": "GET /nothere", "requests": { "offered": 41_872, "sent": 41_872, "completed": 41_872, "valid": 0 },
                    "outcomes": { "valid": 0, "unexpected": 0, "status": 41_872, "timeout": 0, "connect_error": 0, "reset": 0, "dropped": 0 },
                    "response_time_ns": null, "histogram": "" }] }),
    );
    assert_eq!(word_and_exit(&recording), ("failed", 3));
    insta::assert_snapshot!(shown(&recording, Some("p99<10ms")));
}

#[test]
fn some_503_and_some_timeouts() {
    let recording = recording(
        json!({ "valid": 56_400, "status": 3_000, "timeout": 600 }),
        json!({ "load": open(2_000.0), "duration_s": 30.0, "goodput_per_s": 1_880.0, "throughput_per_s": 1_980.0, "offered_per_s": 2_000.0, "sent_per_s": 1_998.7,
                "status_codes": { "200": 56_400, "503": 3_000 },
                "warnings": [warning("errors", "3,600 of 60,000 requests (6.00 %) had no valid reply.", "See status and errors.")] }),
    );
    assert_eq!(word_and_exit(&recording), ("errors", 0));
    insta::assert_snapshot!(shown(&recording, None));
}

#[test]
fn an_open_load_in_stages() {
    let stage = |start: f64, rate: f64, p50: f64, p99: f64| {
        json!({ "start_s": start, "length_s": 10.0, "offered_per_s": rate, "valid": (rate * 10.0) as u64, "errors": 0,
                "p50": (p50 * 1e6) as u64, "p99": (p99 * 1e6) as u64 })
    };
    let stages = json!([{ "rate": 500.0, "for_ns": 10_000_000_000_u64 }, { "rate": 1_000.0, "for_ns": 10_000_000_000_u64 },
        { "rate": 2_000.0, "for_ns": 10_000_000_000_u64 }]);
    let mut load = open(500.0);
    load["arrival"]["profile"] = json!({ "kind": "stages", "stages": stages });
    let recording = recording(
        json!({ "valid": 35_000 }),
        json!({ "load": load, "duration_s": 30.0, "goodput_per_s": 1_166.6, "throughput_per_s": 1_166.6,
                "stages": [stage(0.0, 500.0, 0.182, 0.41), stage(10.0, 1_000.0, 0.201, 0.89), stage(20.0, 2_000.0, 0.288, 4.02)] }),
    );
    insta::assert_snapshot!(shown(&recording, None));
}

#[test]
fn users_who_arrive() {
    let load = json!({ "kind": "users", "arrival": { "profile": { "kind": "constant", "rate": 20.0 }, "spacing": "even" },
        "requests_per_user": 10, "think_ns": 0, "max_users": 1000 });
    let recording = recording(
        json!({ "valid": 6_000 }),
        json!({ "load": load, "duration_s": 30.0, "goodput_per_s": 200.0, "throughput_per_s": 200.0,
                "connections": { "asked": 1000, "established": 4, "reconnects": 0 },
                "users": { "arrived": 600, "served": 600, "turned_away": 0,
                    "visit_ns": latency([30.0, 20.0, 29.0, 33.0, 40.0, 48.0, 55.0, 60.0, 61.0, 62.0]) } }),
    );
    insta::assert_snapshot!(shown(&recording, None));
}

#[test]
fn calls_of_grpc() {
    let recording = recording(
        json!({ "valid": 420_500 }),
        json!({ "target": "127.0.0.1:8080 prony.person.PersonService/getPerson", "protocol": "grpc",
                "load": { "kind": "closed", "connections": 8, "in_flight": 8 },
                "status_codes": { "200": 420_500, "grpc-0": 420_500 } }),
    );
    insta::assert_snapshot!(shown(&recording, None));
}

#[test]
fn streams_of_events() {
    let messages = json!({
        "received": 199_600, "per_s": 19_960.0,
        "first_ns": latency([4.0, 1.0, 3.0, 5.0, 7.0, 8.0, 11.2, 14.0, 15.0, 16.0]),
        "last_ns": latency([210.0, 190.0, 205.0, 210.0, 220.0, 230.0, 250.0, 270.0, 280.0, 290.0]),
        "gap_ns": latency([10.0, 1.0, 10.0, 20.0, 40.0, 50.0, 61.0, 70.0, 80.0, 90.0]),
        "ids": { "counted": 199_600, "missing": 0, "doubled": 0, "late": 0 },
        "streams": { "completed": 9_980, "at_bound": 9_980, "ended_early": 0, "cut": 0 }
    });
    let recording = recording(json!({ "valid": 9_980 }), json!({ "messages": messages }));
    insta::assert_snapshot!(shown(&recording, None));
}

#[test]
fn messages_of_websocket() {
    let recording = recording(
        json!({ "valid": 615_400 }),
        json!({ "target": "ws://127.0.0.1:8080/ws/echo", "protocol": "websocket", "status_codes": {},
                "load": { "kind": "closed", "connections": 100, "in_flight": 8 } }),
    );
    let result = LoadResult::new(&recording, None, None).of_messages(Some(1_024));
    insta::assert_snapshot!(at_all_widths(&result));
}

fn answers() -> Value {
    let rate = json!({ "p50": 24.6, "p10": 20.0, "p1": 18.0 });
    json!({
        "received": 24_000, "per_s": 400.0,
        "first_ns": null, "gap_ns": latency([39.0, 10.0, 38.0, 39.0, 40.0, 41.0, 50.0, 60.0, 61.0, 62.0]),
        "last_ns": latency([8_000.0, 4_000.0, 8_000.0, 8_100.0, 9_000.0, 9_100.0, 9_500.0, 9_900.0, 9_950.0, 9_990.0]),
        "streams": { "completed": 240, "at_bound": 0, "ended_early": 0, "cut": 0 },
        "llm": {
            "ttft_ns": latency([200.0, 100.0, 190.0, 220.0, 260.0, 288.0, 400.0, 510.0, 520.0, 530.0]),
            "tpot_ns": latency([38.0, 30.0, 38.0, 38.5, 38.8, 39.0, 45.0, 46.0, 47.0, 48.0]),
            "events_per_s_of_stream": rate,
            "usage": { "answers": 240, "prompt_tokens": 12_000, "completion_tokens": 48_000, "per_s": 800.0, "per_s_of_stream": rate },
            "good": { "answers": 239, "due": 240, "per_s": 3.98, "late": 1, "slow": 0, "long": 0 },
            "errors": 0, "empty": 0
        }
    })
}

#[test]
fn answers_of_a_language_model() {
    let recording = recording(
        json!({ "valid": 240 }),
        json!({ "target": "http://127.0.0.1:8000/v1/chat/completions", "load": open(4.0), "duration_s": 60.0,
                "goodput_per_s": 4.0, "throughput_per_s": 4.0, "messages": answers(),
                "warnings": [warning("few_samples", "p99 rests on 2 of 240 replies.", "Measure longer: 1,000 replies need -d 250s.")] }),
    );
    insta::assert_snapshot!(shown(&recording, Some("ttft<500ms,tpot<50ms")));
}

#[test]
fn a_generator_at_its_limit() {
    let saturated = warning(
        "generator_saturated",
        "The busiest generator thread used 97 % of a CPU; the service may be faster.",
        "Use more threads (-t), dedicated CPUs (--cpus) or more hosts (--testbed).",
    );
    let limited = recording(json!({ "valid": 1_607_900 }), json!({ "warnings": [saturated] }));
    assert_eq!(word_and_exit(&limited), ("lower_bound", 0));
    insta::assert_snapshot!(shown(&limited, None));
    let errors = recording(
        json!({ "valid": 1_607_800, "reset": 100 }),
        json!({ "warnings": [saturated] }),
    );
    let result = LoadResult::new(&errors, None, None);
    assert_eq!(
        result.headline(),
        "ERRORS: 99.9 % success, at least 160,780 replies/s, the generator was the limit; 1 warning"
    );
}

#[test]
fn a_server_that_never_answers() {
    let recording = recording(json!({ "timeout": 64 }), json!({ "status_codes": {} }));
    assert_eq!(word_and_exit(&recording), ("failed", 3));
    insta::assert_snapshot!(shown(&recording, None));
}

#[test]
fn a_load_that_was_interrupted_judges_nothing() {
    let recording = recording(
        json!({ "valid": 5_000 }),
        json!({ "interrupted": true, "duration_s": 3.2 }),
    );
    let objective = "p99<1ns".parse().expect("an objective");
    let result = LoadResult::new(&recording, Some(&objective), None);
    assert_eq!(result.word.key(), "interrupted");
    assert_eq!(
        result.headline(),
        "INTERRUPTED: after 3.20 s; 100 % success, 500 replies/s, p99 3.02 ms"
    );
}

#[test]
fn notes_count_as_no_warning() {
    let note = warning(
        "connection_closed",
        "The server closed 64 keep-alive connections; reconnecting is part of the throughput.",
        "Raise its keep-alive limit.",
    );
    let noted = recording(json!({ "valid": 5_000 }), json!({ "warnings": [note] }));
    let text = LoadResult::new(&noted, None, None).text(80);
    assert!(
        text.starts_with("OK: 100 % success, 500 replies/s, p99 3.02 ms\n"),
        "{text}"
    );
    assert!(text.contains("  · The server closed 64"), "{text}");
}

#[test]
fn few_requests_have_a_lower_percentile_or_none() {
    for (replies, end) in [
        (1_000, ", p99 3.02 ms"),
        (999, ", p95 1.92 ms"),
        (100, ", p90 1.61 ms"),
        (20, ", p50 1.18 ms"),
        (19, "/s"),
    ] {
        let line = LoadResult::new(&recording(json!({ "valid": replies }), json!({})), None, None).headline();
        assert!(line.ends_with(end), "{replies}: {line}");
    }
}
