//! The gate for two runs made at different times: earlier runs show how much a value varies from run to run.

use super::gate::{Change, ChangeOptions, GroupChange};
use super::{RunChange, change_points};
use crate::distribution::{no_difference, student_two_sided};
use crate::interval::squares;
use crate::{Metric, StatisticsError};

/// Fewest earlier runs from which the variation from run to run can be estimated.
const FEWEST: usize = 3;

/// The values of one metric of one service in the runs before the new one, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselineHistory {
    /// Name of the contract.
    pub contract: String,
    /// Name of the workload in the contract.
    pub workload: String,
    /// The load, as the load crate serialises it.
    pub load: serde_json::Value,
    /// `service/variant`.
    pub service: String,
    /// Metric of `points`.
    pub metric: Metric,
    /// One value per run, all above 0.
    pub points: Vec<f64>,
    /// How many of the runs are the base or older than it.
    pub up_to_base: usize,
}

/// How a metric varies from run to run, on the log scale.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RunVariation {
    deviation: f64,
    freedom: f64,
}

impl RunChange {
    /// Clears the gate. Two runs alone cannot gate: their intervals do not contain the variation from run to run.
    #[must_use]
    pub fn ungated(mut self) -> Self {
        self.gates = false;
        for change in self.changes_mut() {
            change.regressed = false;
            change.inconclusive = false;
        }
        self.regressed = false;
        self.inconclusive = false;
        self
    }

    /// Makes every gated change inconclusive: the two runs differ in more than the services.
    #[must_use]
    pub fn undecided(mut self) -> Self {
        for change in self.changes_mut().filter(|change| change.gated) {
            change.regressed = false;
            change.inconclusive = true;
        }
        self.conclude();
        self
    }

    /// Adds to the intervals of gated ratios how much the metric varied from run to run before the new run, and judges them again. The
    /// base stays the one that the user named, so a slowdown that lasts never becomes the usual level. Gated metrics with too few
    /// earlier runs are inconclusive, and named in `missing`.
    pub fn gated_by(
        mut self,
        earlier: &[BaselineHistory],
        options: &ChangeOptions,
    ) -> Result<Self, StatisticsError> {
        let count = self.changes_mut().filter(|change| change.gated).count().max(1) as f64;
        let mut missing = Vec::new();
        for group in &mut self.groups {
            let histories: Vec<&BaselineHistory> =
                earlier.iter().filter(|known| known.is_of(group)).collect();
            for service in &mut group.services {
                for change in service.changes.iter_mut().filter(|change| change.gated) {
                    let is_same = |known: &&&BaselineHistory| {
                        known.service == service.service && known.metric == change.metric
                    };
                    let known = histories.iter().find(is_same);
                    let variation = known.map_or(Ok(None), |known| known.variation(options.confidence))?;
                    if let Some(variation) = variation {
                        change.widen(variation, count, options);
                    } else {
                        change.regressed = false;
                        change.inconclusive = true;
                        missing.push(format!(
                            "{} of {} in {} · {} is not gated: {} earlier runs in the same circumstances, {FEWEST} are needed",
                            change.metric.title(),
                            service.service,
                            group.contract,
                            group.workload,
                            known.map_or(0, |known| known.points.len())
                        ));
                    }
                }
            }
        }
        self.missing.append(&mut missing);
        self.conclude();
        Ok(self)
    }
}

impl BaselineHistory {
    fn is_of(&self, group: &GroupChange) -> bool {
        self.contract == group.contract && self.workload == group.workload && self.load == group.load
    }

    /// The variation of runs around their level: pooled over the stretches between change points. A step after the base must not
    /// look like variation. So the base's stretch ends with the base if it has enough runs, and of the runs after the base the last
    /// two do not count, since a step there is too short to be found.
    fn variation(&self, confidence: f64) -> Result<Option<RunVariation>, StatisticsError> {
        let count = self.points.len();
        if count < FEWEST {
            return Ok(None);
        }
        let base = self.up_to_base.min(count);
        let found = change_points(&self.points, confidence)?;
        let mut bounds: Vec<usize> = found.iter().map(|point| point.index).collect();
        let since = bounds.iter().rfind(|&&cut| cut < base).map_or(0, |&cut| cut);
        if base - since >= FEWEST {
            bounds.push(base);
        }
        let end = (count - (FEWEST - 1)).max(base).max(FEWEST);
        bounds.retain(|&cut| cut < end);
        bounds.extend([0, end]);
        bounds.sort_unstable();
        let logs: Vec<f64> = self.points.iter().map(|value| value.ln()).collect();
        let (mut sum, mut freedom) = (0.0, 0.0);
        for stretch in bounds.windows(2).filter(|stretch| stretch[0] < stretch[1]) {
            let stretch = &logs[stretch[0]..stretch[1]];
            sum += squares(stretch);
            freedom += stretch.len() as f64 - 1.0;
        }
        Ok(Some(RunVariation {
            deviation: (sum / freedom).sqrt(),
            freedom,
        }))
    }
}

