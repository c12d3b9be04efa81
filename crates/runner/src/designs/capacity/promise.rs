//! Whether a service sustains the rate that a search found, measured once more: simulated.

use super::tests::{open, recording};
use super::*;
use prony_load::{Rate, Search, Spacing};
use prony_records::Histogram;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

/// Starts of a service whose replies take half a millisecond of its only CPU, one after the other.
const SERVICE_S: f64 = 0.000_5;
/// Standard deviation of the logarithm of that time: from start to start, and from second to second of a machine that others use.
const OF_STARTS: f64 = 0.04;
const OF_SECONDS: f64 = 0.08;
/// Precision of the searches.
const PRECISION: f64 = 0.1;
/// Correlation of adjacent seconds.
const CORRELATION: f64 = 0.7;

/// A start of a service. It is a queue at which requests arrive at random.
struct Queue {
    random: SmallRng,
    /// Its speed in this second, as logarithms.
    of_start: f64,
    of_second: f64,
}

impl Queue {
    fn new(seed: u64) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let of_start = OF_STARTS * normal(&mut random);
        Self {
            random,
            of_start,
            of_second: 0.0,
        }
    }

    /// What a load of this rate and length records.
    fn load(&mut self, rate: f64, length: Duration) -> Recording {
        let length_s = length.as_secs_f64();
        let (mut at_s, mut free_s, mut second) = (0.0, 0.0_f64, -1.0);
        let (mut times, mut due, mut within) = (Histogram::new(), 0, 0);
        loop {
            at_s += -(1.0 - self.random.random::<f64>()).ln() / rate;
            if at_s >= length_s {
                break;
            }
            if f64::floor(at_s) > second {
                second = f64::floor(at_s);
                let new = (1.0 - CORRELATION * CORRELATION).sqrt() * normal(&mut self.random);
                self.of_second = CORRELATION * self.of_second + OF_SECONDS * new;
            }
            free_s = free_s.max(at_s) + SERVICE_S * (self.of_start + self.of_second).exp();
            due += 1;
            within += u64::from(free_s < length_s);
            times.record(((free_s - at_s) * 1e9) as u64);
        }
        let mut seen = recording(due, due, within);
        seen.duration_s = length_s;
        seen.goodput_per_s = within as f64 / length_s;
        seen.histogram = times.encode();
        seen
    }
}

fn normal(random: &mut SmallRng) -> f64 {
    let angle = 2.0 * std::f64::consts::PI * random.random::<f64>();
    (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt() * angle.cos()
}

/// The rate that a search finds in this start.
fn found(queue: &mut Queue) -> f64 {
    let load = open(Spacing::Poisson);
    let search = Search {
        objective: "p99<10ms".parse().expect("an objective"),
        limit: Rate::per_second(200_000.0).expect("a rate"),
        precision: PRECISION,
        step_ns: 300_000_000,
    };
    let steps = CapacitySteps::running(&load, &search, Duration::from_secs(30));
    let mut load_once = |rate: f64, length: Duration| Ok::<_, CommandError>(queue.load(rate, length));
    let result = search_running(steps, &mut load_once, &mut |_| {}).expect("an end");
    match result.end {
        SearchStep::Found(rate) => rate,
        end => panic!("{end:?}"),
    }
}

fn sustains(queue: &mut Queue, rate: f64) -> bool {
    let seen = queue.load(rate, Duration::from_secs(30));
    let objective = "p99<10ms".parse().expect("an objective");
    let (missed, _) = misses(&objective, &seen, rate, 64.0).expect("no fault of the machine");
    missed.is_empty()
}

#[test]
fn a_further_measurement_meets_the_objective_at_the_sustained_rate() {
    let starts = 100;
    let (mut held, mut held_below) = (0, 0);
    for seed in 0..starts {
        let mut queue = Queue::new(seed);
        let rate = found(&mut queue);
        held += u64::from(sustains(&mut queue, rate));
        held_below += u64::from(sustains(&mut queue, sustained(rate, PRECISION)));
    }
    let share = |held: u64| held as f64 / starts as f64;
    println!(
        "of {starts} further measurements {:.3} hold at the rate that was found, {:.3} at that which is sustained",
        share(held),
        share(held_below)
    );
    // Of 200 it was 95.5 %; the share of a hundred varies by 2 %.
    assert!(share(held_below) >= 0.91, "{}", share(held_below));
}

/// The same for rankings: a further start at the lower bound for it, over five starts.
#[test]
fn a_further_start_meets_the_objective_at_the_bound_of_five() {
    // One-sided 95 %, four degrees of freedom.
    const STUDENT: f64 = 2.132;
    let groups = 25;
    let mut held = 0;
    for group in 0..groups {
        let logs = (0..5).map(|start| found(&mut Queue::new(1_000 + 6 * group + start)).ln());
        let logs: Vec<f64> = logs.collect();
        let mean = logs.iter().sum::<f64>() / 5.0;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 4.0;
        let bound = (mean - STUDENT * (variance * 1.2).sqrt()).exp();
        held += u64::from(sustains(&mut Queue::new(1_005 + 6 * group), bound));
    }
    let share = held as f64 / groups as f64;
    println!("{share:.3} of {groups} further starts hold at the bound of five");
    assert!(share >= 0.95, "{share}");
}
