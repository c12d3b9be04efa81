//! The additive model, value = service + round + rest, fitted by least squares. Cells may be missing where a trial failed or a
//! round ran only some of the services.

use super::matrix::Symmetric;

/// Values by service and round.
#[derive(Debug, Clone)]
pub(crate) struct Cells {
    /// For each service, its values with the index of their round.
    services: Vec<Vec<(usize, f64)>>,
    rounds: usize,
}

/// The fitted model, in the terms of the classical analysis: Scheffé (1959), chapter 4; for missing cells Searle, Casella and
/// `McCulloch` (1992), chapter 5.
#[derive(Debug, Clone)]
pub(crate) struct Additive {
    /// Mean of each service, adjusted to all rounds.
    pub(crate) means: Vec<f64>,
    /// The part of each value that neither service nor round explains, by service.
    pub(crate) residuals: Vec<Vec<f64>>,
    /// Variance of the residuals.
    pub(crate) rest_variance: f64,
    /// Degrees of freedom of `rest_variance`.
    pub(crate) rest_freedom: f64,
    /// Mean square of the rounds, adjusted for services.
    rounds_square: f64,
    /// Coefficient of the variance between rounds in the expectation of `rounds_square`.
    rounds_weight: f64,
    inverse: Symmetric,
}

impl Cells {
    /// Takes the values of each service with the number of their round.
    pub(crate) fn new(services: &[Vec<(u32, f64)>]) -> Self {
        let mut numbers: Vec<u32> = services.iter().flatten().map(|&(round, _)| round).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let index = |round: u32| numbers.partition_point(|&known| known < round);
        let placed = services.iter().map(|cells| {
            cells
                .iter()
                .map(|&(round, value)| (index(round), value))
                .collect()
        });
        Self {
            services: placed.collect(),
            rounds: numbers.len(),
        }
    }

    fn count(&self) -> usize {
        self.services.iter().map(Vec::len).sum()
    }

    fn per_round(&self, of: impl Fn(usize, f64) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.rounds];
        for (service, cells) in self.services.iter().enumerate() {
            for &(round, value) in cells {
                sums[round] += of(service, value);
            }
        }
        sums
    }

    /// Fits the model. `None` with fewer than two services or rounds, without a residual degree of freedom, or if services cannot
    /// be linked through common rounds.
    pub(crate) fn fit(&self) -> Option<Additive> {
        let (services, rounds) = (self.services.len(), self.rounds);
        let rest_freedom = (self.count() + 1).checked_sub(services + rounds)?;
        if services < 2 || rounds < 2 || rest_freedom == 0 {
            return None;
        }
        let sizes = self.per_round(|_, _| 1.0);
        let inverse = self.information(&sizes).inverse()?;
        let effects = inverse.times(&self.adjusted_totals(&sizes));
        let round_effects: Vec<f64> = self
            .per_round(|service, value| value - effects[service])
            .iter()
            .zip(&sizes)
            .map(|(sum, size)| sum / size)
            .collect();
        let level = round_effects.iter().sum::<f64>() / rounds as f64;
        let residuals: Vec<Vec<f64>> = self
            .services
            .iter()
            .zip(&effects)
            .map(|(cells, effect)| {
                cells
                    .iter()
                    .map(|&(round, value)| value - effect - round_effects[round])
                    .collect()
            })
            .collect();
        let rest: f64 = residuals.iter().flatten().map(|value| value * value).sum();
        let within: f64 = self.services.iter().map(|cells| squares_of(cells)).sum();
        let rounds_freedom = (rounds - 1) as f64;
        Some(Additive {
            means: effects.iter().map(|effect| effect + level).collect(),
            rest_variance: rest / rest_freedom as f64,
            rest_freedom: rest_freedom as f64,
            rounds_square: (within - rest).max(0.0) / rounds_freedom,
            rounds_weight: (self.count() - services) as f64 / rounds_freedom,
            residuals,
            inverse,
        })
    }

    /// The normal equations of the services after eliminating the rounds. Adding a constant makes them regular: it fixes the sum
    /// of the effects and leaves differences unchanged.
    fn information(&self, sizes: &[f64]) -> Symmetric {
        let services = self.services.len();
        let mut shared = vec![0.0; services * services];
        for (row, cells) in self.services.iter().enumerate() {
            for &(round, _) in cells {
                for (column, others) in self.services.iter().enumerate() {
                    if others.iter().any(|&(theirs, _)| theirs == round) {
                        shared[row * services + column] += 1.0 / sizes[round];
                    }
                }
            }
        }
        Symmetric::new(services, |row, column| {
            let own = if row == column {
                self.services[row].len() as f64
            } else {
                0.0
            };
            own - shared[row * services + column] + 1.0
        })
    }

    fn adjusted_totals(&self, sizes: &[f64]) -> Vec<f64> {
        let sums = self.per_round(|_, value| value);
        let total = |cells: &Vec<(usize, f64)>| {
            cells
                .iter()
                .map(|&(round, value)| value - sums[round] / sizes[round])
                .sum()
        };
        self.services.iter().map(total).collect()
    }
}

fn squares_of(cells: &[(usize, f64)]) -> f64 {
    let mean = cells.iter().map(|&(_, value)| value).sum::<f64>() / cells.len() as f64;
    cells.iter().map(|&(_, value)| (value - mean).powi(2)).sum()
}

impl Additive {
    /// The share of a trial's variance that comes from rounds, 0 to 1, from the mean squares of rounds and residuals.
    pub(crate) fn rounds_share(&self) -> f64 {
        let between = ((self.rounds_square - self.rest_variance) / self.rounds_weight).max(0.0);
        let all = between + self.rest_variance;
        if all > 0.0 { between / all } else { 0.0 }
    }

    /// The factor between the variance of a trial and the variance of a difference: 2/r with r rounds if no cell is missing.
    pub(crate) fn difference_factor(&self, left: usize, right: usize) -> f64 {
        let factor =
            self.inverse.at(left, left) + self.inverse.at(right, right) - 2.0 * self.inverse.at(left, right);
        factor.max(0.0)
    }
}
