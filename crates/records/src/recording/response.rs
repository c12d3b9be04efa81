//! Percentiles over every request of a sample, with or without a reply.

use super::{Histogram, HistogramError, OperationRecording, Outcomes, Quantile, Recording, ResponseTimes};

/// Number of replies that must be beyond a percentile for it to be meaningful.
pub const BEYOND: u64 = 10;

/// The response times of a sample: every request that was due in the measurement, or earlier and still open when the measurement
/// ended.
///
/// Valid replies have a time, requests that were still open when the load ended have an age, and all others (unexpected replies,
/// timeouts, resets, connect errors, dropped arrivals) count above both. A sample is only counts and histograms:
/// the samples of threads, workers and windows merge without loss.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Responses {
    /// Times of valid replies.
    pub valid: Histogram,
    /// Ages of the requests that were still open when the load ended, if there were any.
    pub open: Option<Histogram>,
    /// Number of failed requests, which have neither a time nor an age.
    pub failed: u64,
}

impl Responses {
    /// A sample from its outcomes: requests with neither a time nor an age have failed.
    pub fn new(valid: Histogram, open: Option<Histogram>, outcomes: &Outcomes) -> Self {
        let open = open.filter(|open| !open.is_empty());
        let known = valid.len() + open.as_ref().map_or(0, Histogram::len);
        Self {
            failed: outcomes.total().saturating_sub(known),
            valid,
            open,
        }
    }

    /// Reads the sample of a recording. If it covers survivors only, requests without a complete reply count as failed.
    pub fn of(recording: &Recording) -> Result<Self, HistogramError> {
        Self::read(
            &recording.histogram,
            &recording.open_histogram,
            &recording.outcomes,
        )
    }

    /// Reads the sample of one operation of a recording.
    pub fn of_operation(one: &OperationRecording) -> Result<Self, HistogramError> {
        Self::read(&one.histogram, &one.open_histogram, &one.outcomes)
    }

    fn read(histogram: &str, open: &str, outcomes: &Outcomes) -> Result<Self, HistogramError> {
        let open = (!open.is_empty()).then(|| Histogram::decode(open)).transpose()?;
        Ok(Self::new(Histogram::decode(histogram)?, open, outcomes))
    }

    /// Adds another sample.
    pub fn merge(&mut self, other: &Self) {
        self.valid.merge(&other.valid);
        if let Some(open) = &other.open {
            self.open.get_or_insert_default().merge(open);
        }
        self.failed += other.failed;
    }

    /// Number of requests.
    pub fn len(&self) -> u64 {
        self.valid.len() + self.open() + self.failed
    }

    /// Whether the sample contains no request.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn open(&self) -> u64 {
        self.open.as_ref().map_or(0, Histogram::len)
    }

    /// The time that a share `quantile` (0 to 1) of all requests does not exceed; `None` without requests.
    pub fn quantile(&self, quantile: f64) -> Option<Quantile> {
        self.at_rank(rank(quantile, self.len())?)
    }

    /// The request of a rank, from 1, by time. A request that is still open may take any time beyond its age, so times from the
    /// first open request on are lower bounds.
    fn at_rank(&self, rank: u64) -> Option<Quantile> {
        if rank > self.len() {
            return None;
        }
        let Some(open) = &self.open else {
            let time = self.valid.at_rank(rank);
            return Some(time.map_or(Quantile::Unbounded, Quantile::Exact));
        };
        let (mut times, mut ages) = (self.valid.buckets().peekable(), open.buckets().peekable());
        let (mut seen, mut is_exact) = (0, true);
        loop {
            let replied_first = match (times.peek(), ages.peek()) {
                (Some(time), Some(age)) => time.0 <= age.0,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => return Some(Quantile::Unbounded),
            };
            let (ns, count) = if replied_first { times.next() } else { ages.next() }?;
            is_exact &= replied_first;
            seen += count;
            if seen >= rank {
                return Some(if is_exact {
                    Quantile::Exact(ns)
                } else {
                    Quantile::AtLeast(ns)
                });
            }
        }
    }

    fn mean(&self) -> Option<Quantile> {
        if self.failed > 0 {
            return Some(Quantile::Unbounded);
        }
        let sum = |times: &Histogram| times.mean().unwrap_or(0.0) * times.len() as f64;
        match &self.open {
            None => Some(Quantile::Exact(self.valid.mean()?.round() as u64)),
            Some(open) => {
                let mean = (sum(&self.valid) + sum(open)) / self.len() as f64;
                Some(Quantile::AtLeast(mean.round() as u64))
            }
        }
    }

    /// The summary that reports show; `None` without requests.
    pub fn times(&self) -> Option<ResponseTimes> {
        let at = |quantile| self.quantile(quantile);
        Some(ResponseTimes {
            mean: self.mean()?,
            min: self.at_rank(1)?,
            p50: at(0.5)?,
            p75: at(0.75)?,
            p90: at(0.9)?,
            p95: at(0.95)?,
            p99: at(0.99)?,
            p99_9: at(0.999)?,
            p99_99: at(0.9999)?,
            max: self.at_rank(self.len())?,
        })
    }
}

