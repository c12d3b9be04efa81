//! Judges a phase of a warm-up from its slices. Pure functions.

use prony_config::WarmUpChoice;
use prony_host::CompilerKind;
use prony_records::{Classification, Resources};
use prony_statistics::{median, slope_interval};
use std::time::Duration;

/// The compiler is idle below this share of the service's CPU time.
const IDLE: f64 = 0.03;
/// For this long.
const QUIET_S: f64 = 3.0;
/// Load between two breaks, at least, s.
const LOADED_S: f64 = 1.0;
/// A service that uses less of a CPU under a light load waits most of the time: for the due time of an event, or for a backing service.
const LITTLE_CPU: f64 = 0.25;
/// The share that a light load aims at: it keeps the compiler busy, and leaves it CPU time.
const LIGHT_CPU: f64 = 0.5;
/// Share of the CPU time of a machine that is idle.
const IDLE_MACHINE: f64 = 0.5;
/// CPU time over which a share is judged, at least, ns.
const JUDGED_CPU_NS: u64 = 500_000_000;
/// The same for a rehearsal: several of them are judged.
const REHEARSED_CPU_NS: u64 = 100_000_000;
/// The compiler is idle in a rehearsal below this share: with less than in a measurement, chance labels few measurements.
const IDLE_IN_REHEARSAL: f64 = 0.02;
/// A share that fell by less within that time has stopped falling: the threads collect garbage.
const FALLS: f64 = 0.2;
/// While it is measured, a service whose compiler threads collect garbage may have this many times its settled share.
const MORE_GARBAGE: f64 = 1.5;
/// Time after which a service without compiler threads is one whose runtime has none: .NET starts its thread after 0.1 s.
const NO_COMPILER_S: f64 = 1.0;
/// Replies that a service without compiler threads must have given.
const FEWEST_REPLIES: u64 = 1_000;
/// CPU time per request may change by this share over the length of the measurement.
const STABLE: f64 = 0.03;
const CONFIDENCE: f64 = 0.95;
/// Slices from which a slope is computed, at least.
const FEWEST_SLICES: usize = 6;
/// Number of series that are tried: from all slices, from all but the first sixteenth, and so on.
const SERIES: usize = 16;

/// A slice of a phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slice {
    /// Length, s.
    pub(crate) length_s: f64,
    /// CPU time of the service, ns; `None` if unknown.
    pub(crate) cpu_ns: Option<u64>,
    /// CPU time of its compiler threads, ns; `None` if it has none.
    pub(crate) compiler_ns: Option<u64>,
    /// Complete replies.
    pub(crate) completed: u64,
    /// What a request costs: CPU time, or where that is unknown the time for a reply. `None`: unknown.
    pub(crate) cost: Option<f64>,
    /// Share of the machine's CPU time that no program used; `None`: unknown.
    pub(crate) idle: Option<f64>,
    /// Time of the CPU speed probe, ns; `None`: unknown.
    pub(crate) probe_ns: Option<f64>,
}

/// Which load a phase has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum WarmUpPhase {
    Light {
        /// Whether the load may have more connections if the service hardly uses a CPU.
        may_grow: bool,
    },
    Planned,
    /// The load of a window, from its first connection on.
    Rehearsal {
        /// The share of the compiler threads in the rehearsal before it; `None`: there was none since the last pause.
        before: Option<f64>,
    },
}

/// When a phase must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The shortest planned load.
    pub(crate) least: Duration,
    /// The longest phase.
    pub(crate) wall: Duration,
    /// The longest phase in CPU time of the service.
    pub(crate) cpu: Duration,
}

impl Limits {
    /// The limits of a warm-up that ends when the service is steady; `None` for one of fixed length.
    pub(crate) fn of(choice: WarmUpChoice) -> Option<Self> {
        let WarmUpChoice::Steady { least_ns, most_ns } = choice else {
            return None;
        };
        let wall = Duration::from_nanos(most_ns);
        Some(Self {
            least: Duration::from_nanos(least_ns),
            wall,
            // By default 60 of 90 s: another program may take a third of the CPUs.
            cpu: wall * 2 / 3,
        })
    }
}

