//! Response times over time in few bins: what a heat map shows.

use super::CompactHistogram;
use serde::{Deserialize, Serialize};

/// Bins per power of ten: the ends of a bin differ by 21 %.
const BINS_PER_DECADE: f64 = 12.0;
/// Maximum number of distributions of a measurement: more columns could not be distinguished on a screen.
const MOST: usize = 60;

/// The response times of the valid replies in a part of the measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Start, from the start of the measurement, s.
    pub start_s: f64,
    /// Length, s.
    pub length_s: f64,
    /// Number of the first bin. Bin N has the durations from 10^(N / 12) ns up to those of the next bin.
    pub first_bin: u32,
    /// Number of replies in each bin from there on.
    pub counts: Vec<u64>,
}

impl Distribution {
    /// Sorts the response times of an interval into bins.
    pub fn of(start_s: f64, length_s: f64, times: &CompactHistogram) -> Self {
        let mut made = Self {
            start_s,
            length_s,
            ..Self::default()
        };
        for (ns, count) in times.durations() {
            made.add(bin_of(ns), count);
        }
        made
    }

    /// Joins neighbours, which are sorted by time, until few are left.
    pub fn over_time(parts: Vec<Self>) -> Vec<Self> {
        let each = parts.len().div_ceil(MOST).max(1);
        if each == 1 {
            return parts;
        }
        parts.chunks(each).map(Self::joined).collect()
    }

    fn joined(parts: &[Self]) -> Self {
        let mut sum = Self {
            start_s: parts[0].start_s,
            ..Self::default()
        };
        for part in parts {
            sum.length_s = part.start_s + part.length_s - sum.start_s;
            for (bin, &count) in (part.first_bin..).zip(&part.counts) {
                sum.add(bin, count);
            }
        }
        sum
    }

    fn add(&mut self, bin: u32, count: u64) {
        if self.counts.is_empty() {
            self.first_bin = bin;
        }
        if bin < self.first_bin {
            let before = (self.first_bin - bin) as usize;
            self.counts.splice(0..0, std::iter::repeat_n(0, before));
            self.first_bin = bin;
        }
        let at = (bin - self.first_bin) as usize;
        self.counts.resize(self.counts.len().max(at + 1), 0);
        self.counts[at] = self.counts[at].saturating_add(count);
    }
}

fn bin_of(ns: u64) -> u32 {
    ((ns.max(1) as f64).log10() * BINS_PER_DECADE).floor() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;
    use proptest::prelude::*;

    fn of(start_s: f64, times: &[u64]) -> Distribution {
        let mut histogram = Histogram::new();
        for &ns in times {
            histogram.record(ns);
        }
        Distribution::of(start_s, 0.1, &CompactHistogram::of(&histogram))
    }

    #[test]
    fn each_duration_is_in_its_bin() {
        let found = of(0.0, &[1_000, 1_000, 90_000, 1_100_000]);
        assert_eq!(found.first_bin, 36);
        assert_eq!(found.counts.len(), 37);
        assert_eq!((found.counts[0], found.counts[36]), (2, 1));
        assert!(of(0.0, &[]).counts.is_empty());
    }

    proptest! {
        #[test]
        fn joining_loses_no_reply_and_leaves_no_gap(times in prop::collection::vec(1u64..10_000_000_000, 0..300)) {
            let of_one = |(at, &ns): (usize, &u64)| {
                let mut part = Distribution { start_s: at as f64 / 10.0, length_s: 0.1, ..Distribution::default() };
                part.add(bin_of(ns), 1);
                part
            };
            let parts: Vec<Distribution> = times.iter().enumerate().map(of_one).collect();
            let joined = Distribution::over_time(parts);
            prop_assert!(joined.len() <= MOST);
            let replies: u64 = joined.iter().flat_map(|part| &part.counts).sum();
            prop_assert_eq!(replies, times.len() as u64);
            for pair in joined.windows(2) {
                prop_assert!((pair[0].start_s + pair[0].length_s - pair[1].start_s).abs() < 1e-9);
            }
        }
    }
}
