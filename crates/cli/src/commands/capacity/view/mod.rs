//! Renders the result of a capacity search: the verdict, then the curve. Pure functions from points to text.

use super::Args;
use crate::exit::Exit;
use crate::text::{self, Column, duration};
use prony_config::target;
use prony_records::{Bottleneck, Latency, Quantile, Recording, ResponseTimes, Responses, verdict};
use prony_runner::designs::capacity::{CapacityResult, Point, SearchStep, sustained};
use prony_runner::{number, percent_down};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A finished search.
pub(super) struct CapacityView<'a> {
    target: String,
    objective: String,
    /// The unit of the load: `requests` or `prompts`.
    what: &'static str,
    end: SearchStep,
    /// By rate.
    points: Vec<&'a Point>,
    /// The last point, in order of time, that missed the objective.
    last_miss: Option<&'a Point>,
    /// The last point in order of time, which confirms the rate that was found.
    last: Option<&'a Point>,
    /// Its length, s.
    held_s: f64,
    /// Precision of the search.
    precision: f64,
}

/// The verdict of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CapacityVerdict {
    Failed,
    None,
    Inconclusive,
    LowerBound,
    Capacity,
}

impl CapacityVerdict {
    const fn key(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::None => "none",
            Self::Inconclusive => "inconclusive",
            Self::LowerBound => "lower_bound",
            Self::Capacity => "capacity",
        }
    }
}

impl<'a> CapacityView<'a> {
    pub(super) fn new(args: &'a Args, result: &'a CapacityResult) -> Self {
        let what = if args.request.llm.llm {
            "prompts"
        } else {
            "requests"
        };
        Self::of(
            (
                target::shown(&target::with_scheme(&args.url)),
                args.objective.to_string(),
                what,
                args.precision,
            ),
            result.end,
            &result.points,
        )
    }

    fn of(
        (target, objective, what, precision): (String, String, &'static str, f64),
        end: SearchStep,
        points: &'a [Point],
    ) -> Self {
        let mut sorted: Vec<&Point> = points.iter().collect();
        sorted.sort_by(|left, right| left.rate.total_cmp(&right.rate));
        Self {
            target,
            objective,
            what,
            precision,
            end,
            points: sorted,
            last_miss: points.iter().rev().find(|point| !point.missed.is_empty()),
            last: points.last(),
            held_s: points.last().map_or(0.0, |point| point.recording.duration_s),
        }
    }

    fn word(&self) -> CapacityVerdict {
        match self.end {
            SearchStep::TooFewRequests(_) => CapacityVerdict::Inconclusive,
            SearchStep::None | SearchStep::Try(_) | SearchStep::Confirm(_)
                if self.points.iter().all(|point| point.failed) =>
            {
                CapacityVerdict::Failed
            }
            SearchStep::None | SearchStep::Try(_) | SearchStep::Confirm(_) => CapacityVerdict::None,
            SearchStep::Beyond(_) => CapacityVerdict::LowerBound,
            SearchStep::Found(_) if self.limit().is_some() => CapacityVerdict::LowerBound,
            SearchStep::Found(_) => CapacityVerdict::Capacity,
        }
    }

    /// What limited the load instead of the service, at the rate that missed.
    fn limit(&self) -> Option<&'static str> {
        let miss = self.last_miss?;
        if miss.recording.generator.saturated {
            return Some(Bottleneck::Generator.sentence());
        }
        bottleneck(&miss.recording).map(Bottleneck::sentence)
    }

    pub(super) fn exit(&self) -> Exit {
        match self.word() {
            CapacityVerdict::Failed | CapacityVerdict::None | CapacityVerdict::Inconclusive => {
                Exit::ObjectiveFailed
            }
            CapacityVerdict::LowerBound | CapacityVerdict::Capacity => Exit::Fine,
        }
    }

