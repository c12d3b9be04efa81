use super::*;
use prony_records::{Histogram, Outcomes};

/// A rate that was offered for 10 s, with valid replies and others with status 503. Half of the response times are `p50_ms`,
/// the other half are `p99_ms`.
fn point(rate: f64, (valid, others): (u64, u64), (p50_ms, p99_ms): (f64, f64), missed: &[&str]) -> Point {
    let mut times = Histogram::new();
    times.record_many((p50_ms * 1e6) as u64, valid / 2);
    times.record_many((p99_ms * 1e6) as u64, valid - valid / 2);
    let outcomes = json!({ "valid": valid, "unexpected": 0, "status": others, "timeout": 0, "refused": 0, "reset": 0, "dropped": 0 });
    let counts: Outcomes = serde_json::from_value(outcomes.clone()).expect("outcomes");
    let response = Responses::new(times.clone(), None, &counts).times();
    let recording = json!({
        "schema": 1, "target": "http://127.0.0.1:8080/", "protocol": "http1", "load": { "kind": "open" },
        "duration_s": 10.0, "timeout_ns": 10_000_000_000_u64,
        "requests": { "offered": valid + others, "sent": valid + others, "completed": valid + others, "valid": valid },
        "throughput_per_s": (valid + others) as f64 / 10.0, "goodput_per_s": valid as f64 / 10.0,
        "outcomes": outcomes, "status_codes": { "503": others }, "bytes": { "sent": 0, "received": 0 },
        "coverage": "every_request", "response_time_ns": response, "service_time_ns": null, "schedule_lag_ns": null,
        "connections": { "asked": 64, "established": 64, "reconnects": 0 },
        "generator": { "threads": 1, "cpu_s": 1.0, "busiest_thread": 0.1, "transport": "epoll", "saturated": false },
        "intervals": [], "histogram": times.encode(), "warnings": []
    });
    let mut recording: Recording = serde_json::from_value(recording).expect("a recording");
    recording.warnings.extend(recording.failure(None));
    Point {
        rate,
        failed: valid == 0,
        recording,
        missed: missed.iter().map(ToString::to_string).collect(),
    }
}

fn shown(end: SearchStep, points: &[Point]) -> (String, u8) {
    let of = (
        "http://127.0.0.1:8080/".to_owned(),
        "p99<10ms".to_owned(),
        "requests",
        0.02,
    );
    let result = CapacityView::of(of, end, points);
    let at = |columns: usize| {
        let text = result.text(columns);
        for line in text.lines() {
            assert!(text::width(line) <= columns, "{columns}: {line}");
        }
        format!("{columns} columns:\n{text}")
    };
    ([60, 80, 120].map(at).join("\n\n"), result.exit().code())
}

#[test]
fn a_capacity_and_its_curve() {
    let mut points = [
        point(8_000.0, (80_000, 0), (0.21, 1.9), &[]),
        point(
            13_460.0,
            (134_020, 580),
            (1.2, 18.8),
            &["p99 18.8 ms, not below 10 ms"],
        ),
        point(13_190.0, (395_700, 0), (0.48, 9.1), &[]),
    ];
    points[2].recording.duration_s = 30.0;
    points[2].recording.goodput_per_s /= 3.0;
    let (text, exit) = shown(SearchStep::Found(13_190.0), &points);
    assert_eq!(exit, 0);
    insta::assert_snapshot!(text);
}

#[test]
fn a_step_is_shown_as_in_the_table() {
    let first = point(8_000.0, (80_000, 0), (0.21, 1.9), &[]);
    let next = point(
        13_460.0,
        (134_020, 580),
        (1.2, 18.8),
        &["p99 18.8 ms, not below 10 ms"],
    );
    let shown = [step(&first, true, 80), step(&next, false, 80)];
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_rate_beyond_the_limit_is_a_lower_bound() {
    let points = [point(200.0, (2_000, 0), (0.2, 0.9), &[])];
    let (text, exit) = shown(SearchStep::Beyond(200.0), &points);
    assert_eq!(exit, 0);
    insta::assert_snapshot!(text);
}

#[test]
fn a_generator_at_its_limit_is_a_lower_bound() {
    let mut points = [
        point(90_000.0, (900_000, 0), (0.2, 0.9), &[]),
        point(
            95_000.0,
            (950_000, 0),
            (4.0, 18.8),
            &["p99 18.8 ms, not below 10 ms"],
        ),
    ];
    points[1].recording.generator.saturated = true;
    let (text, exit) = shown(SearchStep::Found(90_000.0), &points);
    assert_eq!(exit, 0);
    insta::assert_snapshot!(text);
}

#[test]
fn no_rate_meets_the_objective() {
    let points = [point(
        1_000.0,
        (10_000, 0),
        (9.0, 14.2),
        &["p99 14.2 ms, not below 10 ms"],
    )];
    let (text, exit) = shown(SearchStep::None, &points);
    assert_eq!(exit, 3);
    insta::assert_snapshot!(text);
}

#[test]
fn nothing_but_503_has_no_capacity() {
    let points = [point(
        50.0,
        (0, 500),
        (0.0, 0.0),
        &["all 500 replies have status 503"],
    )];
    let (text, exit) = shown(SearchStep::None, &points);
    assert_eq!(exit, 3);
    insta::assert_snapshot!(text);
}
