//! The search within a trial: another process asks for it, and hears of it as of a warm-up, followed by the measurement at
//! the rate that was found.

use super::climb::Climb;
use super::search::{Next, Plan};
use super::{misses, under_way};
use crate::BenchError;
use prony_load::{Arrival, Job, Load, Objective, Profile, Rate, WarmUp};
use prony_records::{Answers, Command, Event, Interval, Phase, Recording, Warning, WarningKind};
use std::sync::mpsc::{self, Receiver, TryRecvError};

/// Part of each step before it counts: connections are made, and what the last rate left over is answered.
const SETTLING: u64 = 4;
/// Replies that a step should have, where that does not make it longer than [`LONGEST_STEP_NS`].
const FEWEST_REPLIES: f64 = 30.0;
const LONGEST_STEP_NS: u64 = 5_000_000_000;
/// Tries of a rate that misses the objective.
const TRIES: u32 = 2;

/// What loads a service with a job: events go out, commands come in.
pub type Loads<'a, E> = &'a dyn Fn(&Job, &mut dyn FnMut(Event), &Receiver<Command>) -> Result<Recording, E>;

/// Warms up at the first rate, searches, and measures at the rate that was found.
pub fn search_and_measure<E: From<BenchError>>(
    job: &Job,
    wanted: &prony_load::Search,
    load: Loads<'_, E>,
    on_event: &mut dyn FnMut(Event),
    commands: &Receiver<Command>,
) -> Result<Recording, E> {
    let start = one_rate(&job.load)?;
    let objective = &wanted.objective;
    let mut stage = Stage {
        job,
        load,
        step_ns: wanted.step_ns,
        on_event,
        commands,
        elapsed_s: 0.0,
        answers: job.count_replies.then(Answers::default),
    };
    (stage.on_event)(Event::Phase {
        phase: Phase::WarmUp,
        established: 0,
    });
    stage.warm_up(start)?;
    let mut climb = Climb::new(Plan {
        start,
        limit: wanted.limit.as_per_second(),
        precision: wanted.precision,
    });
    let mut last_miss: Option<Miss> = None;
    let (rate, limited) = loop {
        match climb.search.next() {
            Next::Try(rate) => {
                let miss = stage.missed_twice(rate, objective)?;
                climb.take(rate, miss.is_none());
                last_miss = miss.or(last_miss);
            }
            Next::Found(rate) => break (rate, false),
            Next::Beyond(rate) => break (rate, true),
            Next::None => return Err(nothing_met(last_miss.as_ref()).into()),
        }
    };
    let mut recording = stage.measure(rate)?;
    let (missed, _) = misses(objective, &recording, rate, under_way(&job.load))?;
    recording
        .warnings
        .extend(doubts(limited, last_miss.as_ref(), &missed));
    Ok(recording)
}

/// A rate that did not meet the objective.
struct Miss {
    rate: f64,
    why: String,
    saturated: bool,
}

fn nothing_met(last: Option<&Miss>) -> BenchError {
    match last {
        Some(miss) => BenchError::Failed(format!(
            "no rate meets the objective: at {:.0}/s {}",
            miss.rate, miss.why
        )),
        None => BenchError::Failed("no rate meets the objective".to_owned()),
    }
}

fn doubts(limited: bool, last: Option<&Miss>, missed: &[String]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if limited {
        let text = "Met the objective at the highest rate tried.";
        warnings.push(Warning::new(WarningKind::Note, text).advise("Raise `limit`."));
    }
    if last.is_some_and(|miss| miss.saturated) {
        let text = "The generator was the limit above this rate; capacity may be higher.";
        warnings.push(
            Warning::new(WarningKind::GeneratorSaturated, text)
                .advise("Use more threads (-t) or CPUs of its own (--cpus)."),
        );
    }
    if let Some(why) = missed.first() {
        let text = format!("Met while searching, missed when measured: {why}.");
        warnings.push(Warning::new(WarningKind::Note, text));
    }
    warnings
}

/// The rate of an open load that stays the same: where the search begins.
fn one_rate(load: &Load) -> Result<f64, BenchError> {
    match load {
        Load::Open {
            arrival:
                Arrival {
                    profile: Profile::Constant { rate },
                    ..
                },
            ..
        } => Ok(rate.as_per_second()),
        _ => Err(BenchError::Failed(
            "a search for a rate begins at that of an open load that stays the same, and the job has another load"
                .to_owned(),
        )),
    }
}

/// Loads the service at one rate after another.
struct Stage<'a, E> {
    job: &'a Job,
    load: Loads<'a, E>,
    step_ns: u64,
    on_event: &'a mut dyn FnMut(Event),
    commands: &'a Receiver<Command>,
    /// Since the search began.
    elapsed_s: f64,
    /// What came of the requests at all rates so far, where that is counted.
    answers: Option<Answers>,
}

