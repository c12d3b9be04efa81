//! The text exposition format of Prometheus: a gauge per metric, its interval as labels.

use crate::{GroupReport, Report, Row};
use prony_statistics::{Metric, Quantity};

pub(super) fn render(report: &Report) -> String {
    let rows: Vec<(&GroupReport, &Row)> = report
        .groups
        .iter()
        .flat_map(|group| group.services.iter().map(move |row| (group, row)))
        .collect();
    let mut out = String::new();
    for &metric in Metric::ALL {
        let lines: String = rows
            .iter()
            .filter_map(|(group, row)| {
                Some(samples(
                    report,
                    (group, row),
                    metric,
                    row.summary.metrics.get(metric)?,
                ))
            })
            .collect();
        if !lines.is_empty() {
            out += &format!(
                "# HELP prony_{0} {1}, in {2}, with its confidence interval.\n# TYPE prony_{0} gauge\n{lines}",
                metric.key(),
                metric.title(),
                metric.unit()
            );
        }
    }
    out += &gauge(
        report,
        &rows,
        (
            "rank",
            "Rank in its group; services that cannot be told apart share one.",
        ),
        |row| row.summary.rank,
    );
    out += &gauge(report, &rows, ("trials", "Trials that gave numbers."), |row| {
        Some(row.summary.trials)
    });
    out += &gauge(
        report,
        &rows,
        ("excluded", "1 where the service is excluded from the ranking."),
        |row| Some(u32::from(row.summary.excluded.is_some())),
    );
    out += &gauge(
        report,
        &rows,
        (
            "generator_bound",
            "1 where the generator was the limit, so that rates are lower bounds.",
        ),
        |row| Some(u32::from(row.summary.generator_bound)),
    );
    out
}

fn samples(report: &Report, place: (&GroupReport, &Row), metric: Metric, quantity: &Quantity) -> String {
    let labels = labels(report, place);
    let line = |statistic: &str, value: f64| {
        format!(
            "prony_{}{{{labels},statistic=\"{statistic}\"}} {value}\n",
            metric.key()
        )
    };
    match quantity.estimate() {
        Some(estimate) => {
            line("point", estimate.point) + &line("low", estimate.low) + &line("high", estimate.high)
        }
        None => quantity
            .position()
            .map_or_else(String::new, |value| line("single_trial", value)),
    }
}

fn gauge(
    report: &Report,
    rows: &[(&GroupReport, &Row)],
    about: (&str, &str),
    value: impl Fn(&Row) -> Option<u32>,
) -> String {
    let (name, help) = about;
    let mut out = format!("# HELP prony_{name} {help}\n# TYPE prony_{name} gauge\n");
    for &(group, row) in rows {
        if let Some(value) = value(row) {
            out += &format!("prony_{name}{{{}}} {value}\n", labels(report, (group, row)));
        }
    }
    out
}

fn labels(report: &Report, (group, row): (&GroupReport, &Row)) -> String {
    let pairs = [
        ("run", &report.run),
        ("contract", &group.contract),
        ("workload", &group.workload),
        ("load", &group.load_text),
        ("service", &row.summary.id.service),
        ("variant", &row.summary.id.variant),
    ];
    pairs
        .map(|(name, value)| format!("{name}=\"{}\"", quoted(value)))
        .join(",")
}

/// Label values escape the backslash, the quote and the line feed.
fn quoted(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
