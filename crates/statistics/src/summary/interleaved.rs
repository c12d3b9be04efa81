//! Values of interleaved services: windows of the same cycle are compared with each other.
//!
//! The speed of a shared machine changes from second to second. All services of a block are loaded within one cycle and share the
//! state of the machine, which is therefore an effect of the cycle. The value of a start is what remains of its windows after
//! removing the effects of the cycles by medians: a window that was disturbed more than the others of its cycle counts as one
//! window, however far off it is (median polish, Tukey 1977, chapter 11).
//!
//! The unit of every interval is still the start: this module turns the windows of a start into one value.

use super::sample::ServiceSample;
use super::speed::{WindowSpeed, at_usual_speed};
use crate::Metric;
use crate::design::Table;
use crate::interval::median;
use prony_records::{InterleavedWindow, Measurement};
use std::collections::{BTreeMap, BTreeSet};

/// Number of sweeps over rows and columns. Ten services converge in three or four.
const SWEEPS: usize = 20;

/// Log values of the windows of one start, each with its cycle.
type Windows = Vec<(u32, f64)>;
/// An entry of a block: the index of the service, and the windows of its start.
type Start = (usize, Vec<WindowSpeed>);

/// Values of a metric for each start; `None` unless the services were interleaved and windows have the metric.
pub(crate) fn table(metric: Metric, services: &[ServiceSample<'_>]) -> Option<Table> {
    let of = window_metric(metric)?;
    let mut blocks: BTreeMap<(u32, u32), Vec<Start>> = BTreeMap::new();
    for (service, sample) in services.iter().enumerate() {
        for &(round, measured) in &sample.measured {
            let mut own: BTreeMap<u32, Vec<WindowSpeed>> = BTreeMap::new();
            for window in &measured.interleaved.as_ref()?.windows {
                if let Some(value) = of(window).filter(|value| *value > 0.0 && value.is_finite()) {
                    own.entry(window.block).or_default().push(WindowSpeed {
                        cycle: window.cycle,
                        value: value.ln(),
                        cpu_speed_probe: cpu_speed_probe(metric, window),
                    });
                }
            }
            for (block, windows) in own {
                blocks.entry((round, block)).or_default().push((service, windows));
            }
        }
    }
    if blocks.is_empty() {
        return None;
    }
    at_usual_speed(blocks.values_mut().flatten().map(|(_, windows)| windows));
    let mut rounds: BTreeMap<u32, Vec<Vec<(usize, f64)>>> = BTreeMap::new();
    for ((round, _), starts) in blocks {
        let plain = |windows: Vec<WindowSpeed>| windows.iter().map(|seen| (seen.cycle, seen.value)).collect();
        let starts = starts
            .into_iter()
            .map(|(service, windows)| (service, plain(windows)));
        let (names, windows): (Vec<usize>, Vec<Windows>) = starts.unzip();
        let values = names.into_iter().zip(polish(&windows));
        let known = values.filter_map(|(service, value)| value.map(|value| (service, value)));
        rounds.entry(round).or_default().push(known.collect());
    }
    let mut rows = vec![Vec::new(); services.len()];
    for (round, blocks) in rounds {
        for (service, value) in link_blocks(&blocks) {
            rows[service].push((round, value.exp()));
        }
    }
    Some(rows)
}

/// Whether the services were interleaved.
pub(crate) fn took_turns(measured: &Measurement) -> bool {
    measured.interleaved.is_some()
}

/// Reads a metric from a window; `None` for metrics that short windows cannot measure.
fn window_metric(metric: Metric) -> Option<fn(&InterleavedWindow) -> Option<f64>> {
    match metric {
        Metric::CpuNsPerRequest => Some(InterleavedWindow::cpu_ns_per_request),
        Metric::GoodputPerS => Some(|window| Some(window.goodput_per_s())),
        Metric::ThroughputPerS => Some(|window| Some(window.completed as f64 / window.length_s.max(1e-9))),
        Metric::ResponseTimeNsP50 => Some(|window| window.response_time_ns_p50?.exact().map(|ns| ns as f64)),
        _ => None,
    }
}

/// Logarithm of the duration of the CPU speed probe in a window, if the metric is a CPU time.
fn cpu_speed_probe(metric: Metric, window: &InterleavedWindow) -> Option<f64> {
    let ns = window
        .cpu_speed_probe_ns
        .filter(|ns| *ns > 0.0 && ns.is_finite())?;
    matches!(metric, Metric::CpuNsPerRequest).then(|| ns.ln())
}

/// The log value of each start, without the effects of the cycles, at the level of the median cycle; `None` for a start without
/// windows.
pub(crate) fn polish(starts: &[Windows]) -> Vec<Option<f64>> {
    let cycles: BTreeSet<u32> = starts.iter().flatten().map(|&(cycle, _)| cycle).collect();
    let mut effects: BTreeMap<u32, f64> = cycles.into_iter().map(|cycle| (cycle, 0.0)).collect();
    let mut values: Vec<Option<f64>> = vec![None; starts.len()];
    for _ in 0..SWEEPS {
        for (value, windows) in values.iter_mut().zip(starts) {
            let rest: Vec<f64> = windows
                .iter()
                .map(|(cycle, value)| value - effects[cycle])
                .collect();
            *value = (!rest.is_empty()).then(|| median(&rest));
        }
        // A single start has nothing to be compared with: its median is the result.
        if values.iter().flatten().count() < 2 {
            break;
        }
        for (&cycle, effect) in &mut effects {
            let rest: Vec<f64> = starts
                .iter()
                .zip(&values)
                .flat_map(|(windows, value)| {
                    let of_cycle = windows.iter().filter(move |(theirs, _)| *theirs == cycle);
                    of_cycle.filter_map(move |(_, window)| value.map(|value| window - value))
                })
                .collect();
            *effect = median(&rest);
        }
        let usual = median(&effects.values().copied().collect::<Vec<_>>());
        for effect in effects.values_mut() {
            *effect -= usual;
        }
    }
    values
}

/// Merges the blocks of a round into one value per service. A service in all blocks is their control: the blocks are shifted so
/// that its values agree.
fn link_blocks(blocks: &[Vec<(usize, f64)>]) -> BTreeMap<usize, f64> {
    let in_all = |service: usize| {
        blocks
            .iter()
            .all(|block| block.iter().any(|&(other, _)| other == service))
    };
    let control = blocks.first().and_then(|block| {
        block
            .iter()
            .map(|&(service, _)| service)
            .find(|&service| in_all(service))
    });
    let of = |block: &[(usize, f64)], service: usize| {
        let found = block.iter().find(|&&(other, _)| other == service);
        found.map(|&(_, value)| value)
    };
    let level = control.map(|control| {
        let values: Vec<f64> = blocks.iter().filter_map(|block| of(block, control)).collect();
        values.iter().sum::<f64>() / values.len() as f64
    });
    let mut all = BTreeMap::new();
    for block in blocks {
        let shift = control
            .zip(level)
            .and_then(|(control, level)| Some(level - of(block, control)?))
            .unwrap_or(0.0);
        all.extend(block.iter().map(|&(service, value)| (service, value + shift)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{RngExt as _, SeedableRng as _};

    /// Windows of services with these values, on a machine whose cycles differ by a factor of up to four and where one window in
    /// ten is disturbed.
    fn board(values: &[f64], cycles: u32, seed: u64) -> Vec<Windows> {
        let mut random = SmallRng::seed_from_u64(seed);
        let states: Vec<f64> = (0..cycles).map(|_| random.random_range(0.0..1.4)).collect();
        values
            .iter()
            .map(|value| {
                let windows = (0..cycles).map(|cycle| {
                    let disturbed = if random.random_bool(0.1) { 1.0 } else { 0.0 };
                    let noise = random.random_range(-0.05..0.05) + disturbed;
                    (cycle, value.ln() + states[cycle as usize] + noise)
                });
                windows.collect()
            })
            .collect()
    }

    #[test]
    fn what_all_services_of_a_cycle_share_does_not_move_their_ratios() {
        let values = [1.0, 1.1, 2.0, 4.0];
        for seed in 0..50 {
            let starts = board(&values, 25, seed);
            let found: Vec<f64> = polish(&starts).into_iter().flatten().collect();
            for (index, value) in values.iter().enumerate() {
                let ratio = (found[index] - found[0]).exp();
                assert!(
                    (ratio / value - 1.0).abs() < 0.06,
                    "seed {seed}: {ratio} instead of {value}"
                );
            }
        }
    }

    #[test]
    fn a_service_that_missed_cycles_is_compared_in_those_it_had() {
        let mut starts = board(&[1.0, 2.0, 3.0], 25, 7);
        // It crashed in the middle; the machine was slower in the second half.
        starts[1].truncate(10);
        let found: Vec<f64> = polish(&starts).into_iter().flatten().collect();
        let ratio = (found[1] - found[0]).exp();
        assert!((ratio / 2.0 - 1.0).abs() < 0.08, "{ratio}");
    }

    #[test]
    fn a_start_alone_is_its_median_and_none_is_none() {
        assert_eq!(
            polish(&[vec![(0, 1.0), (1, 5.0), (2, 2.0)], vec![]]),
            [Some(2.0), None]
        );
    }

    #[test]
    fn blocks_are_linked_by_the_service_in_all_of_them() {
        // The second block ran while the machine was half as fast, as its control shows.
        let found = link_blocks(&[vec![(0, 0.0), (1, 1.0)], vec![(0, 0.7), (2, 1.2)]]);
        assert!((found[&2] - found[&1] - (-0.5)).abs() < 1e-12, "{found:?}");
    }
}
