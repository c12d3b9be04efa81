//! Sources of variation, after Kalibera and Jones (2013): between builds, between starts of a build, within a start.

use crate::StatisticsError;
use crate::distribution::student_two_sided;
use serde::{Deserialize, Serialize};

/// Maximum number of trials that [`Variation::trials_needed`] considers.
const MOST_TRIALS: u32 = 100_000;

/// A level at which results vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// From one interval to the next within a start.
    WithinStart,
    /// From one fresh start to the next.
    BetweenStarts,
    /// From one build to the next.
    BetweenBuilds,
}

/// The variation that one level contributes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Component {
    /// Level that the variation comes from.
    pub level: Level,
    /// Standard deviation on the log scale that this level adds on its own (0.01 is about 1 %).
    pub deviation: f64,
    /// Its share of the variance of a trial, 0 to 1.
    pub share: f64,
}

/// The components of a service's variance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variation {
    /// One per level, from within a start outwards.
    pub components: Vec<Component>,
    /// The level with the largest share of the variance of a trial: the level at which repeating helps most.
    pub dominant: Level,
    /// Standard deviation of a whole trial on the log scale.
    pub trial_deviation: f64,
}

/// Splits the variance of logarithms into levels. `builds` contains builds of starts of intervals; with a single build there is
/// no level of builds.
///
/// Variance components of the nested design, T²ᵢ = S²ᵢ − S²ᵢ₋₁/nᵢ₋₁ (Kalibera and Jones 2013, section 6), or 0 where an estimate
/// is negative. With unequal numbers, n is their harmonic mean. Consecutive intervals are treated as independent, so variation
/// slower than an interval counts as between starts.
pub fn variation(builds: &[Vec<Vec<f64>>]) -> Result<Variation, StatisticsError> {
    let starts: Vec<&Vec<f64>> = builds
        .iter()
        .flatten()
        .filter(|start| !start.is_empty())
        .collect();
    let needed = |got: usize| StatisticsError::TooFew {
        what: "the variation between starts",
        needed: 2,
        got,
    };
    let means: Vec<Vec<f64>> = builds
        .iter()
        .map(|build| {
            build
                .iter()
                .filter(|start| !start.is_empty())
                .map(|start| mean(start))
                .collect()
        })
        .filter(|build: &Vec<f64>| !build.is_empty())
        .collect();
    let (Some(within), Some(between)) = (pooled(starts.iter().copied()), pooled(means.iter())) else {
        return Err(needed(starts.len()));
    };
    let intervals = harmonic(starts.iter().map(|start| start.len()));
    let of_intervals = within / intervals;
    let of_starts = (between - of_intervals).max(0.0);
    let mut parts = vec![
        (Level::WithinStart, within, of_intervals),
        (Level::BetweenStarts, of_starts, of_starts),
    ];
    if means.len() > 1 {
        let build_means: Vec<f64> = means.iter().map(|build| mean(build)).collect();
        let starts_per_build = harmonic(means.iter().map(Vec::len));
        let of_builds = (variance(&build_means) - between / starts_per_build).max(0.0);
        parts.push((Level::BetweenBuilds, of_builds, of_builds));
    }
    let total: f64 = parts.iter().map(|&(_, _, in_trial)| in_trial).sum();
    let share = |in_trial: f64| if total > 0.0 { in_trial / total } else { 0.0 };
    let dominant = parts.iter().max_by(|left, right| left.2.total_cmp(&right.2));
    Ok(Variation {
        dominant: dominant.map_or(Level::WithinStart, |part| part.0),
        trial_deviation: total.sqrt(),
        components: parts
            .iter()
            .map(|&(level, variance, in_trial)| Component {
                level,
                deviation: variance.sqrt(),
                share: share(in_trial),
            })
            .collect(),
    })
}

impl Variation {
    /// Number of trials for an interval of half-width `precision` (0.02 is ±2 %); `None` beyond 100,000.
    pub fn trials_needed(&self, precision: f64, confidence: f64) -> Option<u32> {
        let wished = precision.ln_1p();
        let narrow = |trials: u32| {
            let reach = student_two_sided(confidence, f64::from(trials - 1));
            reach * self.trial_deviation / f64::from(trials).sqrt() <= wished
        };
        let mut many = 2;
        while !narrow(many) {
            many *= 2;
            if many > MOST_TRIALS {
                return None;
            }
        }
        (many / 2..=many).find(|&trials| trials >= 2 && narrow(trials))
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// The pooled variance within samples; `None` without a degree of freedom.
fn pooled<'a>(samples: impl Iterator<Item = &'a Vec<f64>>) -> Option<f64> {
    let (mut sum, mut freedom) = (0.0, 0.0);
    for sample in samples.filter(|sample| sample.len() > 1) {
        let own = (sample.len() - 1) as f64;
        sum += variance(sample) * own;
        freedom += own;
    }
    (freedom > 0.0).then(|| sum / freedom)
}

fn harmonic(counts: impl Iterator<Item = usize>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for size in counts {
        sum += 1.0 / size as f64;
        count += 1.0;
    }
    count / sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values with exact components: deviations of ±a within, ±b between starts, ±c between builds.
    fn nested(a: f64, b: f64, c: f64) -> Vec<Vec<Vec<f64>>> {
        let sides = [-1.0, 1.0];
        let start = |level: f64| sides.iter().map(|side| level + side * a).collect();
        let build = |level: f64| sides.iter().map(|side| start(level + side * b)).collect();
        sides.iter().map(|side| build(side * c)).collect()
    }

    #[test]
    fn parts_are_found() {
        let found = variation(&nested(0.0, 0.02, 0.0)).expect("enough values");
        assert_eq!(found.dominant, Level::BetweenStarts);
        assert!((found.components[1].deviation - 0.02 * 2f64.sqrt()).abs() < 1e-12);
        assert_eq!(
            variation(&nested(0.5, 0.0, 0.0)).expect("enough").dominant,
            Level::WithinStart
        );
        assert_eq!(
            variation(&nested(0.01, 0.01, 0.5)).expect("enough").dominant,
            Level::BetweenBuilds
        );
    }

    #[test]
    fn one_build_has_no_level_of_builds() {
        let one = nested(0.1, 0.2, 0.0).remove(0);
        let found = variation(&[one]).expect("enough values");
        assert_eq!(found.components.len(), 2);
        let shares: f64 = found.components.iter().map(|component| component.share).sum();
        assert!((shares - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_start_is_too_few() {
        assert!(variation(&[vec![vec![1.0, 2.0]]]).is_err());
    }

    #[test]
    fn trials_for_a_precision() {
        let found = variation(&nested(0.0, 0.02, 0.0)).expect("enough values");
        let trials = found.trials_needed(0.02, 0.95).expect("possible");
        assert_eq!(trials, 11);
        assert!(found.trials_needed(0.01, 0.95).expect("possible") > 3 * trials);
    }
}
