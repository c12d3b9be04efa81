//! When a service that takes turns is warm: a function of what its warm-up used, without a clock or a process.
//!
//! A runtime that compiles needs CPU time to become warm, not time on the wall: on a machine that others use as well, the same
//! seconds hold half of it. So the bounds of the warm-up count the CPU time that the service used, and it is steady when the
//! CPU time of a request stays the same.

use prony_config::WarmUpChoice;
use prony_records::Classification;
use std::time::Duration;

/// A warm-up may take this many times its longest CPU time on the wall: a service that waits more than it works never uses
/// its CPU time.
const WALL: u32 = 4;
/// Pieces at the end that must agree with as many before them.
const ALIKE: usize = 4;
/// CPU times per request that differ by less than this share are the same.
const SAME: f64 = 0.03;

/// What a service did in a piece of its warm-up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WarmUpSlice {
    /// CPU time that it used, ns; `None` where this machine cannot tell.
    pub(crate) cpu_ns: Option<u64>,
    /// Complete replies.
    pub(crate) completed: u64,
    /// Length, s.
    pub(crate) length_s: f64,
}

/// The warm-up so far.
#[derive(Debug, Clone)]
pub(crate) struct WarmUpProgress {
    least: Duration,
    most: Duration,
    steady: bool,
    pieces: Vec<WarmUpSlice>,
}

impl WarmUpProgress {
    /// Nothing yet.
    pub(crate) const fn new(choice: WarmUpChoice) -> Self {
        let (least_ns, most_ns, steady) = match choice {
            WarmUpChoice::FixedNs(ns) => (ns, ns, false),
            WarmUpChoice::Steady { least_ns, most_ns } => (least_ns, most_ns, true),
        };
        Self {
            least: Duration::from_nanos(least_ns),
            most: Duration::from_nanos(most_ns),
            steady,
            pieces: Vec::new(),
        }
    }

    /// The longest time on the wall that it may take.
    pub(crate) const fn wall(&self) -> Duration {
        self.most.saturating_mul(WALL)
    }

    /// The next piece. Says how the warm-up ended, where it has.
    pub(crate) fn push(&mut self, piece: WarmUpSlice) -> Option<Classification> {
        self.pieces.push(piece);
        let used = Duration::from_nanos(self.used_ns());
        let wall = Duration::from_secs_f64(self.pieces.iter().map(|piece| piece.length_s).sum());
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

    /// CPU time that the service used so far, ns; where it is not known, the time on the wall.
    pub(crate) fn used_ns(&self) -> u64 {
        let of = |piece: &WarmUpSlice| piece.cpu_ns.unwrap_or((piece.length_s * 1e9) as u64);
        self.pieces.iter().map(of).sum()
    }

    /// What a request costs in a piece: CPU time where it is known, else time.
    fn cost(piece: &WarmUpSlice) -> Option<f64> {
        let used = piece.cpu_ns.map_or(piece.length_s * 1e9, |ns| ns as f64);
        (piece.completed > 0).then(|| used / piece.completed as f64)
    }

    /// The last pieces against as many before them, as a difference of logarithms.
    fn trend(&self) -> Option<f64> {
        let costs: Vec<f64> = self.pieces.iter().filter_map(Self::cost).collect();
        let last = costs.len().checked_sub(ALIKE)?;
        let before = last.checked_sub(ALIKE)?;
        Some((middle(&costs[last..]) / middle(&costs[before..last])).ln())
    }

    fn shape(&self) -> Classification {
        let costs: Vec<f64> = self.pieces.iter().filter_map(Self::cost).collect();
        let (first, last) = (costs[0], middle(&costs[costs.len() - ALIKE..]));
        if (first / last).ln() > SAME {
            Classification::WarmedUp
        } else {
            Classification::Flat
        }
    }
}

fn middle(values: &[f64]) -> f64 {
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
            let piece = WarmUpSlice {
                cpu_ns: Some((cpu * 1e9) as u64),
                completed: (cpu * 1e9 / cost_ns(used)) as u64,
                length_s: 0.25,
            };
            if let Some(verdict) = warmth.push(piece) {
                let wall = warmth.pieces.len() as f64 * 0.25;
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
