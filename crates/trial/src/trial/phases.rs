//! The load of a trial, phase by phase, as its generator reports it.

use super::start::Subject;
use super::window::{self, Window};
use super::{TICK, silent_since};
use crate::generator::{Heard, Loading};
use crate::steady::{self, Bounds, Detector};
use crate::{Cancel, Failure, Progress};
use prony_measurement::{Command, Event, Interval, Phase, Recording, Stage, Steadiness};
use prony_plan::WarmUpChoice;
use std::time::{Duration, Instant};

/// A generator reports ten times a second; one that says nothing for this long is stuck.
const SILENCE: Duration = Duration::from_secs(30);

pub(super) struct Phases<'a> {
    cancel: &'a Cancel,
    loading: &'a mut dyn Loading,
    subject: &'a mut Subject,
    watch: &'a mut dyn FnMut(Progress),
}

impl<'a> Phases<'a> {
    pub(super) fn new(
        cancel: &'a Cancel,
        loading: &'a mut dyn Loading,
        subject: &'a mut Subject,
        watch: &'a mut dyn FnMut(Progress),
    ) -> Self {
        Self {
            cancel,
            loading,
            subject,
            watch,
        }
    }

    /// Until the service is warm and the measurement has begun.
    pub(super) fn warm_up(&mut self, choice: WarmUpChoice) -> Result<Steadiness, Failure> {
        let mut intervals: Vec<Interval> = Vec::new();
        let mut detector = match choice {
            WarmUpChoice::FixedNs(_) => None,
            WarmUpChoice::Steady { least_ns, most_ns } => Some(Detector::new(Bounds {
                least: Duration::from_nanos(least_ns),
                most: Duration::from_nanos(most_ns),
            })),
        };
        let mut told = false;
        loop {
            match self.next(Stage::WarmUp)? {
                Event::Interval {
                    phase: Phase::WarmUp,
                    interval,
                } => match &mut detector {
                    None => intervals.push(interval),
                    Some(detector) => {
                        detector.push(interval);
                        if !told && detector.is_over() {
                            self.loading.tell(Command::Measure);
                            told = true;
                        }
                    }
                },
                Event::Phase {
                    phase: Phase::Measurement,
                    ..
                } => {
                    window::begin(self.subject, self.loading)?;
                    return Ok(detector.map_or_else(|| steady::fixed(intervals), Detector::finish));
                }
                Event::Phase { .. } | Event::Interval { .. } => {}
                Event::Recording { .. } => {
                    let text = "the generator ended before the measurement began";
                    return Err(Failure::new(Stage::WarmUp, text));
                }
                Event::Failed { reason } => return Err(Failure::new(Stage::WarmUp, reason)),
            }
        }
    }

    /// Until the recording is there. Resources count until the drain begins.
    pub(super) fn measure(&mut self) -> Result<(Recording, Window), Failure> {
        let mut window = None;
        loop {
            match self.next(Stage::Measure)? {
                Event::Phase {
                    phase: Phase::Drain, ..
                } if window.is_none() => {
                    window = Some(window::end(self.subject, self.loading)?);
                }
                Event::Phase { .. } | Event::Interval { .. } => {}
                Event::Recording { recording } => {
                    let window = match window {
                        Some(window) => window,
                        None => window::end(self.subject, self.loading)?,
                    };
                    return Ok((*recording, window));
                }
                Event::Failed { reason } => return Err(Failure::new(Stage::Measure, reason)),
            }
        }
    }

    /// The next event; an error when the service or the generator ends, or the user has had enough.
    fn next(&mut self, stage: Stage) -> Result<Event, Failure> {
        let begin = Instant::now();
        loop {
            let heard = self.loading.next(TICK);
            if self.cancel.is_now() {
                return Err(Failure::interrupted(stage));
            }
            if let Some(ending) = self.subject.service.ended() {
                return Err(Failure::new(
                    stage,
                    format!("the service {ending}, under the load"),
                ));
            }
            match heard {
                Heard::Event(event) => {
                    self.show(&event);
                    return Ok(event);
                }
                Heard::Gone(reason) => return Err(Failure::new(stage, reason)),
                Heard::Nothing if silent_since(begin, SILENCE) => {
                    let text = format!("the generator said nothing for {SILENCE:?}");
                    return Err(Failure::new(stage, text));
                }
                Heard::Nothing => {}
            }
        }
    }

    fn show(&mut self, event: &Event) {
        match event {
            Event::Phase { phase, .. } => (self.watch)(Progress::Phase(*phase)),
            Event::Interval { phase, interval } => (self.watch)(Progress::Interval {
                phase: *phase,
                throughput_per_s: interval.completed as f64 / interval.length_s.max(1e-9),
                response_time_ns_p99: interval.response_time_ns_p99,
                errors: interval.errors,
            }),
            Event::Recording { .. } | Event::Failed { .. } => {}
        }
    }
}