impl Change {
    /// Widens the interval to that of the ratio of two runs with this variation, if it is narrower.
    fn widen(&mut self, variation: RunVariation, comparisons: f64, options: &ChangeOptions) {
        let level = 1.0 - (1.0 - options.confidence) / comparisons;
        let error = variation.deviation * std::f64::consts::SQRT_2;
        let reach = student_two_sided(level, variation.freedom) * error;
        let point = self.ratio.point.ln();
        self.ratio.low = self.ratio.low.min((point - reach).exp());
        self.ratio.high = self.ratio.high.max((point + reach).exp());
        let p_value = no_difference(point, error, variation.freedom);
        self.p_adjusted = self.p_adjusted.max((comparisons * p_value).min(1.0));
        self.judge(options);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::change::sequential_looks::tests::change_of_one;
    use crate::{Estimate, Verdict};

    /// The verdict on `new` against the base at this place in the earlier runs: whether it regressed, and whether it is inconclusive.
    pub(crate) fn baseline_gate(runs: &[f64], base: usize, new: f64, allowed: f64) -> (bool, bool) {
        let found = gate(runs, base, new, allowed);
        (found.regressed, found.inconclusive)
    }

    fn gate(runs: &[f64], base: usize, new: f64, max_slowdown: f64) -> RunChange {
        let narrow = |point: f64| Estimate {
            point,
            low: point * 0.999,
            high: point * 1.001,
            confidence: 0.95,
        };
        let change = Change {
            metric: Metric::GoodputPerS,
            base: narrow(runs[base]),
            new: narrow(new),
            ratio: narrow(new / runs[base]),
            p_adjusted: 0.0,
            verdict: Verdict::CannotTell,
            gated: true,
            regressed: false,
            inconclusive: false,
        };
        let history = BaselineHistory {
            contract: "hello".to_owned(),
            workload: "hello".to_owned(),
            load: serde_json::Value::Null,
            service: "toy/current".to_owned(),
            metric: Metric::GoodputPerS,
            points: runs.to_vec(),
            up_to_base: base + 1,
        };
        let options = ChangeOptions {
            max_slowdown,
            ..ChangeOptions::default()
        };
        let found = change_of_one(vec![change]).gated_by(&[history], &options);
        found.expect("sound values")
    }

    const FAILS: (bool, bool) = (true, false);
    const INCONCLUSIVE: (bool, bool) = (false, true);
    const PASSES: (bool, bool) = (false, false);

    #[test]
    fn what_runs_do_anyway_is_no_regression() {
        let runs = [100.0, 90.0, 110.0, 95.0, 105.0];
        for (new, verdict) in [(85.0, INCONCLUSIVE), (50.0, FAILS), (200.0, PASSES)] {
            assert_eq!(baseline_gate(&runs, 4, new, 0.0), verdict, "{new}");
        }
    }

    #[test]
    fn a_gate_without_enough_earlier_runs_is_inconclusive() {
        for new in [50.0, 100.0] {
            let found = gate(&[100.0, 101.0], 1, new, 0.0);
            assert!(found.inconclusive && !found.regressed);
            assert!(
                found.missing[0].contains("2 earlier runs in the same circumstances, 3 are needed"),
                "{:?}",
                found.missing
            );
        }
    }

    /// Four fast runs, then slow ones: each slow one fails against each fast one, however long the slowdown lasts.
    #[test]
    fn a_gate_never_becomes_used_to_a_slowdown() {
        let runs = [100.0, 101.0, 99.5, 100.5, 72.0, 71.5, 72.3, 71.8, 72.1, 71.9];
        for new in 4..runs.len() {
            for base in [0, 3] {
                let verdict = baseline_gate(&runs[..new], base, runs[new], 0.0);
                assert_eq!(verdict, FAILS, "run {new} against {base}");
            }
        }
        assert_eq!(baseline_gate(&runs[..9], 8, runs[9], 0.05), PASSES);
    }
}
