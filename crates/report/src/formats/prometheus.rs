//! The text exposition format of Prometheus: a gauge for each number of a metric, in base units.

use super::exported::{ExportedMetric, FACTS, Statistic, saved_name};
use crate::{GroupReport, Report, Row};
use prony_statistics::Metric;
use std::time::UNIX_EPOCH;

/// A row with its labels.
type LabelledRow<'a> = (String, &'a Row);

/// The samples of several reports: each metric is declared once, with the rows of all reports.
pub fn exposition<'a>(reports: impl IntoIterator<Item = &'a Report>) -> String {
    let reports: Vec<&Report> = reports.into_iter().collect();
    let rows_of = |report: &'a Report| {
        let rows = move |group: &'a GroupReport| {
            let services = group.services.iter();
            services.map(move |row| (labels(report, group, row), row))
        };
        report.groups.iter().flat_map(rows)
    };
    let rows: Vec<LabelledRow<'a>> = reports.iter().flat_map(|report| rows_of(report)).collect();
    let mut out = String::new();
    for metric in Metric::ALL.iter().map(|&metric| ExportedMetric::of(metric)) {
        for statistic in Statistic::ALL {
            out += &estimates(&rows, &metric, statistic);
        }
    }
    for fact in &FACTS {
        let samples = rows.iter().filter_map(|(labels, row)| {
            let value = f64::from((fact.value)(row)?);
            Some((labels.clone(), value))
        });
        out += &gauge(fact.name, fact.help, samples);
    }
    out + &last_runs(&reports)
}

fn estimates(rows: &[LabelledRow<'_>], metric: &ExportedMetric, statistic: Statistic) -> String {
    let words = [Some(metric.name.as_str()), statistic.word(), metric.word];
    let name = words.into_iter().flatten().collect::<Vec<&str>>().join("_");
    let samples = rows
        .iter()
        .filter_map(|(labels, row)| Some((labels.clone(), metric.value(row, statistic)?)));
    gauge(&name, &format!("{}.", metric.title(statistic)), samples)
}

/// When each suite was measured last, so that a missing nightly run can raise an alert.
fn last_runs(reports: &[&Report]) -> String {
    let times = reports.iter().filter_map(|report| {
        let at = report.ended_at.as_ref().unwrap_or(&report.started_at);
        let since = humantime::parse_rfc3339_weak(at).ok()?.duration_since(UNIX_EPOCH);
        Some((run_labels(report), since.ok()?.as_secs_f64().floor()))
    });
    let infos = reports.iter().map(|report| {
        let version = quoted(&report.environment.prony);
        let labels = format!(
            "suite=\"{}\",run=\"{}\"",
            quoted(&report.suite),
            quoted(&report.run)
        );
        (format!("{labels},prony_version=\"{version}\""), 1.0)
    });
    gauge(
        "last_run_timestamp_seconds",
        "When the last run of a suite ended.",
        times,
    ) + &gauge("last_run_info", "The last run of a suite.", infos)
}

/// The progress of a run that has not ended.
#[derive(Debug, Clone)]
pub struct RunProgress {
    pub suite: String,
    pub run: String,
    /// Trials that have ended.
    pub trials: u32,
    /// Trials in its plan.
    pub planned: u32,
}

/// The samples of runs in progress.
pub fn progress(runs: &[RunProgress]) -> String {
    let of_runs = |name: &str, help: &str, value: fn(&RunProgress) -> u32| {
        let samples = runs.iter().map(|run| {
            let (suite, id) = (quoted(&run.suite), quoted(&run.run));
            (format!("suite=\"{suite}\",run=\"{id}\""), f64::from(value(run)))
        });
        gauge(name, help, samples)
    };
    of_runs(
        "run_trials",
        "Trials of a run in progress that have ended.",
        |run| run.trials,
    ) + &of_runs(
        "run_trials_planned",
        "Trials in the plan of a run in progress.",
        |run| run.planned,
    )
}

/// The samples of a metric; nothing without any.
fn gauge(name: &str, help: &str, samples: impl Iterator<Item = (String, f64)>) -> String {
    let mut lines = String::new();
    for (labels, value) in samples {
        lines += &format!("prony_{name}{{{labels}}} {}\n", shown(value));
    }
    if lines.is_empty() {
        return lines;
    }
    format!("# HELP prony_{name} {help}\n# TYPE prony_{name} gauge\n{lines}")
}

fn shown(value: f64) -> String {
    if value.is_infinite() {
        "+Inf".to_owned()
    } else {
        value.to_string()
    }
}

fn run_labels(report: &Report) -> String {
    let suite = format!("suite=\"{}\"", quoted(&report.suite));
    match saved_name(report) {
        Some(run) => format!("{suite},run=\"{}\"", quoted(run)),
        None => suite,
    }
}

fn labels(report: &Report, group: &GroupReport, row: &Row) -> String {
    let pairs = [
        ("contract", &group.contract),
        ("workload", &group.workload),
        ("load", &group.load_text),
        ("load_id", &group.load_id),
        ("service", &row.summary.id.service),
        ("variant", &row.summary.id.variant),
    ];
    let pairs = pairs.map(|(name, value)| format!("{name}=\"{}\"", quoted(value)));
    format!("{},{}", run_labels(report), pairs.join(","))
}

/// Escapes the backslash, the quote and the line feed in a label value.
fn quoted(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
