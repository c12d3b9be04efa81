//! The gate for two runs made at different times: earlier runs show how much a value varies from run to run.

use super::{RunChange, change_points};
use crate::distribution::student_two_sided;
use crate::interval::{mean, squares};
use crate::{Better, Metric, StatisticsError};

/// Fewest earlier runs from which the variation between runs can be estimated.
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

    /// Keeps only the regressions whose new value is worse than the earlier runs predict, with the given confidence for all of
    /// them together. The other slowdowns become inconclusive, and so do gated metrics with too few earlier runs, which are also
    /// named in `missing`.
    pub fn gated_by(mut self, earlier: &[BaselineHistory], confidence: f64) -> Result<Self, StatisticsError> {
        let count = self.changes_mut().filter(|change| change.gated).count().max(1);
        let level = 1.0 - (1.0 - confidence) / count as f64;
        let mut missing = Vec::new();
        for group in &mut self.groups {
            for service in &mut group.services {
                for change in service.changes.iter_mut().filter(|change| change.gated) {
                    let known = earlier.iter().find(|earlier| {
                        earlier.contract == group.contract
                            && earlier.workload == group.workload
                            && earlier.load == group.load
                            && earlier.service == service.service
                            && earlier.metric == change.metric
                    });
                    let points = known.map_or(&[][..], |earlier| &earlier.points);
                    let since = since_last_change(points, confidence)?;
                    let beyond = is_beyond(since, change.new.point, change.metric.better(), level);
                    if beyond != Some(true) {
                        change.inconclusive |= change.regressed || beyond.is_none();
                        change.regressed = false;
                    }
                    if beyond.is_none() {
                        missing.push(format!(
                            "{} of {} in {} · {} is not gated: {} earlier runs since its last change, {FEWEST} are needed",
                            change.metric.title(),
                            service.service,
                            group.contract,
                            group.workload,
                            since.len()
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

fn since_last_change(points: &[f64], confidence: f64) -> Result<&[f64], StatisticsError> {
    let last = change_points(points, confidence)?
        .last()
        .map_or(0, |point| point.index);
    Ok(&points[last..])
}

/// Whether a value is worse than the earlier values predict: beyond the mean of their logarithms by t · s · √(1 + 1/n), the
/// prediction interval of one further value. `None` with too few of them.
fn is_beyond(earlier: &[f64], new: f64, better: Better, confidence: f64) -> Option<bool> {
    if earlier.len() < FEWEST || new <= 0.0 {
        return None;
    }
    let logs: Vec<f64> = earlier.iter().map(|value| value.ln()).collect();
    let count = logs.len() as f64;
    let deviation = (squares(&logs) / (count - 1.0)).sqrt();
    let reach = student_two_sided(confidence, count - 1.0) * deviation * (1.0 + 1.0 / count).sqrt();
    let distance = new.ln() - mean(&logs);
    match better {
        Better::Higher => Some(distance < -reach),
        Better::Lower => Some(distance > reach),
        Better::Neither => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_do_anyway_is_no_regression() {
        let runs = [100.0, 90.0, 110.0, 95.0, 105.0];
        assert_eq!(is_beyond(&runs, 85.0, Better::Higher, 0.95), Some(false));
        assert_eq!(is_beyond(&runs, 50.0, Better::Higher, 0.95), Some(true));
        assert_eq!(is_beyond(&runs, 200.0, Better::Higher, 0.95), Some(false));
        assert_eq!(is_beyond(&runs, 200.0, Better::Lower, 0.95), Some(true));
        assert_eq!(is_beyond(&runs[..2], 50.0, Better::Higher, 0.95), None);
    }
}
