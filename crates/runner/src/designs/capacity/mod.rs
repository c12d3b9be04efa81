//! The highest offered load that meets an objective: what to try next, and what a rate turned out to be.

mod search;
mod steps;

pub use search::SearchStep;
pub use steps::CapacitySteps;

use crate::history::History;
use crate::schedule::{Block, BlockPlacement, Design, OnFailure, Outcome, ServiceStart, Step, StepResult};
use crate::{CommandError, missed_by, number, percent};
use prony_config::{Plan, PlannedTrial};
use prony_load::{Condition, Load, Objective};
use prony_records::{Recording, Scope, Verdict as Trust, verdict};
use std::time::Duration;

/// The trials of a plan that search for a rate, each in a start of its own.
#[derive(Debug, Clone, Copy)]
pub struct Capacity<'a> {
    /// The plan.
    pub plan: &'a Plan,
}

impl Design for Capacity<'_> {
    fn next_block(&self, history: &History<'_>) -> Option<Block> {
        let mut trials = (0..self.plan.rounds).flat_map(|round| history.pending(&self.plan.round(round)));
        trials.find(|planned| self.searches(planned)).map(Self::block)
    }

    fn next_step(&self, block: &Block, results: &[StepResult]) -> Option<Step> {
        let planned = block.slots[0].trials[0];
        CapacitySteps::of(self.plan, planned)?.next(results)
    }
}

impl Capacity<'_> {
    /// Whether the load of a trial has no rate of its own.
    pub(super) fn searches(self, planned: &PlannedTrial) -> bool {
        let group = self.plan.group_of(&self.plan.entries[planned.entry]);
        group.search.is_some()
    }

    /// The steps depend on what each rate turns out to be.
    pub(super) fn block(planned: PlannedTrial) -> Block {
        Block {
            round: planned.round,
            slots: vec![ServiceStart {
                trials: vec![planned],
                placement: BlockPlacement::Alone,
            }],
            steps: Vec::new(),
            on_failure: OnFailure::EndBlock,
        }
    }
}

/// Share of the requests that may be without a valid reply, where the objective does not say.
const ERRORS: f64 = 0.01;
/// Share of the offered load that a service may be behind with and still follow it.
const FOLLOWS: f64 = 0.02;

/// By how much a further measurement of the same server may need a lower rate, at least.
const MARGIN: f64 = 0.1;

/// The rate at which a further measurement of 30 s meets the objective in 95 of 100 cases, from the highest rate that met it. A search
/// picks the best of many rates: the one that it found is met again in 84 of 100 only. Simulated on a machine whose speed varies by
/// 8 % from second to second: `promise.rs`.
pub fn sustained(found: f64, precision: f64) -> f64 {
    found / (1.0 + precision.max(MARGIN))
}

/// One point of the curve.
pub struct Point {
    /// The offered rate, per second.
    pub rate: f64,
    /// What was recorded.
    pub recording: Recording,
    /// What the service missed, in words.
    pub missed: Vec<String>,
    /// Whether nothing was measured: without enough valid replies there is no result.
    pub failed: bool,
}

/// A search of a server that runs already.
pub struct CapacityResult {
    /// How it ended. [`SearchStep::Try`]: the first rate had no valid reply, so no other was tried.
    pub end: SearchStep,
    /// The rates in the order in which they were tried. The last one is the measurement of the rate that was found.
    pub points: Vec<Point>,
}

/// Performs the steps of a search against a server that runs already: its slot starts nothing, and each measurement is one load.
/// `load` offers a rate for a time and records the outcome; `tell` receives each point.
pub fn search_running<E: From<CommandError>>(
    steps: CapacitySteps<'_>,
    load: &mut dyn FnMut(f64, Duration) -> Result<Recording, E>,
    tell: &mut dyn FnMut(&Point),
) -> Result<CapacityResult, E> {
    let mut results = Vec::new();
    let mut points = Vec::new();
    while let Some(step) = steps.next(&results) {
        let outcome = match &step {
            Step::Measure(runs) => {
                let rate = runs[0].rate.unwrap_or_default();
                let recording = load(rate, runs[0].length)?;
                let (missed, failed) = steps.judge(rate, &recording)?;
                let point = Point {
                    rate,
                    recording: recording.clone(),
                    missed,
                    failed,
                };
                tell(&point);
                points.push(point);
                Outcome::Measured(vec![recording])
            }
            _ => Outcome::Done,
        };
        results.push(StepResult {
            step,
            outcome,
            is_ending: false,
        });
    }
    let end = steps.end(&results);
    Ok(CapacityResult { end, points })
}

/// What a service misses at a rate, in words, and whether that is for want of a result. A result that the machine made
/// impossible says nothing of the service: it is an error.
pub(crate) fn misses(
    objective: &Objective,
    recording: &Recording,
    rate: f64,
    under_way: f64,
) -> Result<(Vec<String>, bool), CommandError> {
    if let Trust::Invalid(warnings) = verdict(recording) {
        let of_machine = |scope| scope == Scope::Machine;
        if let Some(machine) = warnings.iter().find(|one| of_machine(one.kind.facts().scope)) {
            return Err(CommandError::Infrastructure(format!(
                "at {rate:.0}/s {}",
                machine.text
            )));
        }
        return Ok((warnings.iter().map(|one| one.text.clone()).collect(), true));
    }
    let mut missed = missed_by(objective, recording);
    let says_errors = |condition: &Condition| matches!(condition, Condition::Errors { .. });
    let due = recording.due();
    let lost = (due - recording.outcomes.valid.min(due)) as f64 / due.max(1) as f64;
    if lost >= ERRORS && !objective.conditions().iter().any(says_errors) {
        missed.push(format!("errors {}, not below 1 %", percent(lost)));
    }
    // A service that does not follow the offered load is beyond its capacity, whatever its response times are so far. What
    // is in flight when the measurement ends, and is answered then, is no sign of that, nor is what chance sends less at
    // random times.
    let offered = recording.requests.offered as f64;
    let behind = offered - recording.goodput_per_s * recording.duration_s;
    let answered_later = recording.outcomes.valid as f64 - recording.goodput_per_s * recording.duration_s;
    let allowed = under_way.min(answered_later.max(0.0)).max(offered * FOLLOWS);
    // A count may differ by the one request that lies on the edge.
    if behind > allowed + 1.0 && missed.is_empty() {
        missed.push(format!(
            "goodput {}/s of {}/s offered",
            number(recording.goodput_per_s),
            number(rate)
        ));
    }
    Ok((missed, false))
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

#[cfg(test)]
mod promise;
#[cfg(test)]
mod tests;
