//! Aligned text for a terminal of any width.

use super::{group_title, head_of, one_line, rate_of};
use crate::number::{Unit, plural, with_interval};
use crate::{GroupReport, Report, Row, State};
use prony_statistics::Metric;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// How text for a terminal looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Whether to use colours.
    pub colour: bool,
    /// Columns of the terminal.
    pub columns: usize,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            colour: false,
            columns: 100,
        }
    }
}

const RANK: usize = 5;
const SERVICE: usize = 26;
const LEAST_SERVICE: usize = 12;
const COLUMN: usize = 17;
const INDENT: &str = "       ";

#[derive(Clone, Copy)]
enum Style {
    Bold,
    Dim,
    Warn,
}

impl Look {
    fn paint(self, style: Style, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match style {
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Warn => "33",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

pub(super) fn render(report: &Report, look: Look) -> String {
    let cpu = &report.environment.cpu;
    let model = one_line(cpu.model.as_deref().unwrap_or("unknown CPU"));
    let mut out = look.paint(Style::Bold, &one_line(&report.suite));
    out += &format!(
        " · {} · {} of {} · {model}, {}\n",
        one_line(&report.run),
        report.trials,
        plural(report.planned_trials as usize, "trial"),
        plural(cpu.online as usize, "CPU")
    );
    match report.state {
        State::Ended => {}
        State::Running => out += "The run still goes on; these are its numbers so far.\n",
        State::Unfinished => out += "The run did not come to its end; these are the trials that it did.\n",
    }
    for warning in &report.warnings {
        out += &warning_text(&warning.text, look, "");
    }
    for group in &report.groups {
        out.push('\n');
        out += &table(report, group, look);
    }
    if report.groups.is_empty() {
        out += "\nNo trial has ended yet.\n";
    }
    for agreement in &report.agreement {
        if let Some(correlation) = agreement.rank_correlation {
            out += &format!(
                "\nPublished by {}: rank correlation {correlation:.2} with ours over {} ({}).\n",
                one_line(&agreement.source),
                plural(agreement.services as usize, "service"),
                one_line(&agreement.workload)
            );
        }
    }
    out
}

/// As many columns as fit, the most important ones first.
fn columns(group: &GroupReport, look: Look) -> Vec<Metric> {
    let wanted = [
        rate_of(group),
        Metric::ResponseTimeNsP99,
        Metric::CpuNsPerRequest,
        Metric::MemoryBytesPeak,
        Metric::ResponseTimeNsP50,
        Metric::StartMs,
    ];
    let room = look.columns.saturating_sub(RANK + 1 + SERVICE) / COLUMN;
    wanted.into_iter().take(room.max(1)).collect()
}

fn table(report: &Report, group: &GroupReport, look: Look) -> String {
    let columns = columns(group, look);
    let names: Vec<String> = group
        .services
        .iter()
        .map(|row| one_line(&report.name(&row.summary.id)))
        .collect();
    let widest = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let service = widest.clamp(LEAST_SERVICE, SERVICE);
    let units: Vec<Unit> = columns.iter().map(|&metric| unit_of(group, metric)).collect();
    let mut out = look.paint(Style::Bold, &one_line(&group_title(group))) + "\n";
    out += &wrapped(&one_line(&group.finding), look.columns, "");
    for warning in &group.warnings {
        out += &warning_text(&warning.text, look, "");
    }
    let heads = columns.iter().zip(&units).map(|(&metric, unit)| {
        let comma = if unit.symbol.is_empty() || unit.symbol.starts_with('/') {
            ""
        } else {
            ", "
        };
        right(&format!("{}{comma}{}", head_of(metric), unit.symbol), COLUMN)
    });
    let head = format!(
        "{} {}{}",
        right("rank", RANK),
        left("service", service),
        heads.collect::<String>()
    );
    out += &format!("\n{}\n", look.paint(Style::Dim, &head));
    for (row, name) in group.services.iter().zip(&names) {
        out += &line(row, name, service, (&columns, &units), look);
    }
    out
}

fn line(row: &Row, name: &str, service: usize, shown: (&[Metric], &[Unit]), look: Look) -> String {
    let summary = &row.summary;
    let rank = match summary.rank {
        Some(rank) if summary.tied_with.is_empty() => rank.to_string(),
        Some(rank) => format!("={rank}"),
        None => "–".to_owned(),
    };
    let mut out = format!("{} {}", right(&rank, RANK), left(name, service));
    if let Some(excluded) = &summary.excluded {
        let stage = format!("{:?}", excluded.stage).to_lowercase();
        let reason = format!("excluded at {stage}: {}", one_line(&excluded.reason));
        out += "  ";
        out += &wrapped(
            &reason,
            look.columns.saturating_sub(RANK + service + 3).max(30),
            &" ".repeat(RANK + service + 3),
        );
        return out;
    }
    for (&metric, &unit) in shown.0.iter().zip(shown.1) {
        let cell = summary
            .metrics
            .get(metric)
            .and_then(|quantity| with_interval(quantity, unit));
        out += &right(&cell.unwrap_or_else(|| "not known".to_owned()), COLUMN);
    }
    out.push('\n');
    for warning in &summary.warnings {
        out += &warning_text(&warning.text, look, INDENT);
    }
    out
}

fn unit_of(group: &GroupReport, metric: Metric) -> Unit {
    let values: Vec<f64> = group
        .services
        .iter()
        .filter_map(|row| row.summary.metrics.get(metric)?.position())
        .collect();
    Unit::for_metric(metric, &values)
}

fn warning_text(text: &str, look: Look, indent: &str) -> String {
    let body = wrapped(
        &one_line(text),
        look.columns.saturating_sub(indent.len() + 2).max(30),
        &format!("{indent}  "),
    );
    format!(
        "{indent}{}",
        look.paint(Style::Warn, &format!("⚠ {}", body.trim_end()))
    ) + "\n"
}

/// Breaks text at blanks so that no line is wider than `width`; later lines begin with `indent`.
fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let wide = word.width();
        if used > 0 && used + 1 + wide > width {
            out += "\n";
            out += indent;
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out += word;
        used += wide;
    }
    out.push('\n');
    out
}

fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(text.width())))
}

/// Pads, or shortens with `…`.
fn left(text: &str, width: usize) -> String {
    if text.width() <= width {
        return format!("{text}{}", " ".repeat(width - text.width()));
    }
    let mut out = String::new();
    let mut used = 0;
    for character in text.chars() {
        let wide = character.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        out.push(character);
        used += wide;
    }
    format!("{out}…{}", " ".repeat(width.saturating_sub(used + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_padded_shortened_and_wrapped_by_width() {
        assert_eq!(left("ab", 4), "ab  ");
        assert_eq!(left("abcdef", 4), "abc…");
        assert_eq!(left("速い速い", 5), "速い…");
        assert_eq!(right("ab", 4), "  ab");
        assert_eq!(wrapped("one two three", 8, "> "), "one two\n> three\n");
    }
}
