//! Markdown for a README or a pull request, with a bar chart in plain text.

mod machine;
mod published;

use super::columns::{Column, Columns, unit_of};
use super::terminal::{left, named};
use super::{group_title, head_of, one_line, own_warnings};
use crate::formats::levels::Levels;
use crate::number::{FARTHEST, digits, no_bound, number, percent, plural, ratio};
use crate::{GroupReport, Report};
use prony_records::{CaseFailure, Level, Quantile, ServiceCheck, ServiceId, Warning};
use prony_statistics::Verdict;
use std::collections::BTreeSet;
use unicode_width::UnicodeWidthStr as _;

/// Width of the longest bar, columns.
const BAR: f64 = 32.0;
/// Maximum width of a name next to a bar, columns: with the value, a line has about 80.
const NAME: usize = 28;
/// A ratio whose ends differ by this factor is not worth printing.
const VAGUE: f64 = 4.0;
/// Most characters of a comment on GitHub, with room for other text.
const COMMENT: usize = 60_000;
/// Maximum number of pairs that are listed: neighbours in the ranking, which a reader compares first.
const MOST_PAIRS: usize = 12;

pub(super) fn render(report: &Report) -> String {
    let mut out = heading(report);
    for group in &report.groups {
        out += &section(report, group);
    }
    out += &levels_section(report);
    out += &checks(report);
    out += &published::section(report);
    out += "\n## How this was measured\n\n";
    for sentence in &report.method {
        out += &format!("- {}\n", safe(sentence));
    }
    out += &machine::section(report);
    out
}

/// The rankings with the first `top` services of each, in at most [`COMMENT`] characters.
pub(super) fn short(report: &Report, top: usize) -> String {
    let mut out = heading(report);
    for (number, group) in report.groups.iter().enumerate() {
        let table = shortened(report, group, top);
        if out.chars().count() + table.chars().count() > COMMENT {
            let left = report.groups.len() - number;
            out += &format!(
                "\n{} left out: this is as much as fits into a comment.\n",
                plural(left, "ranking")
            );
            break;
        }
        out += &table;
    }
    out
}

fn shortened(report: &Report, group: &GroupReport, top: usize) -> String {
    let mut out = format!(
        "\n## {}\n\n**{}**\n\n",
        safe(&group_title(group)),
        safe(&group.finding)
    );
    for warning in &group.warnings {
        out += &format!("> {} {}\n\n", sign(warning), prose(&warning.whole()));
    }
    out += &table(report, group, &Columns::of(group).first, top);
    let more = group.services.len().saturating_sub(top);
    if more > 0 {
        out += &format!("\n{} more in the whole report.\n", plural(more, "service"));
    }
    out
}

fn heading(report: &Report) -> String {
    let cpu = &report.environment.cpu;
    let mut out = format!(
        "# {}\n\nRun `{}` of {}: {} of {}, on {} with {}.\n",
        safe(&report.suite),
        code(&report.run),
        safe(&report.started_at),
        report.trials,
        plural(report.planned_trials as usize, "trial"),
        safe(cpu.model.as_deref().unwrap_or("an unknown CPU")),
        plural(cpu.online as usize, "CPU")
    );
    for warning in &report.warnings {
        out += &format!("\n> {} {}\n", sign(warning), prose(&warning.whole()));
    }
    out
}

fn section(report: &Report, group: &GroupReport) -> String {
    let mut out = format!(
        "\n## {}\n\n**{}**\n\n",
        safe(&group_title(group)),
        safe(&group.finding)
    );
    if let Some(ceiling) = &group.ceiling_text {
        out += &format!("{}\n\n", safe(ceiling));
    }
    for warning in &group.warnings {
        out += &format!("> {} {}\n\n", sign(warning), prose(&warning.whole()));
    }
    let columns = Columns::of(group).all();
    out += &table(report, group, &columns, group.services.len());
    out += &bars(report, group);
    let mut notes = String::new();
    for row in &group.services {
        for warning in own_warnings(group, row) {
            notes += &format!(
                "- {} {}: {}\n",
                sign(warning),
                safe(&report.name(&row.summary.id)),
                prose(&warning.whole())
            );
        }
    }
    if !notes.is_empty() {
        out += &format!("\n{notes}");
    }
    out += &neighbours(report, group);
    out += &operations_section(report, group);
    out
}

