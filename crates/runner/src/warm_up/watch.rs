//! A phase of a warm-up in progress: cuts it into slices, and says when the next phase may begin.

use super::judge::{Limits, PhaseJudge, Slice};
use super::{Pace, WarmUpPhase};
use crate::Failure;
use crate::schedule::WarmUp;
use prony_config::WarmUpChoice;
use prony_host::{CompilerKind, HostError, Process};
use prony_records::{Classification, Interval, Steadiness, TrialStage};
use std::time::{Duration, Instant};

/// The shortest slice, s. Slices end with intervals of the generator: replies and CPU time are of the same time.
const SLICE_S: f64 = 0.25;

/// The result of a warm-up.
#[derive(Debug, Clone)]
pub(crate) struct WarmUpResult {
    pub(crate) steadiness: Steadiness,
    /// How many times as many connections a light load should have; `None`: it has enough.
    pub(crate) growth: Option<u32>,
    /// CPU time that the service used in this phase, ns; `None` if it was not counted.
    pub(crate) used_ns: Option<u64>,
    /// What its compiler threads do.
    pub(crate) compiler: Option<CompilerKind>,
}

impl WarmUpResult {
    /// The median of the 99th percentiles of the response time in its last second.
    pub(crate) fn slow_reply(&self) -> Option<Duration> {
        let intervals = &self.steadiness.intervals;
        let end_s = intervals.last()?.start_s;
        let last = intervals.iter().filter(|interval| interval.start_s > end_s - 1.0);
        let mut times: Vec<u64> = last
            .filter_map(|interval| interval.response_time_ns_p99)
            .collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied().map(Duration::from_nanos)
    }
}

/// A phase of a warm-up in progress.
pub(crate) struct WarmUpWatch {
    intervals: Vec<Interval>,
    /// Time under load before the last break, s.
    before_break_s: f64,
    /// When the service was first under load.
    loaded: Option<Instant>,
    rule: Rule,
}

/// The rule that ends a phase.
enum Rule {
    /// There is no warm-up.
    None,
    /// The generator, after a fixed time.
    Generator,
    /// What its slices show.
    Slices(Box<Slices>),
    /// The time since the service was first under load.
    Together(Duration),
}

struct Slices {
    judge: PhaseJudge,
    pace: Pace,
    /// The intervals of the current slice so far.
    current: Vec<Interval>,
    compiler: Option<CompilerKind>,
    verdict: Option<Classification>,
}

impl WarmUpWatch {
    /// Begins at the start of a load, and begins counting CPU time if necessary. `measured`: the length of the measurement, and how
    /// long an earlier start of the service needed to become stable, s.
    pub(crate) fn new(
        (warm_up, phase): (WarmUp, WarmUpPhase),
        pace: Pace,
        measured: (Duration, Option<f64>),
        service: &mut dyn Process,
    ) -> Result<Self, Failure> {
        let rule = match warm_up {
            WarmUp::Settle(_) => Rule::Generator,
            WarmUp::Together(length) => Rule::Together(length),
            WarmUp::Planned(WarmUpChoice::FixedNs(0)) => Rule::None,
            WarmUp::Light { choice, .. } | WarmUp::Planned(choice) | WarmUp::Rehearsal(choice) => {
                match Limits::of(choice) {
                    None => Rule::Generator,
                    Some(limits) => {
                        service.begin_window().map_err(|error| failed(&error))?;
                        Rule::Slices(Box::new(Slices {
                            judge: PhaseJudge::new(phase, limits, measured),
                            pace,
                            current: Vec::new(),
                            compiler: None,
                            verdict: None,
                        }))
                    }
                }
            }
        };
        Ok(Self {
            intervals: Vec::new(),
            before_break_s: 0.0,
            loaded: None,
            rule,
        })
    }

    /// The service is under load.
    pub(crate) fn set_loaded(&mut self) {
        self.loaded.get_or_insert_with(Instant::now);
    }

    /// Adds an interval, and ends the current slice with it if it is due.
    pub(crate) fn push(&mut self, mut interval: Interval, service: &mut dyn Process) -> Result<(), Failure> {
        interval.start_s += self.before_break_s;
        self.intervals.push(interval);
        let Rule::Slices(slices) = &mut self.rule else {
            return Ok(());
        };
        if slices.verdict.is_some() {
            return Ok(());
        }
        slices.current.push(interval);
        let length_s: f64 = slices.current.iter().map(|interval| interval.length_s).sum();
        if length_s < SLICE_S {
            return Ok(());
        }
        slices.end(length_s, service).map_err(|error| failed(&error))
    }

