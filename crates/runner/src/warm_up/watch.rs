//! One warm-up while it goes on: what its generator has reported, and whether it may end.

use super::{Bounds, Detector, Pace, WarmUpProgress, WarmUpSlice, fixed};
use crate::Failure;
use crate::schedule::WarmUp;
use prony_config::WarmUpChoice;
use prony_host::{HostError, Process};
use prony_records::{Classification, Interval, Steadiness, TrialStage};
use std::time::{Duration, Instant};

/// Length of a slice of a warm-up that is judged by CPU time.
const SLICE: Duration = Duration::from_millis(250);

/// A warm-up that is over.
#[derive(Debug, Clone)]
pub(crate) struct WarmUpResult {
    pub(crate) steadiness: Steadiness,
    /// CPU time that the service used for it, where that was counted; where it is not known, the time on the clock.
    pub(crate) used_ns: Option<u64>,
    /// The longest time on the clock that it could have taken, where its bounds count CPU time.
    pub(crate) longest: Duration,
}

/// A warm-up that goes on.
pub(crate) struct WarmUpWatch {
    intervals: Vec<Interval>,
    /// When the load was there.
    loaded: Option<Instant>,
    rule: Rule,
}

/// What ends a warm-up.
enum Rule {
    /// The generator, after a fixed time.
    Generator,
    /// The series that the generator reports.
    Series(Detector),
    /// CPU time that the service used.
    CpuTime(Slices),
    /// The time since the load was there.
    Together(Duration),
}

struct Slices {
    progress: WarmUpProgress,
    began: Instant,
    /// When the slice began.
    slice: Instant,
    /// Replies in the slice so far.
    completed: u64,
    verdict: Option<(Classification, Duration)>,
}

impl WarmUpWatch {
    /// Watches from the start of a load on. Counting CPU time begins here.
    pub(crate) fn new(warm_up: WarmUp, pace: Pace, service: &mut dyn Process) -> Result<Self, Failure> {
        let rule = match warm_up {
            WarmUp::Settle(_) | WarmUp::Planned(WarmUpChoice::FixedNs(_)) => Rule::Generator,
            WarmUp::Planned(WarmUpChoice::Steady { least_ns, most_ns }) => {
                let bounds = Bounds {
                    least: Duration::from_nanos(least_ns),
                    most: Duration::from_nanos(most_ns),
                };
                Rule::Series(Detector::new(bounds, pace))
            }
            WarmUp::Together(length) => Rule::Together(length),
            WarmUp::ByCpuTime(choice) => {
                service.begin_window().map_err(|error| failed(&error))?;
                let now = Instant::now();
                Rule::CpuTime(Slices {
                    progress: WarmUpProgress::new(choice),
                    began: now,
                    slice: now,
                    completed: 0,
                    verdict: None,
                })
            }
        };
        Ok(Self {
            intervals: Vec::new(),
            loaded: None,
            rule,
        })
    }

    /// The load is there.
    pub(crate) fn is_loaded(&mut self) {
        self.loaded.get_or_insert_with(Instant::now);
    }

    /// The next interval.
    pub(crate) fn push(&mut self, interval: Interval) {
        match &mut self.rule {
            Rule::Series(detector) => detector.push(interval),
            Rule::CpuTime(slices) => {
                slices.completed += interval.completed;
                self.intervals.push(interval);
            }
            Rule::Generator | Rule::Together(_) => self.intervals.push(interval),
        }
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self, service: &mut dyn Process) -> Result<(), Failure> {
        match &mut self.rule {
            Rule::CpuTime(slices) if slices.verdict.is_none() && slices.slice.elapsed() >= SLICE => {
                slices.end(service).map_err(|error| failed(&error))
            }
            _ => Ok(()),
        }
    }

    /// Whether the measurement may begin, where that is not for the generator to decide.
    pub(crate) fn is_over(&mut self) -> bool {
        match &mut self.rule {
            Rule::Generator => false,
            Rule::Series(detector) => detector.is_over(),
            Rule::CpuTime(slices) => slices.verdict.is_some(),
            Rule::Together(length) => self.loaded.is_some_and(|since| since.elapsed() >= *length),
        }
    }

    /// What is recorded of it.
    pub(crate) fn finish(self) -> WarmUpResult {
        let steadiness = match self.rule {
            Rule::Generator | Rule::Together(_) => fixed(self.intervals),
            Rule::Series(detector) => detector.finish(),
            Rule::CpuTime(slices) => return slices.finish(self.intervals),
        };
        WarmUpResult {
            steadiness,
            used_ns: None,
            longest: Duration::ZERO,
        }
    }
}

impl Slices {
    fn end(&mut self, service: &mut dyn Process) -> Result<(), HostError> {
        let usage = service.end_window()?;
        let verdict = self.progress.push(WarmUpSlice {
            cpu_ns: usage.resources.cpu_ns,
            completed: std::mem::take(&mut self.completed),
            length_s: self.slice.elapsed().as_secs_f64(),
        });
        self.verdict = verdict.map(|verdict| (verdict, self.began.elapsed()));
        if self.verdict.is_none() {
            service.begin_window()?;
            self.slice = Instant::now();
        }
        Ok(())
    }

    fn finish(self, intervals: Vec<Interval>) -> WarmUpResult {
        let ended = (Classification::NoSteadyState, self.began.elapsed());
        let (classification, took) = self.verdict.unwrap_or(ended);
        let worst = intervals
            .iter()
            .filter_map(|interval| interval.response_time_ns_p99);
        WarmUpResult {
            used_ns: Some(self.progress.used_ns()),
            longest: self.progress.wall(),
            steadiness: Steadiness {
                classification,
                warm_up_s: took.as_secs_f64(),
                worst_p99_ns: worst.max(),
                intervals,
            },
        }
    }
}

fn failed(error: &HostError) -> Failure {
    Failure::host(TrialStage::WarmUp, error)
}
