//! Tidy CSV: one line per service × metric, so that any tool can filter and pivot it.

use super::write;
use crate::{GroupReport, Report, ReportError, Row};
use prony_statistics::{Metric, Quantity};

const HEAD: [&str; 24] = [
    "run",
    "contract",
    "workload",
    "load",
    "service",
    "variant",
    "title",
    "language",
    "framework",
    "class",
    "version",
    "rank",
    "excluded",
    "warnings",
    "metric",
    "unit",
    "point",
    "low",
    "high",
    "confidence",
    "trials",
    "generator_bound",
    "rank_low",
    "rank_high",
];

pub(super) fn render(report: &Report) -> Result<String, ReportError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEAD).map_err(|error| write("CSV", &error))?;
    for group in &report.groups {
        for row in &group.services {
            for line in lines(report, group, row) {
                writer.write_record(&line).map_err(|error| write("CSV", &error))?;
            }
        }
    }
    let bytes = writer.into_inner().map_err(|error| write("CSV", &error))?;
    String::from_utf8(bytes).map_err(|error| write("CSV", &error))
}

fn lines(report: &Report, group: &GroupReport, row: &Row) -> Vec<Vec<String>> {
    let summary = &row.summary;
    let info = report.info(&summary.id);
    let of = |field: fn(&crate::ServiceInfo) -> &str| info.map(field).unwrap_or_default().to_owned();
    let warnings: Vec<&str> = summary
        .warnings
        .iter()
        .map(|warning| warning.text.as_str())
        .collect();
    let rank = |end: Option<u32>| end.map(|end| end.to_string()).unwrap_or_default();
    let reason = summary.excluded.as_ref().map(|excluded| excluded.reason.as_str());
    let about = vec![
        text(&report.run),
        text(&group.contract),
        text(&group.workload),
        text(&group.load_text),
        text(&summary.id.service),
        text(&summary.id.variant),
        text(&of(|info| &info.title)),
        text(&of(|info| &info.language)),
        text(&of(|info| &info.framework)),
        text(&of(|info| &info.class)),
        text(&of(|info| info.version.as_deref().unwrap_or_default())),
        rank(summary.rank),
        text(reason.unwrap_or_default()),
        text(&warnings.join("; ")),
    ];
    let known: Vec<Vec<String>> = summary
        .metrics
        .iter()
        .map(|(metric, quantity)| numbers(metric, quantity))
        .collect();
    // An excluded service without any numbers still gets a line.
    let all = if known.is_empty() {
        vec![vec![String::new(); 7]]
    } else {
        known
    };
    let last = vec![
        summary.generator_bound.to_string(),
        rank(summary.rank_low),
        rank(summary.rank_high),
    ];
    all.into_iter()
        .map(|numbers| [about.clone(), numbers, last.clone()].concat())
        .collect()
}

/// A cell with text from a service, after which a spreadsheet must not calculate: an apostrophe before a sign that starts a formula.
fn text(cell: &str) -> String {
    let starts_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if starts_formula && cell.parse::<f64>().is_err() {
        format!("'{cell}")
    } else {
        cell.to_owned()
    }
}

fn numbers(metric: Metric, quantity: &Quantity) -> Vec<String> {
    let mut line = vec![metric.key().to_owned(), metric.unit().to_owned()];
    match quantity {
        Quantity::Estimated(estimated) => {
            let estimate = &estimated.estimate;
            line.extend(
                [estimate.point, estimate.low, estimate.high, estimate.confidence]
                    .map(|number| number.to_string()),
            );
            line.push(estimated.trials.to_string());
        }
        Quantity::NoBound(none) => {
            line.push("no bound".to_owned());
            line.extend([
                String::new(),
                String::new(),
                String::new(),
                none.trials.to_string(),
            ]);
        }
        Quantity::TooFewTrials(few) => {
            line.push(few.observed.first().map(ToString::to_string).unwrap_or_default());
            line.extend([
                String::new(),
                String::new(),
                String::new(),
                few.observed.len().to_string(),
            ]);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_starts_a_formula() {
        for formula in ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1"] {
            assert_eq!(text(formula), format!("'{formula}"));
        }
        for plain in ["-1.5", "+3", "1e3", "go-fiber", "", "a=b"] {
            assert_eq!(text(plain), plain);
        }
    }
}
