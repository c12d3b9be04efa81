//! Formats of services that keep the results of each commit: they draw histories and raise alerts.

use super::outcome::{CompareOutcome, ServiceMetric};
use prony_statistics::{Better, Estimate};
use serde_json::{Map, Value, json};

/// Bencher Metric Format: the new side's metrics for each service and load, and the ratio to the base for those that are gated. On shared
/// runners only the ratio can be trusted.
pub(super) fn bencher(outcome: &CompareOutcome) -> Value {
    let mut benchmarks = Map::new();
    for one in outcome.metrics() {
        let measures = benchmarks.entry(one.title()).or_insert_with(|| json!({}));
        let name = one.change.metric.key().replace('_', "-");
        if one.change.gated {
            measures[format!("{name}-ratio")] = measure(&one.change.ratio);
        }
        measures[name] = measure(&one.change.new);
    }
    Value::Object(benchmarks)
}

fn measure(estimate: &Estimate) -> Value {
    json!({ "value": estimate.point, "lower_value": estimate.low, "upper_value": estimate.high })
}

/// `customSmallerIsBetter` of github-action-benchmark. It has no room for metrics of which more is better, such as goodput; the CPU time
/// per request and the response times say the same.
pub(super) fn github_action_benchmark(outcome: &CompareOutcome) -> Value {
    let smaller = outcome
        .metrics()
        .filter(|one| one.change.metric.better() == Better::Lower);
    Value::Array(smaller.flat_map(|one| entries(&one)).collect())
}

fn entries(one: &ServiceMetric<'_>) -> Vec<Value> {
    let metric = one.change.metric;
    let entry = |what: &str, unit: &str, estimate: &Estimate| {
        json!({
            "name": format!("{}: {}{what}", one.title(), metric.title()),
            "unit": unit,
            "value": estimate.point,
            "range": format!("{} to {}", estimate.low, estimate.high),
            "extra": one.sentence(),
        })
    };
    let mut entries = vec![entry("", metric.unit(), &one.change.new)];
    if one.change.gated {
        entries.push(entry(", new ÷ base", "ratio", &one.change.ratio));
    }
    entries
}
