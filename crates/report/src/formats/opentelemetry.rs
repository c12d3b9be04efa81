//! Metrics of OpenTelemetry as OTLP JSON: the body of a POST to `/v1/metrics`.

use super::write;
use crate::{GroupReport, Report, ReportError, Row};
use prony_statistics::{Estimate, Metric, Quantity};
use serde_json::{Value, json};
use std::time::UNIX_EPOCH;

pub(super) fn render(report: &Report) -> Result<String, ReportError> {
    let time = report.ended_at.as_ref().unwrap_or(&report.started_at);
    // OTLP encodes 64-bit numbers as text.
    let at = nanoseconds(time)?.to_string();
    let metrics: Vec<Value> = Metric::ALL
        .iter()
        .filter_map(|&metric| gauge(report, metric, &at))
        .collect();
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

fn gauge(report: &Report, metric: Metric, at: &str) -> Option<Value> {
    let rows = report
        .groups
        .iter()
        .flat_map(|group| group.services.iter().map(move |row| (group, row)));
    let points: Vec<Value> = rows
        .filter_map(|(group, row)| Some(points(group, row, row.summary.metrics.get(metric)?, at)))
        .flatten()
        .collect();
    (!points.is_empty()).then(|| {
        json!({
            "name": format!("prony.{}", metric.key()),
            "description": metric.title(),
            "unit": unit(metric),
            "gauge": { "dataPoints": points },
        })
    })
}

/// The unit as a UCUM code, which OpenTelemetry requires.
fn unit(metric: Metric) -> &'static str {
    match metric.unit() {
        "bytes" => "By",
        "cpus" => "{cpu}",
        "1/s" => "{reply}/s",
        other => other,
    }
}

fn points(group: &GroupReport, row: &Row, quantity: &Quantity, at: &str) -> Vec<Value> {
    let point = |statistic: &str, value: f64, confidence: Option<f64>| {
        let mut attributes = vec![
            attribute("contract", &group.contract),
            attribute("workload", &group.workload),
            attribute("load", &group.load_text),
            attribute("load_id", &group.load_id),
            attribute("service", &row.summary.id.service),
            attribute("variant", &row.summary.id.variant),
            attribute("statistic", statistic),
        ];
        attributes.extend(
            confidence.map(|share| json!({ "key": "confidence", "value": { "doubleValue": share } })),
        );
        json!({ "timeUnixNano": at, "asDouble": value, "attributes": attributes })
    };
    match quantity.estimate() {
        Some(&Estimate {
            point: middle,
            low,
            high,
            confidence,
        }) => [("point", middle), ("low", low), ("high", high)]
            .map(|(statistic, value)| point(statistic, value, Some(confidence)))
            .to_vec(),
        None => quantity
            .position()
            .map(|value| point("single_trial", value, None))
            .into_iter()
            .collect(),
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
