//! Histograms of durations with three significant digits.

use super::buckets::{BUCKETS, highest_of};
use crate::Latency;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use std::io::Read as _;

/// Longest duration that is distinguished, ns: one hour. Longer ones are recorded as one hour.
const HIGHEST_NS: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;
/// Number of leading bits of a duration that [`Histogram::rounded`] keeps: 256 steps per doubling.
const ROUNDED_BITS: u32 = 9;
/// The highest number of durations in one histogram: sums of many histograms must not overflow.
const HIGHEST_COUNT: u64 = 1 << 53;

/// First bytes of a compressed `HdrHistogram` V2, and of what is compressed in it.
const COMPRESSED: u32 = 0x1c84_9314;
const UNCOMPRESSED: u32 = 0x1c84_9313;
/// Bytes before the counts: cookie, length, offset, digits, lowest, highest, ratio.
const HEADER: usize = 40;
/// A count takes at most this number of bytes.
const LONGEST_COUNT: usize = 9;
/// No histogram with our bounds is longer, bytes.
const LONGEST: usize = HEADER + LONGEST_COUNT * BUCKETS as usize;

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

    /// Records `count` equal durations, ns. A histogram holds at most 2^53 durations; further ones are left out.
    pub fn record_many(&mut self, ns: u64, count: u64) {
        let room = HIGHEST_COUNT.saturating_sub(self.len());
        self.0.saturating_record_n(ns, count.min(room));
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

    /// Decodes the output of [`Histogram::encode`]. The text may come from anyone: its cost is bounded by the size of a histogram,
    /// whatever lengths and counts it declares.
    pub fn decode(text: &str) -> Result<Self, HistogramError> {
        let bytes = STANDARD
            .decode(text.trim())
            .map_err(|error| HistogramError(error.to_string()))?;
        let (header, deflated) = bytes
            .split_first_chunk::<8>()
            .ok_or_else(|| HistogramError("it is truncated".to_owned()))?;
        if header[..4] != COMPRESSED.to_be_bytes() {
            return Err(HistogramError("it has another format".to_owned()));
        }
        let mut bytes = Vec::new();
        ZlibDecoder::new(deflated)
            .take(LONGEST as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| HistogramError(error.to_string()))?;
        if bytes.len() > LONGEST {
            return Err(HistogramError("it is too long".to_owned()));
        }
        let mut histogram = Self::new();
        let mut index = 0;
        for number in numbers(counts(&bytes)?) {
            let number = number?;
            if let Ok(count) = u64::try_from(number) {
                if count > 0 {
                    histogram.add_bucket(index, count)?;
                }
                index += 1;
            } else {
                // Empty buckets.
                index = u64::saturating_add(index, number.unsigned_abs());
            }
        }
        Ok(histogram)
    }

    fn add_bucket(&mut self, index: u64, count: u64) -> Result<(), HistogramError> {
        if index >= BUCKETS {
            return Err(HistogramError("it has durations beyond one hour".to_owned()));
        }
        if count > HIGHEST_COUNT - self.len() {
            return Err(HistogramError("it has too many durations".to_owned()));
        }
        self.record_many(highest_of(index), count);
        Ok(())
    }
}

/// The encoded counts of an uncompressed `HdrHistogram` V2 with the bounds of [`Histogram::new`].
fn counts(bytes: &[u8]) -> Result<&[u8], HistogramError> {
    let truncated = || HistogramError("it is truncated".to_owned());
    let (header, counts) = bytes.split_first_chunk::<HEADER>().ok_or_else(truncated)?;
    let word = |at: usize| u32::from_be_bytes(std::array::from_fn(|byte| header[at + byte]));
    let lowest = (word(16), word(20));
    let is_ours = word(0) == UNCOMPRESSED && word(8) == 0 && word(12) == u32::from(SIGNIFICANT_DIGITS);
    if !is_ours || lowest != (0, 1) {
        return Err(HistogramError("it has another format or precision".to_owned()));
    }
    counts.get(..word(4) as usize).ok_or_else(truncated)
}

/// The numbers of an encoded histogram: a count of a bucket, or a number of empty buckets, negated. Each is `ZigZag` LEB128,
/// except that a ninth byte has 8 bits.
fn numbers(mut bytes: &[u8]) -> impl Iterator<Item = Result<i64, HistogramError>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let mut value = 0;
        for place in 0..LONGEST_COUNT {
            let Some((&byte, rest)) = bytes.split_first() else {
                return Some(Err(HistogramError("it is truncated".to_owned())));
            };
            bytes = rest;
            let is_last = byte < 0x80 || place + 1 == LONGEST_COUNT;
            let bits = if place + 1 == LONGEST_COUNT {
                byte
            } else {
                byte & 0x7f
            };
            value |= u64::from(bits) << (7 * place);
            if is_last {
                break;
            }
        }
        Some(Ok((value >> 1) as i64 ^ -((value & 1) as i64)))
    })
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
        fn every_bucket_and_count_is_decoded(values in proptest::collection::vec((1..2 * HIGHEST_NS, 1..1_u64 << 48), 0..20)) {
            let mut histogram = Histogram::new();
            for (ns, count) in values {
                histogram.record_many(ns, count);
            }
            prop_assert_eq!(Histogram::decode(&histogram.encode()).expect("own text"), histogram);
        }

        /// Arbitrary counts cause no panic: neither when they are decoded nor when they are summarised.
        #[test]
        fn arbitrary_counts_cause_no_panic(counts: Vec<u8>) {
            if let Ok(histogram) = Histogram::decode(&foreign(counts.len() as u32, 1, &counts)) {
                let _ = histogram.summary();
            }
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

    /// A histogram with this declared length, lowest duration and encoded counts.
    fn foreign(length: u32, lowest: u64, counts: &[u8]) -> String {
        let mut bytes = UNCOMPRESSED.to_be_bytes().to_vec();
        bytes.extend(
            [length, 0, u32::from(SIGNIFICANT_DIGITS)]
                .map(u32::to_be_bytes)
                .concat(),
        );
        bytes.extend(
            [lowest, HIGHEST_NS, 1_f64.to_bits()]
                .map(u64::to_be_bytes)
                .concat(),
        );
        bytes.extend(counts);
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, &bytes).expect("memory");
        let deflated = encoder.finish().expect("memory");
        let length = (deflated.len() as u32).to_be_bytes();
        STANDARD.encode([&COMPRESSED.to_be_bytes()[..], &length, &deflated].concat())
    }

    #[test]
    fn foreign_histograms_take_no_more_memory_than_ours() {
        let one = Histogram::decode(&foreign(1, 1, &[2])).expect("one duration");
        assert_eq!((one.len(), one.quantile(1.0)), (1, Some(0)));
        let endless = vec![2; LONGEST + 1];
        for (text, wanted) in [
            // Declares 4 GiB of counts.
            (foreign(u32::MAX, 1, &[2]), "truncated"),
            (foreign(endless.len() as u32, 1, &endless), "too long"),
            (foreign(1, 1 << 40, &[2]), "precision"),
            (foreign(2, 1, &[0x80, 0x80]), "truncated"),
            // i64::MIN empty buckets, and one count.
            (
                foreign(10, 1, &[[0xff; 9].as_slice(), &[2]].concat()),
                "beyond one hour",
            ),
            (
                foreign(9, 1, &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
                "too many",
            ),
            (STANDARD.encode("another format"), "another format"),
            (String::new(), "truncated"),
        ] {
            let error = Histogram::decode(&text).expect_err(wanted).to_string();
            assert!(error.contains(wanted), "{wanted}: {error}");
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