    /// Whether the next phase may begin; always false if the generator decides.
    pub(crate) fn is_over(&self) -> bool {
        match &self.rule {
            Rule::None | Rule::Generator => false,
            Rule::Slices(slices) => slices.verdict.is_some(),
            Rule::Together(length) => self.loaded.is_some_and(|since| since.elapsed() >= *length),
        }
    }

    /// Whether the load should pause until the compiler is idle.
    pub(crate) fn needs_break(&self) -> bool {
        match &self.rule {
            Rule::Slices(slices) => slices.verdict.is_none() && slices.judge.needs_break(),
            Rule::None | Rule::Generator | Rule::Together(_) => false,
        }
    }

    /// The load begins again after a break.
    pub(crate) fn end_break(&mut self, service: &mut dyn Process) -> Result<(), Failure> {
        self.before_break_s = self.length_s();
        if let Rule::Slices(slices) = &mut self.rule {
            slices.current.clear();
            slices.judge.end_break();
            service.begin_window().map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    /// Time under load, s.
    fn length_s(&self) -> f64 {
        let last = self.intervals.last();
        last.map_or(0.0, |last| last.start_s + last.length_s)
    }

    /// The result.
    pub(crate) fn finish(self) -> WarmUpResult {
        let length_s = self.length_s();
        let worst = self.intervals.iter();
        let mut steadiness = Steadiness {
            classification: match self.rule {
                Rule::None => Classification::Cold,
                _ => Classification::Fixed,
            },
            warm_up_s: length_s,
            light_s: None,
            settled_share: None,
            settled_after_s: None,
            worst_p99_ns: worst.filter_map(|interval| interval.response_time_ns_p99).max(),
            intervals: self.intervals,
        };
        let Rule::Slices(slices) = self.rule else {
            return WarmUpResult {
                steadiness,
                growth: None,
                used_ns: None,
                compiler: None,
            };
        };
        steadiness.classification = slices.verdict.unwrap_or(Classification::Warming);
        steadiness.settled_share = slices.judge.settled_share();
        steadiness.settled_after_s = slices.judge.settled_after_s();
        WarmUpResult {
            steadiness,
            growth: slices.judge.growth(),
            used_ns: Some(slices.judge.cpu_ns()),
            compiler: slices.compiler,
        }
    }
}

impl Slices {
    fn end(&mut self, length_s: f64, service: &mut dyn Process) -> Result<(), HostError> {
        let usage = service.end_window()?;
        let intervals = std::mem::take(&mut self.current);
        let completed = intervals.iter().map(|interval| interval.completed).sum();
        let cpu_ns = usage.resources.cpu_ns;
        let machine = usage.machine;
        let slice = Slice {
            length_s,
            cpu_ns,
            compiler_ns: usage.resources.compiler_cpu_ns,
            completed,
            cost: self.cost(cpu_ns, completed, length_s, &intervals),
            idle: machine.and_then(|machine| Some(1.0 - machine.share(machine.busy_ns)?)),
            // With it, the speed of the CPUs does not look like a change of the service.
            probe_ns: usage.cpu_speed_probe_ns,
        };
        self.compiler = self.compiler.or(usage.compiler);
        self.verdict = self.judge.push(slice, usage.compiler);
        if self.verdict.is_none() {
            service.begin_window()?;
        }
        Ok(())
    }

    /// CPU time of a request. Where it is unknown: elapsed time for each reply, or the median response time of a load that
    /// determines how many replies there are.
    fn cost(
        &self,
        cpu_ns: Option<u64>,
        completed: u64,
        length_s: f64,
        intervals: &[Interval],
    ) -> Option<f64> {
        let replies = (completed > 0).then_some(completed as f64);
        match (cpu_ns, self.pace) {
            (Some(cpu_ns), _) => Some(cpu_ns as f64 / replies?),
            (None, Pace::OfService) => Some(length_s * 1e9 / replies?),
            (None, Pace::OfLoad) => {
                let medians = intervals
                    .iter()
                    .filter_map(|interval| interval.response_time_ns_p50);
                medians.max().map(|ns| ns as f64)
            }
        }
    }
}

fn failed(error: &HostError) -> Failure {
    Failure::host(TrialStage::WarmUp, error)
}
