//! `prony run` with measured starts from outside: toys that sleep, hold memory or read a file before they listen.

use crate::common::Checkout;
use serde_json::Value;

const MIB: f64 = 1_048_576.0;

/// A checkout whose suite `starts` measures these toys in these groups.
fn checkout(modes: &[&str], groups: &str) -> Checkout {
    let checkout = Checkout::new(1, modes);
    let head = "title = \"Starts\"\ndesign = \"starts\"\nrounds = 2\nservices = [\"toy-*\"]\n";
    checkout.write("suites/starts.toml", &format!("{head}\n{groups}"));
    checkout
}

fn report(checkout: &Checkout) -> Value {
    let ended = checkout.prony(&["run", "starts", "--json", "--seed", "3"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        checkout.processes().is_empty(),
        "left behind: {:?}",
        checkout.processes()
    );
    ended.json()
}

fn row<'a>(report: &'a Value, measures: &str, service: &str) -> &'a Value {
    let groups = report["groups"].as_array().expect("groups");
    let group = groups.iter().find(|group| group["load"]["measures"] == measures);
    let rows = group.and_then(|group| group["services"].as_array());
    let row = rows.and_then(|rows| rows.iter().find(|row| row["service"] == service));
    row.unwrap_or_else(|| panic!("no {service} in {measures}: {report}"))
}

fn point(row: &Value, metric: &str) -> f64 {
    let point = row[metric]["point"].as_f64();
    point.unwrap_or_else(|| panic!("no {metric}: {row}"))
}

#[test]
fn a_service_that_sleeps_before_it_listens_ranks_behind_one_that_does_not() {
    let checkout = checkout(
        &["right", "late"],
        "[[group]]\ncontract = \"hello\"\nstart = \"warm\"\n",
    );
    let report = report(&checkout);
    let group = &report["groups"][0];
    assert_eq!(group["ranked_by"], "start_ms");
    assert_eq!(group["services"][0]["service"], "toy-right", "{report}");
    let late = row(&report, "warm", "toy-late");
    assert!(point(late, "start_ms") >= 1_500.0, "{late}");
    for service in ["toy-right", "toy-late"] {
        let row = row(&report, "warm", service);
        assert!(row["excluded"].is_null(), "{row}");
        assert_eq!(row["trials"], 2, "{row}");
        for metric in ["start_cpu_ns", "memory_bytes_first_reply", "listening_ms"] {
            assert!(point(row, metric) > 0.0, "{metric}: {row}");
        }
        // Nothing was loaded: there is no rate, not one of 0.
        for absent in [
            "throughput_per_s",
            "goodput_per_s",
            "cpu_ns_per_request",
            "memory_bytes_idle",
        ] {
            assert!(row[absent].is_null(), "{absent}: {row}");
        }
    }
    let ratio = late["ratio_to_first"]["point"].as_f64();
    assert!(ratio.is_some_and(|ratio| ratio > 1.0), "{late}");
    let shown = checkout.prony(&["report"]).out;
    assert!(shown.contains("all files in the page cache"), "{shown}");
}

#[test]
fn memory_is_read_at_the_first_reply_at_rest_and_after_a_load() {
    let checkout = checkout(
        &["right", "large"],
        "[[group]]\ncontract = \"hello\"\nstart = \"memory\"\nrest = \"200ms\"\nduration = \"300ms\"\n\
         load = { kind = \"closed\", connections = 4 }\n",
    );
    let report = report(&checkout);
    assert_eq!(report["groups"][0]["ranked_by"], "memory_bytes_idle");
    assert_eq!(
        report["groups"][0]["services"][0]["service"], "toy-right",
        "{report}"
    );
    let of = |service: &str, metric: &str| point(row(&report, "memory", service), metric);
    for metric in [
        "memory_bytes_first_reply",
        "memory_bytes_idle",
        "memory_bytes_after_load",
        "anonymous_bytes_idle",
    ] {
        let more = of("toy-large", metric) - of("toy-right", metric);
        assert!(
            (more / MIB - 64.0).abs() < 8.0,
            "{metric}: {} MiB more",
            more / MIB
        );
    }
    assert!(of("toy-large", "goodput_per_s") > 0.0);
}

#[test]
fn a_cold_start_tells_which_files_a_service_uses_and_whether_they_were_in_memory() {
    let checkout = checkout(
        &["reading"],
        "[[group]]\ncontract = \"hello\"\nstart = \"cold\"\n",
    );
    let data = vec![7; 8 << 20];
    for unused in ["data.bin", "unused.bin"] {
        let path = checkout.path(&format!("services/toy-reading/{unused}"));
        std::fs::write(path, &data).expect("written");
    }
    let report = report(&checkout);
    let row = row(&report, "cold", "toy-reading");
    let (used, all) = (point(row, "artefact_bytes_used"), point(row, "artefact_bytes"));
    assert!((8.0 * MIB..9.0 * MIB).contains(&used), "{row}");
    assert!(all >= 16.0 * MIB, "{row}");
    let trials = checkout.prony(&["report", "--format", "json"]).json();
    assert!(trials["groups"][0]["load"]["measures"] == "cold", "{trials}");
}

#[test]
fn the_time_to_the_steady_rate_counts_from_the_first_request() {
    let checkout = checkout(
        &["right"],
        "[[group]]\ncontract = \"hello\"\nstart = \"steady_rate\"\nduration = \"1500ms\"\n\
         load = { kind = \"closed\", connections = 2 }\n",
    );
    let report = report(&checkout);
    let row = row(&report, "steady_rate", "toy-right");
    assert_eq!(report["groups"][0]["ranked_by"], "steady_rate_s");
    // On a busy machine it may not become steady.
    let known = row["steady_rate_s"].is_object();
    assert!(known, "{row}");
    assert!(point(row, "goodput_per_s") > 0.0);
}

#[test]
fn a_group_takes_part_in_its_own_number_of_rounds() {
    let groups = "[[group]]\ncontract = \"hello\"\nstart = \"warm\"\n\n[[group]]\ncontract = \"hello\"\nstart = \"cold\"\n\
                  rounds = 1\n\n[[group]]\ncontract = \"hello\"\nstart = \"steady_rate\"\nrounds = 0\n";
    let report = report(&checkout(&["right"], groups));
    assert_eq!(report["groups"].as_array().map(Vec::len), Some(2), "{report}");
    assert_eq!(row(&report, "warm", "toy-right")["trials"], 2);
    assert_eq!(row(&report, "cold", "toy-right")["trials"], 1);
}

#[test]
fn starts_are_measured_by_their_design_alone() {
    let checkout = checkout(&["right"], "[[group]]\ncontract = \"hello\"\nstart = \"warm\"\n");
    let refused = checkout.prony(&["run", "starts", "--sequence"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(
        refused.err.contains("`start` needs the design"),
        "{}",
        refused.err
    );
    checkout.write(
        "suites/starts.toml",
        "design = \"starts\"\n\n[[group]]\ncontract = \"hello\"\nservices = [\"toy-*\"]\n",
    );
    let refused = checkout.prony(&["run", "starts"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.err.contains("add `start`"), "{}", refused.err);
}
