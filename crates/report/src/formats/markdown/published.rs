//! Published results of others, next to ours.

use super::safe;
use crate::number::{Unit, plural};
use crate::{Agreement, ReferenceFigure, ReferenceRow, Report};
use prony_statistics::Metric;

pub(super) fn section(report: &Report) -> String {
    if report.reference.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "\n## Published figures\n\nSingle values from other machines and other versions: only their order can be compared with ours.\n",
    );
    // Rows of the same source and workload are adjacent.
    for rows in report
        .reference
        .chunk_by(|a, b| (&a.source, &a.workload) == (&b.source, &b.workload))
    {
        out += &table(report, rows);
        let of_rows = |one: &&Agreement| one.source == rows[0].source && one.workload == rows[0].workload;
        for one in report.agreement.iter().filter(of_rows) {
            out += &agreement_text(one);
        }
    }
    out
}

/// A column for each metric that the source reports; each cell has its figure and ours.
fn table(report: &Report, rows: &[ReferenceRow]) -> String {
    let all = || rows.iter().flat_map(|row| &row.figures);
    let metrics: Vec<Metric> = Metric::ALL
        .iter()
        .copied()
        .filter(|&metric| all().any(|figure| figure.metric == metric))
        .collect();
    let mut out = format!(
        "\n**{}**, {}\n\n| published as | ours |",
        safe(&rows[0].title),
        safe(&rows[0].workload)
    );
    for metric in &metrics {
        out += &format!(" {}: published / here |", safe(metric.title()));
    }
    out += &format!("\n|---|---|{}\n", "---:|".repeat(metrics.len()));
    for row in rows {
        out += &format!("| {} | {} |", safe(&row.name), safe(&our_name(report, row)));
        for &metric in &metrics {
            let cell = row.figures.iter().find(|figure| figure.metric == metric);
            out += &format!(" {} |", cell.map_or_else(|| "–".to_owned(), both));
        }
        out.push('\n');
    }
    for row in rows {
        for note in &row.notes {
            out += &format!("\n> {}: {}\n", safe(&row.name), safe(note));
        }
    }
    out
}

fn our_name(report: &Report, row: &ReferenceRow) -> String {
    row.ours()
        .map_or_else(|| "not measured".to_owned(), |id| report.name(&id))
}

fn both(figure: &ReferenceFigure) -> String {
    let show = |value: f64| Unit::for_metric(figure.metric, &[value]).show_with(value);
    let ours = figure.ours.map_or_else(|| "–".to_owned(), show);
    format!("{} / {ours}", show(figure.published))
}

fn agreement_text(one: &Agreement) -> String {
    let text = one.rank_correlation.map_or_else(
        || "no rank correlation, because it takes three services with different ranks".to_owned(),
        |correlation| {
            format!(
                "rank correlation {correlation:.2} over {}",
                plural(one.services as usize, "service")
            )
        },
    );
    format!("\nOrder of throughput, {}: {text}.\n", safe(&one.load_text))
}
