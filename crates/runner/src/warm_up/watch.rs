//! A warm-up in progress: decides when the measurement may begin.
//!
//! Interleaved services are judged by CPU time. A runtime with a JIT compiler needs CPU time to become warm, and on a shared machine a
//! second may contain only half a second of CPU time. Therefore the bounds of the warm-up apply to CPU time, and the service is steady
//! when the CPU time per request is.

use super::{Bounds, Detector, Pace, fixed};
use crate::Failure;
use crate::schedule::WarmUp;
use prony_config::WarmUpChoice;
use prony_host::{HostError, Process};
use prony_records::{Classification, Interval, Steadiness, TrialStage};
use std::time::{Duration, Instant};

/// Length of a slice if the bounds of the warm-up apply to CPU time.
const SLICE: Duration = Duration::from_millis(250);

/// The result of a warm-up.
#[derive(Debug, Clone)]
pub(crate) struct WarmUpResult {
    pub(crate) steadiness: Steadiness,
    /// CPU time that the service used, or elapsed time if that is unknown; `None` if the bounds do not apply to CPU time.
    pub(crate) used_ns: Option<u64>,
    /// Limit of the elapsed time, if the bounds apply to CPU time.
    pub(crate) longest: Duration,
}

/// A warm-up in progress.
pub(crate) struct WarmUpWatch {
    intervals: Vec<Interval>,
    /// When the service was first under load.
    loaded: Option<Instant>,
    rule: Rule,
}

/// The rule that ends a warm-up.
enum Rule {
    /// The generator, after a fixed time.
    Generator,
    /// The series that the generator reports.
    Series(Detector),
    /// CPU time that the service used.
    CpuTime(Slices),
    /// The time since the service was first under load.
    Together(Duration),
}

struct Slices {
    progress: WarmUpProgress,
    began: Instant,
    /// Start of the current slice.
    slice: Instant,
    /// Replies in the current slice so far.
    completed: u64,
    verdict: Option<(Classification, Duration)>,
}

impl WarmUpWatch {
    /// Begins at the start of a load, and begins counting CPU time if necessary.
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

    /// The service is under load.
    pub(crate) fn set_loaded(&mut self) {
        self.loaded.get_or_insert_with(Instant::now);
    }

    /// Adds an interval.
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

    /// Ends the current slice if it is due.
    pub(crate) fn tick(&mut self, service: &mut dyn Process) -> Result<(), Failure> {
        match &mut self.rule {
            Rule::CpuTime(slices) if slices.verdict.is_none() && slices.slice.elapsed() >= SLICE => {
                slices.end(service).map_err(|error| failed(&error))
            }
            _ => Ok(()),
        }
    }

    /// Whether the measurement may begin; always false if the generator decides.
    pub(crate) fn is_over(&mut self) -> bool {
        match &mut self.rule {
            Rule::Generator => false,
            Rule::Series(detector) => detector.is_over(),
            Rule::CpuTime(slices) => slices.verdict.is_some(),
            Rule::Together(length) => self.loaded.is_some_and(|since| since.elapsed() >= *length),
        }
    }

    /// The result.
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

/// Limit of the elapsed time, in units of the longest CPU time: a service that mostly waits never uses that CPU time.
const WALL: u32 = 4;
/// Number of slices at the end that must agree with as many before them.
const ALIKE: usize = 4;
/// CPU times per request that differ by less than this share are the same.
const SAME: f64 = 0.03;

/// A slice of a warm-up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WarmUpSlice {
    /// CPU time of the service, ns; `None` if unknown.
    pub(crate) cpu_ns: Option<u64>,
    /// Complete replies.
    pub(crate) completed: u64,
    /// Length, s.
    pub(crate) length_s: f64,
}

/// The slices of a warm-up so far.
#[derive(Debug, Clone)]
pub(crate) struct WarmUpProgress {
    least: Duration,
    most: Duration,
    steady: bool,
    slices: Vec<WarmUpSlice>,
}

impl WarmUpProgress {
    /// A warm-up without slices.
    pub(crate) const fn new(choice: WarmUpChoice) -> Self {
        let (least_ns, most_ns, steady) = match choice {
            WarmUpChoice::FixedNs(ns) => (ns, ns, false),
            WarmUpChoice::Steady { least_ns, most_ns } => (least_ns, most_ns, true),
        };
        Self {
            least: Duration::from_nanos(least_ns),
            most: Duration::from_nanos(most_ns),
            steady,
            slices: Vec::new(),
        }
    }

    /// Limit of the elapsed time.
    pub(crate) const fn wall(&self) -> Duration {
        self.most.saturating_mul(WALL)
    }

