//! Seeded simulations that check intervals and decisions against a known truth. `docs/METHOD.md` cites their output (`cargo test
//! -p prony-statistics simulation -- --nocapture`).

mod adjustments;
mod boards;
mod changes;
mod coverage;
mod gates;
mod results;
mod sequential;
mod starts;
mod studentized_range;

use crate::design::Table;
use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};

/// The noise of log values around a truth of 0, with a standard deviation of 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Noise {
    Normal,
    /// Gamma with shape 4: skewness 1, with the long tail on the slow side.
    Skewed,
    /// Student's t with three degrees of freedom: the variance is finite, the fourth moment is not.
    HeavyTailed,
    /// One start in five gets a slow mode, 2.5 deviations away from the others, like a memory layout or a compiler decision that
    /// lasts for the life of a process. The truth is the mean over both modes.
    TwoModes,
    /// Two modes so far apart that nearly all of the variance is between them: a third of all sets of five starts see only one.
    FarModes,
}

const NOISES: [Noise; 4] = [Noise::Normal, Noise::Skewed, Noise::HeavyTailed, Noise::TwoModes];

/// The share of starts in the slow mode, and its distance in standard deviations of a mode.
const SLOW_STARTS: f64 = 0.2;
const SLOWER_BY: f64 = 2.5;
const FAR_SLOWER_BY: f64 = 10.0;

struct Source(SmallRng);

impl Source {
    fn new(seed: u64) -> Self {
        Self(SmallRng::seed_from_u64(seed))
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.0.random::<f64>()).ln()
    }

    fn normal(&mut self) -> f64 {
        let angle = 2.0 * std::f64::consts::PI * self.0.random::<f64>();
        (2.0 * self.exponential()).sqrt() * angle.cos()
    }

    fn draw(&mut self, noise: Noise) -> f64 {
        match noise {
            Noise::Normal => self.normal(),
            Noise::Skewed => (4.0 - (0..4).map(|_| self.exponential()).sum::<f64>()) / 2.0,
            Noise::HeavyTailed => {
                let square: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
                self.normal() / square.sqrt()
            }
            Noise::TwoModes => self.of_two_modes(SLOWER_BY),
            Noise::FarModes => self.of_two_modes(FAR_SLOWER_BY),
        }
    }

    fn of_two_modes(&mut self, slower_by: f64) -> f64 {
        let is_slow = self.0.random::<f64>() < SLOW_STARTS;
        let mode = if is_slow { -slower_by } else { 0.0 };
        let variance = 1.0 + slower_by.powi(2) * SLOW_STARTS * (1.0 - SLOW_STARTS);
        (self.normal() + mode + SLOW_STARTS * slower_by) / variance.sqrt()
    }

    /// Log values of a ranking: rounds affect all services alike, and each service has its own mean and deviation.
    fn board(&mut self, board: &SimulatedGroup, noise: Noise) -> Table {
        let rounds: Vec<f64> = (0..board.rounds)
            .map(|round| {
                let place = f64::from(round) - 0.5 * f64::from(board.rounds - 1);
                board.round_deviation * self.normal() + board.slope * place
            })
            .collect();
        let services = board.means.iter().zip(&board.deviations);
        services
            .map(|(mean, deviation)| {
                let cells = rounds.iter().enumerate();
                cells
                    .map(|(round, level)| (round as u32, mean + level + deviation * self.draw(noise)))
                    .collect()
            })
            .collect()
    }
}

/// A group of services whose true values are known.
#[derive(Debug, Clone)]
struct SimulatedGroup {
    means: Vec<f64>,
    deviations: Vec<f64>,
    rounds: u32,
    /// Standard deviation of the effect of a round on all services.
    round_deviation: f64,
    /// Change from round to round.
    slope: f64,
}

impl SimulatedGroup {
    /// Equal services on a quiet machine.
    fn equal(services: usize, rounds: u32) -> Self {
        Self {
            means: vec![0.0; services],
            deviations: vec![1.0; services],
            rounds,
            round_deviation: 0.0,
            slope: 0.0,
        }
    }
}

/// Deviations of services of which the last is noisier than the others.
fn one_loud(services: usize, times: f64) -> Vec<f64> {
    let mut deviations = vec![1.0; services];
    deviations[services - 1] = times;
    deviations
}

/// Deviations of services, rising by a factor of four.
fn spread(services: u32) -> Vec<f64> {
    let step = |service: u32| f64::from(service) / f64::from(services - 1) * 1.4 - 0.7;
    (0..services).map(|service| step(service).exp()).collect()
}

/// Three standard errors of a share of `boards`.
fn slack(share: f64, boards: usize) -> f64 {
    3.0 * (share * (1.0 - share) / boards as f64).sqrt()
}

/// Hits in independent repetitions of several dependent tries, with a standard error that respects the dependence.
#[derive(Debug, Clone, Default)]
struct Tally {
    shares: Vec<f64>,
}

impl Tally {
    fn add(&mut self, hits: usize, tries: usize) {
        self.shares.push(hits as f64 / tries as f64);
    }

    fn share(&self) -> f64 {
        crate::interval::mean(&self.shares)
    }

    /// Standard error, at least the effect of one hit more or less.
    fn error(&self) -> f64 {
        let count = self.shares.len() as f64;
        (crate::interval::squares(&self.shares) / (count - 1.0) / count)
            .sqrt()
            .max(1.0 / count)
    }
}
