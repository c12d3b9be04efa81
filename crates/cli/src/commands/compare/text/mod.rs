//! Renders a comparison as terminal text and as Markdown.

use super::headline::{HeadlineVerdict, direction, percent, word};
use super::input::{History, LeftOut};
use super::noise::{noise, percent_change, smallest};
use super::outcome::CompareOutcome;
use super::{Comparison, OtherProcesses};
use crate::text::{self, Column};
use prony_runner::number;
use prony_statistics::{Change, Estimate, GroupChange, Metric, Precision, ServiceChange};
use std::fmt::Write as _;

pub(super) fn terminal(outcome: &CompareOutcome, columns: usize) -> String {
    let mut parts = Vec::new();
    if let Some(revisions) = outcome.revisions() {
        parts.push(text::headline(&revisions.headline, columns));
        parts.push(format!(
            "  {}",
            text::wrapped(&revisions.circumstances(""), columns, 2, 2)
        ));
    }
    parts.extend(
        outcome
            .comparisons()
            .iter()
            .map(|comparison| comparison_text(comparison, columns)),
    );
    if let Some(revisions) = outcome.revisions() {
        let failed = revisions.failed.iter();
        let failed = failed.map(|failed| format!("{}: not compared: {}", failed.service, failed.reason));
        let lines = failed.chain(revisions.remarks(""));
        parts.extend(lines.map(|line| text::wrapped(&line, columns, 0, 2)));
    }
    parts.join("\n\n")
}

fn comparison_text(comparison: &Comparison, columns: usize) -> String {
    let mut parts = vec![text::headline(&comparison.headline, columns)];
    let groups = &comparison.change.groups;
    for group in groups {
        if groups.len() > 1 || group.services.len() > 1 {
            parts.push(format!("  {}", text::wrapped(&title(group), columns, 2, 4)));
        }
        let several = group.services.len() > 1;
        for service in &group.services {
            let table = metrics_table(service, comparison, columns);
            parts.push(if several {
                format!("  {}\n{table}", service.service)
            } else {
                table
            });
        }
    }
    parts.push(summary(comparison, columns));
    let remarks = details(comparison);
    let lines: Vec<String> = remarks
        .into_iter()
        .chain(noise(comparison))
        .map(|remark| format!("  {}", text::wrapped(&remark, columns, 2, 2)))
        .collect();
    if !lines.is_empty() {
        parts.push(lines.join("\n"));
    }
    parts.join("\n\n")
}

/// A row for each metric of a service: both values in one unit, the change and its interval.
fn metrics_table(service: &ServiceChange, comparison: &Comparison, columns: usize) -> String {
    const HEADINGS: [Column<'static>; 6] = [
        Column::text("metric", 0),
        Column::number("base", 1),
        Column::number("new", 1),
        Column::number("change", 0),
        Column::text("interval", 0),
        Column::text("verdict", 0),
    ];
    let rows: Vec<Vec<String>> = service
        .changes
        .iter()
        .map(|change| {
            let unit = unit_of(change.metric, change.base.point);
            let shown = |estimate: &Estimate| match estimate.precision() {
                Precision::Unknown => "unknown".to_owned(),
                _ => number(estimate.point / unit.1),
            };
            vec![
                short_name(change.metric, unit.0),
                shown(&change.base),
                shown(&change.new),
                percent_change(change.ratio.point),
                interval(&change.ratio),
                verdict(change, comparison.paired),
            ]
        })
        .collect();
    text::table(&HEADINGS, &rows, 2, columns)
}

/// The unit in which the values of a row are shown, and its size.
fn unit_of(metric: Metric, value: f64) -> (&'static str, f64) {
    match metric.unit() {
        "ns" if value >= 1e6 => ("ms", 1e6),
        "ns" => ("µs", 1e3),
        "bytes" => ("MiB", f64::from(1 << 20)),
        "1/s" => ("/s", 1.0),
        unit => (unit, 1.0),
    }
}

