//! The load of a trial, phase by phase, as its generator reports it.

use super::enter::Entered;
use super::window::Window;
use crate::RunContext;
use crate::generators::Heard;
use crate::warm_up::{self, Bounds, Detector, Pace};
use crate::{Failure, Progress};
use prony_config::WarmUpChoice;
use prony_host::Process;
use prony_records::{Command, Event, Interval, Phase, Recording, Stage, Steadiness};
use std::time::{Duration, Instant};

/// Waits at most this long for an event, then looks at the rest of the world.
const TICK: Duration = Duration::from_millis(50);

pub(super) struct Phases<'a> {
    bench: &'a RunContext<'a>,
    entered: &'a mut Entered,
    watch: &'a mut dyn FnMut(Progress),
    /// When the generator last said something.
    heard: Instant,
}

impl<'a> Phases<'a> {
    pub(super) fn new(
        bench: &'a RunContext<'a>,
        entered: &'a mut Entered,
        watch: &'a mut dyn FnMut(Progress),
    ) -> Self {
        Self {
            bench,
            entered,
            watch,
            heard: Instant::now(),
        }
    }

    /// The service that is loaded.
    pub(super) fn service(&mut self) -> &mut dyn Process {
        &mut *self.entered.subject.service
    }

    /// Until the service is warm and the measurement has begun.
    pub(super) fn warm_up(&mut self, choice: WarmUpChoice, pace: Pace) -> Result<Steadiness, Failure> {
        let steadiness = self.until_warm(choice, pace)?;
        self.entered.begin_window()?;
        Ok(steadiness)
    }

    /// A load that only warms the service. It ends as a whole one ends, with all replies that are still due: a service that is
    /// left with the requests of those who hung up answers them first, and whoever comes next waits.
    pub(super) fn warm_only(&mut self, choice: WarmUpChoice, pace: Pace) -> Result<Steadiness, Failure> {
        let steadiness = self.until_warm(choice, pace)?;
        self.entered.loading.tell(Command::Stop);
        self.until_ended()?;
        Ok(steadiness)
    }

