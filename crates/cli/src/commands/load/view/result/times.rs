//! The latency table: one unit per row, no wider than the terminal.

use super::{LoadResult, kind};
use prony_records::{Outcomes, Quantile, Recording, ResponseTimes, Responses};
use prony_runner::{number, percent};
use std::fmt::Write as _;

/// A unit of time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    pub(super) name: &'static str,
    ns: f64,
}

const UNITS: [Unit; 4] = [
    Unit { name: "s", ns: 1e9 },
    Unit { name: "ms", ns: 1e6 },
    Unit { name: "µs", ns: 1e3 },
    Unit { name: "ns", ns: 1.0 },
];

/// The unit of these times: that of the first one with a bound.
pub(super) fn unit_of(times: &[Quantile]) -> Unit {
    let first = times.iter().find_map(|time| time.at_least()).unwrap_or(1_000_000) as f64;
    let fitting = UNITS.into_iter().find(|unit| first >= unit.ns);
    fitting.unwrap_or(UNITS[3])
}

/// The unit of a row of the table: that of its first time, or a larger one if a time has too many digits.
fn fitting_unit(times: &ResponseTimes) -> Unit {
    let first = unit_of(&[times.mean, times.p50, times.p90, times.p99, times.min]);
    let fits = |unit: Unit| {
        COLUMNS
            .iter()
            .all(|((_, of), _)| in_unit(of(times), unit).chars().count() < CELL)
    };
    let larger = UNITS.into_iter().rev().filter(|unit| unit.ns >= first.ns);
    larger.into_iter().find(|&unit| fits(unit)).unwrap_or(UNITS[0])
}

/// A time without its unit.
pub(super) fn in_unit(time: Quantile, unit: Unit) -> String {
    match time {
        Quantile::Exact(ns) => number(ns as f64 / unit.ns),
        Quantile::AtLeast(ns) => format!("≥ {}", number(ns as f64 / unit.ns)),
        Quantile::Unbounded => "no bound".to_owned(),
    }
}

type Column = (&'static str, fn(&ResponseTimes) -> Quantile);

/// Every column with its level: the highest levels are left out of a narrow table first.
const COLUMNS: [(Column, u8); 10] = [
    (("min", |times| times.min), 5),
    (("mean", |times| times.mean), 2),
    (("p50", |times| times.p50), 0),
    (("p75", |times| times.p75), 5),
    (("p90", |times| times.p90), 0),
    (("p95", |times| times.p95), 4),
    (("p99", |times| times.p99), 0),
    (("p99.9", |times| times.p99_9), 2),
    (("p99.99", |times| times.p99_99), 5),
    (("max", |times| times.max), 0),
];
/// Width of a cell.
const CELL: usize = 9;
/// Minimum width of the labels.
const LABEL: usize = 16;

/// The columns that fit next to the labels.
fn columns_within(label: usize, columns: usize) -> Vec<Column> {
    let fitting = |most: u8| {
        COLUMNS
            .iter()
            .filter(move |(_, level)| *level <= most)
            .map(|(column, _)| *column)
    };
    let mut widest = [5, 4, 2, 0].into_iter();
    let most = widest.find(|&most| label + CELL * fitting(most).count() <= columns);
    fitting(most.unwrap_or(0)).collect()
}

pub(super) fn table(rows: &[(&str, ResponseTimes)], columns: usize) -> String {
    let labelled: Vec<(String, Unit, ResponseTimes)> = rows
        .iter()
        .map(|(name, times)| {
            let unit = fitting_unit(times);
            (format!("    {name}, {}", unit.name), unit, *times)
        })
        .collect();
    let widest = labelled.iter().map(|(label, ..)| label.chars().count()).max();
    let label = widest.unwrap_or(0).max(LABEL);
    let shown = columns_within(label, columns);
    let mut text = format!("{:<label$}", "  latency");
    for (name, _) in &shown {
        let _ = write!(text, "{name:>CELL$}");
    }
    for (name, unit, times) in &labelled {
        let _ = write!(text, "\n{name:<label$}");
        for (_, of) in &shown {
            let _ = write!(text, "{:>CELL$}", in_unit(of(times), *unit));
        }
    }
    text
}

impl LoadResult<'_> {
    /// The latency table, with a sentence on the percentiles that have no bound.
    pub(super) fn times(&self, columns: usize) -> Option<String> {
        let recording = self.recording;
        let response = Responses::of(recording)
            .ok()
            .and_then(|responses| responses.times());
        let rows = kind::times(recording, response);
        if rows.is_empty() {
            return None;
        }
        let mut text = table(&rows, columns);
        let is_shown = rows.iter().any(|(name, _)| *name == "response");
        if let Some(words) = response
            .filter(|_| is_shown)
            .and_then(|times| first_unbounded(&times, recording))
        {
            let words = crate::text::wrapped(&words, columns.min(80), 2, 2);
            let _ = write!(text, "\n\n  {words}");
        }
        Some(text)
    }
}

/// The first percentile without a bound, and the reason.
fn first_unbounded(times: &ResponseTimes, recording: &Recording) -> Option<String> {
    let named = [
        ("p50", times.p50),
        ("p75", times.p75),
        ("p90", times.p90),
        ("p95", times.p95),
        ("p99", times.p99),
        ("p99.9", times.p99_9),
        ("p99.99", times.p99_99),
        ("Mean and max", times.max),
    ];
    let first = named.iter().find(|(_, time)| *time == Quantile::Unbounded);
    let who = match first?.0 {
        "Mean and max" => "Mean and max have".to_owned(),
        name => format!("{name} and above have"),
    };
    let due = recording.due().max(1) as f64;
    let outcomes = recording.outcomes;
    let share = |count: u64| percent(count as f64 / due);
    let never = without_reply(&outcomes);
    let answered = if never > 0 && never < outcomes.errors() {
        format!(", {} were never answered", share(never))
    } else {
        String::new()
    };
    Some(format!(
        "{who} no bound: {} of the requests had no valid reply{answered}.",
        share(outcomes.errors())
    ))
}

const fn without_reply(outcomes: &Outcomes) -> u64 {
    outcomes.timeout + outcomes.connect_error + outcomes.reset + outcomes.dropped
}
