//! How many trials to run: when to stop, where the variation comes from, and which difference a plan can find.

use crate::distribution::student_two_sided;
use crate::{Group, Quantity, ServiceSummary, StatisticsError, Verdict};
use prony_records::ServiceId;
use serde::{Deserialize, Serialize};

/// Maximum number of rounds that [`rounds_for_difference`] considers.
const MOST_ROUNDS: u32 = 10_000;

/// The smallest relative difference between two services that `rounds` rounds find with probability `power`, if the ratios of one
/// round vary by `deviation` (standard deviation on the log scale); `None` with fewer than two rounds.
///
/// exp((t(1−α/2) + t(power)) · s/√n) − 1 with n − 1 degrees of freedom, both quantiles of Student's t: the usual approximation of
/// the noncentral t (Lachin 1981), slightly conservative for few rounds.
///
/// ```
/// let seen = prony_statistics::smallest_difference(0.01, 10, 0.95, 0.8).unwrap();
/// assert!((seen - 0.0101).abs() < 5e-4);
/// ```
pub fn smallest_difference(deviation: f64, rounds: u32, confidence: f64, power: f64) -> Option<f64> {
    if rounds < 2 {
        return None;
    }
    let freedom = f64::from(rounds - 1);
    let one_sided = student_two_sided((2.0 * power - 1.0).max(0.0), freedom);
    let reach = student_two_sided(confidence, freedom) + one_sided;
    Some((reach * deviation / f64::from(rounds).sqrt()).exp_m1())
}

/// The fewest rounds that find a relative difference with probability `power`; `None` beyond 10,000.
pub fn rounds_for_difference(deviation: f64, difference: f64, confidence: f64, power: f64) -> Option<u32> {
    let seen = |rounds: u32| smallest_difference(deviation, rounds, confidence, power);
    let enough = |rounds: u32| seen(rounds).is_some_and(|seen| seen <= difference);
    let (mut few, mut many) = (1, 2);
    while !enough(many) {
        few = many;
        many *= 2;
        if many > MOST_ROUNDS {
            return None;
        }
    }
    while many - few > 1 {
        let middle = u32::midpoint(few, many);
        if enough(middle) {
            many = middle;
        } else {
            few = middle;
        }
    }
    Some(many)
}

/// When a run stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopRule {
    /// Half-width that the interval of every value, or of its ratio to the first service, must get below, as a share of its point: 0.02
    /// is ±2 %. `None`: run all rounds.
    pub precision: Option<f64>,
    /// Rounds before stopping for precision is considered. With fewer than five, intervals can be narrow by chance.
    pub fewest_rounds: u32,
    /// Rounds before settled services are left out.
    pub fewest_for_leaving_out: u32,
    /// Number of rounds in the plan.
    pub most_rounds: u32,
    /// Time budget of the whole run, s.
    pub budget_s: Option<f64>,
}

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Rounds completed.
    pub rounds: u32,
    /// Time spent, s.
    pub spent_s: f64,
    /// Estimated time of the next round with all services, s.
    pub next_round_s: f64,
}

/// What the run does next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Run a round with all services.
    All,
    /// Run a round with these services only, each with the index of its group: the others are settled.
    Only(Vec<(usize, ServiceId)>),
    /// Run no further round.
    Stop(StopReason),
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Every interval is as narrow as requested.
    Precision,
    /// All rounds of the plan are done.
    Rounds,
    /// Another round would exceed the budget.
    Budget,
    /// No service is left that produces numbers.
    NothingLeft,
}

/// A service is left out of further rounds if its differences hold at the allowed error divided by this number: a false
/// difference found in one of many looks would never be examined again.
pub(crate) const LOOKS: f64 = 5.0;

