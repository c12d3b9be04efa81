//! Contradictions within published results. Studies that were measured before the rules for contradictions existed carry a
//! warning for each; later ones have none.

use prony_records::{WarningKind, busy_slots, cpu_per_request, little};
use serde_json::{Value, json};
use std::path::Path;

/// Whether two of the metrics multiplied can be the third, everywhere in their intervals. A row has the medians of windows and
/// starts: while each of them satisfies the identity, medians that vary do so within their intervals.
fn agree(row: &Value, factors: [&str; 2], product: (f64, f64)) -> bool {
    let bound = |metric: &str, which: &str| row[metric][which].as_f64().or(row[metric]["point"].as_f64());
    let at = |which: &str| Some(bound(factors[0], which)? * bound(factors[1], which)? / 1e9);
    at("low")
        .zip(at("high"))
        .is_some_and(|(low, high)| low <= product.1 && high >= product.0)
}

/// Requests on their way on average. Those that the generator was about to send do not count: `io_uring` sends many at once, and
/// response times begin then.
fn in_flight(row: &Value) -> Option<f64> {
    let trials = row["details"]["points"].as_array()?.iter();
    let known: Vec<f64> = trials.filter_map(|trial| trial["in_flight"].as_f64()).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// The contradictions within a row.
fn contradictions(group: &Value, row: &Value) -> Vec<prony_records::Warning> {
    let point = |metric: &str| row[metric]["point"].as_f64();
    let load = &group["load"];
    let throughput = point("throughput_per_s");
    let cpu = throughput
        .zip(point("cpu_ns_per_request"))
        .zip(point("cpus_busy"));
    let cpu = cpu.and_then(|((rate, ns), busy)| cpu_per_request(rate, ns, busy));
    let busy = |which: &str| row["cpus_busy"][which].as_f64().or(point("cpus_busy"));
    let cpu = cpu.filter(|_| {
        let busy = busy("low").zip(busy("high"));
        !busy.is_some_and(|busy| agree(row, ["throughput_per_s", "cpu_ns_per_request"], busy))
    });
    let streams = !row["messages_per_s"].is_null();
    let slots = in_flight(row).or_else(|| busy_slots(load, load["connections"].as_u64().unwrap_or(0)));
    let slots = slots.filter(|_| !streams);
    let time = throughput.zip(point("response_time_ns_mean")).zip(slots);
    let time = time.filter(|(_, slots)| {
        !agree(
            row,
            ["throughput_per_s", "response_time_ns_mean"],
            (*slots, *slots),
        )
    });
    let time = time.and_then(|((rate, mean), slots)| little(rate, mean, slots));
    cpu.into_iter().chain(time).collect()
}

/// Before this day prony recorded the response times of complete replies only.
const SINCE: &str = "2026-11-29";

#[test]
fn contradictions_are_in_older_results_only_and_carry_a_warning() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    for folder in std::fs::read_dir(&results).expect("the published results") {
        let folder = folder.expect("a folder").path();
        let Ok(text) = std::fs::read_to_string(folder.join("report.json")) else {
            continue;
        };
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a report");
        let (markdown, csv) = (read("report.md"), read("report.csv"));
        let report: Value = serde_json::from_str(&text).expect("JSON");
        let is_older = report["started_at"].as_str().expect("a time") < SINCE;
        for group in report["groups"].as_array().expect("groups") {
            for row in group["services"].as_array().expect("services") {
                let told = row["warnings"].as_array().expect("warnings").iter();
                let own = told.filter(|told| {
                    ["littles_law", "cpu_contradiction"]
                        .iter()
                        .any(|kind| told["kind"] == *kind)
                });
                let texts: Vec<&Value> = own.map(|told| &told["text"]).collect();
                assert!(
                    is_older || texts.is_empty(),
                    "{}: {} {texts:?}",
                    folder.display(),
                    row["service"]
                );
                for warning in contradictions(group, row) {
                    let kind = serde_json::to_value(warning.kind).expect("a word");
                    let told = row["warnings"].as_array().expect("warnings");
                    let name = format!("{}: {} {}", folder.display(), row["service"], warning.text);
                    let told = told.iter().find(|told| told["kind"] == kind);
                    let told = told.unwrap_or_else(|| panic!("{name} has no warning"));
                    assert!(is_older, "{name}");
                    let text = told["text"].as_str().expect("a text");
                    assert!(markdown.contains(text) && csv.contains(text), "{name}: {text}");
                }
            }
        }
        let covers = |warning: &Value| warning["kind"] == "survivors_only";
        let labelled = report["warnings"]
            .as_array()
            .expect("warnings")
            .iter()
            .any(covers);
        assert_eq!(
            labelled,
            is_older,
            "{}: whether it covers survivors only, and says so",
            folder.display()
        );
    }
}

/// Rows of Ruby on Rails that were published once, at a closed and at an open load.
#[test]
fn rows_that_contradict_themselves_are_found() {
    let closed = json!({ "kind": "closed", "connections": 512, "in_flight": 1 });
    let open = json!({ "kind": "open", "connections": 64, "in_flight": 1 });
    let found = |load: &Value, [rate, cpu_ns, busy, mean_ns]: [f64; 4]| -> Vec<WarningKind> {
        let metric = |point: f64| json!({ "point": point, "low": 0.98 * point, "high": 1.02 * point });
        let row = json!({
            "throughput_per_s": metric(rate),
            "cpu_ns_per_request": metric(cpu_ns),
            "cpus_busy": metric(busy),
            "response_time_ns_mean": metric(mean_ns),
        });
        let found = contradictions(&json!({ "load": load }), &row);
        found.iter().map(|warning| warning.kind).collect()
    };
    let both = [WarningKind::CpuContradiction, WarningKind::LittlesLaw];
    assert_eq!(found(&closed, [683.0, 1.63e6, 1.0, 7.17e6]), both);
    assert_eq!(found(&open, [1477.0, 195_700.0, 0.999, 9e6]), both[..1]);
    assert_eq!(found(&closed, [683.0, 1.46e6, 1.0, 7.17e6]), both[1..]);
    assert_eq!(found(&closed, [683.0, 1.46e6, 1.0, 750e6]), []);
}

/// A relay whose windows began with 2,000 new requests, and a file server whose generator sent many requests at once.
#[test]
fn a_load_that_was_not_steady_is_found() {
    let found = |connections: u64, [rate, mean_ns, in_flight]: [f64; 3]| {
        let trial = json!({ "in_flight": in_flight });
        let row = json!({
            "throughput_per_s": { "point": rate },
            "response_time_ns_mean": { "point": mean_ns },
            "details": { "points": [trial] },
        });
        let load = json!({ "kind": "closed", "connections": connections, "in_flight": 1 });
        let found = contradictions(&json!({ "load": load }), &row);
        found.iter().map(|warning| warning.kind).collect::<Vec<_>>()
    };
    assert_eq!(
        found(2_000, [6_295.0, 249.6e6, 1_990.0]),
        [WarningKind::LittlesLaw]
    );
    assert_eq!(found(64, [39_198.0, 1.45e6, 56.9]), []);
}
