//! The regression gate: two runs compared, service by service and metric by metric.

use crate::distribution::{no_difference, reach, student_two_sided};
use crate::ranking::judge;
use crate::{
    Better, Estimate, Group, MethodEstimate, Metric, Quantity, ServiceSummary, StatisticsError, Summary,
    Verdict,
};
use serde::{Deserialize, Serialize};

/// Options of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeOptions {
    /// Confidence of all intervals together, 0 to 1.
    pub confidence: f64,
    /// Band of practical equivalence: 0.01 is 1 %.
    pub tie_band: f64,
    /// Metrics to compare, in addition to the ones that groups are ranked by.
    pub metrics: Vec<Metric>,
    /// Metrics that may fail the comparison, in addition to the ones that groups are ranked by.
    pub gate: Vec<Metric>,
    /// The allowed slowdown of a gated metric: 0.03 lets a service become 3 % worse.
    pub max_slowdown: f64,
    /// Whether an inconclusive comparison fails, so that it is worth measuring further rounds until it is settled.
    pub fail_on_inconclusive: bool,
}

impl Default for ChangeOptions {
    fn default() -> Self {
        Self {
            confidence: 0.95,
            tie_band: 0.01,
            metrics: vec![
                Metric::ResponseTimeNsP50,
                Metric::ResponseTimeNsP99,
                Metric::CpuNsPerRequest,
                Metric::MemoryBytesPeak,
            ],
            gate: Vec::new(),
            max_slowdown: 0.0,
            fail_on_inconclusive: false,
        }
    }
}

/// The changes from one run to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunChange {
    /// The groups that both runs have.
    pub groups: Vec<GroupChange>,
    /// Groups, services and metrics that only one of the runs has or has numbers for, one sentence each.
    pub missing: Vec<String>,
    /// Gated response times that had a bound in the base and have none in the new run, one sentence each. Each is a regression.
    #[serde(default)]
    pub without_bound: Vec<String>,
    /// Whether the comparison can fail: two runs made at different times gate only with a history of earlier runs.
    #[serde(default)]
    pub gates: bool,
    /// Whether a gated metric became worse by more than the allowed slowdown.
    pub regressed: bool,
    /// Whether no gated metric regressed, but the interval of at least one includes slowdowns beyond the allowed one.
    #[serde(default)]
    pub inconclusive: bool,
}

impl RunChange {
    /// An empty comparison.
    pub(super) const fn new() -> Self {
        Self {
            groups: Vec::new(),
            missing: Vec::new(),
            without_bound: Vec::new(),
            gates: true,
            regressed: false,
            inconclusive: false,
        }
    }

    pub(super) fn changes_mut(&mut self) -> impl Iterator<Item = &mut Change> {
        let services = self.groups.iter_mut().flat_map(|group| &mut group.services);
        services.flat_map(|service| &mut service.changes)
    }

    /// Sets the overall result from the changes, once they have been judged.
    pub(super) fn conclude(&mut self) {
        let regressed = self.changes_mut().any(|change| change.regressed) || !self.without_bound.is_empty();
        let is_open = self.changes_mut().any(|change| change.inconclusive);
        self.regressed = regressed;
        self.inconclusive = is_open && !regressed;
    }

    /// Records the gated response times of a service that had a bound and no longer have one.
    pub(super) fn note_lost_bounds(
        &mut self,
        (old, new): (&ServiceSummary, &ServiceSummary),
        group: &Group,
        options: &ChangeOptions,
    ) {
        for metric in options.compared_metrics(group.ranked_by) {
            let none = new.metrics.get(metric).and_then(Quantity::no_bound);
            if let Some(none) = none.filter(|_| options.gated(metric, group.ranked_by))
                && estimated(old, metric).is_some()
            {
                self.without_bound.push(format!(
                    "{} of {} in {} has no bound in {} of {} trials of the new run, but had one in the base: more of its \
                     requests have no valid reply",
                    metric.title(),
                    new.id,
                    group_title(group),
                    none.without_bound,
                    none.trials
                ));
                self.regressed = true;
                self.inconclusive = false;
            }
        }
    }
}

/// The changes in one group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupChange {
    /// Name of the contract.
    pub contract: String,
    /// Name of the workload in the contract.
    pub workload: String,
    /// The load, as the load crate serialises it.
    pub load: serde_json::Value,
    /// Services that both runs have numbers for.
    pub services: Vec<ServiceChange>,
}

impl GroupChange {
    /// Whether the workload is a sequence of operations.
    pub fn is_of_sequences(&self) -> bool {
        let mut changes = self.services.iter().flat_map(|service| &service.changes);
        changes.any(|change| change.metric == Metric::SequencesPerS)
    }
}

/// The changes in one service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServiceChange {
    /// `service/variant`; when two revisions are compared, that of the new one.
    pub service: String,
    /// One change per compared metric.
    pub changes: Vec<Change>,
}

