//! A comparison for the summary of a job and for a comment on a pull request: the verdict first, then what it rests on.

use super::Comparison;
use super::noise::{changes, noise, percent_change};
use super::text::{once_each, remarks, rows, title};
use prony_statistics::{Change, Verdict};
use std::fmt::Write as _;

pub(super) fn markdown(comparison: &Comparison) -> String {
    let mut text = format!("### {}\n\n", headline(comparison));
    for group in &comparison.change.groups {
        let _ = writeln!(
            text,
            "{}\n\n| metric | base | new | change | interval | verdict |\n| --- | ---: | ---: | ---: | :---: | --- |",
            title(group)
        );
        for service in &group.services {
            for (row, change) in rows(group).iter().zip(&service.changes) {
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
    if let Some(sides) = &comparison.measured {
        for remark in noise(sides) {
            let _ = writeln!(text, "- {remark}");
        }
    }
    text.push_str("\n<details><summary>How to read this</summary>\n\n");
    text.push_str("- Metrics in bold may fail the comparison; the others are only shown.\n");
    for remark in remarks(comparison).iter().skip(1) {
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

/// The outcome in a word, for programs.
fn outcome(comparison: &Comparison) -> &'static str {
    let change = &comparison.change;
    if change.regressed {
        "regression"
    } else if change.inconclusive || !change.gates {
        "inconclusive"
    } else {
        "no regression"
    }
}

/// The verdict in a line.
fn headline(comparison: &Comparison) -> String {
    let (base, new) = comparison.measured.as_ref().map_or_else(
        || (comparison.base.as_str(), comparison.new.as_str()),
        |sides| (sides.base.as_str(), sides.new.as_str()),
    );
    let names = format!("`{new}` against `{base}`");
    let gated: Vec<&Change> = changes(&comparison.change)
        .filter(|change| change.gated)
        .collect();
    let list = |found: Vec<&Change>| {
        let each: Vec<String> = found
            .iter()
            .map(|change| format!("{} {}", change.metric.title(), percent_change(change.ratio.point)))
            .collect();
        each.join(", ")
    };
    let of = |verdict: Verdict| -> Vec<&Change> {
        gated
            .iter()
            .copied()
            .filter(|change| change.verdict == verdict)
            .collect()
    };
    let regressed: Vec<&Change> = gated.iter().copied().filter(|change| change.regressed).collect();
    if !regressed.is_empty() {
        return format!("❌ {names}: slower, {}", list(regressed));
    }
    if gated.is_empty() {
        return format!("❔ {names}: nothing could be compared");
    }
    if comparison.change.inconclusive {
        let open = gated.iter().filter(|change| change.inconclusive);
        let open = once_each(open.map(|change| change.metric.title()).collect());
        return format!(
            "❔ {names}: inconclusive, a slowdown of more than {:.1} % is neither shown nor excluded for {open}",
            100.0 * comparison.max_slowdown
        );
    }
    let (slower, faster) = (of(Verdict::Slower), of(Verdict::Faster));
    if !slower.is_empty() {
        let why = if comparison.change.gates {
            "within what is allowed"
        } else {
            "not gated"
        };
        return format!("⚠️ {names}: slower, {}, {why}", list(slower));
    }
    if !faster.is_empty() {
        return format!("✅ {names}: faster, {}", list(faster));
    }
    if gated.iter().all(|change| change.verdict == Verdict::Same) {
        return format!("✅ {names}: the same");
    }
    format!("✅ {names}: no slowdown found")
}