    fn headline(&self) -> String {
        let what = self.what;
        let missed = |point: &Point| point.missed.first().cloned().unwrap_or_default();
        let reason = self.last_miss.map_or_else(String::new, missed);
        match (self.word(), self.end) {
            (CapacityVerdict::Failed, _) => format!("FAILED: no rate meets {}: {reason}", self.objective),
            (_, SearchStep::Found(rate)) => match self.limit() {
                Some(limit) => format!("LOWER BOUND: at least {} {what}/s ({limit})", number(rate)),
                None => format!(
                    "CAPACITY: {} {what}/s meet {} (confirmed for {})",
                    number(rate),
                    self.objective,
                    seconds(self.held_s)
                ),
            },
            (_, SearchStep::Beyond(rate)) => {
                format!(
                    "LOWER BOUND: at least {} {what}/s (--limit reached)",
                    number(rate)
                )
            }
            (_, SearchStep::TooFewRequests(limit)) => format!(
                "INCONCLUSIVE: at {}/s a minute has too few requests to judge {}: raise --limit, or lower the percentile",
                number(limit),
                self.objective
            ),
            (_, SearchStep::None | SearchStep::Try(_) | SearchStep::Confirm(_)) => {
                let lowest = self.points.first().map_or(0.0, |point| point.rate);
                let reason = self.points.first().map_or(reason, |point| missed(point));
                format!("NONE: even {}/s missed: {reason}", number(lowest))
            }
        }
    }

    /// The rate that a further measurement meets, probably.
    fn sustained(&self) -> Option<f64> {
        match self.end {
            SearchStep::Found(rate) => Some(sustained(rate, self.precision)),
            _ => None,
        }
    }

    pub(super) fn text(&self, columns: usize) -> String {
        let mut line = text::headline(&self.headline(), columns);
        if let Some(rate) = self.sustained() {
            let text = format!(
                "Rely on {} {}/s: a further measurement meets the objective there in 19 of 20 cases.",
                number(rate),
                self.what
            );
            let _ = write!(line, "\n{}", text::wrapped(&text, columns, 0, 2));
        }
        let failed = self.word() == CapacityVerdict::Failed;
        let advice = self
            .last_miss
            .filter(|_| failed)
            .and_then(|miss| verdict(&miss.recording).advice());
        let confirmed = self.last.filter(|_| matches!(self.end, SearchStep::Found(_)));
        let table = table(&self.points, confirmed, columns);
        let mut out = format!("{line}\n\n{table}");
        if let Some(advice) = advice {
            let _ = write!(out, "\n\n    → {}", text::wrapped(advice, columns, 6, 6));
        }
        out
    }

    pub(super) fn json(&self) -> Value {
        let capacity = match self.end {
            SearchStep::Found(rate) | SearchStep::Beyond(rate) => Some(rate),
            SearchStep::None
            | SearchStep::TooFewRequests(_)
            | SearchStep::Try(_)
            | SearchStep::Confirm(_) => None,
        };
        let warnings: Vec<_> = self
            .points
            .iter()
            .flat_map(|point| &point.recording.warnings)
            .collect();
        let mut once = Vec::new();
        for warning in warnings {
            if !once.contains(&warning) {
                once.push(warning);
            }
        }
        json!({
            "schema": prony_records::SCHEMA,
            "target": self.target,
            "objective": self.objective,
            "capacity_per_s": capacity,
            "sustained_per_s": self.sustained(),
            "limit_reached": matches!(self.end, SearchStep::Beyond(_)),
            "verdict": self.word().key(),
            "headline": self.headline(),
            "exit": self.exit().code(),
            "warnings": once,
            "curve": self.points.iter().map(|point| row(point)).collect::<Vec<_>>(),
        })
    }
}

fn row(point: &Point) -> Value {
    let recording = &point.recording;
    let mut row = json!({
        "offered_per_s": point.rate,
        "throughput_per_s": recording.throughput_per_s,
        "goodput_per_s": recording.goodput_per_s,
        "response_time_ns": recording.response_time_ns,
        "outcomes": recording.outcomes,
        "met": point.missed.is_empty(),
        "missed": point.missed,
        "generator_saturated": recording.generator.saturated,
        "network_bound": bottleneck(recording) == Some(Bottleneck::Network),
    });
    if let Some(llm) = recording.messages.and_then(|messages| messages.llm) {
        row["llm"] = json!(llm);
    }
    row
}

fn bottleneck(recording: &Recording) -> Option<Bottleneck> {
    recording
        .warnings
        .iter()
        .find_map(|one| one.kind.facts().bottleneck)
}