/// A phase so far.
#[derive(Debug, Clone)]
pub(crate) struct PhaseJudge {
    phase: WarmUpPhase,
    limits: Limits,
    /// Length of the measurement that follows, s.
    measured_s: f64,
    /// How long an earlier start of the same service needed under the same load, s.
    known_s: Option<f64>,
    kind: Option<CompilerKind>,
    slices: Vec<Slice>,
    /// Number of slices before the last break of the load.
    before_break: usize,
}

impl PhaseJudge {
    pub(crate) const fn new(
        phase: WarmUpPhase,
        limits: Limits,
        (measured, known_s): (Duration, Option<f64>),
    ) -> Self {
        Self {
            phase,
            limits,
            measured_s: measured.as_secs_f64(),
            known_s,
            kind: None,
            slices: Vec::new(),
            before_break: 0,
        }
    }

    /// Adds a slice, with what the compiler threads of the service do. Returns how the phase ended, if it has.
    pub(crate) fn push(&mut self, slice: Slice, kind: Option<CompilerKind>) -> Option<Classification> {
        self.slices.push(slice);
        self.kind = self.kind.or(kind);
        let is_idle = self.is_compiler_idle();
        let is_over = match self.phase {
            // Whether the compiler is idle is unknown, and will be.
            WarmUpPhase::Light { .. } if slice.cpu_ns.is_none() => true,
            WarmUpPhase::Light { .. } => is_idle,
            WarmUpPhase::Rehearsal { before } => return self.rehearsed(before),
            WarmUpPhase::Planned => {
                is_idle
                    && self.wall_s() >= self.limits.least.as_secs_f64()
                    && self.has_enough()
                    && self.is_known_to_be_stable()
            }
        };
        if is_over {
            return Some(Classification::Settled);
        }
        let cpu = Duration::from_nanos(self.cpu_ns());
        let is_late = cpu >= self.limits.cpu
            || self.wall_s() >= self.limits.wall.as_secs_f64()
            || self.growth().is_some();
        is_late.then_some(if is_idle {
            Classification::Unsettled
        } else {
            Classification::Warming
        })
    }

    /// Whether the load should pause until the compiler is idle: next to a load with many threads it waits for a CPU most of the time.
    pub(crate) fn needs_break(&self) -> bool {
        let slices = &self.slices[self.before_break..];
        let wall_s: f64 = slices.iter().map(|slice| slice.length_s).sum();
        let is_rehearsal = matches!(self.phase, WarmUpPhase::Rehearsal { .. });
        let is_busy = share(slices).is_some_and(|share| share >= IDLE) && !self.is_compiler_idle();
        !is_rehearsal && is_busy && wall_s >= LOADED_S
    }

    /// The load begins again after a break.
    pub(crate) const fn end_break(&mut self) {
        self.before_break = self.slices.len();
    }

    /// How a rehearsal ended; `None` before its end.
    fn rehearsed(&self, before: Option<f64>) -> Option<Classification> {
        let share = self.settled_share();
        let collects = self.kind == Some(CompilerKind::CompilesAndCollects);
        let is_idle = share.is_none_or(|share| share <= IDLE_IN_REHEARSAL)
            || (collects && has_stopped_falling((before, share)));
        (self.wall_s() >= self.measured_s).then_some(if is_idle {
            Classification::Settled
        } else {
            Classification::Warming
        })
    }

    /// The share of the compiler threads over the last seconds, or over the rehearsal; `None`: there are none, or there was too little
    /// CPU time.
    pub(crate) fn settled_share(&self) -> Option<f64> {
        let last = match self.phase {
            WarmUpPhase::Rehearsal { .. } if self.cpu_ns() >= REHEARSED_CPU_NS => Some(&self.slices[..]),
            WarmUpPhase::Rehearsal { .. } => None,
            _ => self.last(QUIET_S),
        };
        share(last?)
    }

