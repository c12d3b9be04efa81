//! One service that takes turns: entered, warm, at rest, in its window, judged.

use super::super::bound::companion_bound;
use super::super::enter::{Broken, Course, Done, Entered};
use super::super::phases::Phases;
use super::super::window::add_contradictions;
use super::super::{LOG_LINES, Trial, blamed, check_after, job, judge_ending, judge_recording};
use super::neighbours::neighbours;
use super::no_load::NoLoad;
use super::warm::Warmth;
use super::warming::{Warmed, warm_up};
use crate::warm_up::Pace;
use crate::{Began, Failure, Progress};
use crate::{ConcurrentSlot, RunContext, TrialPlacement};
use prony_config::WarmUpChoice;
use prony_load::{self as load, WarmUp};
use prony_records::{
    Answers, Classification, CompanionUse, Exclusion, Fault, Measurement, Recording, Resources, Stage,
    TrialRecord, TurnWindow, Turns, Warning, WarningKind,
};
use std::time::Duration;

/// Load before each window: connections are made, and what rested is awake again.
const RAMP: Duration = Duration::from_millis(50);

/// When a service has its window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    /// The block of services that are up at the same time.
    pub(super) block: u32,
    /// The cycle.
    pub(super) cycle: u32,
    /// The place within the cycle.
    pub(super) place: u32,
}

/// One service of a round in turns.
pub(super) struct Player<'a> {
    bench: &'a RunContext<'a>,
    pub(super) trial: Trial<'a>,
    seat: TrialPlacement,
    began: Began,
    /// `None` when it failed.
    entered: Option<Entered>,
    failure: Option<Exclusion>,
    interrupted: bool,
    /// `None` when it failed before it was warm.
    warmed: Option<Warmed>,
    recordings: Vec<Recording>,
    resources: Vec<Resources>,
    companions: Vec<Vec<CompanionUse>>,
    windows: Vec<TurnWindow>,
}

impl<'a> Player<'a> {
    /// Starts it, checks it, warms it up and lets it rest. Whatever fails is kept as its exclusion.
    pub(super) fn enter(
        bench: &'a RunContext<'a>,
        trial: Trial<'a>,
        number: usize,
        watch: &mut dyn FnMut(Progress),
    ) -> Self {
        let warm_up_limit = Warmth::new(trial.group().warm_up).wall() * 2;
        let seat = TrialPlacement {
            lane: Some(ConcurrentSlot {
                number,
                warm_up_limit,
                yardstick: true,
            }),
            ..TrialPlacement::alone(bench.lab, trial.contract, trial.plan.limits.cpus)
        };
        let mut player = Self {
            bench,
            trial,
            seat,
            began: Began::now(),
            entered: None,
            failure: None,
            interrupted: false,
            warmed: None,
            recordings: Vec::new(),
            resources: Vec::new(),
            companions: Vec::new(),
            windows: Vec::new(),
        };
        match player.warm(watch) {
            Err((failure, log)) => player.fail(failure, log),
            Ok((entered, warmed)) => {
                player.entered = Some(entered);
                player.warmed = Some(warmed);
                let rests = player.rest();
                player.keep(rests);
            }
        }
        player
    }

    /// The service, warm.
    fn warm(&self, watch: &mut dyn FnMut(Progress)) -> Result<(Entered, Warmed), (Failure, Vec<String>)> {
        let course = self.course();
        course.as_far_as(watch, |mut entered, watch| {
            match warm_up(course, &mut entered, watch) {
                Ok(warmed) => Ok((entered, warmed)),
                Err(failure) => Err(Broken::new(failure, entered.done().subject)),
            }
        })
    }