/// `✓` if a rate met the objective, with the time for which it was confirmed; else the first metric that missed: `✗ p99`.
fn mark(point: &Point, confirmed: Option<&Point>) -> String {
    match point.missed.first() {
        None if confirmed.is_some_and(|confirmed| std::ptr::eq(confirmed, point)) => {
            format!("✓ {}", seconds(point.recording.duration_s))
        }
        None => "✓".to_owned(),
        Some(_) if point.failed => "✗ no valid replies".to_owned(),
        Some(miss) => format!("✗ {}", miss.split(' ').next().unwrap_or_default()),
    }
}

/// A time in s, without a fraction if it is whole.
fn seconds(seconds: f64) -> String {
    format!("{} s", (seconds * 10.0).round() / 10.0)
}

/// The row of a rate that was just measured, with the heading above the first one.
pub(super) fn step(point: &Point, with_heading: bool, columns: usize) -> String {
    let table = table(&[point], None, columns);
    match table.split_once('\n') {
        Some((_, row)) if !with_heading => row.to_owned(),
        _ => table,
    }
}

const HEADINGS: [Column<'static>; 6] = [
    Column::number("   offered/s", 0),
    Column::number("  valid/s", 0),
    Column::number("success", 1),
    Column::number("p50, ms", 2),
    Column::number("p99, ms", 0),
    Column::text("objective", 0),
];

/// The headings of a language model, with token times.
const TOKENS: [Column<'static>; 8] = [
    Column::number("offered/s", 0),
    Column::number("good/s", 0),
    Column::number("TTFT p50", 2),
    Column::number("TTFT p99", 0),
    Column::number("TPOT p50", 2),
    Column::number("TPOT p99", 0),
    Column::number(" good", 1),
    Column::text("objective", 0),
];

fn table(points: &[&Point], confirmed: Option<&Point>, columns: usize) -> String {
    let is_llm = |point: &&Point| {
        point
            .recording
            .messages
            .is_some_and(|messages| messages.llm.is_some())
    };
    let is_llm = points.first().is_some_and(is_llm);
    let headings: &[Column] = if is_llm { &TOKENS } else { &HEADINGS };
    let row = |point: &&Point| {
        let cells = if is_llm { token_cells(point) } else { cells(point) };
        [cells, vec![mark(point, confirmed)]].concat()
    };
    let rows: Vec<Vec<String>> = points.iter().map(row).collect();
    text::table(headings, &rows, 0, columns)
}

fn cells(point: &Point) -> Vec<String> {
    let recording = &point.recording;
    let times = Responses::of(recording)
        .ok()
        .and_then(|responses| responses.times());
    let time = |of: fn(&ResponseTimes) -> Quantile| {
        times
            .as_ref()
            .map_or_else(|| "–".to_owned(), |times| milliseconds(of(times)))
    };
    vec![
        number(point.rate),
        number(recording.goodput_per_s),
        recording.success().map_or_else(|| "–".to_owned(), percent_down),
        time(|times| times.p50),
        time(|times| times.p99),
    ]
}

fn milliseconds(time: Quantile) -> String {
    let shown = |ns: u64| number(ns as f64 / 1e6);
    match time {
        Quantile::Exact(ns) => shown(ns),
        Quantile::AtLeast(ns) => format!("≥ {}", shown(ns)),
        Quantile::Unbounded => "no bound".to_owned(),
    }
}

fn token_cells(point: &Point) -> Vec<String> {
    let recording = &point.recording;
    let llm = recording.messages.and_then(|messages| messages.llm);
    let time = |times: Option<Latency>, of: fn(&Latency) -> u64| {
        times.map_or_else(|| "–".to_owned(), |times| duration(of(&times)))
    };
    let (ttft, tpot) = (llm.and_then(|llm| llm.ttft_ns), llm.and_then(|llm| llm.tpot_ns));
    let good = llm.and_then(|llm| llm.good);
    vec![
        number(point.rate),
        number(good.map_or(recording.goodput_per_s, |good| good.per_s)),
        time(ttft, |times| times.p50),
        time(ttft, |times| times.p99),
        time(tpot, |times| times.p50),
        time(tpot, |times| times.p99),
        good.map_or_else(|| "–".to_owned(), |good| percent_down(good.share())),
    ]
}

#[cfg(test)]
mod tests;
