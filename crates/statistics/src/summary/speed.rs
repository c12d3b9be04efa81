//! Corrects CPU times to the usual speed of the CPUs.
//!
//! A CPU of a virtual machine slows down when others use the other half of its core, and no counter shows it. So the CPU speed
//! probe, a constant piece of work, is timed along with each window. The common variation of probe and metric from one window of
//! a start to the next is removed: an analysis of covariance (Fisher 1932) whose slope is estimated from the windows themselves.
//! With few windows it is 1: a request takes as much longer as the probe. With it three quiet runs agreed within 3 % although the
//! probe's mean differed by 40 % (`research/method-notes.md`).

use crate::interval::median;

/// Fewest steps from one window to the next for estimating the slope.
const FEWEST_STEPS: usize = 40;
/// The slope with fewer steps.
const USUAL: f64 = 1.0;
/// Upper limit of the slope: how much a service slows down with the probe, as a power of it.
const STEEPEST: f64 = 1.5;

/// The value of one window of a start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WindowSpeed {
    pub(super) cycle: u32,
    /// Logarithm of the metric.
    pub(super) value: f64,
    /// Logarithm of the duration of the CPU speed probe, if it is known and the metric depends on CPU speed.
    pub(super) cpu_speed_probe: Option<f64>,
}

/// Corrects all windows to the median speed of the group. Changes nothing if the probe of any window is unknown.
pub(super) fn at_usual_speed<'a>(starts: impl Iterator<Item = &'a mut Vec<WindowSpeed>>) {
    let mut starts: Vec<&mut Vec<WindowSpeed>> = starts.collect();
    let Some(speeds) = starts
        .iter()
        .flat_map(|windows| windows.iter())
        .map(|window| window.cpu_speed_probe)
        .collect::<Option<Vec<f64>>>()
        .filter(|speeds| !speeds.is_empty())
    else {
        return;
    };
    let slope = slope(&starts);
    let usual = median(&speeds);
    for window in starts.iter_mut().flat_map(|windows| windows.iter_mut()) {
        if let Some(speed) = window.cpu_speed_probe {
            window.value -= slope * (speed - usual);
        }
    }
}

/// The slope of the value over the probe, both as steps from one window of a start to the next. It minimises the sum of absolute
/// deviations, so single disturbed windows do not move it. Slow drifts, such as a JIT compiler that is still warming up, cancel.
fn slope(starts: &[&mut Vec<WindowSpeed>]) -> f64 {
    let step = |pair: &[WindowSpeed]| {
        let moved = pair[1].cpu_speed_probe? - pair[0].cpu_speed_probe?;
        (moved != 0.0).then(|| ((pair[1].value - pair[0].value) / moved, moved.abs()))
    };
    let pairs = starts.iter().flat_map(|windows| windows.windows(2));
    let mut steps: Vec<(f64, f64)> = pairs.filter_map(step).collect();
    if steps.len() < FEWEST_STEPS {
        return USUAL;
    }
    steps.sort_by(|one, other| one.0.total_cmp(&other.0));
    let half = steps.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut below = 0.0;
    let middle = steps.iter().find(|(_, weight)| {
        below += weight;
        below >= half
    });
    middle.map_or(0.0, |(slope, _)| slope.clamp(0.0, STEEPEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{RngExt as _, SeedableRng as _};

    /// Starts of 20 windows. CPU speed differs between starts and between windows, and the value follows it with this power. The
    /// probe is accurate to 5 %.
    fn starts(follows: f64, random: &mut SmallRng) -> Vec<Vec<WindowSpeed>> {
        let start = |random: &mut SmallRng| {
            let level = random.random_range(-0.15..0.15);
            let window = |(cycle, random): (u32, &mut SmallRng)| {
                let speed = level + random.random_range(-0.3..0.3);
                WindowSpeed {
                    cycle,
                    value: follows * speed + random.random_range(-0.1..0.1),
                    cpu_speed_probe: Some(speed + random.random_range(-0.05..0.05)),
                }
            };
            (0..20).map(|cycle| window((cycle, random))).collect()
        };
        (0..10).map(|_| start(random)).collect()
    }

    /// Standard deviation of the means of starts.
    fn spread(starts: &[Vec<WindowSpeed>]) -> f64 {
        let mean = |windows: &Vec<WindowSpeed>| {
            windows.iter().map(|seen| seen.value).sum::<f64>() / windows.len() as f64
        };
        let means: Vec<f64> = starts.iter().map(mean).collect();
        let all = means.iter().sum::<f64>() / means.len() as f64;
        let squares: f64 = means.iter().map(|mean| (mean - all).powi(2)).sum();
        (squares / (means.len() - 1) as f64).sqrt()
    }

    #[test]
    fn what_slow_cpus_add_is_taken_out() {
        let mut random = SmallRng::seed_from_u64(3);
        for _ in 0..20 {
            let mut seen = starts(1.0, &mut random);
            let before = spread(&seen);
            at_usual_speed(seen.iter_mut());
            let after = spread(&seen);
            assert!(after < before / 2.0, "{before} became {after}");
        }
    }

    #[test]
    fn an_uncorrelated_cpu_speed_probe_changes_little() {
        let mut random = SmallRng::seed_from_u64(5);
        let (mut before, mut after) = (0.0, 0.0);
        for _ in 0..20 {
            let mut seen = starts(0.0, &mut random);
            before += spread(&seen);
            at_usual_speed(seen.iter_mut());
            after += spread(&seen);
        }
        assert!(after < 1.2 * before, "{before} became {after}");
    }

    #[test]
    fn a_window_without_a_yardstick_leaves_all_as_they_are() {
        let mut seen = starts(1.0, &mut SmallRng::seed_from_u64(7));
        seen[3][4].cpu_speed_probe = None;
        let before = seen.clone();
        at_usual_speed(seen.iter_mut());
        assert_eq!(seen, before);
    }

    #[test]
    fn few_windows_are_corrected_in_proportion() {
        let window = |value, probe| WindowSpeed {
            cycle: 0,
            value,
            cpu_speed_probe: Some(probe),
        };
        let mut seen = vec![vec![window(3.0, 1.0), window(3.2, 1.2), window(2.9, 0.9)]];
        at_usual_speed(seen.iter_mut());
        assert!(
            seen[0].iter().all(|window| (window.value - 3.0).abs() < 1e-12),
            "{seen:?}"
        );
    }
}