/// The change in one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Metric of `base` and `new`.
    pub metric: Metric,
    /// Estimate in the base.
    pub base: Estimate,
    /// Estimate in the new run.
    pub new: Estimate,
    /// New over base. The intervals of all gated ratios hold simultaneously with the stated confidence, and so do those of all
    /// other ratios.
    pub ratio: Estimate,
    /// p-value of "no change", adjusted for the number of gated ratios, or of the other ratios if this one is not gated.
    pub p_adjusted: f64,
    /// The verdict on the new run: faster means better.
    pub verdict: Verdict,
    /// Whether this change may fail the comparison.
    pub gated: bool,
    /// Whether it fails the comparison: its whole interval is beyond the allowed slowdown.
    pub regressed: bool,
    /// Whether it is gated and undecided: its interval includes slowdowns beyond the allowed one, but is not entirely beyond it.
    #[serde(default)]
    pub inconclusive: bool,
}

impl Change {
    /// How much worse the new run is, as a share of the base, with its interval; negative if it is better.
    pub fn loss(&self) -> Estimate {
        losses(&self.ratio, self.metric.better())
    }
}

/// A log ratio, before the number of comparisons is known.
pub(super) struct UnadjustedRatio {
    pub(super) point: f64,
    pub(super) error: f64,
    pub(super) freedom: f64,
}

/// Compares two runs made at different times. Ratios use Welch's t on the log scale, from the estimates of each run with their
/// degrees of freedom. Decisions and intervals use Bonferroni, separately over the gated metrics and over the others.
pub fn compare(base: &Summary, new: &Summary, options: &ChangeOptions) -> Result<RunChange, StatisticsError> {
    check(options)?;
    let mut missing = Vec::new();
    let mut groups = Vec::new();
    let mut raws = Vec::new();
    for now in &new.groups {
        let Some(then) = base.groups.iter().find(|group| same_work(group, now)) else {
            missing.push(format!(
                "{} under this load is only in the new run",
                group_title(now)
            ));
            continue;
        };
        groups.push(group(then, now, options, &mut raws, &mut missing));
    }
    for then in &base.groups {
        if !new.groups.iter().any(|now| same_work(then, now)) {
            missing.push(format!(
                "{} under this load is only in the base",
                group_title(then)
            ));
        }
    }
    let mut change = RunChange {
        groups,
        missing,
        ..RunChange::new()
    };
    adjust(&mut change, &raws, options);
    for now in &new.groups {
        let then = base.groups.iter().find(|group| same_work(group, now));
        for row in &now.services {
            let old = then.and_then(|then| then.services.iter().find(|old| old.id == row.id));
            if let Some(old) = old {
                change.note_lost_bounds((old, row), now, options);
            }
        }
    }
    Ok(change)
}

pub(super) fn check(options: &ChangeOptions) -> Result<(), StatisticsError> {
    if !(options.confidence > 0.0 && options.confidence < 1.0) {
        return Err(StatisticsError::Confidence(options.confidence));
    }
    for (what, value) in [
        ("the tie band", options.tie_band),
        ("the allowed slowdown", options.max_slowdown),
    ] {
        if !(0.0..1.0).contains(&value) {
            return Err(StatisticsError::Share { what, value });
        }
    }
    Ok(())
}

fn same_work(one: &Group, other: &Group) -> bool {
    one.contract == other.contract && one.workload == other.workload && one.load == other.load
}

fn group_title(group: &Group) -> String {
    format!("{} · {}", group.contract, group.workload)
}

fn group(
    then: &Group,
    now: &Group,
    options: &ChangeOptions,
    raws: &mut Vec<UnadjustedRatio>,
    missing: &mut Vec<String>,
) -> GroupChange {
    let mut services = Vec::new();
    for row in &now.services {
        let name = row.id.to_string();
        let Some(old) = then.services.iter().find(|old| old.id == row.id) else {
            missing.push(format!("{name} in {} is only in the new run", group_title(now)));
            continue;
        };
        let changes = service(old, row, now.ranked_by, options, raws);
        if changes.is_empty() {
            missing.push(format!(
                "{name} in {} {}",
                group_title(now),
                why_nothing(old, row)
            ));
        } else {
            services.push(ServiceChange {
                service: name,
                changes,
            });
        }
    }
    for old in &then.services {
        if !now.services.iter().any(|row| row.id == old.id) {
            missing.push(format!("{} in {} is only in the base", old.id, group_title(now)));
        }
    }
    GroupChange {
        contract: now.contract.clone(),
        workload: now.workload.clone(),
        load: now.load.clone(),
        services,
    }
}

fn why_nothing(old: &ServiceSummary, new: &ServiceSummary) -> String {
    match (&old.excluded, &new.excluded) {
        (_, Some(exclusion)) => format!("has no numbers in the new run: {}", exclusion.reason),
        (Some(exclusion), None) => format!("has no numbers in the base: {}", exclusion.reason),
        (None, None) => "has fewer than two trials in one of the runs: no interval, no comparison".to_owned(),
    }
}