/// A metric with its unit: `CPU/req, µs`, `goodput/s`.
fn short_name(metric: Metric, unit: &str) -> String {
    let name = match metric {
        Metric::CpuNsPerRequest => "CPU/req",
        Metric::MemoryBytesPeak => "memory",
        other => other
            .title()
            .strip_prefix("response time, ")
            .unwrap_or(other.title()),
    };
    match unit {
        "/s" => format!("{name}/s"),
        unit => format!("{name}, {unit}"),
    }
}

/// The interval of a change: `−3 to +5 %`.
fn interval(ratio: &Estimate) -> String {
    let (low, high) = (percent_change(ratio.low), percent_change(ratio.high));
    format!("{} to {high}", low.trim_end_matches(" %"))
}

/// How the two were measured, how precise that was, and what to do about an interval that is too wide.
fn summary(comparison: &Comparison, columns: usize) -> String {
    let confidence = digits(100.0 * comparison.confidence);
    let mut text = match &comparison.measured {
        Some(sides) => {
            let when = if sides.design == "at_once" {
                "at the same time"
            } else {
                "in the same rounds"
            };
            format!(
                "Measured {when}, {}.",
                text::plural(u64::from(sides.rounds), "round")
            )
        }
        None if comparison.change.gates => {
            "Measured at different times: the intervals of gated metrics cover how they varied from run to run.".to_owned()
        }
        None => {
            "Measured at different times: the intervals do not cover how the machine varies from run to run."
                .to_owned()
        }
    };
    let _ = write!(
        text,
        " {confidence} % joint confidence; differences within {} % count as the same.",
        digits(100.0 * comparison.tie_band)
    );
    let smallest = comparison
        .measured
        .iter()
        .flat_map(|sides| &sides.smallest_differences);
    let smallest: Vec<String> = smallest
        .map(|smallest| {
            let name = short_name(smallest.metric, "");
            format!("{} {}", name.trim_end_matches(", "), percent(smallest.difference))
        })
        .collect();
    if !smallest.is_empty() {
        let _ = write!(
            text,
            " Smallest change these could show: {}.",
            smallest.join(", ")
        );
    }
    let mut out = format!("  {}", text::wrapped(&text, columns, 2, 2));
    if let Some(advice) = advice(comparison) {
        let _ = write!(out, "\n  → {}", text::wrapped(&advice, columns, 4, 4));
    }
    out
}

fn advice(comparison: &Comparison) -> Option<String> {
    match (word(comparison), &comparison.measured) {
        (HeadlineVerdict::Inconclusive, Some(sides)) => Some(format!(
            "Use more rounds (--rounds {}) or a quieter machine.",
            2 * sides.rounds
        )),
        (HeadlineVerdict::Inconclusive, None) if is_short(comparison) => {
            Some("--history needs at least three earlier runs with the same circumstances.".to_owned())
        }
        (HeadlineVerdict::NotGated, None) if comparison.others.is_none() => Some(
            "To gate, use --history (three or more earlier runs), or compare two revisions of a service."
                .to_owned(),
        ),
        _ => None,
    }
}

/// Whether the history has too few runs before the new one.
fn is_short(comparison: &Comparison) -> bool {
    comparison.history.iter().all(|history| history.runs.len() <= 3)
}