    /// How many times as many connections this light load should have: what a service does for two would take minutes to be compiled.
    /// `None`: it has enough.
    pub(crate) fn growth(&self) -> Option<u32> {
        let may_grow = matches!(self.phase, WarmUpPhase::Light { may_grow: true });
        let wall_s = self.wall_s();
        let cpus = self.cpu_ns() as f64 / 1e9 / wall_s;
        let is_little = wall_s >= QUIET_S && cpus < LITTLE_CPU && !self.is_compiler_idle();
        // On a busy machine a service waits for a CPU, and a larger load would leave its compiler less.
        let is_machine_idle = self
            .slices
            .iter()
            .all(|slice| slice.idle.is_some_and(|idle| idle > IDLE_MACHINE));
        (may_grow && is_little && is_machine_idle).then(|| (LIGHT_CPU / cpus).round() as u32)
    }

    /// CPU time that the service used so far, ns.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.slices.iter().filter_map(|slice| slice.cpu_ns).sum()
    }

    fn wall_s(&self) -> f64 {
        self.slices.iter().map(|slice| slice.length_s).sum()
    }

    /// The last slices with this length and enough CPU time to judge a share.
    fn last(&self, length_s: f64) -> Option<&[Slice]> {
        let (mut wall_s, mut cpu_ns) = (0.0, 0);
        let begin = self.slices.iter().rposition(|slice| {
            wall_s += slice.length_s;
            cpu_ns += slice.cpu_ns.unwrap_or(0);
            wall_s >= length_s && cpu_ns >= JUDGED_CPU_NS
        })?;
        Some(&self.slices[begin..])
    }

    fn is_compiler_idle(&self) -> bool {
        if self.slices.iter().all(|slice| slice.compiler_ns.is_none()) {
            return self.wall_s() >= NO_COMPILER_S;
        }
        let Some(last) = self.last(QUIET_S) else {
            return false;
        };
        let is_idle = share(last).is_some_and(|share| share < IDLE);
        match self.kind {
            Some(CompilerKind::CompilesAndCollects) => is_idle || has_stopped_falling(halves(last, share)),
            _ => is_idle,
        }
    }

    fn has_enough(&self) -> bool {
        let has_compiler = self.slices.iter().any(|slice| slice.compiler_ns.is_some());
        has_compiler || self.slices.iter().map(|slice| slice.completed).sum::<u64>() >= FEWEST_REPLIES
    }

    /// Whether this phase has lasted as long as an earlier start of the service needed, or its cost is shown to be stable.
    fn is_known_to_be_stable(&self) -> bool {
        match self.known_s {
            Some(known_s) => self.wall_s() >= known_s,
            None => self.settled_after_s().is_some(),
        }
    }

    /// The middle of each slice, s, and the logarithm of the cost of a request at the usual speed of the CPUs.
    fn costs(&self) -> Vec<(f64, f64)> {
        let mut end_s = 0.0;
        let mut known = Vec::new();
        for slice in &self.slices {
            if let Some(cost) = slice.cost.filter(|cost| *cost > 0.0) {
                let probe = slice.probe_ns.filter(|ns| *ns > 0.0).unwrap_or(1.0);
                known.push((end_s + slice.length_s / 2.0, (cost.ln(), probe.ln())));
            }
            end_s += slice.length_s;
        }
        let pairs: Vec<(f64, f64)> = known.iter().map(|(_, pair)| *pair).collect();
        let sensitivity = sensitivity(&pairs);
        let costs = known.into_iter();
        costs
            .map(|(at_s, (cost, probe))| (at_s, cost - sensitivity * probe))
            .collect()
    }

    /// The time from which on the cost of a request was stable, s: the start of the longest series of slices up to now over which it
    /// changes by less than [`STABLE`] in the length of the measurement. This is an equivalence test, not the failure of a test to find
    /// a change. `None`: not shown.
    pub(crate) fn settled_after_s(&self) -> Option<f64> {
        if self.slices.iter().all(|slice| slice.cost.is_none()) {
            // Nothing is known about its cost.
            return Some(0.0);
        }
        let points = self.costs();
        let begins = (0..(points.len() + 1).saturating_sub(FEWEST_SLICES))
            .step_by(points.len().div_ceil(SERIES).max(1));
        let mut series = begins.map(|begin| &points[begin..]);
        let is_stable = |series: &&[(f64, f64)]| {
            let slope = slope_interval(series, CONFIDENCE);
            slope.is_some_and(|(low, high)| low.abs().max(high.abs()) * self.measured_s <= STABLE)
        };
        series.find(is_stable).map(|series| series[0].0)
    }
}

