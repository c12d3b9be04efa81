//! The decision after each round: continue, and with which services, or stop.

use crate::{Group, Quantity, ServiceSummary, Verdict};
use prony_records::ServiceId;
use serde::{Deserialize, Serialize};

/// When a run stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopRule {
    /// Half-width that every interval must get below, as a share of its point: 0.02 is ±2 %. `None`: run all rounds.
    pub precision: Option<f64>,
    /// Rounds before stopping for precision is considered. With fewer than five, intervals can be narrow by chance.
    pub fewest_rounds: u32,
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
    if rule
        .budget_s
        .is_some_and(|budget| progress.spent_s + progress.next_round_s > budget)
    {
        return Decision::Stop(StopReason::Budget);
    }
    match rule.precision {
        Some(precision) if progress.rounds >= rule.fewest_rounds => with_open(groups, precision),
        _ => Decision::All,
    }
}

fn with_open(groups: &[Group], precision: f64) -> Decision {
    let mut open = Vec::new();
    let mut settled = false;
    for (index, group) in groups.iter().enumerate() {
        let rows: Vec<&ServiceSummary> = measurable(group).collect();
        let still: Vec<bool> = rows
            .iter()
            .map(|row| !narrow(group, row, precision) || !rank_proven(group, row))
            .collect();
        let chosen = going_on(&still);
        settled |= chosen.len() < rows.len();
        open.extend(chosen.into_iter().map(|place| (index, rows[place].id.clone())));
    }
    if settled {
        Decision::Only(open)
    } else {
        Decision::All
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
    let estimate = row.metrics.get(group.ranked_by).and_then(Quantity::estimate);
    estimate.is_some_and(|estimate| estimate.half_width() <= precision)
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
