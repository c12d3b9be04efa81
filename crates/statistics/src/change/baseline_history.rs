//! The gate of two runs made at different times: what earlier runs say of how a value varies from run to run.

use super::{RunChange, change_points};
use crate::distribution::student_two_sided;
use crate::interval::mean::{mean, squares};
use crate::{Better, Metric, StatisticsError};

/// Earlier runs that tell how runs vary.
const FEWEST: usize = 3;

/// The values of a metric of a service in runs before the new one, the oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Earlier {
    /// The contract.
    pub contract: String,
    /// The workload.
    pub workload: String,
    /// The load.
    pub load: serde_json::Value,
    /// `service/variant`.
    pub service: String,
    /// The metric.
    pub metric: Metric,
    /// One value for each run, all above 0.
    pub points: Vec<f64>,
}

impl RunChange {
    /// Two runs alone gate nothing: how runs vary from one to the next is not in their intervals.
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

    /// Lets those regressions stand whose new value is worse than earlier runs lead to expect, all together with the given
    /// confidence, and names in `missing` the gated metrics of which too few earlier runs are known: these, and slowdowns that are
    /// not beyond the earlier runs, are inconclusive.
    pub fn gated_by(mut self, earlier: &[Earlier], confidence: f64) -> Result<Self, StatisticsError> {
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

/// Whether a value is worse than the values before it lead to expect: beyond the mean of their logarithms by
/// t · s · √(1 + 1/n), the interval of one further value. `None` with too few of them.
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
