//! Ranks and their intervals.

use crate::Verdict;
use serde::{Deserialize, Serialize};

/// The ranks that the data allows a service, both ends included: "2nd to 4th".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankInterval {
    /// The best rank it can have: 1 + the services proven better.
    pub best: u32,
    /// The worst rank it can have: all ranked services − those proven worse.
    pub worst: u32,
}

/// Rank intervals from the verdicts of all pairs, `verdict(i, j)` being that of `i` against `j`.
///
/// When the verdicts hold together with some confidence, so do the intervals (Al Mohamad, Goeman and van Zwet 2022).
pub(crate) fn intervals(count: usize, verdict: impl Fn(usize, usize) -> Verdict) -> Vec<RankInterval> {
    let against = |service: usize, wanted: Verdict| {
        let others = (0..count).filter(|&other| other != service);
        others.filter(|&other| verdict(service, other) == wanted).count() as u32
    };
    (0..count)
        .map(|service| RankInterval {
            best: 1 + against(service, Verdict::Slower),
            worst: count as u32 - against(service, Verdict::Faster),
        })
        .collect()
}

/// The shown rank of services in order of their points: the best rank that the data allows, but never better than that of
/// a service with a better point.
pub(crate) fn ranks(intervals: &[RankInterval]) -> Vec<u32> {
    let mut worst_so_far = 1;
    intervals
        .iter()
        .map(|interval| {
            worst_so_far = worst_so_far.max(interval.best);
            worst_so_far
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tie_shares_the_best_rank() {
        let verdict = |left: usize, right: usize| match (left, right) {
            (0 | 1, 2) => Verdict::Faster,
            (2, 0 | 1) => Verdict::Slower,
            _ => Verdict::CannotTell,
        };
        let found = intervals(3, verdict);
        assert_eq!(ranks(&found), [1, 1, 3]);
        assert_eq!(found[0], RankInterval { best: 1, worst: 2 });
        assert_eq!(found[2], RankInterval { best: 3, worst: 3 });
    }
}
