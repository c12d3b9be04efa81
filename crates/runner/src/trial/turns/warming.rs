//! The warm-up of a service that takes turns: load in pieces, until they say that it is warm.

use super::super::enter::{Course, Entered};
use super::super::phases::{Phases, only_warming};
use super::warm::{Piece, Warmth};
use crate::{Failure, Progress};
use prony_records::{Answers, Event, Interval, Stage, Steadiness};
use std::time::{Duration, Instant};

/// Length of a piece of the warm-up.
const PIECE: Duration = Duration::from_millis(250);

/// How a service became warm.
pub(super) struct Warmed {
    pub(super) steadiness: Steadiness,
    /// CPU time that it used for it; where that is not known, the time on the clock.
    pub(super) used_ns: u64,
    /// What came of its requests, where that is counted.
    pub(super) answers: Option<Answers>,
}

/// Its load, until it is warm.
pub(super) fn warm_up(
    course: Course<'_>,
    entered: &mut Entered,
    watch: &mut dyn FnMut(Progress),
) -> Result<Warmed, Failure> {
    let mut warmth = Warmth::new(course.trial.group().warm_up);
    let begin = Instant::now();
    let mut intervals: Vec<Interval> = Vec::new();
    let mut warming = only_warming(watch);
    let mut phases = Phases::new(course.bench, entered, &mut warming);
    let classification = loop {
        let piece = piece(&mut phases, &mut intervals)?;
        if let Some(verdict) = warmth.push(piece) {
            break verdict;
        }
    };
    let answers = phases.end()?.answers;
    let worst = intervals
        .iter()
        .filter_map(|interval| interval.response_time_ns_p99);
    Ok(Warmed {
        used_ns: warmth.used_ns(),
        answers,
        steadiness: Steadiness {
            classification,
            warm_up_s: begin.elapsed().as_secs_f64(),
            worst_p99_ns: worst.max(),
            intervals,
        },
    })
}

/// A piece of it.
fn piece(phases: &mut Phases<'_>, intervals: &mut Vec<Interval>) -> Result<Piece, Failure> {
    let failed = |error: prony_host::HostError| Failure::host(Stage::WarmUp, &error);
    phases.service().begin_window().map_err(failed)?;
    let begin = Instant::now();
    let mut completed = 0;
    while begin.elapsed() < PIECE {
        let rest = PIECE.saturating_sub(begin.elapsed());
        match phases.next_within(Stage::WarmUp, rest)? {
            Some(Event::Interval { interval, .. }) => {
                completed += interval.completed;
                intervals.push(interval);
            }
            Some(Event::Phase { .. } | Event::IntervalPart { .. } | Event::Workers { .. }) | None => {}
            Some(Event::Recording { .. } | Event::Part { .. }) => {
                let text = "the generator ended before the service was warm";
                return Err(Failure::infrastructure(Stage::WarmUp, text));
            }
            Some(Event::Failed { reason, fault }) => {
                return Err(Failure {
                    fault,
                    ..Failure::new(Stage::WarmUp, reason)
                });
            }
        }
    }
    let usage = phases.service().end_window().map_err(failed)?;
    Ok(Piece {
        cpu_ns: usage.resources.cpu_ns,
        completed,
        length_s: begin.elapsed().as_secs_f64(),
    })
}
