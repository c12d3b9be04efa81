//! One process start for all workloads of a contract: sharing starts must not make the intervals of a workload too narrow.

use super::coverage::shown;
use super::{Source, Tally, slack};
use crate::design::Table;
use crate::ranking::all_differences;
use rand::seq::SliceRandom as _;

const SERVICES: usize = 8;
const WORKLOADS: usize = 5;
const BOARDS: usize = 1_000;
/// Deviations of the effect of a round on all services, of the difference between starts, and of the difference between the loads
/// of a start.
const ROUND: f64 = 0.5;
const START: f64 = 1.0;
const LOAD: f64 = 0.5;
/// A service gets faster by this amount with each load that its process has served before.
const WARMER: f64 = 0.4;

/// Whether trials share process starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Starts {
    Fresh,
    Shared,
}

/// A table for each workload. All services are equally fast; the truth of a shared start is its mean over all positions.
fn boards(source: &mut Source, starts: Starts, rounds: u32) -> Vec<Table> {
    // Services first, since a start belongs to one service.
    let mut services = vec![vec![Vec::new(); WORKLOADS]; SERVICES];
    for round in 0..rounds {
        let level: Vec<f64> = (0..WORKLOADS).map(|_| ROUND * source.normal()).collect();
        for tables in &mut services {
            let shared = START * source.normal();
            let mut places: Vec<usize> = (0..WORKLOADS).collect();
            places.shuffle(&mut source.0);
            for (workload, place) in places.into_iter().enumerate() {
                let (start, warmth) = match starts {
                    Starts::Fresh => (START * source.normal(), 0.0),
                    Starts::Shared => (shared, WARMER * (place as f64 - 0.5 * (WORKLOADS - 1) as f64)),
                };
                let value = level[workload] + start + warmth + LOAD * source.normal();
                tables[workload].push((round, value));
            }
        }
    }
    (0..WORKLOADS)
        .map(|workload| services.iter().map(|tables| tables[workload].clone()).collect())
        .collect()
}

/// The share of intervals that contain the truth, its standard error, and the share of workloads with a false difference.
fn simulate(starts: Starts, rounds: u32) -> (f64, f64, f64) {
    let mut source = Source::new(41);
    let (mut held, mut wrong) = (Tally::default(), 0usize);
    for _ in 0..BOARDS {
        let mut hits = 0;
        for table in boards(&mut source, starts, rounds) {
            let intervals = shown(&table, 0.95);
            hits += intervals.iter().filter(|interval| interval.contains(0.0)).count();
            let found = all_differences(&table, 0.95).1;
            wrong += usize::from(found.iter().any(|pair| pair.p_adjusted <= 0.05));
        }
        held.add(hits, SERVICES * WORKLOADS);
    }
    (
        held.share(),
        held.error(),
        wrong as f64 / (BOARDS * WORKLOADS) as f64,
    )
}

#[test]
fn a_shared_start_makes_no_interval_bolder() {
    for rounds in [3, 5, 10] {
        let (fresh, _, _) = simulate(Starts::Fresh, rounds);
        let (shared, error, wrong) = simulate(Starts::Shared, rounds);
        println!(
            "{rounds} rounds: {:.2} % of intervals contain the truth with shared starts, {:.2} % with fresh ones; a false difference in \
             {:.2} % of workloads",
            100.0 * shared,
            100.0 * fresh,
            100.0 * wrong
        );
        assert!(shared > 0.95 - 3.0 * error, "{rounds} rounds: {shared} ± {error}");
        assert!(shared > fresh - 0.01, "{rounds} rounds: {shared}, fresh {fresh}");
        assert!(wrong < 0.05 + slack(0.05, BOARDS), "{rounds} rounds: {wrong}");
    }
}