/// The mark of a warning or of a note.
fn sign(warning: &Warning) -> &'static str {
    match warning.level() {
        Level::Invalid | Level::Warning => "⚠",
        Level::Note => "ℹ",
    }
}

fn table(report: &Report, group: &GroupReport, columns: &[Column], top: usize) -> String {
    let mut out = String::from("| rank | service | version | class |");
    for column in columns {
        out += &format!(" {} |", safe(&column.head(group)));
    }
    out += &format!("\n|---:|---|---|---|{}\n", "---:|".repeat(columns.len()));
    for row in group.services.iter().take(top) {
        let summary = &row.summary;
        let info = report.info(&summary.id);
        let version = info.and_then(|info| info.version.as_deref());
        let rank = row.ranks().unwrap_or_else(|| "–".to_owned());
        let mut own = own_warnings(group, row);
        let doubted = own.any(|warning| warning.level() != Level::Note);
        let sign = if doubted { " ⚠" } else { "" };
        out += &format!(
            "| {rank} | {}{sign} | {} | {} |",
            safe(&report.name(&summary.id)),
            safe(version.unwrap_or("")),
            safe(info.map_or("", |info| &info.class))
        );
        if let Some(excluded) = &summary.excluded {
            out += &format!(
                " excluded: {} |{}\n",
                safe(&excluded.reason),
                " |".repeat(columns.len() - 1)
            );
            continue;
        }
        for column in columns {
            out += &format!(" {} |", column.cell(row));
        }
        out.push('\n');
    }
    out
}

/// `█` up to the lower end of the interval, `▒` to its upper end.
fn bars(report: &Report, group: &GroupReport) -> String {
    let metric = group.ranked_by;
    let unit = unit_of(group, metric);
    let rows: Vec<_> = group
        .services
        .iter()
        .filter_map(|row| {
            let quantity = row.summary.metrics.get(metric)?;
            let is_shown = quantity.estimate().is_some() || quantity.no_bound().is_some();
            is_shown.then(|| {
                (
                    one_line(&report.name(&row.summary.id)),
                    quantity,
                    row.summary.is_lower_bound(metric),
                )
            })
        })
        .collect();
    let estimates = || rows.iter().filter_map(|row| row.1.estimate());
    let highest = estimates().map(|estimate| estimate.high).fold(0.0, f64::max);
    let most = highest.min(FARTHEST * estimates().map(|estimate| estimate.point).fold(0.0, f64::max));
    let widest = rows.iter().map(|row| row.0.width()).max().unwrap_or(0).min(NAME);
    if rows.len() < 2 || most <= 0.0 {
        return String::new();
    }
    let mut out = format!(
        "\n```text\n{}, {}: █ up to the lower end of the interval, ▒ to the upper\n\n",
        head_of(metric),
        unit.symbol
    );
    for (name, quantity, bound) in rows {
        // A fence inside a name would end the block.
        let name = left(&named(&name.replace('`', "'"), widest), widest);
        let Some(estimate) = quantity.estimate() else {
            let none = quantity
                .no_bound()
                .map_or_else(String::new, |none| no_bound(*none));
            out += &format!("{name}  {none}\n");
            continue;
        };
        let full = (estimate.low / most * BAR).round().max(0.0) as usize;
        let upper = (estimate.high.min(most) / most * BAR).round() as usize;
        let bar = "█".repeat(full) + &"▒".repeat(upper.saturating_sub(full));
        out += &format!(
            "{name}  {bar:<width$}  {}{}\n",
            if bound { "≥ " } else { "" },
            number(estimate, unit),
            width = BAR as usize
        );
    }
    out + "```\n"
}