/// The rank of a quantile among `all` requests; `None` without requests.
fn rank(quantile: f64, all: u64) -> Option<u64> {
    // A product such as 297.00000000000006 stands for 297.
    let wanted = (quantile * all as f64 * (1.0 - 1e-12)).ceil() as u64;
    (all > 0).then(|| wanted.clamp(1, all))
}

/// Whether a percentile of `requests` requests has [ten](BEYOND) beyond it, so that it may be printed and used for ranking.
pub fn is_supported(quantile: f64, requests: u64) -> bool {
    rank(quantile, requests).is_some_and(|rank| requests - rank >= BEYOND)
}

impl Recording {
    /// Number of complete replies received in the measurement, whenever their requests were due: these used the CPU time of the
    /// measurement.
    pub fn replies(&self) -> u64 {
        (self.throughput_per_s * self.duration_s).round() as u64
    }

    /// Number of valid replies received in the measurement.
    pub fn valid_replies(&self) -> u64 {
        (self.goodput_per_s * self.duration_s).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Quantile::{AtLeast, Exact, Unbounded};
    use super::*;
    use proptest::prelude::*;

    fn times(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for &value in values {
            histogram.record(value);
        }
        histogram
    }

    fn sample(valid: &[u64], open: &[u64], failed: u64) -> Responses {
        Responses {
            valid: times(valid),
            open: (!open.is_empty()).then(|| times(open)),
            failed,
        }
    }

    #[test]
    fn a_failed_request_counts_above_all_others() {
        let valid: Vec<u64> = (1..=990).collect();
        let all = sample(&valid, &[], 10);
        assert_eq!(all.quantile(0.5), Some(Exact(500)));
        assert_eq!(
            all.quantile(0.99),
            Some(Exact(990)),
            "no more than 1 % have failed"
        );
        assert_eq!(all.quantile(0.991), Some(Unbounded));
        let told = all.times().expect("requests");
        assert_eq!((told.mean, told.max, told.min), (Unbounded, Unbounded, Exact(1)));
        assert_eq!(sample(&valid[..989], &[], 11).quantile(0.99), Some(Unbounded));
    }

    #[test]
    fn one_that_is_still_open_has_its_age_as_a_lower_bound() {
        let all = sample(&[10, 20, 30, 40, 50, 60, 70, 80], &[500], 1);
        assert_eq!(all.quantile(0.8), Some(Exact(80)));
        assert_eq!(all.quantile(0.9), Some(AtLeast(500)));
        assert_eq!(all.quantile(0.95), Some(Unbounded));
        let open = sample(&[10, 20], &[500], 0).times().expect("requests");
        assert_eq!((open.max, open.mean), (AtLeast(500), AtLeast(177)));
        // The open request may still take longer than the 90.
        assert_eq!(sample(&[10, 90], &[50], 0).quantile(1.0), Some(AtLeast(90)));
    }

    #[test]
    fn nothing_valid_has_no_bound_and_nothing_at_all_has_no_percentile() {
        let none = sample(&[], &[], 3).times().expect("requests");
        assert_eq!((none.min, none.p50, none.max), (Unbounded, Unbounded, Unbounded));
        assert_eq!(Responses::default().times(), None);
        assert_eq!(Responses::default().quantile(0.5), None);
    }

    #[test]
    fn a_percentile_needs_ten_replies_beyond_it() {
        assert!(is_supported(0.99, 1_000) && !is_supported(0.99, 999));
        assert!(is_supported(0.5, 20) && !is_supported(0.5, 19));
        assert!(is_supported(0.999, 10_000) && !is_supported(0.999, 9_999));
    }

    proptest! {
        /// The definition of a quantile, on a sorted list in which failed requests are the longest.
        #[test]
        fn quantiles_are_those_of_the_sorted_list(
            valid in proptest::collection::vec(1..2_000_u64, 0..40),
            open in proptest::collection::vec(1..2_000_u64, 0..5),
            failed in 0..5_u64,
            share in 0.0..=1.0f64,
        ) {
            let mut all: Vec<Quantile> = valid.iter().map(|&ns| Exact(ns)).collect();
            all.extend(open.iter().map(|&ns| AtLeast(ns)));
            all.extend((0..failed).map(|_| Unbounded));
            all.sort();
            let found = sample(&valid, &open, failed).quantile(share);
            let rank = rank(share, all.len() as u64);
            let wanted = rank.map(|rank| {
                let upto = &all[..rank as usize];
                let is_open = upto.iter().any(|one| matches!(one, AtLeast(_)));
                match all[rank as usize - 1] {
                    Exact(ns) if is_open => AtLeast(ns),
                    other => other,
                }
            });
            prop_assert_eq!(found, wanted);
        }

        #[test]
        fn merging_is_recording_all(
            left in proptest::collection::vec(1..5_000_u64, 0..20),
            right in proptest::collection::vec(1..5_000_u64, 0..20),
            open: bool,
        ) {
            let ages: &[u64] = if open { &[7, 9] } else { &[] };
            let mut merged = sample(&left, ages, 2);
            merged.merge(&sample(&right, &[], 3));
            prop_assert_eq!(merged, sample(&[left, right].concat(), ages, 5));
        }
    }
}
