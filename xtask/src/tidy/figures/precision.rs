//! The table of `results/README.md` that says how precise each study is, and how often its figures are in doubt.

use super::reports::Reports;
use crate::median::median;
use crate::tidy::repository::Repository;
use anyhow::{Context as _, Result, ensure};
use humantime::parse_rfc3339;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Two services whose ratio is within this share of 1 count as equal.
const EQUAL: f64 = 0.05;

/// The description of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Precision {
    /// The commit that was measured.
    pub(crate) commit: String,
    /// Folders with results of older versions, which the table leaves out.
    #[serde(default)]
    pub(crate) older: Vec<String>,
}

/// A row per study that was measured at the commit.
pub(super) fn lines(repository: &Repository, description: &str) -> Result<String> {
    let precision: Precision = toml::from_str(description)?;
    let mut lines =
        "| study | took | half-width | of CPU/request | of ratios | in doubt | decided | warming |\n\
                     |---|---:|---:|---:|---:|---:|---:|---:|"
            .to_owned();
    for (folder, report) in reports(repository)? {
        if precision.older.contains(&folder) {
            continue;
        }
        let report = report.with_context(|| format!("results/{folder}"))?;
        let (primary, cpu) = (
            report.half_width(|group| &group.ranked_by),
            report.half_width(|_| CPU),
        );
        let ratios = report.half_width_of_ratios();
        let (doubted, rows) = report.in_doubt();
        let (decided, pairs) = report.decided();
        let _ = write!(
            lines,
            "\n| [{folder}]({folder}/README.md) | {} | {primary} | {cpu} | {ratios} | {doubted} of {rows} | {decided} of {pairs} | {} |",
            report.took()?,
            report.with_warning("warming"),
        );
    }
    Ok(lines)
}

const CPU: &str = "cpu_ns_per_request";

/// The reports of all folders.
pub(crate) fn reports(repository: &Repository) -> Result<Vec<(String, Result<Report>)>> {
    let folders = Reports::new(repository).folders();
    ensure!(!folders.is_empty(), "results/ has no report.json");
    let read = |folder: String| {
        let text = repository.text(&format!("results/{folder}/report.json"));
        let report = serde_json::from_str(text).context("report.json");
        (folder, report)
    };
    Ok(folders.into_iter().map(read).collect())
}

/// What a report says about its precision.
#[derive(Deserialize)]
pub(crate) struct Report {
    started_at: String,
    ended_at: Option<String>,
    spent_s: Option<f64>,
    pub(crate) environment: Environment,
    groups: Vec<Group>,
}

#[derive(Deserialize)]
pub(crate) struct Environment {
    /// The version.
    pub(crate) prony: String,
    pub(crate) commit: Option<String>,
}

#[derive(Deserialize)]
struct Group {
    ranked_by: String,
    services: Vec<Row>,
    #[serde(default)]
    pairs: Vec<Pair>,
}

#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    excluded: Option<Value>,
    #[serde(default)]
    warnings: Vec<Warning>,
    /// The estimates, by metric.
    #[serde(flatten)]
    estimates: Map<String, Value>,
}

#[derive(Deserialize)]
pub(crate) struct Warning {
    pub(crate) kind: String,
    /// Empty in reports of old versions.
    #[serde(default)]
    level: String,
    #[serde(default)]
    affects: Vec<String>,
}

#[derive(Deserialize)]
struct Pair {
    ratio: Option<Estimate>,
    verdict: String,
}

#[derive(Deserialize)]
struct Estimate {
    point: f64,
    low: f64,
    high: f64,
}

impl Estimate {
    /// The half-width of the interval relative to the estimate, 0.05 is ±5 %. A positive interval is symmetric on a logarithmic scale.
    fn half_width(&self) -> f64 {
        if self.low > 0.0 {
            (self.high / self.low).sqrt() - 1.0
        } else {
            (self.high - self.low) / 2.0 / self.point.abs()
        }
    }
}

