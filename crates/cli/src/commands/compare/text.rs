//! Renders a comparison as terminal text and as Markdown.

use super::headline::direction;
use super::input::History;
use super::noise::noise;
use super::{Comparison, OtherProcesses};
use crate::text;
use prony_statistics::{Change, Estimate, GroupChange, Metric, Precision};
use std::fmt::Write as _;

pub(super) fn terminal(comparison: &Comparison) -> String {
    let columns = text::columns();
    let headline = text::headline(&comparison.headline, columns);
    let mut text = format!("{headline}\n\n{} against {}\n", comparison.new, comparison.base);
    for group in &comparison.change.groups {
        let _ = write!(text, "\n{}\n", title(group));
        let headings = [
            "service", "metric", "base", "new", "new/base", "interval", "verdict",
        ];
        let _ = writeln!(text, "{}", text::table(&headings, rows(group, comparison.paired)));
    }
    let _ = write!(text, "\n{}", remarks(comparison).join("\n"));
    for remark in comparison.measured.iter().flat_map(noise) {
        let _ = write!(text, "\n{remark}");
    }
    text
}

pub(super) fn markdown(comparison: &Comparison) -> String {
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
    let of_noise = comparison.measured.iter().flat_map(noise);
    for remark in remarks(comparison).into_iter().chain(of_noise) {
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
        "1/s" => format!("{value:.0}/s"),
        unit => format!("{value:.2} {unit}"),
    }
}