fn service(
    old: &ServiceSummary,
    new: &ServiceSummary,
    ranked_by: Metric,
    options: &ChangeOptions,
    raws: &mut Vec<UnadjustedRatio>,
) -> Vec<Change> {
    if old.excluded.is_some() || new.excluded.is_some() {
        return Vec::new();
    }
    let mut changes = Vec::new();
    for metric in options.compared_metrics(ranked_by) {
        let (Some(then), Some(now)) = (estimated(old, metric), estimated(new, metric)) else {
            continue;
        };
        let Some(raw) = welch(then, now) else { continue };
        changes.push(Change::open(metric, then, now, options.gated(metric, ranked_by)));
        raws.push(raw);
    }
    changes
}

/// The estimate of a metric together with its method; `None` if it has none.
pub(super) fn estimated(row: &ServiceSummary, metric: Metric) -> Option<&MethodEstimate> {
    row.metrics.get(metric).and_then(Quantity::estimated)
}

impl ChangeOptions {
    /// Metrics to compare in a group that is ranked by this metric.
    pub(super) fn compared_metrics(&self, ranked_by: Metric) -> impl Iterator<Item = Metric> + '_ {
        let listed = move |metric: &Metric| {
            *metric == ranked_by || self.metrics.contains(metric) || self.gate.contains(metric)
        };
        Metric::ALL.iter().copied().filter(listed)
    }

    pub(super) fn gated(&self, metric: Metric, ranked_by: Metric) -> bool {
        metric == ranked_by || self.gate.contains(&metric)
    }
}

impl Change {
    /// Sets the verdicts from the interval of the ratio.
    pub(super) fn judge(&mut self, options: &ChangeOptions) {
        let better = self.metric.better();
        self.verdict = judge(&self.ratio, options.tie_band, better);
        let loss = losses(&self.ratio, better);
        // Slowdowns within the tie band never count, whatever the allowed slowdown.
        let harmless = options.max_slowdown.max(options.tie_band);
        self.regressed = self.gated && self.verdict == Verdict::Slower && loss.low > options.max_slowdown;
        self.inconclusive = self.gated && !self.regressed && loss.high > harmless;
    }

    /// A change that [`adjust`] has not judged yet.
    pub(super) fn open(metric: Metric, base: &MethodEstimate, new: &MethodEstimate, gated: bool) -> Self {
        Self {
            metric,
            base: base.estimate,
            new: new.estimate,
            ratio: new.estimate,
            p_adjusted: 1.0,
            verdict: Verdict::CannotTell,
            gated,
            regressed: false,
            inconclusive: false,
        }
    }
}

/// The difference of two independent means, with the degrees of freedom of Welch (1947).
fn welch(base: &MethodEstimate, new: &MethodEstimate) -> Option<UnadjustedRatio> {
    let (old, now) = (base.log_error()?.powi(2), new.log_error()?.powi(2));
    let sum = old + now;
    let freedom =
        sum.powi(2) / (old.powi(2) / base.degrees_of_freedom + now.powi(2) / new.degrees_of_freedom);
    Some(UnadjustedRatio {
        point: (new.estimate.point / base.estimate.point).ln(),
        error: sum.sqrt(),
        freedom: if sum > 0.0 {
            freedom
        } else {
            base.degrees_of_freedom.min(new.degrees_of_freedom)
        },
    })
}

/// Sets intervals, p-values and verdicts, now that the number of comparisons is known. Gated metrics are corrected for the number
/// of gated metrics and the others for the number of others: comparing more metrics does not weaken the gate.
pub(super) fn adjust(change: &mut RunChange, raws: &[UnadjustedRatio], options: &ChangeOptions) {
    let gated: Vec<bool> = change.changes_mut().map(|found| found.gated).collect();
    for family in [true, false] {
        let members: Vec<usize> = (0..raws.len()).filter(|&index| gated[index] == family).collect();
        let changes = change.changes_mut().filter(|found| found.gated == family);
        for (found, &index) in changes.zip(&members) {
            judge_one(found, &raws[index], members.len() as f64, options);
        }
    }
    change.conclude();
}

fn judge_one(found: &mut Change, raw: &UnadjustedRatio, comparisons: f64, options: &ChangeOptions) {
    let level = 1.0 - (1.0 - options.confidence) / comparisons;
    let reach = reach(raw.point, raw.error, student_two_sided(level, raw.freedom));
    found.ratio = Estimate {
        point: raw.point.exp(),
        low: (raw.point - reach).exp(),
        high: (raw.point + reach).exp(),
        confidence: options.confidence,
    };
    found.p_adjusted = (comparisons * no_difference(raw.point, raw.error, raw.freedom)).min(1.0);
    found.judge(options);
}

/// How much worse the new run is, as a share of the base, with its interval; negative if it is better.
pub(super) fn losses(ratio: &Estimate, better: Better) -> Estimate {
    let (point, low, high) = match better {
        Better::Higher => (1.0 - ratio.point, 1.0 - ratio.high, 1.0 - ratio.low),
        Better::Lower => (ratio.point - 1.0, ratio.low - 1.0, ratio.high - 1.0),
        Better::Neither => (0.0, 0.0, 0.0),
    };
    Estimate {
        point,
        low,
        high,
        confidence: ratio.confidence,
    }
}