impl Row {
    /// The estimate with this name; `None`: the row has none.
    fn estimate(&self, name: &str) -> Option<Estimate> {
        serde_json::from_value(self.estimates.get(name)?.clone()).ok()
    }
}

/// The median of the half-widths; without any a dash.
fn median_half_width(estimates: impl Iterator<Item = Estimate>) -> String {
    let median = median(estimates.map(|estimate| estimate.half_width()));
    if median.is_nan() {
        return "–".to_owned();
    }
    format!("{:.1} %", 100.0 * median)
}

impl Report {
    fn rows(&self) -> impl Iterator<Item = (&Group, &Row)> {
        self.groups.iter().flat_map(|group| {
            let ranked = group.services.iter().filter(|row| row.excluded.is_none());
            ranked.map(move |row| (group, row))
        })
    }

    /// The warnings of all rows.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = &Warning> {
        self.rows().flat_map(|(_, row)| &row.warnings)
    }

    /// Median half-width of a metric of each group over all rows that have it.
    fn half_width<'a>(&'a self, metric: impl Fn(&'a Group) -> &'a str) -> String {
        median_half_width(self.rows().filter_map(|(group, row)| row.estimate(metric(group))))
    }

    /// Median half-width of the ratio to the first service of each group, over all other rows. A machine that becomes slower for all
    /// services widens the intervals of their values and not these.
    fn half_width_of_ratios(&self) -> String {
        let ratios = self.rows().filter_map(|(_, row)| row.estimate("ratio_to_first"));
        median_half_width(ratios.filter(|ratio| ratio.low < ratio.high))
    }

    /// Rows with a warning about the figure that ranks them, and all rows.
    fn in_doubt(&self) -> (usize, usize) {
        let doubts = |group: &Group, row: &Row| {
            let kind = kind(&group.ranked_by);
            row.warnings.iter().any(|warning| {
                warning.level != "note" && warning.affects.iter().any(|affected| affected == kind)
            })
        };
        let doubted = self.rows().filter(|(group, row)| doubts(group, row)).count();
        (doubted, self.rows().count())
    }

    /// Pairs of which one is shown to be better, or both to be equal, and all pairs.
    fn decided(&self) -> (usize, usize) {
        let is_equal = |ratio: &Estimate| ratio.low >= 1.0 - EQUAL && ratio.high <= 1.0 + EQUAL;
        let is_decided =
            |pair: &&Pair| pair.verdict != "cannot_tell" || pair.ratio.as_ref().is_some_and(is_equal);
        let pairs = || self.groups.iter().flat_map(|group| &group.pairs);
        (pairs().filter(is_decided).count(), pairs().count())
    }

    /// Number of rows with a kind of warning.
    fn with_warning(&self, kind: &str) -> usize {
        let has = |row: &Row| row.warnings.iter().any(|warning| warning.kind == kind);
        self.rows().filter(|(_, row)| has(row)).count()
    }

    /// How long it took, without the pauses between its sessions where they are known.
    fn took(&self) -> Result<String> {
        let ended = self.ended_at.as_deref().context("the run did not end")?;
        let (start, end) = (parse_rfc3339(&self.started_at)?, parse_rfc3339(ended)?);
        let whole = end.duration_since(start)?.as_secs();
        let minutes = self.spent_s.map_or(whole, |spent_s| spent_s as u64) / 60;
        Ok(match (minutes / 60, minutes % 60) {
            (0, minutes) => format!("{minutes} min"),
            (hours, minutes) => format!("{hours} h {minutes} min"),
        })
    }
}

/// What a warning must affect to be about this metric.
fn kind(metric: &str) -> &'static str {
    if metric.ends_with("_per_s") {
        "rates"
    } else if metric.contains("cpu") {
        "cpu"
    } else if metric.contains("bytes") {
        "memory"
    } else if metric.ends_with("_p99") {
        "tail"
    } else if metric.contains("_ns") {
        "times"
    } else {
        "other"
    }
}
