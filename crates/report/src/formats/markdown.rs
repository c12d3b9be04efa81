//! Markdown for a README or a pull request, with a bar chart made of text.

use super::{group_title, head_of, one_line, rate_of};
use crate::number::{Unit, bytes, percent, plural, ratio, with_interval};
use crate::{GroupReport, Report};
use prony_statistics::{Metric, Verdict};

/// Columns of the longest bar.
const BAR: f64 = 36.0;
/// Pairs that the text lists: neighbours in the ranking, which the reader compares first.
const MOST_PAIRS: usize = 12;

pub(super) fn render(report: &Report) -> String {
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
        out += &format!("\n> ⚠ {}\n", safe(&warning.text));
    }
    for group in &report.groups {
        out += &section(report, group);
    }
    out += &published(report);
    out += "\n## How this was measured\n\n";
    for sentence in &report.method {
        out += &format!("- {}\n", safe(sentence));
    }
    out += &environment(report);
    out
}

fn section(report: &Report, group: &GroupReport) -> String {
    let mut out = format!(
        "\n## {}\n\n**{}**\n\n",
        safe(&group_title(group)),
        safe(&group.finding)
    );
    for warning in &group.warnings {
        out += &format!("> ⚠ {}\n\n", safe(&warning.text));
    }
    out += &table(report, group);
    out += &bars(report, group);
    let mut notes = String::new();
    for row in &group.services {
        for warning in &row.summary.warnings {
            notes += &format!(
                "- ⚠ {}: {}\n",
                safe(&report.name(&row.summary.id)),
                safe(&warning.text)
            );
        }
    }
    if !notes.is_empty() {
        out += &format!("\n{notes}");
    }
    out += &neighbours(report, group);
    out
}

fn table(report: &Report, group: &GroupReport) -> String {
    let columns = [
        rate_of(group),
        Metric::ResponseTimeNsP50,
        Metric::ResponseTimeNsP99,
        Metric::CpuNsPerRequest,
        Metric::MemoryBytesPeak,
        Metric::StartMs,
    ];
    let units = columns.map(|metric| unit_of(group, metric));
    let mut out = String::from("| rank | service | version |");
    for (metric, unit) in columns.iter().zip(&units) {
        out += &format!(" {}, {} |", head_of(*metric), unit.symbol);
    }
    out += &format!("\n|---:|---|---|{}\n", "---:|".repeat(columns.len()));
    for row in &group.services {
        let summary = &row.summary;
        let version = report.info(&summary.id).and_then(|info| info.version.as_deref());
        let rank = match summary.rank {
            Some(rank) if summary.tied_with.is_empty() => rank.to_string(),
            Some(rank) => format!("{rank} (tie)"),
            None => "–".to_owned(),
        };
        let sign = if summary.warnings.is_empty() { "" } else { " ⚠" };
        out += &format!(
            "| {rank} | {}{sign} | {} |",
            safe(&report.name(&summary.id)),
            safe(version.unwrap_or(""))
        );
        if let Some(excluded) = &summary.excluded {
            out += &format!(
                " excluded: {} |{}\n",
                safe(&excluded.reason),
                " |".repeat(columns.len() - 1)
            );
            continue;
        }
        for (metric, unit) in columns.iter().zip(&units) {
            let cell = summary
                .metrics
                .get(*metric)
                .and_then(|quantity| with_interval(quantity, *unit));
            out += &format!(" {} |", cell.unwrap_or_else(|| "not known".to_owned()));
        }
        out.push('\n');
    }
    out
}

/// `█` up to the lower end of the interval, `▒` to its upper end.
fn bars(report: &Report, group: &GroupReport) -> String {
    let metric = rate_of(group);
    let unit = unit_of(group, metric);
    let rows: Vec<_> = group
        .services
        .iter()
        .filter_map(|row| {
            Some((
                one_line(&report.name(&row.summary.id)),
                row.summary.metrics.get(metric)?.estimate()?,
            ))
        })
        .collect();
    let most = rows.iter().map(|(_, estimate)| estimate.high).fold(0.0, f64::max);
    let widest = rows
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    if rows.len() < 2 || most <= 0.0 {
        return String::new();
    }
    let mut out = format!(
        "\n```text\n{}, {}: █ up to the lower end of the interval, ▒ to the upper\n\n",
        head_of(metric),
        unit.symbol
    );
    for (name, estimate) in rows {
        let full = (estimate.low / most * BAR).round().max(0.0) as usize;
        let upper = (estimate.high / most * BAR).round() as usize;
        let bar = "█".repeat(full) + &"▒".repeat(upper.saturating_sub(full));
        // A fence inside a name would end the block.
        let name = name.replace('`', "'");
        out += &format!(
            "{name:<widest$}  {bar:<width$}  {}\n",
            unit.show(estimate.point),
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
        let tie = match found.verdict {
            Verdict::CannotTell => ": the data cannot tell them apart",
            Verdict::Same => ": the same for all practical purposes",
            _ => "",
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

fn published(report: &Report) -> String {
    if report.agreement.is_empty() {
        return String::new();
    }
    let mut out = String::from("\n## Published figures\n\n");
    for one in &report.agreement {
        let said = one.rank_correlation.map_or_else(
            || "no rank correlation, for want of three services with different ranks".to_owned(),
            |correlation| {
                format!(
                    "rank correlation {correlation:.2} over {}",
                    plural(one.services as usize, "service")
                )
            },
        );
        out += &format!(
            "- {}, {} ({}): {said}\n",
            safe(&one.source),
            safe(&one.workload),
            safe(&one.load_text)
        );
    }
    out
}

fn environment(report: &Report) -> String {
    let environment = &report.environment;
    let mut facts = vec![format!("prony {}", environment.prony)];
    facts.extend(
        [&environment.os, &environment.kernel]
            .into_iter()
            .flatten()
            .cloned(),
    );
    facts.extend(
        environment
            .memory_bytes
            .map(|count| format!("{} of memory", bytes(count as f64))),
    );
    facts.extend(
        environment
            .virtualisation
            .iter()
            .map(|kind| format!("virtualisation {kind}")),
    );
    facts.extend(
        environment
            .runtimes
            .iter()
            .map(|(name, version)| format!("{name} {version}")),
    );
    let mut out = format!(
        "\nMachine: {}.\n",
        facts.iter().map(|fact| safe(fact)).collect::<Vec<_>>().join(", ")
    );
    for finding in &environment.findings {
        out += &format!(
            "\n> {} To mend it: {}\n",
            safe(&finding.text),
            safe(&finding.remedy)
        );
    }
    out
}

fn unit_of(group: &GroupReport, metric: Metric) -> Unit {
    let rows = group.services.iter();
    let values: Vec<f64> = rows
        .filter_map(|row| row.summary.metrics.get(metric)?.position())
        .collect();
    Unit::for_metric(metric, &values)
}

/// Text that Markdown shows as it is, in a table too.
fn safe(text: &str) -> String {
    let mut out = String::new();
    for character in one_line(text).chars() {
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

fn code(text: &str) -> String {
    one_line(text).replace('`', "'")
}