fn neighbours(report: &Report, group: &GroupReport) -> String {
    let ranked: Vec<_> = group
        .services
        .iter()
        .filter(|row| row.summary.rank.is_some())
        .collect();
    let mut out = String::new();
    for pair in ranked.windows(2).take(MOST_PAIRS) {
        let names = (pair[0].summary.id.to_string(), pair[1].summary.id.to_string());
        let Some(found) = group
            .pairs
            .iter()
            .find(|one| one.a == names.0 && one.b == names.1)
        else {
            continue;
        };
        if found.verdict == Verdict::CannotTell && found.ratio.high > VAGUE * found.ratio.low {
            out += &format!(
                "- {} and {}: inconclusive\n",
                safe(&report.name(&pair[0].summary.id)),
                safe(&report.name(&pair[1].summary.id))
            );
            continue;
        }
        let tie = match found.verdict {
            Verdict::CannotTell => ": inconclusive".to_owned(),
            Verdict::Same => format!(": equal within {}", percent(group.tie_band).replace(".0 ", " ")),
            _ => String::new(),
        };
        out += &format!(
            "- {} is {}–{} × {}{tie}\n",
            safe(&report.name(&pair[0].summary.id)),
            ratio(found.ratio.low),
            ratio(found.ratio.high),
            safe(&report.name(&pair[1].summary.id))
        );
    }
    if out.is_empty() {
        return out;
    }
    format!(
        "\nNeighbours by {}, all intervals together at {} confidence:\n\n{out}",
        group.ranked_by.title(),
        percent(group.confidence)
    )
}

/// Which services pass their contracts, with a column for each case that any of them fails: other cases add nothing.
fn checks(report: &Report) -> String {
    let Some(matrix) = &report.checks else {
        return String::new();
    };
    let mut out = String::from("\n## Contract checks\n");
    let contracts: BTreeSet<&str> = matrix
        .services
        .iter()
        .map(|check| check.contract.as_str())
        .collect();
    for contract in contracts {
        let of: Vec<&ServiceCheck> = matrix
            .services
            .iter()
            .filter(|check| check.contract == contract)
            .collect();
        out += &check_table(report, contract, &of);
    }
    let lines = |what: fn(&ServiceCheck) -> Vec<String>| -> String {
        let of = |check: &ServiceCheck| {
            let name = safe(&check_name(report, check));
            let about = move |text: String| format!("- {name}: {text}\n");
            what(check).into_iter().map(about).collect::<String>()
        };
        matrix.services.iter().map(of).collect()
    };
    let failures = lines(|check| {
        let said = |failure: &CaseFailure| {
            format!(
                "{}, {}: expected {}, got {}",
                safe(&check.contract),
                safe(&failure.case),
                safe(&failure.expected),
                safe(&failure.got)
            )
        };
        check.failures.iter().map(said).collect()
    });
    let warnings = lines(|check| check.warnings.iter().map(|text| safe(text)).collect());
    for (title, lines) in [
        ("Failures", failures),
        ("Warnings (do not fail the check)", warnings),
    ] {
        if !lines.is_empty() {
            out += &format!("\n{title}:\n\n{lines}");
        }
    }
    out
}

fn check_name(report: &Report, check: &ServiceCheck) -> String {
    let name = report.name(&ServiceId {
        service: check.service.clone(),
        variant: check.variant.clone(),
    });
    match check.protocol.as_deref() {
        None | Some("http" | "http1") => name,
        Some(protocol) => format!("{name} ({protocol})"),
    }
}