impl<E: From<BenchError>> Stage<'_, E> {
    fn at(&self, rate: f64, warm_up_ns: u64, measurement_ns: u64) -> Job {
        let mut job = self.job.clone();
        job.search = None;
        job.phases.warm_up = WarmUp::FixedNs(warm_up_ns);
        job.phases.measurement_ns = measurement_ns;
        if let Load::Open { arrival, .. } = &mut job.load {
            arrival.profile = Profile::Constant {
                rate: Rate::per_second(rate).expect("invariant: the search stays above 0"),
            };
        }
        job
    }

    fn warm_up(&mut self, rate: f64) -> Result<(), E> {
        let length_ns = match self.job.phases.warm_up {
            WarmUp::FixedNs(ns) => ns,
            WarmUp::UntilTold { limit_ns } => limit_ns,
        };
        if length_ns == 0 {
            return Ok(());
        }
        self.unseen(&self.at(rate, 0, length_ns)).map(drop)
    }

    /// How a rate misses the objective, twice in a row: once may be a moment of another program.
    fn missed_twice(&mut self, rate: f64, objective: &Objective) -> Result<Option<Miss>, E> {
        let mut miss = None;
        for _ in 0..TRIES {
            let recording = self.unseen(&self.at(rate, self.step_ns / SETTLING, self.length_ns(rate)))?;
            let (missed, _) = misses(objective, &recording, rate, under_way(&self.job.load))?;
            let Some(why) = missed.into_iter().next() else {
                return Ok(None);
            };
            let saturated = recording.generator.saturated;
            miss = Some(Miss { rate, why, saturated });
        }
        Ok(miss)
    }

    /// Length of a step: at a low rate longer, so that there are replies to judge by.
    fn length_ns(&self, rate: f64) -> u64 {
        let enough_ns = (FEWEST_REPLIES / rate * 1e9) as u64;
        enough_ns.min(LONGEST_STEP_NS).max(self.step_ns)
    }

    /// Runs a job that is part of the warm-up to whoever listens.
    fn unseen(&mut self, job: &Job) -> Result<Recording, E> {
        self.is_wanted()?;
        let (_nobody, silence) = mpsc::channel();
        let begin = self.elapsed_s;
        let (mut settled, mut now) = (0.0_f64, begin);
        let on_event = &mut *self.on_event;
        let mut show = |event: Event| {
            let (phase, interval, times) = match event {
                Event::Interval {
                    phase,
                    interval,
                    times,
                } => (phase, interval, times),
                workers @ Event::Workers { .. } => return on_event(workers),
                _ => return,
            };
            let end = interval.start_s + interval.length_s;
            let offset = if phase == Phase::WarmUp {
                settled = settled.max(end);
                begin
            } else {
                begin + settled
            };
            // The drain repeats no time of the measurement, and its few late replies are no interval of a rate.
            if phase != Phase::Drain {
                now = now.max(offset + end);
                on_event(Event::Interval {
                    phase: Phase::WarmUp,
                    interval: Interval {
                        start_s: offset + interval.start_s,
                        ..interval
                    },
                    times,
                });
            }
        };
        let recording = (self.load)(job, &mut show, &silence)?;
        self.elapsed_s = now;
        self.answers = Answers::join([self.answers.as_ref(), recording.answers.as_ref()]);
        Ok(recording)
    }

    /// The measurement: what settles before it belongs to the warm-up.
    fn measure(&mut self, rate: f64) -> Result<Recording, E> {
        self.is_wanted()?;
        let job = self.at(rate, self.step_ns / SETTLING, self.job.phases.measurement_ns);
        let begin = self.elapsed_s;
        let on_event = &mut *self.on_event;
        let mut show = |event: Event| match event {
            Event::Phase {
                phase: Phase::WarmUp, ..
            } => {}
            Event::Interval {
                phase: Phase::WarmUp,
                interval,
                times,
            } => on_event(Event::Interval {
                phase: Phase::WarmUp,
                interval: Interval {
                    start_s: begin + interval.start_s,
                    ..interval
                },
                times,
            }),
            other => on_event(other),
        };
        let recording = (self.load)(&job, &mut show, self.commands)?;
        Ok(Recording {
            answers: Answers::join([self.answers.as_ref(), recording.answers.as_ref()]),
            ..recording
        })
    }

    /// Whoever asked may have had enough, or be gone.
    fn is_wanted(&self) -> Result<(), BenchError> {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Stop) | Err(TryRecvError::Disconnected) => {
                    return Err(BenchError::Failed("ended before the rate was found".to_owned()));
                }
                Ok(Command::Measure | Command::MeasureAt { .. }) => {}
                Err(TryRecvError::Empty) => return Ok(()),
            }
        }
    }
}