    /// Adds a slice. Returns the classification if the warm-up is over.
    pub(crate) fn push(&mut self, slice: WarmUpSlice) -> Option<Classification> {
        self.slices.push(slice);
        let used = Duration::from_nanos(self.used_ns());
        let wall = Duration::from_secs_f64(self.slices.iter().map(|slice| slice.length_s).sum());
        if !self.steady {
            return (used >= self.least || wall >= self.wall()).then_some(Classification::Fixed);
        }
        let enough = used >= self.least || wall >= self.least * WALL;
        match self.trend() {
            Some(trend) if enough && trend.abs() < SAME => Some(self.shape()),
            _ if used >= self.most || wall >= self.wall() => Some(Classification::NoSteadyState),
            _ => None,
        }
    }

    /// CPU time that the service used so far, ns; elapsed time if it is unknown.
    pub(crate) fn used_ns(&self) -> u64 {
        let of = |slice: &WarmUpSlice| slice.cpu_ns.unwrap_or((slice.length_s * 1e9) as u64);
        self.slices.iter().map(of).sum()
    }

    /// CPU time per request in a slice; elapsed time if CPU time is unknown.
    fn cost(slice: &WarmUpSlice) -> Option<f64> {
        let used = slice.cpu_ns.map_or(slice.length_s * 1e9, |ns| ns as f64);
        (slice.completed > 0).then(|| used / slice.completed as f64)
    }

    /// Log ratio of the cost in the last slices to that in as many slices before them.
    fn trend(&self) -> Option<f64> {
        let costs: Vec<f64> = self.slices.iter().filter_map(Self::cost).collect();
        let last = costs.len().checked_sub(ALIKE)?;
        let before = last.checked_sub(ALIKE)?;
        Some((median(&costs[last..]) / median(&costs[before..last])).ln())
    }

    fn shape(&self) -> Classification {
        let costs: Vec<f64> = self.slices.iter().filter_map(Self::cost).collect();
        let (first, last) = (costs[0], median(&costs[costs.len() - ALIKE..]));
        if (first / last).ln() > SAME {
            Classification::WarmedUp
        } else {
            Classification::Flat
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    f64::midpoint(sorted[half], sorted[(sorted.len() - 1) / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: WarmUpChoice = WarmUpChoice::Steady {
        least_ns: 1_000_000_000,
        most_ns: 6_000_000_000,
    };

    /// Pieces of a quarter of a second, in which the service gets this share of its CPU and a request costs this much.
    fn run(choice: WarmUpChoice, share: f64, cost_ns: impl Fn(f64) -> f64) -> (Classification, f64, f64) {
        let mut warmth = WarmUpProgress::new(choice);
        loop {
            let used = warmth.used_ns() as f64 / 1e9;
            let cpu = 0.25 * share;
            let slice = WarmUpSlice {
                cpu_ns: Some((cpu * 1e9) as u64),
                completed: (cpu * 1e9 / cost_ns(used)) as u64,
                length_s: 0.25,
            };
            if let Some(verdict) = warmth.push(slice) {
                let wall = warmth.slices.len() as f64 * 0.25;
                return (verdict, warmth.used_ns() as f64 / 1e9, wall);
            }
        }
    }

    #[test]
    fn a_native_service_is_flat_after_the_least() {
        let (verdict, used, _) = run(STEADY, 1.0, |_| 6_000.0);
        assert_eq!(verdict, Classification::Flat);
        assert!(used < 2.3, "{used}");
    }

    #[test]
    fn a_compiler_gets_its_cpu_time_however_long_that_takes() {
        // Four times as slow until three seconds of CPU time are used.
        let jit = |used: f64| if used < 3.0 { 40_000.0 } else { 10_000.0 };
        for share in [1.0, 0.4] {
            let (verdict, used, wall) = run(STEADY, share, |used| jit(used) * (1.0 - 0.1 * used.min(3.0)));
            assert_eq!(verdict, Classification::WarmedUp);
            assert!(used > 3.0, "{used} of {wall}");
        }
    }

    #[test]
    fn what_never_settles_ends_at_its_limit() {
        let (verdict, used, _) = run(STEADY, 1.0, |used| 10_000.0 * (1.0 - 0.12 * used));
        assert_eq!(verdict, Classification::NoSteadyState);
        assert!((6.0..6.5).contains(&used), "{used}");
    }

    #[test]
    fn a_service_that_hardly_works_is_not_waited_for_without_end() {
        let (verdict, _, wall) = run(WarmUpChoice::FixedNs(1_000_000_000), 0.01, |_| 50_000.0);
        assert_eq!(verdict, Classification::Fixed);
        assert!(wall <= 4.25, "{wall}");
    }
}
