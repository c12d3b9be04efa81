//! The text exposition format of Prometheus: a gauge per metric, with its interval as labels.

use crate::{GroupReport, Report, Row};
use prony_statistics::{Metric, Quantity};

/// A row with its report and its group.
type RowContext<'a> = (&'a Report, &'a GroupReport, &'a Row);

/// The samples of several reports: each metric is declared once, with the rows of all reports.
pub fn exposition<'a>(reports: impl IntoIterator<Item = &'a Report>) -> String {
    let rows_of = |report: &'a Report| {
        let groups = report.groups.iter();
        groups.flat_map(move |group| group.services.iter().map(move |row| (report, group, row)))
    };
    let rows: Vec<RowContext<'_>> = reports.into_iter().flat_map(rows_of).collect();
    let mut out = String::new();
    for &metric in Metric::ALL {
        let lines: String = rows
            .iter()
            .filter_map(|place| Some(samples(place, metric, place.2.summary.metrics.get(metric)?)))
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
        &rows,
        (
            "rank",
            "Rank in its group; services that are statistically tied share one.",
        ),
        |row| row.summary.rank,
    );
    out += &gauge(&rows, ("trials", "Trials with a measurement."), |row| {
        Some(row.summary.trials)
    });
    out += &gauge(
        &rows,
        ("excluded", "1 if the service is excluded from the ranking."),
        |row| Some(u32::from(row.summary.excluded.is_some())),
    );
    out += &gauge(
        &rows,
        (
            "generator_bound",
            "1 if the generator was the limit, so that rates are lower bounds.",
        ),
        |row| Some(u32::from(row.summary.generator_bound)),
    );
    out
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
    let gauge = |name: &str, help: &str, value: fn(&RunProgress) -> u32| {
        let mut out = format!("# HELP prony_{name} {help}\n# TYPE prony_{name} gauge\n");
        for run in runs {
            let (suite, id) = (quoted(&run.suite), quoted(&run.run));
            out += &format!("prony_{name}{{suite=\"{suite}\",run=\"{id}\"}} {}\n", value(run));
        }
        out
    };
    gauge(
        "run_trials",
        "Trials of a run in progress that have ended.",
        |run| run.trials,
    ) + &gauge(
        "run_trials_planned",
        "Trials in the plan of a run in progress.",
        |run| run.planned,
    )
}

fn samples(place: &RowContext<'_>, metric: Metric, quantity: &Quantity) -> String {
    let labels = labels(place);
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

fn gauge(rows: &[RowContext<'_>], about: (&str, &str), value: impl Fn(&Row) -> Option<u32>) -> String {
    let (name, help) = about;
    let mut out = format!("# HELP prony_{name} {help}\n# TYPE prony_{name} gauge\n");
    for place in rows {
        if let Some(value) = value(place.2) {
            out += &format!("prony_{name}{{{}}} {value}\n", labels(place));
        }
    }
    out
}

fn labels((report, group, row): &RowContext<'_>) -> String {
    let pairs = [
        ("suite", &report.suite),
        ("run", &report.run),
        ("contract", &group.contract),
        ("workload", &group.workload),
        ("load", &group.load_text),
        ("load_id", &group.load_id),
        ("service", &row.summary.id.service),
        ("variant", &row.summary.id.variant),
    ];
    pairs
        .map(|(name, value)| format!("{name}=\"{}\"", quoted(value)))
        .join(",")
}

/// Escapes the backslash, the quote and the line feed in a label value.
fn quoted(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
