//! Histograms of durations with three significant digits.

use crate::Latency;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};

/// Longest duration that is distinguished, ns: one hour. Longer ones are recorded as one hour.
const HIGHEST_NS: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;
/// Number of leading bits of a duration that [`Histogram::rounded`] keeps: 256 steps per doubling.
const ROUNDED_BITS: u32 = 9;

/// A histogram of durations in ns with three significant digits, from 1 ns to one hour: an `HdrHistogram`.
///
/// Histograms merge without loss, in any order.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram(hdrhistogram::Histogram<u64>);

/// The error for text that is not a histogram.
#[derive(Debug, thiserror::Error)]
#[error("not a base64 HdrHistogram V2: {0}")]
pub struct HistogramError(String);

impl Histogram {
    /// An empty histogram. Takes about 260 KiB.
    pub fn new() -> Self {
        let histogram = hdrhistogram::Histogram::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS);
        Self(histogram.expect("the bounds are valid"))
    }

    /// Records one duration, ns.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    /// Records `count` equal durations, ns.
    pub fn record_many(&mut self, ns: u64, count: u64) {
        self.0.saturating_record_n(ns, count);
    }

    /// Adds all durations of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if !other.is_empty() {
            self.0.add(&other.0).expect("all histograms have the same bounds");
        }
    }

    /// Removes all durations, but keeps the memory.
    pub fn clear(&mut self) {
        if !self.is_empty() {
            self.0.reset();
        }
    }

    /// Number of durations recorded.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The duration in ns that a share `quantile` (0 to 1) of all durations does not exceed; `None` if empty.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        (!self.is_empty()).then(|| self.0.value_at_quantile(quantile).min(self.0.max()))
    }

    /// The duration of a rank, from 1; `None` if there are fewer durations.
    pub(super) fn at_rank(&self, rank: u64) -> Option<u64> {
        // Half a rank lower: the quantile is rounded up to the next duration, so rounding errors do not matter.
        let share = (rank as f64 - 0.5) / self.len() as f64;
        if rank > self.len() {
            return None;
        }
        self.quantile(share)
    }

    /// The mean in ns; `None` if empty.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.0.mean())
    }

    /// The summary that reports show; `None` if empty.
    pub fn summary(&self) -> Option<Latency> {
        let at = |quantile| self.quantile(quantile);
        Some(Latency {
            mean: self.mean()?,
            min: self.0.min(),
            p50: at(0.5)?,
            p75: at(0.75)?,
            p90: at(0.9)?,
            p95: at(0.95)?,
            p99: at(0.99)?,
            p99_9: at(0.999)?,
            p99_99: at(0.9999)?,
            max: self.0.max(),
        })
    }

    /// The non-empty buckets: highest duration in ns, and count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
    }

    /// Rounds each duration to the middle of one of 256 steps per doubling. Durations change by at most 0.2 %, and only a quarter
    /// of the buckets remain. Most bytes of an encoded histogram describe random differences between neighbouring buckets of 0.1
    /// %.
    #[must_use]
    pub fn rounded(&self) -> Self {
        let mut rounded = Self::new();
        for (ns, count) in self.buckets() {
            let width = (u64::BITS - ns.leading_zeros()).saturating_sub(ROUNDED_BITS);
            let middle = 1_u64 << width >> 1;
            rounded.record_many((ns >> width << width) + middle, count);
        }
        rounded
    }

    /// Encodes it as `HdrHistogram` V2, compressed, in base64.
    pub fn encode(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.0, &mut bytes)
            .expect("writing to memory does not fail");
        STANDARD.encode(bytes)
    }

    /// Decodes the output of [`Histogram::encode`].
    pub fn decode(text: &str) -> Result<Self, HistogramError> {
        let bytes = STANDARD
            .decode(text.trim())
            .map_err(|error| HistogramError(error.to_string()))?;
        let read = Deserializer::new().deserialize(&mut bytes.as_slice());
        let histogram: hdrhistogram::Histogram<u64> =
            read.map_err(|error| HistogramError(error.to_string()))?;
        let mut ours = Self::new();
        ours.0
            .add(histogram)
            .map_err(|error| HistogramError(error.to_string()))?;
        Ok(ours)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merge_is_recording_all(left: Vec<u32>, right: Vec<u32>) {
            let of = |values: &[u32]| {
                let mut histogram = Histogram::new();
                for &value in values {
                    histogram.record(u64::from(value));
                }
                histogram
            };
            let mut merged = of(&left);
            merged.merge(&of(&right));
            prop_assert_eq!(&merged, &of(&[left, right].concat()));
            prop_assert_eq!(Histogram::decode(&merged.encode()).expect("own text"), merged);
        }

        #[test]
        fn three_digits_hold(ns in 1..HIGHEST_NS) {
            let mut histogram = Histogram::new();
            histogram.record(ns);
            let found = histogram.quantile(0.5).expect("one duration");
            prop_assert!((found as f64 / ns as f64 - 1.0).abs() < 1e-3);
        }

        #[test]
        fn what_is_rounded_has_as_many_at_nearly_the_same(values in proptest::collection::vec(1..HIGHEST_NS, 1..200)) {
            let mut all = Histogram::new();
            for value in values {
                all.record(value);
            }
            let rounded = all.rounded();
            prop_assert_eq!(rounded.len(), all.len());
            for step in 0..=10 {
                let quantile = f64::from(step) / 10.0;
                let (exact, found) = (all.quantile(quantile).expect("some"), rounded.quantile(quantile).expect("some"));
                prop_assert!((found as f64 / exact as f64 - 1.0).abs() < 3e-3, "{found} for {exact}");
            }
            prop_assert_eq!(rounded.rounded(), rounded);
        }
    }

    #[test]
    fn what_is_rounded_is_short() {
        let mut all = Histogram::new();
        let mut random = 1_u64;
        for _ in 0..70_000 {
            // Every value of a range of 8 to 1 is equally likely: most buckets are non-empty.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            all.record(1_000_000 + (random >> 32) % 7_000_000);
        }
        let (exact, rounded) = (all.encode().len(), all.rounded().encode().len());
        assert!(2 * rounded < exact, "{exact} became {rounded}");
    }

    #[test]
    fn empty_has_no_quantile() {
        assert_eq!(Histogram::new().quantile(0.5), None);
        assert_eq!(Histogram::new().summary(), None);
    }
}
