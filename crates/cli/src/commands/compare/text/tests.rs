use super::super::measure::CompareMode;
use super::super::{FailOn, OtherProcesses};
use super::*;
use prony_statistics::{DetectableChange, Mismatch};
use serde_json::{Value, json};

fn estimate(point: f64, low: f64, high: f64) -> Value {
    json!({ "point": point, "low": low, "high": high, "confidence": 0.95 })
}

/// A change from `base` to `new` with this interval of the ratio.
fn change(metric: &str, [base, new]: [f64; 2], [low, high]: [f64; 2], verdict: &str) -> Value {
    let of = |value: f64| estimate(value, 0.95 * value, 1.05 * value);
    json!({
        "metric": metric, "base": of(base), "new": of(new), "ratio": estimate(new / base, low, high),
        "p_adjusted": 0.5, "verdict": verdict, "gated": true, "regressed": false, "inconclusive": verdict == "cannot_tell"
    })
}

fn comparison(services: &[(&str, &[Value])], gates: bool) -> Comparison {
    let services: Vec<Value> = services
        .iter()
        .map(|(service, changes)| json!({ "service": service, "changes": changes }))
        .collect();
    let change = json!({
        "groups": [{ "contract": "hello", "workload": "hello", "load": { "kind": "closed", "connections": 64, "in_flight": 1 },
            "services": services }],
        "missing": [], "gates": gates, "regressed": false, "inconclusive": gates
    });
    Comparison {
        schema: 1,
        verdict: "",
        headline: String::new(),
        exit: 0,
        base: "base-run".to_owned(),
        new: "new-run".to_owned(),
        confidence: 0.95,
        tie_band: 0.01,
        max_slowdown: 0.02,
        paired: gates,
        mismatches: Vec::new(),
        differences: Vec::new(),
        others: None,
        change: serde_json::from_value(change).expect("a change"),
        measured: None,
        history: Vec::new(),
        left_out: LeftOut::default(),
    }
}

fn shown(comparison: Comparison) -> String {
    let comparison = comparison.with_verdict(FailOn::Regression);
    let at = |columns: usize| {
        let text = comparison_text(&comparison, columns);
        for line in text.lines() {
            assert!(text::width(line) <= columns, "{columns}: {line}");
        }
        format!("{columns} columns:\n{text}")
    };
    [60, 80, 120].map(at).join("\n\n")
}

fn two_changes() -> [Value; 2] {
    [
        change(
            "cpu_ns_per_request",
            [109_000.0, 110_090.0],
            [0.97, 1.05],
            "cannot_tell",
        ),
        change("goodput_per_s", [2_478.0, 1_685.0], [0.39, 1.18], "cannot_tell"),
    ]
}

#[test]
fn two_revisions_measured_at_the_same_time() {
    let mut found = comparison(&[("node-mine/current", &two_changes())], true);
    found.measured = Some(CompareMode {
        design: "at_once",
        base: "node-mine@HEAD~1".to_owned(),
        new: "node-mine".to_owned(),
        base_uncommitted: false,
        new_uncommitted: false,
        runs: vec!["2026-11-26T08-30-00-regression".to_owned()],
        rounds: 6,
        rounds_again: 0,
        base_against_itself: None,
        code_layout: Some(0.03),
        smallest_differences: vec![
            DetectableChange {
                metric: Metric::CpuNsPerRequest,
                difference: 0.04,
            },
            DetectableChange {
                metric: Metric::GoodputPerS,
                difference: 0.62,
            },
        ],
    });
    insta::assert_snapshot!(shown(found));
}

#[test]
fn two_runs_with_several_services() {
    let changes = two_changes();
    let mut found = comparison(
        &[("go-gorilla/current", &changes), ("node-mine/current", &changes)],
        false,
    );
    found.mismatches = vec![Mismatch {
        what: "kernel".to_owned(),
        base: "6.1".to_owned(),
        new: "6.8".to_owned(),
    }];
    insta::assert_snapshot!(shown(found));
}

#[test]
fn two_saved_loads_of_different_paths() {
    let times = [
        change("goodput_per_s", [52_418.0, 61_540.0], [1.12, 1.23], "faster"),
        change(
            "response_time_ns_p99",
            [3_020_000.0, 2_310_000.0],
            [0.7, 0.83],
            "faster",
        ),
        change(
            "memory_bytes_peak",
            [30_000_000.0, 30_000_000.0],
            [0.999, 1.001],
            "same",
        ),
    ];
    let mut found = comparison(&[("url/current", &times)], false);
    found.base = "before".to_owned();
    found.new = "after".to_owned();
    found.others = Some(OtherProcesses {
        base: Some(0.01),
        new: Some(0.12),
    });
    found.differences = vec![Mismatch {
        what: "request".to_owned(),
        base: "GET /v1/users".to_owned(),
        new: "GET /v2/users".to_owned(),
    }];
    insta::assert_snapshot!(shown(found));
}