/// Decides what to do after a round, from the groups of [`summarise`](crate::summarise) so far.
///
/// A run ends for precision alone, never because a difference was found: testing for significance after each round finds
/// differences that do not exist (Armitage, `McPherson` and Rowe 1969), while stopping at a fixed width nearly keeps the
/// confidence (Chow and Robbins 1965). A service is settled when its interval is narrow enough and its rank is proven. Further
/// rounds leave settled services out, unless fewer than two services of the group would remain to compare.
pub fn next_round(groups: &[Group], rule: &StopRule, progress: &Progress) -> Decision {
    if progress.rounds == 0 {
        return Decision::All;
    }
    let alive = groups.iter().any(|group| measurable(group).next().is_some());
    if !alive {
        return Decision::Stop(StopReason::NothingLeft);
    }
    if progress.rounds >= rule.most_rounds {
        return Decision::Stop(StopReason::Rounds);
    }
    let all_narrow = rule.precision.is_some_and(|precision| {
        groups
            .iter()
            .all(|group| measurable(group).all(|row| narrow(group, row, precision)))
    });
    if all_narrow && progress.rounds >= rule.fewest_rounds {
        return Decision::Stop(StopReason::Precision);
    }
    let (decision, share) = match rule.precision {
        Some(precision) if progress.rounds >= rule.fewest_for_leaving_out => with_open(groups, precision),
        _ => (Decision::All, 1.0),
    };
    let end_s = progress.spent_s + share * progress.next_round_s;
    if rule.budget_s.is_some_and(|budget| end_s > budget) {
        return Decision::Stop(StopReason::Budget);
    }
    decision
}

/// A round with the services that are not settled, and their share of all.
fn with_open(groups: &[Group], precision: f64) -> (Decision, f64) {
    let mut open = Vec::new();
    let mut all = 0;
    for (index, group) in groups.iter().enumerate() {
        let rows: Vec<&ServiceSummary> = measurable(group).collect();
        let still: Vec<bool> = rows
            .iter()
            .map(|row| !narrow(group, row, precision) || !rank_proven(group, row))
            .collect();
        all += rows.len();
        let chosen = going_on(&still).into_iter();
        open.extend(chosen.map(|place| (index, rows[place].id.clone())));
    }
    if open.len() < all {
        let share = open.len() as f64 / all as f64;
        (Decision::Only(open), share)
    } else {
        (Decision::All, 1.0)
    }
}

/// The services of a group that take part in further rounds: the open ones, or all if only one is open, since a round of one
/// service has nothing to compare.
pub(crate) fn going_on(open: &[bool]) -> Vec<usize> {
    let all = 0..open.len();
    match open.iter().filter(|&&open| open).count() {
        1 => all.collect(),
        _ => all.filter(|&service| open[service]).collect(),
    }
}

/// Services about which further rounds could show more.
fn measurable(group: &Group) -> impl Iterator<Item = &ServiceSummary> {
    group
        .services
        .iter()
        .filter(|row| row.excluded.is_none() && row.trials > 0)
}

fn narrow(group: &Group, row: &ServiceSummary, precision: f64) -> bool {
    let value = row.metrics.get(group.ranked_by).and_then(Quantity::estimate);
    let mut estimates = value.into_iter().chain(&row.ratio_to_first);
    estimates.any(|estimate| estimate.half_width() <= precision)
}

/// Whether every pair with this service is decided: the two surely differ or are practically the same.
fn rank_proven(group: &Group, row: &ServiceSummary) -> bool {
    let name = row.id.to_string();
    let mut own = group.pairs.iter().filter(|pair| pair.a == name || pair.b == name);
    let sure = (1.0 - group.confidence) / LOOKS;
    own.all(|pair| match pair.verdict {
        Verdict::Same => true,
        Verdict::CannotTell => false,
        Verdict::Faster | Verdict::Slower => pair.p_adjusted <= sure,
    })
}

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
    let (Some(within), Some(between)) = (
        pooled_variance(starts.iter().copied()),
        pooled_variance(means.iter()),
    ) else {
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
fn pooled_variance<'a>(samples: impl Iterator<Item = &'a Vec<f64>>) -> Option<f64> {
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

    #[test]
    fn rounds_and_difference_agree() {
        for difference in [0.005, 0.02, 0.05] {
            let rounds = rounds_for_difference(0.02, difference, 0.95, 0.8).expect("possible");
            assert!(smallest_difference(0.02, rounds, 0.95, 0.8).expect("two rounds") <= difference);
            let fewer = smallest_difference(0.02, rounds - 1, 0.95, 0.8);
            assert!(fewer.is_none_or(|seen| seen > difference));
        }
    }

    #[test]
    fn impossible_is_none() {
        assert_eq!(smallest_difference(0.1, 1, 0.95, 0.8), None);
        assert_eq!(rounds_for_difference(1.0, 1e-6, 0.95, 0.8), None);
    }

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
