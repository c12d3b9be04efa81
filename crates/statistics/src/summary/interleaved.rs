//! What the starts of services that took turns are worth: windows of one cycle are compared with each other.
//!
//! A machine that is used by others as well changes from second to second. All services of a block are loaded within one
//! cycle, so what the machine was like then is an effect of the cycle that all of them share. A start's value is what is
//! left of its windows when the effects of the cycles are taken out, by medians: a window that was disturbed more than the
//! others of its cycle counts as one window, however far it is off (median polish, Tukey 1977, chapter 11).
//!
//! The unit of every interval stays the start: this page turns the windows of a start into one value.

use super::sample::ServiceSample;
use super::speed::{Seen, at_usual_speed};
use crate::Metric;
use crate::design::Table;
use crate::interval::median::median;
use prony_records::{Measurement, TurnWindow};
use std::collections::{BTreeMap, BTreeSet};

/// Sweeps of rows and columns. Ten services settle in three or four.
const SWEEPS: usize = 20;

/// Log values of the windows of one start, with their cycle.
type Windows = Vec<(u32, f64)>;
/// What stands in a block: the service, and the windows of its start.
type Start = (usize, Vec<Seen>);

/// Values of a metric for each start, where services took turns and windows have the metric; else `None`.
pub(crate) fn table(metric: Metric, services: &[ServiceSample<'_>]) -> Option<Table> {
    let of = window_metric(metric)?;
    let mut blocks: BTreeMap<(u32, u32), Vec<Start>> = BTreeMap::new();
    for (service, sample) in services.iter().enumerate() {
        for &(round, measured) in &sample.measured {
            let mut own: BTreeMap<u32, Vec<Seen>> = BTreeMap::new();
            for window in &measured.turns.as_ref()?.windows {
                if let Some(value) = of(window).filter(|value| *value > 0.0 && value.is_finite()) {
                    own.entry(window.block).or_default().push(Seen {
                        cycle: window.cycle,
                        value: value.ln(),
                        yardstick: yardstick(metric, window),
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
        let plain = |windows: Vec<Seen>| windows.iter().map(|seen| (seen.cycle, seen.value)).collect();
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
        for (service, value) in linked(&blocks) {
            rows[service].push((round, value.exp()));
        }
    }
    Some(rows)
}

/// Whether a group took turns.
pub(crate) fn took_turns(measured: &Measurement) -> bool {
    measured.turns.is_some()
}

/// What a window says of a metric; `None` for metrics that short windows cannot tell.
fn window_metric(metric: Metric) -> Option<fn(&TurnWindow) -> Option<f64>> {
    match metric {
        Metric::CpuNsPerRequest => Some(TurnWindow::cpu_ns_per_request),
        Metric::GoodputPerS => Some(|window| Some(window.goodput_per_s())),
        Metric::ThroughputPerS => Some(|window| Some(window.completed as f64 / window.length_s.max(1e-9))),
        Metric::ResponseTimeNsP50 => Some(|window| window.response_time_ns_p50?.exact().map(|ns| ns as f64)),
        _ => None,
    }
}

/// Logarithm of what the yardstick took in a window, where the metric is a time of the CPU.
fn yardstick(metric: Metric, window: &TurnWindow) -> Option<f64> {
    let ns = window.yardstick_ns.filter(|ns| *ns > 0.0 && ns.is_finite())?;
    matches!(metric, Metric::CpuNsPerRequest).then(|| ns.ln())
}

/// The log value of each start, free of the effects of the cycles, at the level of the usual cycle; `None` for a start
/// without windows.
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
        // One start alone has nothing to be compared with: its median stands.
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

/// The starts of a round, one value for each service. A service that stands in several blocks is their control: the blocks
/// are put at the level at which it agrees with itself.
fn linked(blocks: &[Vec<(usize, f64)>]) -> BTreeMap<usize, f64> {
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

    /// Windows of services with these values, under a machine whose cycles differ by a factor of up to four, where one
    /// window in ten is disturbed.
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
        // It died in the middle; the machine was slower in the second half.
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
    fn blocks_are_linked_by_the_service_that_stands_in_all() {
        // The second block ran while the machine was half as fast: its control says so.
        let found = linked(&[vec![(0, 0.0), (1, 1.0)], vec![(0, 0.7), (2, 1.2)]]);
        assert!((found[&2] - found[&1] - (-0.5)).abs() < 1e-12, "{found:?}");
    }
}