/// A number without zeros at its end.
fn digits(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(super) fn markdown(outcome: &CompareOutcome) -> String {
    let mut parts = Vec::new();
    if let Some(revisions) = outcome.revisions() {
        parts.push(format!(
            "## {}\n\n{}\n",
            revisions.headline,
            revisions.circumstances("`")
        ));
    }
    parts.extend(outcome.comparisons().iter().map(section));
    if let Some(revisions) = outcome.revisions() {
        let failed = revisions.failed.iter();
        let failed = failed.map(|failed| format!("`{}`: not compared: {}", failed.service, failed.reason));
        let lines = failed
            .chain(revisions.remarks("`"))
            .map(|line| format!("- {line}\n"));
        parts.push(lines.collect());
    }
    parts.join("\n")
}

fn section(comparison: &Comparison) -> String {
    let mut text = format!(
        "### {}\n\n`{}` against `{}`\n",
        comparison.headline, comparison.new, comparison.base
    );
    for group in &comparison.change.groups {
        let _ = write!(
            text,
            "\n**{}**\n\n| service | metric | base | new | new/base | interval | verdict |\n",
            title(group)
        );
        text.push_str("| --- | --- | ---: | ---: | ---: | :---: | --- |\n");
        for row in rows(group, comparison.paired) {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
    }
    text.push('\n');
    let smallest = comparison.measured.as_ref().and_then(smallest);
    for remark in remarks(comparison)
        .into_iter()
        .chain(noise(comparison))
        .chain(smallest)
    {
        let _ = writeln!(text, "- {remark}");
    }
    text
}

pub(super) fn title(group: &GroupChange) -> String {
    format!(
        "{} · {}, {}",
        group.contract,
        group.workload,
        prony_report::describe_load(&group.load, group.is_of_sequences())
    )
}

pub(super) fn rows(group: &GroupChange, paired: bool) -> Vec<Vec<String>> {
    let each = group
        .services
        .iter()
        .flat_map(|service| service.changes.iter().map(move |change| (service, change)));
    each.map(|(service, change)| {
        let metric = change.metric;
        vec![
            service.service.clone(),
            metric.title().to_owned(),
            with_error(metric, &change.base),
            with_error(metric, &change.new),
            ratio(change.ratio.point),
            format!("{} to {}", ratio(change.ratio.low), ratio(change.ratio.high)),
            verdict(change, paired),
        ]
    })
    .collect()
}

fn verdict(change: &Change, paired: bool) -> String {
    let word = direction(change, paired);
    if change.regressed {
        format!("{word}: regression")
    } else {
        word.to_owned()
    }
}

/// Notes on the table.
pub(super) fn remarks(comparison: &Comparison) -> Vec<String> {
    let confidence = 100.0 * comparison.confidence;
    let how = if comparison
        .measured
        .as_ref()
        .is_some_and(|sides| sides.design == "at_once")
    {
        "both were loaded at the same time on the same CPUs, so only the ratios are meaningful"
    } else if comparison.paired {
        "both were measured in the same rounds, which gives a ratio for each round"
    } else if comparison.change.gates {
        "the runs were made at different times: the intervals of gated metrics cover how they varied from run to run"
    } else {
        "the runs were made at different times: the intervals do not cover how the machine varies from run to run"
    };
    let mut found = vec![
        format!(
            "The gated ratios hold jointly with {confidence:.3} % confidence, and so do the others; {how}."
        )
        .replace(".000 %", " %"),
        format!(
            "Differences within {:.1} % count as equal; {}.",
            100.0 * comparison.tie_band,
            if comparison.change.gates {
                format!("the allowed slowdown is {:.1} %", 100.0 * comparison.max_slowdown)
            } else {
                "nothing is gated. To gate, use --history (needs three or more earlier runs), or compare two revisions of a \
                 service, which are measured side by side"
                    .to_owned()
            }
        ),
    ];
    found.extend(details(comparison));
    found
}

/// What differs between the two, what could not be compared, and the history.
fn details(comparison: &Comparison) -> Vec<String> {
    let mut found: Vec<String> = comparison
        .differences
        .iter()
        .map(|difference| {
            format!(
                "Different {}: {} in the base, {} now.",
                difference.what, difference.base, difference.new
            )
        })
        .collect();
    found.extend(comparison.others.and_then(others));
    let why = if comparison.others.is_some() {
        "Not comparable"
    } else {
        "Compared with --force"
    };
    let mismatches = comparison.mismatches.iter();
    found.extend(mismatches.map(|mismatch| format!("{why}: {mismatch}.")));
    found.extend(
        comparison
            .change
            .missing
            .iter()
            .map(|missing| format!("Not compared: {missing}.")),
    );
    found.extend(
        comparison
            .change
            .without_bound
            .iter()
            .map(|lost| format!("Regression: {lost}.")),
    );
    found.extend(comparison.history.iter().map(history));
    found.extend(left_out(&comparison.left_out));
    found
}

/// A note on the share of the machine that other programs used during saved loads, if it was large on one side.
fn others(others: OtherProcesses) -> Option<String> {
    const LITTLE: f64 = 0.05;
    let is_much = |share: Option<f64>| share.is_some_and(|share| share > LITTLE);
    let shown = |share: Option<f64>| match share {
        Some(share) => format!("{:.0} %", 100.0 * share),
        None => "an unknown share".to_owned(),
    };
    (is_much(others.base) || is_much(others.new)).then(|| {
        format!(
            "Other programs used {} of the machine during the base loads and {} during the new loads.",
            shown(others.base),
            shown(others.new)
        )
    })
}

/// The earlier runs that are not in the history, and why: `Left out of the history: 5 earlier runs (kernel: 5; CPU: 2).`.
fn left_out(left_out: &LeftOut) -> Option<String> {
    let differences: Vec<String> = left_out
        .differences
        .iter()
        .map(|(what, runs)| format!("{what}: {runs}"))
        .collect();
    (!left_out.is_empty()).then(|| {
        format!(
            "Left out of the history: {} with other circumstances ({}).",
            text::plural(left_out.runs as u64, "earlier run"),
            differences.join("; ")
        )
    })
}

fn history(history: &History) -> String {
    let name = format!(
        "{} in {} · {}, {}",
        history.service,
        history.contract,
        history.workload,
        history.metric.title()
    );
    let runs = history.runs.len();
    if history.changes.is_empty() {
        return format!("History of {name}: no change over {runs} runs.");
    }
    let change = |point: &prony_statistics::ChangePoint| {
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        let Estimate {
            point: ratio,
            low,
            high,
            ..
        } = point.ratio;
        format!(
            "{:+.1} % ({:+.1} to {:+.1} %) from {} on",
            percent(ratio),
            percent(low),
            percent(high),
            history.runs[point.index]
        )
    };
    let changes: Vec<String> = history.changes.iter().map(change).collect();
    format!("History of {name}, {runs} runs: {}.", changes.join("; "))
}

/// A value with its interval: `12345/s ±1.2 %`, `9000/s to 15000/s`.
fn with_error(metric: Metric, estimate: &Estimate) -> String {
    match estimate.precision() {
        Precision::PlusMinus(half) => format!("{} ±{:.1} %", value(metric, estimate.point), 100.0 * half),
        Precision::Ends => format!(
            "{} to {}",
            value(metric, estimate.low),
            value(metric, estimate.high)
        ),
        Precision::Unknown => "unknown".to_owned(),
    }
}

/// A ratio. Beyond a factor of 100 the exact value means nothing.
fn ratio(ratio: f64) -> String {
    match ratio {
        small if small < 0.01 => "under 0.01".to_owned(),
        large if large > 100.0 => "over 100".to_owned(),
        ratio => format!("{ratio:.3}"),
    }
}

fn value(metric: Metric, value: f64) -> String {
    match metric.unit() {
        "ns" if value >= 1e6 => format!("{:.2} ms", value / 1e6),
        "ns" => format!("{:.1} µs", value / 1e3),
        "bytes" => format!("{:.1} MiB", value / f64::from(1 << 20)),
        "1/s" => format!("{}/s", number(value)),
        unit => format!("{value:.2} {unit}"),
    }
}

#[cfg(test)]
mod tests;
