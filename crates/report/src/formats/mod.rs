//! One file per format. Each renders a [`Report`] as text; none computes a number.
#![expect(
    clippy::format_push_string,
    reason = "a report is small, and writing into a String has no error to handle"
)]

mod columns;
mod csv;
mod exported;
mod hdr;
mod html;
mod junit;
mod levels;
mod markdown;
mod opentelemetry;
mod prometheus;
mod svg;
mod terminal;

pub use hdr::{interval_log, percentile_tables};
pub(crate) use html::{drawn, page_of};
pub use html::{page, page_data, served_page};
pub use junit::{CheckRun, junit};
pub use prometheus::{RunProgress, exposition, progress};
pub use svg::charts;
pub use terminal::{TerminalStyle, standings};

use crate::{GroupReport, Report, ReportError, Row};
use prony_records::Warning;
use prony_statistics::Metric;

/// The output formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Aligned text.
    Terminal,
    /// Markdown for a README.
    Markdown,
    /// Short Markdown for a comment on a pull request, with this many services of each ranking.
    GithubMarkdown(usize),
    /// A line per service × metric.
    Csv,
    /// The JSON object.
    Json,
    /// One self-contained page.
    Html,
    /// The throughput of the first group as a bar chart; [`charts`] returns all charts.
    Svg,
    /// The text format of Prometheus.
    Prometheus,
    /// Metrics of OpenTelemetry as OTLP JSON.
    OpenTelemetry,
}

/// Renders the report in a format. `look` affects only the terminal format.
pub fn render(report: &Report, format: Format, look: TerminalStyle) -> Result<String, ReportError> {
    match format {
        Format::Terminal => Ok(terminal::render(report, look)),
        Format::Markdown => Ok(markdown::render(report)),
        Format::GithubMarkdown(top) => Ok(markdown::short(report, top)),
        Format::Csv => csv::render(report),
        Format::Json => serde_json::to_string_pretty(report)
            .map(|text| text + "\n")
            .map_err(|error| write("JSON", &error)),
        Format::Html => page(report),
        Format::Svg => Ok(charts(report)
            .into_iter()
            .next()
            .map(|(_, svg)| svg)
            .unwrap_or_default()),
        Format::Prometheus => Ok(exposition([report])),
        Format::OpenTelemetry => opentelemetry::render(report),
    }
}

fn write(format: &'static str, error: &impl ToString) -> ReportError {
    ReportError::Write {
        format,
        reason: error.to_string(),
    }
}

/// Escapes text for HTML, SVG or XML, in elements and in attributes. Control characters, which XML forbids, become `�`.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(character),
            _ if character.is_control() || matches!(character, '\u{FFFE}' | '\u{FFFF}') => {
                safe.push('\u{FFFD}');
            }
            _ => safe.push(character),
        }
    }
    safe
}

/// Text on one line without control characters: an escape sequence in a log must not reach a terminal.
pub(crate) fn one_line(text: &str) -> String {
    let visible = |character: char| if character.is_control() { ' ' } else { character };
    text.chars()
        .map(visible)
        .collect::<String>()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// The title that distinguishes a group from the others in its report.
fn group_title(group: &GroupReport) -> String {
    title_of(&group.contract, &group.workload, &group.load_text)
}

/// The title of this work under this load.
pub(crate) fn title_of(contract: &str, workload: &str, load_text: &str) -> String {
    format!("{} · {load_text}", work(contract, workload))
}

/// The contract, and the workload if its name is different.
fn workload_title(group: &GroupReport) -> String {
    work(&group.contract, &group.workload)
}

fn work(contract: &str, workload: &str) -> String {
    if workload == contract {
        contract.to_owned()
    } else {
        format!("{contract} · {workload}")
    }
}

/// The rate that a group shows: its ranking metric if that is a rate, otherwise goodput.
fn rate_of(group: &GroupReport) -> Metric {
    if group.ranked_by.unit() == "1/s" {
        group.ranked_by
    } else {
        Metric::GoodputPerS
    }
}

/// The warnings of a row that its group does not already show for all rows.
fn own_warnings<'a>(group: &'a GroupReport, row: &'a Row) -> impl Iterator<Item = &'a Warning> {
    row.summary
        .warnings
        .iter()
        .filter(move |warning| !group.says_for_all(row, warning))
}

/// A short heading of a column.
pub(crate) fn head_of(metric: Metric) -> &'static str {
    let title = metric.title();
    match metric {
        Metric::CpuNsPerRequest => "CPU/request",
        Metric::CpuNsPerEvent => "CPU/event",
        Metric::BackingServiceCpuNsPerRequest => "backing CPU/request",
        Metric::CpusBusy => "CPU",
        Metric::MemoryBytesPeak => "memory",
        Metric::ResponseTimeNsMax => "longest",
        _ => title.strip_prefix("response time, ").unwrap_or(title),
    }
}
