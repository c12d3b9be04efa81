//! The published studies were measured before the rules for contradictions existed: each contradiction in them carries
//! its warning.

use prony_records::{WarningKind, busy_slots, cpu_per_request, little};
use serde_json::Value;
use std::path::Path;

/// The contradictions within a row.
fn contradictions(group: &Value, row: &Value) -> Vec<prony_records::Warning> {
    let point = |metric: &str| row[metric]["point"].as_f64();
    let load = &group["load"];
    let throughput = point("throughput_per_s");
    let cpu = throughput
        .zip(point("cpu_ns_per_request"))
        .zip(point("cpus_busy"));
    let cpu = cpu.and_then(|((rate, ns), busy)| cpu_per_request(rate, ns, busy));
    let streams = !row["messages_per_s"].is_null();
    let slots = busy_slots(load, load["connections"].as_u64().unwrap_or(0)).filter(|_| !streams);
    let time = throughput.zip(point("response_time_ns_mean")).zip(slots);
    let time = time.and_then(|((rate, mean), slots)| little(rate, mean, slots));
    cpu.into_iter().chain(time).collect()
}

#[test]
fn every_contradiction_in_the_published_results_carries_its_warning() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    let mut found = Vec::new();
    for folder in std::fs::read_dir(&results).expect("the published results") {
        let folder = folder.expect("a folder").path();
        let Ok(text) = std::fs::read_to_string(folder.join("report.json")) else {
            continue;
        };
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a report");
        let (markdown, csv) = (read("report.md"), read("report.csv"));
        let report: Value = serde_json::from_str(&text).expect("JSON");
        for group in report["groups"].as_array().expect("groups") {
            for row in group["services"].as_array().expect("services") {
                for warning in contradictions(group, row) {
                    let kind = serde_json::to_value(warning.kind).expect("a word");
                    let told = row["warnings"].as_array().expect("warnings");
                    let name = format!("{}: {} {}", folder.display(), row["service"], warning.text);
                    let told = told.iter().find(|told| told["kind"] == kind);
                    let told = told.unwrap_or_else(|| panic!("{name} has no warning"));
                    let text = told["text"].as_str().expect("a text");
                    assert!(markdown.contains(text) && csv.contains(text), "{name}: {text}");
                    found.push((warning.kind, name));
                }
            }
        }
        let covers = |warning: &Value| warning["kind"] == "survivors_only";
        let labelled = report["warnings"]
            .as_array()
            .expect("warnings")
            .iter()
            .any(covers);
        assert!(
            labelled,
            "{} covers survivors only, and does not say so",
            folder.display()
        );
    }
    let has = |kind: WarningKind, service: &str, value: &str| {
        let says = |(found, name): &(WarningKind, String)| {
            *found == kind && name.contains(service) && name.contains(value)
        };
        assert!(
            found.iter().any(says),
            "{service} {value} is not found: {found:#?}"
        );
    };
    has(WarningKind::CpuContradiction, "ruby-rails", "is 0.289 CPUs");
    has(WarningKind::CpuContradiction, "python-django", "is 0.488 CPUs");
    has(WarningKind::LittlesLaw, "ruby-rails", "explain only 4.9 of 512");
    has(WarningKind::LittlesLaw, "scala-pekko", "of 512");
}
