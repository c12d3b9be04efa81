//! `prony calibrate` from outside, with stages too short to prove anything: its output, the stored calibration, and reports
//! that cite it.

use crate::common::Checkout;
use serde_json::Value;

/// The checks against a known truth, in order.
const CHECKS: [&str; 12] = [
    "p90 under a known freeze",
    "p99 under a known freeze",
    "p99.9 under a known freeze",
    "rate of 100/s",
    "rate of 1000/s",
    "rate of 5000/s",
    "first event, p95",
    "first event, p99",
    "gaps of events, p50",
    "gaps of events, p99",
    "gaps of events, p99.9",
    "events lost",
];

fn positive(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number > 0.0)
}

/// Share of the metrics in which the intervals of the two overlap.
fn ties(report: &Value) -> f64 {
    let services = report["groups"][0]["services"].as_array().expect("services");
    let [one, other] = services.as_slice() else {
        panic!("not two services: {report}");
    };
    let shared: Vec<bool> = one
        .as_object()
        .expect("a row")
        .iter()
        .filter_map(|(metric, value)| {
            let ends = |value: &Value| Some((value["low"].as_f64()?, value["high"].as_f64()?));
            let ((low, high), (other_low, other_high)) = (ends(value)?, ends(&other[metric])?);
            Some(low <= other_high && other_low <= high)
        })
        .collect();
    assert!(shared.len() > 5, "{} metrics: {one}", shared.len());
    shared.iter().filter(|&&shared| shared).count() as f64 / shared.len() as f64
}

#[test]
fn it_says_keeps_and_cites_what_it_found() {
    let checkout = Checkout::new(1, &["right"]);
    let never = checkout.prony(&["calibrate", "--last"]);
    assert_eq!(never.code, Some(2), "{never:?}");
    let ended = checkout.prony(&["calibrate", "--short", "--rounds", "3", "--json"]);
    let found = ended.json();
    let passed = found["passed"].as_bool().expect("a verdict");
    // On a noisy machine a check may fail, and then the exit code must show it.
    assert_eq!(ended.code, Some(if passed { 0 } else { 3 }), "{ended:?}");
    let checks = found["checks"].as_array().expect("checks");
    let names: Vec<&str> = checks.iter().filter_map(|check| check["what"].as_str()).collect();
    assert_eq!(names, CHECKS);
    for check in checks {
        let numbers = ["expected", "measured", "allowed"].map(|key| positive(&check[key]));
        assert!(numbers.iter().all(|positive| *positive), "{check}");
        let error = (number(check, "measured") / number(check, "expected") - 1.0).abs();
        assert_eq!(check["passed"], error <= number(check, "allowed"), "{check}");
    }
    assert_eq!(
        (&found["short"], &found["same_twice"]["rounds"]),
        (&Value::Bool(true), &3.into())
    );
    assert!(positive(&found["noise"]["trial_deviation"]), "{found}");
    assert!(
        positive(&found["noise"]["smallest_differences"][0]["difference"]),
        "{found}"
    );
    assert!(positive(&found["generator_cpu_ns_per_request"]), "{found}");
    assert!(
        found["watching_cpu_share"]
            .as_f64()
            .is_some_and(|share| share >= 0.0),
        "{found}"
    );
    let report = checkout.prony(&["report", "--format", "json"]).json();
    assert!(ties(&report) > 0.5, "one service differs from itself: {report}");
    let last = checkout.prony(&["calibrate", "--last", "--json"]);
    assert_eq!((last.code, last.json()), (ended.code, found.clone()));
    let text = checkout.prony(&["calibrate", "--last"]).out;
    assert!(text.contains("noise floor") && text.contains("--short"), "{text}");
    let report = checkout
        .prony(&["run", "toys", "--json", "--keep-disturbed"])
        .json();
    let cited = format!(
        "calibrated at {}",
        found["calibrated_at"].as_str().expect("a time")
    );
    assert!(
        report["method"].to_string().contains(&cited),
        "{}",
        report["method"]
    );
    assert!(
        checkout.processes().is_empty(),
        "left behind: {:?}",
        checkout.processes()
    );
}

fn number(value: &Value, key: &str) -> f64 {
    value[key]
        .as_f64()
        .unwrap_or_else(|| panic!("no number `{key}`: {value}"))
}
