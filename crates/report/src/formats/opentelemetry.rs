//! Metrics of OpenTelemetry as OTLP JSON: the body of a POST to `/v1/metrics`.

use super::exported::{ExportedMetric, FACTS, Fact, Statistic};
use super::write;
use crate::{GroupReport, Report, ReportError, Row};
use prony_statistics::Metric;
use serde_json::{Value, json};
use std::time::UNIX_EPOCH;

pub(super) fn render(report: &Report) -> Result<String, ReportError> {
    let time = report.ended_at.as_ref().unwrap_or(&report.started_at);
    // OTLP encodes 64-bit numbers as text.
    let at = nanoseconds(time)?.to_string();
    let mut metrics: Vec<Value> = Vec::new();
    for metric in Metric::ALL.iter().map(|&metric| ExportedMetric::of(metric)) {
        metrics.extend(Statistic::ALL.map(|statistic| estimates(report, &metric, statistic, &at)));
    }
    metrics.extend(FACTS.iter().map(|fact| facts(report, fact, &at)));
    metrics.retain(|metric| {
        let points = metric["gauge"]["dataPoints"].as_array();
        points.is_some_and(|points| !points.is_empty())
    });
    let body = json!({
        "resourceMetrics": [{
            "resource": { "attributes": [
                attribute("service.name", "prony"),
                attribute("service.version", &report.environment.prony),
                attribute("prony.run", &report.run),
                attribute("prony.suite", &report.suite),
                attribute("host.cpu.model.name", report.environment.cpu.model.as_deref().unwrap_or("unknown")),
            ]},
            "scopeMetrics": [{
                "scope": { "name": "prony", "version": report.environment.prony },
                "metrics": metrics,
            }],
        }],
    });
    serde_json::to_string_pretty(&body)
        .map(|text| text + "\n")
        .map_err(|error| write("OTLP JSON", &error))
}

fn rows(report: &Report) -> impl Iterator<Item = (&GroupReport, &Row)> {
    let groups = report.groups.iter();
    groups.flat_map(|group| group.services.iter().map(move |row| (group, row)))
}

fn estimates(report: &Report, metric: &ExportedMetric, statistic: Statistic, at: &str) -> Value {
    let points = rows(report).filter_map(|(group, row)| {
        let value = metric.value(row, statistic)?;
        let mut attributes = attributes(group, row);
        attributes.extend(
            metric
                .confidence(row)
                .map(|share| json!({ "key": "prony.confidence", "value": { "doubleValue": share } })),
        );
        // The rate of a service that the generator limited is a lower bound.
        if row.summary.generator_bound {
            attributes.push(json!({ "key": "prony.generator_bound", "value": { "boolValue": true } }));
        }
        Some(json!({ "timeUnixNano": at, "asDouble": number(value), "attributes": attributes }))
    });
    let name = statistic.word().map_or_else(
        || format!("prony.{}", metric.name),
        |word| format!("prony.{}.{word}", metric.name),
    );
    json!({
        "name": name,
        "description": metric.title(statistic),
        "unit": metric.unit,
        "gauge": { "dataPoints": points.collect::<Vec<Value>>() },
    })
}

fn facts(report: &Report, fact: &Fact, at: &str) -> Value {
    let points = rows(report).filter_map(|(group, row)| {
        let value = (fact.value)(row)?.to_string();
        let mut attributes = attributes(group, row);
        if let (Some(excluded), "excluded") = (&row.summary.excluded, fact.name) {
            attributes.push(attribute("prony.excluded.reason", &excluded.reason));
        }
        Some(json!({ "timeUnixNano": at, "asInt": value, "attributes": attributes }))
    });
    json!({
        "name": format!("prony.{}", fact.name),
        "description": fact.help,
        "unit": "",
        "gauge": { "dataPoints": points.collect::<Vec<Value>>() },
    })
}

fn attributes(group: &GroupReport, row: &Row) -> Vec<Value> {
    vec![
        attribute("prony.contract", &group.contract),
        attribute("prony.workload", &group.workload),
        attribute("prony.load", &group.load_text),
        attribute("prony.load_id", &group.load_id),
        attribute("prony.service", &row.summary.id.service),
        attribute("prony.variant", &row.summary.id.variant),
    ]
}

/// A number as protobuf writes it in JSON, which has no infinity.
fn number(value: f64) -> Value {
    if value.is_infinite() {
        json!("Infinity")
    } else {
        json!(value)
    }
}

fn attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn nanoseconds(time: &str) -> Result<u128, ReportError> {
    let parsed = humantime::parse_rfc3339_weak(time).map_err(|source| ReportError::Time {
        text: time.to_owned(),
        source,
    })?;
    Ok(parsed
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos()))
}
