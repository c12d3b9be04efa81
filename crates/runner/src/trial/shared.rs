//! One process start that serves several trials, one after the other: the workloads and loads of one contract.
//!
//! It is checked once before its first load, and after each load as every service is. What differs between starts (memory
//! layout, hash seeds, what was compiled) is then the same in all workloads of a round; within a workload each round still
//! has a start of its own, so the unit of every interval stays the start.

use super::enter::{Broken, Course, Done, Entered};
use super::phases::{Phases, only_warming};
use super::{LOG_LINES, Trial, judge_stop};
use crate::RunContext;
use crate::TrialPlacement;
use crate::warm_up::Pace;
use crate::{Began, Failure, Progress};
use prony_config::PlannedTrial;
use prony_records::{Classification, Exclusion, Measurement, SharedStart, Stage, TrialRecord, Warning};

/// A service that is up and has served its trials so far.
pub struct SharedService {
    /// Place of the first trial that it served.
    first: u32,
    /// Loads that it has served.
    served: u32,
    done: Done,
}

/// Why a step failed, with the log.
type Failed = (Failure, Vec<String>);

/// Does a trial on the service that `shared` holds; where it holds none, the service is started for it, and warmed by the loads
/// that come after this one, too. A failure ends the start, whosever fault it is. `None`: the user asked to stop now.
pub fn run_on(
    shared: &mut Option<SharedService>,
    bench: &RunContext<'_>,
    (trial, ahead): (&Trial<'_>, &[PlannedTrial]),
    watch: &mut dyn FnMut(Progress),
) -> Option<TrialRecord> {
    let began = Began::now();
    let start = SharedStart {
        first: shared.as_ref().map_or(trial.planned.place, |held| held.first),
        served: shared.as_ref().map_or(0, |held| held.served),
    };
    let result = match serve(shared, start, (bench, trial, ahead), watch) {
        Ok(measurement) => Ok(measurement),
        Err((failure, _)) if failure.interrupted => return None,
        Err((failure, log)) => Err(failure.with_log(log)),
    };
    let record = trial.record(began, result);
    Some(TrialRecord {
        start: Some(start),
        ..record
    })
}

fn serve(
    shared: &mut Option<SharedService>,
    start: SharedStart,
    (bench, trial, ahead): (&RunContext<'_>, &Trial<'_>, &[PlannedTrial]),
    watch: &mut dyn FnMut(Progress),
) -> Result<Measurement, Failed> {
    let seat = TrialPlacement::alone(bench.lab, trial.contract, trial.plan.limits.cpus);
    let course = Course {
        bench,
        trial,
        seat: &seat,
    };
    let (done, measurement) = match shared.take() {
        None => course.as_far_as(watch, |entered, watch| {
            let entered = course.warm_all(entered, ahead, watch)?;
            course.serve(entered, watch)
        })?,
        Some(held) => {
            let entered = course.load(held.done);
            let served = entered.and_then(|entered| course.serve(entered, watch));
            served.map_err(|broken| {
                let (failure, log, _) = broken.leave();
                (failure, log)
            })?
        }
    };
    *shared = Some(SharedService {
        first: start.first,
        served: start.served + 1,
        done,
    });
    Ok(of_its_own(measurement))
}

impl Course<'_> {
    /// Warms a service that was just started by all loads of its start, one after the other, before the first is measured: else
    /// a runtime that compiles is fast under the last of them and slow under the first, and which is first is chance. What is as
    /// fast at once as later is not warmed by the others.
    fn warm_all(
        self,
        entered: Entered,
        ahead: &[PlannedTrial],
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Entered, Broken> {
        let others: Vec<Trial<'_>> = ahead
            .iter()
            .map(|&planned| Trial {
                planned,
                ..*self.trial
            })
            // A search is one long load, which warms by itself.
            .filter(|trial| trial.group().search.is_none())
            .collect();
        if others.is_empty() || self.trial.group().search.is_some() {
            return Ok(entered);
        }
        let (mut done, first) = self.warm_only(entered, watch)?;
        if first != Classification::Flat {
            for trial in &others {
                let course = Course { trial, ..self };
                let entered = course.load(done)?;
                (done, _) = course.warm_only(entered, watch)?;
            }
        }
        self.load(done)
    }

    /// Its load until the service is warm under it, and no longer.
    fn warm_only(
        self,
        mut entered: Entered,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<(Done, Classification), Broken> {
        let group = self.trial.group();
        let mut warming = only_warming(watch);
        let mut phases = Phases::new(self.bench, &mut entered, &mut warming);
        let warmed = phases.warm_only(group.warm_up, Pace::of(&group.load));
        let done = entered.done();
        match warmed {
            Ok(steadiness) => Ok((done, steadiness.classification)),
            Err(failure) => Err(Broken::new(failure, done.subject)),
        }
    }

    /// A measurement after which the service is still there.
    fn serve(self, entered: Entered, watch: &mut dyn FnMut(Progress)) -> Result<(Done, Measurement), Broken> {
        let (mut done, measurement) = self.measure(entered, watch)?;
        match done.subject.service.ended() {
            None => Ok((done, measurement)),
            Some(ending) => {
                let text = format!("the service {ending}, under the load");
                Err(Broken::new(Failure::new(Stage::Measure, text), done.subject))
            }
        }
    }
}

/// Without the samples from before its own warm-up: they are of other loads.
fn of_its_own(mut measurement: Measurement) -> Measurement {
    let warm_up_s = measurement
        .steadiness
        .as_ref()
        .map_or(0.0, |steady| steady.warm_up_s);
    measurement
        .warm_up_samples
        .retain(|sample| sample.at_s >= -warm_up_s);
    measurement
}

impl SharedService {
    /// Place of the first trial that it served: the name of its start.
    pub const fn first(&self) -> u32 {
        self.first
    }

    /// Stops it. What is found only then is true of all that it served: a warning, or why none of it counts.
    pub fn end(mut self) -> Result<Option<Warning>, Exclusion> {
        let service = &mut self.done.subject.service;
        let ended = service.ended();
        let stopped = service.stop();
        let judged = match ended {
            Some(ending) => Err(Failure::new(
                Stage::Measure,
                format!("the service {ending}, after its last load"),
            )),
            None => judge_stop(stopped),
        };
        judged.map_err(|failure| failure.with_log(service.log_tail(LOG_LINES)))
    }
}
