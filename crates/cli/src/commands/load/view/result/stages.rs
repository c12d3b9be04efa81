//! A table of the stages of an open load.

use super::times::{in_unit, unit_of};
use prony_bench::{number, percent_down};
use prony_measurement::{Quantile, Recording, StageRecording};
use std::fmt::Write as _;

/// Stages at most; a ramp has ten parts.
const MOST: usize = 40;

pub(super) fn table(recording: &Recording) -> Option<String> {
    let stages = &recording.stages[..recording.stages.len().min(MOST)];
    if stages.is_empty() {
        return None;
    }
    let of = |p50: fn(&StageRecording) -> Option<Quantile>| stages.iter().filter_map(p50).collect::<Vec<_>>();
    let (p50, p99) = (unit_of(&of(|stage| stage.p50)), unit_of(&of(|stage| stage.p99)));
    let mut text = format!(
        "  stage {:>10}{:>12}{:>10}{:>10}{:>10}{:>10}",
        "time, s",
        "offered/s",
        "valid/s",
        "success",
        format!("p50, {}", p50.name),
        format!("p99, {}", p99.name)
    );
    for (place, stage) in stages.iter().enumerate() {
        let end = stage.start_s + stage.length_s;
        let due = stage.valid + stage.errors;
        let success = if due > 0 {
            percent_down(stage.valid as f64 / due as f64)
        } else {
            "–".to_owned()
        };
        let time = |found: Option<Quantile>, unit| {
            found.map_or_else(|| "–".to_owned(), |found| in_unit(found, unit))
        };
        let _ = write!(
            text,
            "\n  {:>5} {:>10}{:>12}{:>10}{:>10}{:>10}{:>10}",
            place + 1,
            format!("{}–{}", second(stage.start_s), second(end)),
            number(stage.offered_per_s),
            number(stage.valid as f64 / stage.length_s.max(1e-9)),
            success,
            time(stage.p50, p50),
            time(stage.p99, p99)
        );
    }
    Some(text)
}

/// A time in s: whole where it is.
fn second(time: f64) -> String {
    let tenths = (time * 10.0).round() / 10.0;
    format!("{tenths}")
}