    /// Until the generator says that its measurement begins.
    fn until_warm(&mut self, choice: WarmUpChoice, pace: Pace) -> Result<Steadiness, Failure> {
        let mut intervals: Vec<Interval> = Vec::new();
        let mut detector = match choice {
            WarmUpChoice::FixedNs(_) => None,
            WarmUpChoice::Steady { least_ns, most_ns } => {
                let bounds = Bounds {
                    least: Duration::from_nanos(least_ns),
                    most: Duration::from_nanos(most_ns),
                };
                Some(Detector::new(bounds, pace))
            }
        };
        let mut told = false;
        loop {
            match self.next(Stage::WarmUp)? {
                Event::Interval {
                    phase: Phase::WarmUp,
                    interval,
                    ..
                } => match &mut detector {
                    None => intervals.push(interval),
                    Some(detector) => {
                        detector.push(interval);
                        if !told && detector.is_over() {
                            self.entered.loading.tell(Command::Measure);
                            told = true;
                        }
                    }
                },
                Event::Phase {
                    phase: Phase::Measurement,
                    ..
                } => return Ok(detector.map_or_else(|| warm_up::fixed(intervals), Detector::finish)),
                Event::Phase { .. }
                | Event::Interval { .. }
                | Event::IntervalPart { .. }
                | Event::Workers { .. } => {}
                Event::Recording { .. } | Event::Part { .. } => {
                    let text = "the generator ended before the measurement began";
                    return Err(Failure::lab(Stage::WarmUp, text));
                }
                Event::Failed { reason, fault } => {
                    return Err(Failure {
                        fault,
                        ..Failure::new(Stage::WarmUp, reason)
                    });
                }
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
                    window = Some(self.entered.end_window()?);
                }
                Event::Phase { .. }
                | Event::Interval { .. }
                | Event::IntervalPart { .. }
                | Event::Workers { .. } => {}
                Event::Part { .. } => {
                    let text =
                        "the generator ended with a part of a load, where it was asked for a whole one";
                    return Err(Failure::lab(Stage::Measure, text));
                }
                Event::Recording { recording } => {
                    let window = match window {
                        Some(window) => window,
                        None => self.entered.end_window()?,
                    };
                    return Ok((*recording, window));
                }
                Event::Failed { reason, fault } => {
                    return Err(Failure {
                        fault,
                        ..Failure::new(Stage::Measure, reason)
                    });
                }
            }
        }
    }

    /// Ends a load in its warm-up as a whole one ends, with all replies that are still due.
    pub(super) fn end(&mut self) -> Result<Recording, Failure> {
        self.entered.loading.tell(Command::Measure);
        self.until_ended()
    }

    /// Until the load is over, which ends as soon as its measurement begins.
    fn until_ended(&mut self) -> Result<Recording, Failure> {
        loop {
            match self.next(Stage::WarmUp)? {
                Event::Phase {
                    phase: Phase::Measurement,
                    ..
                } => self.entered.loading.tell(Command::Stop),
                Event::Recording { recording } => return Ok(*recording),
                Event::Failed { reason, fault } => {
                    return Err(Failure {
                        fault,
                        ..Failure::new(Stage::WarmUp, reason)
                    });
                }
                _ => {}
            }
        }
    }

    /// The next event; an error when the service or the generator ends, or the user has had enough.
    fn next(&mut self, stage: Stage) -> Result<Event, Failure> {
        loop {
            if let Some(event) = self.next_within(stage, TICK)? {
                return Ok(event);
            }
        }
    }

    /// The next event, where it comes within this time.
    pub(super) fn next_within(&mut self, stage: Stage, within: Duration) -> Result<Option<Event>, Failure> {
        let heard = self.entered.loading.next(within);
        if self.bench.cancel.is_now() {
            return Err(Failure::interrupted(stage));
        }
        if let Some(lost) = self.bench.lab.lost() {
            (self.watch)(Progress::HostLost(lost.to_string()));
            return Err(Failure::host(stage, &lost));
        }
        if let Some(fault) = self.entered.subject.companions.ended() {
            return Err(Failure::lab(stage, fault));
        }
        if let Some(ending) = self.service().ended() {
            return Err(Failure::new(
                stage,
                format!("the service {ending}, under the load"),
            ));
        }
        let silence = self.bench.options.silence;
        match heard {
            Heard::Event(event) => {
                // That of workers is said by who leads them, who may have heard nothing.
                if !matches!(event, Event::Workers { .. }) {
                    self.heard = Instant::now();
                }
                self.show(&event);
                Ok(Some(event))
            }
            Heard::Gone(reason) => Err(Failure::lab(stage, reason)),
            Heard::Nothing if self.heard.elapsed() > silence => {
                let text = format!("the generator said nothing for {silence:?}");
                Err(Failure::lab(stage, text))
            }
            Heard::Nothing => Ok(None),
        }
    }

    fn show(&mut self, event: &Event) {
        match event {
            Event::Phase { phase, .. } => (self.watch)(Progress::Phase(*phase)),
            Event::Interval {
                phase,
                interval,
                times,
            } => (self.watch)(Progress::Interval {
                phase: *phase,
                interval: *interval,
                times: times.clone(),
            }),
            Event::Workers { workers } => (self.watch)(Progress::Workers(workers.clone())),
            Event::IntervalPart { .. }
            | Event::Part { .. }
            | Event::Recording { .. }
            | Event::Failed { .. } => {}
        }
    }
}

/// What there is to see of a load that only warms a service: nothing of it is a measurement, the replies that are still due
/// when it ends least of all.
pub(super) fn only_warming(watch: &mut dyn FnMut(Progress)) -> impl FnMut(Progress) {
    move |progress| {
        if !matches!(&progress, Progress::Phase(phase) | Progress::Interval { phase, .. } if *phase != Phase::WarmUp)
        {
            watch(progress);
        }
    }
}