    fn course(&self) -> Course<'_> {
        Course {
            bench: self.bench,
            trial: &self.trial,
            seat: &self.seat,
        }
    }

    /// Whether it still takes part.
    pub(super) const fn plays(&self) -> bool {
        self.entered.is_some()
    }

    /// Whether the user ended it.
    pub(super) const fn interrupted(&self) -> bool {
        self.interrupted
    }

    /// Memory that it holds, bytes.
    pub(super) fn memory_bytes(&mut self) -> Option<u64> {
        self.entered.as_mut()?.subject.service.memory_bytes()
    }

    fn fail(&mut self, failure: Failure, log: Vec<String>) {
        self.interrupted |= failure.interrupted;
        self.failure = Some(failure.with_log(log));
    }

    /// Takes it out of the round when a step failed: the others go on.
    fn keep(&mut self, step: Result<(), Failure>) {
        let Err(failure) = step else {
            return;
        };
        let Some(entered) = self.entered.take() else {
            return;
        };
        let (failure, log, _) = Broken::new(failure, entered.done().subject).leave();
        self.fail(failure, log);
    }

    /// From here on it stands still until its window.
    fn rest(&mut self) -> Result<(), Failure> {
        let entered = playing(&mut self.entered);
        entered.loading = Box::new(NoLoad);
        let rests = entered.subject.service.rest();
        rests.map_err(|error| Failure::host(Stage::Measure, &error))
    }

    /// Its window of a cycle.
    pub(super) fn turn(&mut self, slot: Slot, length: Duration, watch: &mut dyn FnMut(Progress)) {
        watch(Progress::Turn {
            place: self.trial.planned.place,
        });
        let turn = self.window(slot, length, watch).and_then(|()| self.rest());
        self.keep(turn);
    }

    fn window(
        &mut self,
        slot: Slot,
        length: Duration,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<(), Failure> {
        let job = self.job(slot.cycle, length)?;
        let entered = playing(&mut self.entered);
        if let Some(ending) = entered.subject.service.ended() {
            let text = format!("the service {ending}, while it rested between its windows");
            return Err(Failure::new(Stage::Measure, text));
        }
        let wakes = entered.subject.service.wake();
        wakes.map_err(|error| Failure::host(Stage::Measure, &error))?;
        let begun = (self.bench.generator).begin(&job, &self.seat.placement, &self.seat.log("generator"));
        entered.loading = begun.map_err(|error| Failure::host(Stage::WarmUp, &error))?;
        let mut phases = Phases::new(self.bench, entered, watch);
        let ramp = WarmUpChoice::FixedNs(RAMP.as_nanos() as u64);
        phases.warm_up(ramp, Pace::of(&self.trial.group().load))?;
        let (recording, window) = phases.measure()?;
        judge_recording(self.trial.plan, &recording).map_err(|failure| window.beside(failure))?;
        let times = recording.response_time_ns;
        self.windows.push(TurnWindow {
            block: slot.block,
            cycle: slot.cycle,
            place: slot.place,
            length_s: recording.duration_s,
            completed: recording.replies(),
            valid: recording.valid_replies(),
            cpu_ns: window.service_cpu_ns(),
            other_cpu_ns: window.other_cpu_ns(),
            steal_ns: window.steal_ns(),
            response_time_ns_p50: times.map(|times| times.p50),
            response_time_ns_p99: times.map(|times| times.p99),
            yardstick_ns: window.yardstick_ns(),
        });
        let (service, companions) = window.into_used();
        self.resources.push(service);
        self.companions.push(companions);
        self.recordings.push(recording);
        Ok(())
    }

    fn job(&self, cycle: u32, length: Duration) -> Result<load::Job, Failure> {
        let entered = self.entered.as_ref().expect("invariant: it plays");
        let job = job::job(&self.trial, &entered.subject.target, &self.seat);
        let job = job.map_err(|error| Failure::lab(Stage::Measure, error.to_string()))?;
        Ok(load::Job {
            phases: load::Phases {
                warm_up: WarmUp::FixedNs(RAMP.as_nanos() as u64),
                measurement_ns: length.as_nanos() as u64,
                ..job.phases
            },
            // Windows of one cycle are alike, windows of different cycles are not the same again.
            seed: job.seed.wrapping_add(u64::from(cycle)),
            ..job
        })
    }

    /// Wakes it, checks it once more and stops it: its record; `None` where the user ended it.
    pub(super) fn leave(mut self, watch: &mut dyn FnMut(Progress)) -> Option<TrialRecord> {
        let done = match self.entered.take() {
            Some(entered) => self.finish(entered, watch),
            None => Err(self.failure.take().unwrap_or_else(|| Exclusion {
                stage: Stage::Start,
                reason: "it did not start".to_owned(),
                log_tail: Vec::new(),
                fault: Fault::Lab,
            })),
        };
        (!self.interrupted).then(|| self.trial.record(self.began, done))
    }

    fn finish(
        &mut self,
        entered: Entered,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Measurement, Exclusion> {
        let mut done = entered.done();
        let target = done.subject.target.clone();
        let woken = done.subject.service.wake();
        let measured = woken
            .map_err(|error| Failure::host(Stage::Recheck, &error))
            .and_then(|()| done.look_behind((self.bench, self.trial.contract), self.answers().as_ref()))
            .and_then(|()| {
                let request = self.course().request(&target);
                check_after(self.bench, &self.trial, &request, watch)
            })
            .and_then(|()| self.measured(&done));
        self.interrupted |= measured.as_ref().is_err_and(|failure| failure.interrupted);
        let ended = done.subject.service.ended();
        let stopped = done.subject.service.stop();
        let judged = measured
            .map_err(|failure| blamed(failure, ended.as_ref()))
            .and_then(|measurement| judge_ending(measurement, ended.clone(), stopped));
        judged.map_err(|failure| failure.with_log(done.subject.service.log_tail(LOG_LINES)))
    }

    /// What came of the requests of its warm-up and of all its windows.
    fn answers(&self) -> Option<Answers> {
        let warm_up = self.warmed.as_ref().and_then(|warmed| warmed.answers.as_ref());
        let windows = self.recordings.iter().map(|window| window.answers.as_ref());
        Answers::join(std::iter::once(warm_up).chain(windows))
    }

    /// All its windows as one measurement.
    fn measured(&mut self, done: &Done) -> Result<Measurement, Failure> {
        let recording = self.joined()?;
        let warmed = self.warmed.take();
        let warmed = warmed.ok_or_else(|| Failure::lab(Stage::WarmUp, "it was not warmed up"))?;
        let mut measurement = done.measurement(recording, warmed.steadiness.clone(), None);
        self.complete(&mut measurement, &warmed);
        done.judge_during(self.trial.contract, &measurement)?;
        Ok(measurement)
    }

    fn joined(&self) -> Result<Recording, Failure> {
        let joined = Recording::join(&self.recordings);
        let joined = joined.map_err(|error| Failure::lab(Stage::Measure, error.to_string()))?;
        joined.ok_or_else(|| Failure::lab(Stage::Measure, "it had no window"))
    }

    /// What the windows say beside the recording.
    fn complete(&mut self, measurement: &mut Measurement, warmed: &Warmed) {
        let sum = |of: fn(&TurnWindow) -> Option<u64>| self.windows.iter().map(of).sum::<Option<u64>>();
        measurement.service = Resources::join(&self.resources);
        measurement.companions = CompanionUse::join(&self.companions);
        add_contradictions(measurement);
        let bound = companion_bound(measurement, &self.seat.placement);
        measurement.warnings.extend(bound);
        measurement.other_cpu_ns = sum(|window| window.other_cpu_ns);
        measurement.steal_ns = sum(|window| window.steal_ns);
        let cpus = self.bench.host().topology().cpus().len();
        measurement.warnings.extend(neighbours(&self.windows, cpus));
        let wanted = Warmth::new(self.trial.group().warm_up);
        if warmed.steadiness.classification == Classification::NoSteadyState {
            let warning = Warning::new(
                WarningKind::NotSteady,
                format!(
                    "its CPU time per request was not steady after {:.1} s of CPU time and {:.1} s on the clock (at most {:.0} s)",
                    Duration::from_nanos(warmed.used_ns).as_secs_f64(),
                    warmed.steadiness.warm_up_s,
                    wanted.wall().as_secs_f64()
                ),
            );
            warning.replace_in(&mut measurement.warnings);
        }
        measurement.turns = Some(Turns {
            rested: true,
            warm_up_cpu_ns: Some(warmed.used_ns),
            windows: std::mem::take(&mut self.windows),
        });
    }
}

fn playing(entered: &mut Option<Entered>) -> &mut Entered {
    entered.as_mut().expect("invariant: it plays")
}
