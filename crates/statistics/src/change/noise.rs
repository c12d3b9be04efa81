//! The smallest change a comparison can find, and the noise that the same version shows against itself.

use super::gate::{Change, RunChange, losses};
use crate::distribution::student_two_sided;
use crate::{Metric, smallest_difference};
use serde::{Deserialize, Serialize};

/// The probability with which the smallest difference is found.
const POWER: f64 = 0.8;
/// The share of the allowed slowdown beyond which another look at a gated metric is worthwhile.
const SUSPICIOUS: f64 = 0.5;

/// The smallest relative change of a metric that a number of rounds with this noise finds in four of five cases.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DetectableChange {
    /// Metric that the change is of.
    pub metric: Metric,
    /// The relative change: 0.02 is 2 %.
    pub difference: f64,
}

impl RunChange {
    /// Keeps only the regressions that are larger than the difference that the same version showed against itself on this
    /// machine.
    #[must_use]
    pub fn beyond(mut self, itself: &Self) -> Self {
        for group in &mut self.groups {
            let same = itself.groups.iter().find(|other| {
                other.contract == group.contract
                    && other.workload == group.workload
                    && other.load == group.load
            });
            let seen: Vec<&Change> = same
                .into_iter()
                .flat_map(|group| &group.services)
                .flat_map(|service| &service.changes)
                .collect();
            for change in group.services.iter_mut().flat_map(|service| &mut service.changes) {
                let noise = seen.iter().find(|seen| seen.metric == change.metric);
                let size = |change: &Change| change.ratio.point.ln().abs();
                if change.regressed && noise.is_some_and(|noise| size(noise) >= size(change)) {
                    change.regressed = false;
                    change.inconclusive = true;
                }
            }
        }
        self.conclude();
        self
    }

    /// Whether a gated metric became worse by more than half of the allowed slowdown and is worth another look.
    pub(super) fn is_suspicious(&self, max_slowdown: f64) -> bool {
        self.changes()
            .filter(|change| change.gated)
            .any(|change| losses(&change.ratio, change.metric.better()).point > SUSPICIOUS * max_slowdown)
    }

    /// The smallest change of each gated metric that a comparison over `rounds` rounds finds, given the noise of this comparison.
    pub fn smallest_differences(&self, rounds: u32, confidence: f64) -> Vec<DetectableChange> {
        let gated: Vec<&Change> = self.changes().filter(|change| change.gated).collect();
        let level = 1.0 - (1.0 - confidence) / gated.len().max(1) as f64;
        let of = |change: &&Change| {
            let reach = (change.ratio.high / change.ratio.low).ln() / 2.0;
            let student = student_two_sided(
                level,
                f64::from(rounds.checked_sub(1).filter(|&freedom| freedom > 0)?),
            );
            let deviation = reach / student * f64::from(rounds).sqrt();
            Some(DetectableChange {
                metric: change.metric,
                difference: smallest_difference(deviation, rounds, level, POWER)?,
            })
        };
        gated.iter().filter_map(of).collect()
    }

    fn changes(&self) -> impl Iterator<Item = &Change> {
        let services = self.groups.iter().flat_map(|group| &group.services);
        services.flat_map(|service| &service.changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::sequential_looks::tests::change_of_one;
    use crate::{Estimate, Verdict};

    fn run_change(point: f64) -> RunChange {
        let ratio = Estimate {
            point,
            low: point / 1.02,
            high: point * 1.02,
            confidence: 0.95,
        };
        let change = Change {
            metric: Metric::CpuNsPerRequest,
            base: ratio,
            new: ratio,
            ratio,
            p_adjusted: 0.01,
            verdict: Verdict::Slower,
            gated: true,
            regressed: true,
            inconclusive: false,
        };
        change_of_one(vec![change])
    }

    #[test]
    fn what_the_same_version_shows_is_no_regression() {
        for (same, stands) in [(1.0, true), (1.04, true), (1.06, false), (1.0 / 1.06, false)] {
            let found = run_change(1.05).beyond(&run_change(same));
            assert_eq!((found.regressed, found.inconclusive), (stands, !stands), "{same}");
        }
    }

    #[test]
    fn half_of_what_is_allowed_is_suspicious() {
        assert!(run_change(1.02).is_suspicious(0.03));
        assert!(!run_change(1.01).is_suspicious(0.03));
        assert!(!run_change(0.9).is_suspicious(0.0));
    }

    #[test]
    fn the_smallest_difference_lies_beyond_the_interval() {
        let seen = run_change(1.0).smallest_differences(10, 0.95);
        assert_eq!(seen.len(), 1);
        assert!((0.02..0.04).contains(&seen[0].difference), "{seen:?}");
        assert!(run_change(1.0).smallest_differences(1, 0.95).is_empty());
    }
}
