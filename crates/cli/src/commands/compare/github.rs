//! A comparison for job summaries and pull request comments: the verdict first, then the evidence.

use super::Comparison;
use super::headline::{HeadlineVerdict, sentence, word};
use super::noise::{noise, percent_change, smallest};
use super::outcome::CompareOutcome;
use super::text::{remarks, rows, title};
use std::fmt::Write as _;

pub(super) fn markdown(outcome: &CompareOutcome) -> String {
    let mut parts = Vec::new();
    if let Some(revisions) = outcome.revisions() {
        parts.push(format!(
            "## prony: {}\n\n{}\n",
            revisions.headline,
            revisions.circumstances("`")
        ));
    }
    parts.extend(outcome.comparisons().iter().map(section));
    if let Some(revisions) = outcome.revisions() {
        parts.extend(revisions.failed.iter().map(|failed| {
            // The text of a build may contain anything; it must not end the block.
            let reason = failed.reason.replace("```", "'''");
            format!(
                "### ❗ `{}` could not be compared\n\n```\n{reason}\n```\n",
                failed.service
            )
        }));
        parts.extend(
            revisions
                .remarks("`")
                .iter()
                .map(|remark| format!("- {remark}\n")),
        );
        parts.push(format!("<!-- prony: {} -->", revisions.verdict));
    }
    parts.join("\n")
}

fn section(comparison: &Comparison) -> String {
    let mut text = format!("### {}\n\n", headline(comparison));
    for group in &comparison.change.groups {
        let _ = writeln!(
            text,
            "{}\n\n| metric | base | new | change | interval | verdict |\n| --- | ---: | ---: | ---: | :---: | --- |",
            title(group)
        );
        for service in &group.services {
            for (row, change) in rows(group, comparison.paired).iter().zip(&service.changes) {
                let name = if change.gated {
                    format!("**{}**", row[1])
                } else {
                    row[1].clone()
                };
                let cells = [
                    name,
                    row[2].clone(),
                    row[3].clone(),
                    percent_change(change.ratio.point),
                    format!(
                        "{} to {}",
                        percent_change(change.ratio.low),
                        percent_change(change.ratio.high)
                    ),
                    row[6].clone(),
                ];
                let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
                let _ = writeln!(text, "| {} |", cells.join(" | "));
            }
        }
        text.push('\n');
    }
    let smallest = comparison.measured.as_ref().and_then(smallest);
    for remark in noise(comparison).into_iter().chain(smallest) {
        let _ = writeln!(text, "- {remark}");
    }
    text.push_str("\n<details><summary>How to read this</summary>\n\n");
    text.push_str("- Only metrics in bold can fail the comparison.\n");
    for remark in remarks(comparison) {
        let _ = writeln!(text, "- {remark}");
    }
    let _ = writeln!(
        text,
        "- `{}` against `{}`\n\n</details>\n\n<!-- prony: {} -->",
        comparison.new,
        comparison.base,
        outcome(comparison)
    );
    text
}

/// The outcome in a word that programs read.
fn outcome(comparison: &Comparison) -> &'static str {
    match word(comparison) {
        HeadlineVerdict::Regression => "regression",
        HeadlineVerdict::NoRegression => "no regression",
        HeadlineVerdict::Inconclusive | HeadlineVerdict::NotGated => "inconclusive",
    }
}

fn headline(comparison: &Comparison) -> String {
    format!("{} {}", word(comparison).mark(), sentence(comparison, "`"))
}