/// By which power of the CPU speed probe a cost grows, between 0 and that of calculations, 1.5. By least squares over the changes from
/// each slice to the next, which a slow change of the service hardly affects. Of ln(cost) and ln(probe).
fn sensitivity(slices: &[(f64, f64)]) -> f64 {
    const MOST: f64 = 1.5;
    let changes = slices
        .windows(2)
        .map(|pair| (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1));
    let (mut products, mut squares) = (0.0, 0.0);
    for (cost, probe) in changes {
        products += cost * probe;
        squares += probe * probe;
    }
    if squares > 0.0 {
        (products / squares).clamp(0.0, MOST)
    } else {
        0.0
    }
}

/// The share of the compiler threads in these slices.
fn share(slices: &[Slice]) -> Option<f64> {
    resources(slices).compiler_share()
}

/// The CPU time in these slices.
fn resources(slices: &[Slice]) -> Resources {
    let known = slices.iter().filter_map(|slice| slice.compiler_ns);
    Resources {
        cpu_ns: slices.iter().map(|slice| slice.cpu_ns).sum(),
        compiler_cpu_ns: known.reduce(|sum, ns| sum + ns),
        ..Resources::default()
    }
}

/// The share of the compiler threads in the first half of these slices or windows, and in the second.
fn halves<T>(all: &[T], share: impl Fn(&[T]) -> Option<f64>) -> (Option<f64>, Option<f64>) {
    let (first, second) = all.split_at(all.len() / 2);
    (share(first), share(second))
}

/// Whether the second of two shares is about the first; `false`: that is unknown.
fn has_stopped_falling(shares: (Option<f64>, Option<f64>)) -> bool {
    matches!(shares, (Some(first), Some(second)) if second >= (1.0 - FALLS) * first)
}

/// Whether a service was still compiling while it was measured, from what it used in each of its windows. `settled`: the share of its
/// compiler threads at the end of the warm-up. The window in the middle decides, as it does for the figures of the trial. A share
/// that does not fall from window to window is that of the collection of garbage.
pub(crate) fn is_warming(
    windows: &[Resources],
    (kind, settled): (Option<CompilerKind>, Option<f64>),
) -> bool {
    let allowed = match (kind, settled) {
        (Some(CompilerKind::CompilesAndCollects), Some(settled)) if is_falling(windows) => {
            (MORE_GARBAGE * settled).max(IDLE)
        }
        (Some(CompilerKind::CompilesAndCollects), _) => return false,
        _ => IDLE,
    };
    let shares: Vec<f64> = windows.iter().filter_map(Resources::compiler_share).collect();
    Resources::join(windows).cpu_ns >= Some(JUDGED_CPU_NS) && !shares.is_empty() && median(&shares) > allowed
}

/// Whether the share of the compiler threads fell from the first half of these windows to the second; `true`: that is unknown.
fn is_falling(windows: &[Resources]) -> bool {
    !has_stopped_falling(halves(windows, |half| Resources::join(half).compiler_share()))
}

/// Whether compiler threads are done, from what a service used without load in a window of this length.
pub(crate) fn is_done_compiling(used: &Resources, window: Duration) -> bool {
    let most_ns = IDLE * window.as_nanos() as f64;
    used.compiler_cpu_ns.is_none_or(|ns| ns as f64 <= most_ns)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
