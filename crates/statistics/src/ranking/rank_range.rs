//! Ranks, as ranges.

use crate::Verdict;

/// The ranks that are compatible with the data, both ends included: "2nd to 4th".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RankRange {
    /// The best possible rank: 1 + the number of services proven better.
    pub(crate) low: u32,
    /// The worst possible rank: the number of ranked services − the number proven worse.
    pub(crate) high: u32,
}

/// Computes rank ranges from the verdicts of all pairs; `verdict(i, j)` is that of `i` against `j`.
///
/// If the verdicts hold simultaneously with some confidence, so do the ranges (Al Mohamad, Goeman and van Zwet 2022).
pub(crate) fn ranges(count: usize, verdict: impl Fn(usize, usize) -> Verdict) -> Vec<RankRange> {
    let against = |service: usize, wanted: Verdict| {
        let others = (0..count).filter(|&other| other != service);
        others.filter(|&other| verdict(service, other) == wanted).count() as u32
    };
    (0..count)
        .map(|service| RankRange {
            low: 1 + against(service, Verdict::Slower),
            high: count as u32 - against(service, Verdict::Faster),
        })
        .collect()
}

/// One number per service, for services sorted by their points: the best possible rank, but never better than that of a service
/// with a better point.
pub(crate) fn ranks(ranges: &[RankRange]) -> Vec<u32> {
    let mut worst_so_far = 1;
    ranges
        .iter()
        .map(|range| {
            worst_so_far = worst_so_far.max(range.low);
            worst_so_far
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cannot_be_told_apart_has_a_range() {
        let verdict = |left: usize, right: usize| match (left, right) {
            (0 | 1, 2) => Verdict::Faster,
            (2, 0 | 1) => Verdict::Slower,
            _ => Verdict::CannotTell,
        };
        let found = ranges(3, verdict);
        assert_eq!(ranks(&found), [1, 1, 3]);
        assert_eq!(found[0], RankRange { low: 1, high: 2 });
        assert_eq!(found[2], RankRange { low: 3, high: 3 });
    }
}
