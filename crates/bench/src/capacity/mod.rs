//! The highest offered load that meets an objective: what to try next, and what a rate turned out to be.

mod climb;
mod led;
mod search;
mod within;

pub use led::{LabGenerator, load_on};
pub use search::{Next, Plan};
pub use within::{Loads, search_and_measure};

use crate::missed_by;
use prony_load::{Load, Objective};
use prony_measurement::Recording;
use search::{Search, Verdict};

/// Share of the offered load that a service may be behind with and still follow it.
const FOLLOWS: f64 = 0.02;

/// One point of the curve.
pub struct Point {
    /// The offered rate, per second.
    pub rate: f64,
    /// What was recorded.
    pub recording: Recording,
    /// What the service missed, in words.
    pub missed: Vec<String>,
}

/// Walks the curve until the search has an end. At most `under_way` requests are under way at once. `load` offers a rate and records what comes of it; `tell` hears of each
/// point.
pub fn walk<E>(
    plan: Plan,
    (objective, under_way): (&Objective, f64),
    load: &mut dyn FnMut(f64) -> Result<Recording, E>,
    tell: &mut dyn FnMut(&Point),
) -> Result<(Next, Vec<Point>), E> {
    let mut search = Search::new(plan);
    let mut points = Vec::new();
    loop {
        match search.next() {
            Next::Try(rate) => {
                let recording = load(rate)?;
                let missed = misses(objective, &recording, rate, under_way);
                let verdict = if missed.is_empty() {
                    Verdict::Met
                } else {
                    Verdict::Missed
                };
                let point = Point {
                    rate,
                    recording,
                    missed,
                };
                tell(&point);
                search.take(rate, verdict);
                points.push(point);
            }
            end => return Ok((end, points)),
        }
    }
}

/// What a service misses at a rate, in words.
pub(crate) fn misses(objective: &Objective, recording: &Recording, rate: f64, under_way: f64) -> Vec<String> {
    let mut missed = missed_by(objective, recording);
    // A service that does not follow the offered load is beyond its capacity, whatever its response times are so far.
    // What is under way when the measurement ends is no sign of that, nor is what chance sends less at random times.
    let due = recording.requests.offered as f64;
    let behind = due - recording.goodput_per_s * recording.duration_s;
    if behind > under_way.max(due * FOLLOWS) && missed.is_empty() {
        missed.push(format!(
            "goodput is {:.1}/s of {rate:.1}/s offered",
            recording.goodput_per_s
        ));
    }
    missed
}

/// Requests of an open load that may be under way at once.
pub fn under_way(load: &Load) -> f64 {
    match load {
        Load::Open {
            connections,
            in_flight,
            ..
        } => f64::from(*connections) * f64::from(*in_flight),
        Load::Closed { .. } | Load::Users { .. } => 0.0,
    }
}
