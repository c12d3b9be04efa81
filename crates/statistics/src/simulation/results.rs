//! How many pairs of the published results are decided: in the stored reports, and by the current code from the same trials.

use super::adjustments::{RangeDistributions, declared_different};
use crate::design::Table;
use serde_json::Value;
use std::path::Path;

/// Logarithms of the metric that a group is ranked by, for its ranked services. Groups ranked by sequences use throughput, which
/// is a constant multiple of them.
fn trials(group: &Value) -> Table {
    let key = match group["ranked_by"].as_str() {
        Some("response_time_ns_p99") => "response_time_ns_p99",
        _ => "throughput_per_s",
    };
    let services = group["services"].as_array().into_iter().flatten();
    let ranked = services.filter(|row| row["rank"].is_u64());
    let points = |row: &Value| -> Vec<(u32, f64)> {
        let points = row["details"]["points"].as_array().into_iter().flatten();
        let round = |point: &Value| Some((point["round"].as_u64()? as u32, point[key].as_f64()?.ln()));
        points.filter_map(round).collect()
    };
    ranked.map(points).collect()
}

fn decided_pairs(group: &Value) -> usize {
    let pairs = group["pairs"].as_array().into_iter().flatten();
    pairs.filter(|pair| pair["verdict"] != "cannot_tell").count()
}

#[test]
fn as_many_pairs_of_the_published_results_are_decided() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    let mut reports: Vec<_> = std::fs::read_dir(folder)
        .expect("results are in the repository")
        .filter_map(|entry| Some(entry.ok()?.path().join("report.json")))
        .filter(|path| path.is_file())
        .collect();
    reports.sort();
    let mut ranges = RangeDistributions::default();
    let (mut stored, mut now, mut all) = (0, [0; 3], 0);
    for path in &reports {
        let text = std::fs::read_to_string(path).expect("readable");
        let report: Value = serde_json::from_str(&text).expect("a report");
        for group in report["groups"].as_array().into_iter().flatten() {
            let ways = declared_different(&trials(group), &mut ranges);
            let counts = ways.map(|way| way.iter().filter(|&&told| told).count());
            println!(
                "{} {}: {} of {} pairs in the report; now by Bonferroni, Holm, range: {counts:?}",
                report["suite"].as_str().unwrap_or_default(),
                group["workload"].as_str().unwrap_or_default(),
                decided_pairs(group),
                group["pairs"].as_array().map_or(0, Vec::len),
            );
            stored += decided_pairs(group);
            all += group["pairs"].as_array().map_or(0, Vec::len);
            for (sum, count) in now.iter_mut().zip(counts) {
                *sum += count;
            }
        }
    }
    println!("all: {stored} of {all} pairs in the reports; now by Bonferroni, Holm, range: {now:?}");
    // The reports used Holm, which decides about a tenth more pairs.
    assert!(
        10 * now[0] >= 9 * stored,
        "{} pairs are decided, {stored} were",
        now[0]
    );
}