fn check_table(report: &Report, contract: &str, checks: &[&ServiceCheck]) -> String {
    let failed: BTreeSet<&str> = checks
        .iter()
        .flat_map(|check| &check.failures)
        .map(|failure| failure.case.as_str())
        .collect();
    let passed = checks.iter().filter(|check| check.passed).count();
    let mut out = format!(
        "\n**{}**: {passed} of {} passed.\n\n| service | cases passed |",
        safe(contract),
        plural(checks.len(), "service")
    );
    for case in &failed {
        out += &format!(" {} |", safe(case));
    }
    let traits: BTreeSet<&String> = checks.iter().flat_map(|check| check.traits.keys()).collect();
    for name in &traits {
        out += &format!(" {} |", safe(name));
    }
    let columns = failed.len() + traits.len();
    out += &format!("\n|---|---:|{}\n", ":---:|".repeat(columns));
    for check in checks {
        let sign = if check.warnings.is_empty() { "" } else { " ⚠" };
        out += &format!("| {}{sign} |", safe(&check_name(report, check)));
        if let Some(reason) = &check.unavailable {
            out += &format!(" not checked: {} |{}\n", safe(reason), " |".repeat(columns));
            continue;
        }
        let fails = |case: &str| check.failures.iter().any(|failure| failure.case == case);
        let good = check.cases.iter().filter(|case| !fails(case)).count();
        out += &format!(" {good} of {} |", check.cases.len());
        for case in &failed {
            let cell = match (fails(case), check.cases.iter().any(|known| known == case)) {
                (true, _) => "✗",
                (false, true) => "✓",
                (false, false) => "",
            };
            out += &format!(" {cell} |");
        }
        for name in &traits {
            let cell = match check.traits.get(*name) {
                Some(true) => "yes",
                Some(false) => "no",
                None => "",
            };
            out += &format!(" {cell} |");
        }
        out.push('\n');
    }
    out
}

/// Escapes text so that Markdown shows it literally, in tables too.
fn safe(text: &str) -> String {
    safe_part(&one_line(text))
}

/// The same for a part of a line, with the spaces at its ends.
fn safe_part(line: &str) -> String {
    let mut out = String::new();
    for character in line.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' => {
                out.push('\\');
                out.push(character);
            }
            _ => out.push(character),
        }
    }
    out
}

/// The same for sentences, in which back-quotes enclose code.
fn prose(text: &str) -> String {
    let text = one_line(text);
    let parts: Vec<&str> = text.split('`').collect();
    let is_code = |part: &&str| !part.trim().is_empty() && !part.contains(['<', '&', '|']);
    if parts.len().is_multiple_of(2) || !parts.iter().skip(1).step_by(2).all(is_code) {
        return safe(&text);
    }
    let shown = parts.iter().enumerate().map(|(at, part)| match at % 2 {
        0 => safe_part(part),
        _ => format!("`{part}`"),
    });
    shown.collect()
}

fn code(text: &str) -> String {
    one_line(text).replace('`', "'")
}

fn levels_section(report: &Report) -> String {
    let mut out = String::new();
    for levels in Levels::of(report) {
        out += &format!("\n## {}\n\n| service |", safe(&levels.title));
        for head in &levels.heads {
            out += &format!(" {head} |");
        }
        out += &format!("\n|---|{}\n", "---:|".repeat(levels.heads.len()));
        for (id, cells) in &levels.rows {
            out += &format!("| {} | {} |\n", safe(&report.name(id)), cells.join(" | "));
        }
    }
    out
}

/// A row for each service and a column for each operation, in the order of the ranking; nothing for a workload with a
/// single operation.
fn operations_section(report: &Report, group: &GroupReport) -> String {
    let mut names: Vec<&str> = Vec::new();
    for row in group.services.iter().filter_map(|row| row.details.as_ref()) {
        for operation in &row.operations {
            if !names.contains(&operation.name.as_str()) {
                names.push(&operation.name);
            }
        }
    }
    if names.len() < 2 {
        return String::new();
    }
    let mut out =
        String::from("\nMedian response time of each operation, of all trials together:\n\n| service |");
    for name in &names {
        out += &format!(" {}, ms |", safe(name));
    }
    out += &format!("\n|---|{}\n", "---:|".repeat(names.len()));
    for row in &group.services {
        let Some(details) = &row.details else { continue };
        out += &format!("| {} |", safe(&report.name(&row.summary.id)));
        for name in &names {
            let operation = details.operations.iter().find(|one| one.name == *name);
            let median = operation.and_then(|one| one.response_time_ns_p50);
            let ms = |ns: u64| digits(ns as f64 / 1e6);
            let cell = match median {
                None => "–".to_owned(),
                Some(Quantile::Exact(ns)) => ms(ns),
                Some(Quantile::AtLeast(ns)) => format!("≥ {}", ms(ns)),
                Some(Quantile::Unbounded) => "no bound".to_owned(),
            };
            out += &format!(" {cell} |");
        }
        out.push('\n');
    }
    out
}
