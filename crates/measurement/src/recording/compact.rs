//! Histograms as bytes: for what travels between machines, and for many at once.

use super::{Histogram, HistogramError};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Buckets of each power of two: those of an `HdrHistogram` of three digits.
const HALF: u64 = 1024;
/// Buckets up to that of the longest duration, one hour, which lies below 2 × 1024 × 2^31 ns.
const BUCKETS: u64 = 33 * HALF;

/// Bytes that the durations of an interval seldom exceed.
const USUAL: usize = 4096;

/// The durations of a [`Histogram`] in as many bytes as they need: each bucket that holds something as two numbers, how
/// many buckets lie between it and the one before, and its count (LEB128). Equal durations give equal bytes, however and in
/// whatever order they were merged.
///
/// In JSON it is base64.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompactHistogram(Box<[u8]>);

impl CompactHistogram {
    /// The durations of a histogram.
    pub fn of(histogram: &Histogram) -> Self {
        let mut writer = Writer::with_room(USUAL);
        for (highest, count) in histogram.buckets() {
            writer.put(index_of(highest), count);
        }
        writer.done()
    }

    /// The histogram that has these durations.
    pub fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::new();
        self.add_to(&mut histogram);
        histogram
    }

    /// Adds the durations to a histogram.
    pub fn add_to(&self, histogram: &mut Histogram) {
        for (index, count) in self.buckets() {
            histogram.record_many(highest_of(index), count);
        }
    }

    /// Whether there is no duration.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many durations there are.
    pub fn len(&self) -> u64 {
        self.buckets().map(|(_, count)| count).sum()
    }

    /// The duration in ns that a share `quantile` (0 to 1) of all does not exceed: what [`Histogram::quantile`] gives.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        self.quantiles([quantile]).map(|[found]| found)
    }

    /// Several of them; the shares must rise.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N]) -> Option<[u64; N]> {
        let all = self.len();
        let wanted = shares.map(|share| ((share.min(1.0) * all as f64).ceil() as u64).max(1));
        let (mut found, mut next, mut sum) = ([0; N], 0, 0);
        for (index, count) in self.buckets() {
            sum += count;
            while next < N && sum >= wanted[next] {
                found[next] = highest_of(index);
                next += 1;
            }
        }
        (all > 0).then_some(found)
    }

    /// Adds the durations of another one.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        let (mut ours, mut theirs) = (self.buckets().peekable(), other.buckets().peekable());
        let mut writer = Writer::with_room(self.0.len() + other.0.len());
        loop {
            let (index, count) = match (ours.peek(), theirs.peek()) {
                (None, None) => break,
                (Some(&bucket), None) | (None, Some(&bucket)) => bucket,
                (Some(&(left, count)), Some(&(right, more))) => match left.cmp(&right) {
                    std::cmp::Ordering::Less => (left, count),
                    std::cmp::Ordering::Greater => (right, more),
                    std::cmp::Ordering::Equal => (left, count + more),
                },
            };
            ours.next_if(|bucket| bucket.0 == index);
            theirs.next_if(|bucket| bucket.0 == index);
            writer.put(index, count);
        }
        *self = writer.done();
    }

    /// Each bucket's number and count, the numbers rising.
    fn buckets(&self) -> Buckets<'_> {
        Buckets {
            bytes: &self.0,
            index: 0,
        }
    }

    /// Takes bytes of elsewhere, if they are what [`CompactHistogram`] writes.
    fn read(bytes: Vec<u8>) -> Result<Self, HistogramError> {
        let read = Self(bytes.into_boxed_slice());
        let mut buckets = read.buckets();
        let mut writer = Writer::default();
        let mut sum = 0_u64;
        for (index, count) in buckets.by_ref() {
            let fits = index < BUCKETS && count > 0;
            sum = sum.checked_add(count).unwrap_or(0);
            if !fits || sum == 0 {
                break;
            }
            writer.put(index, count);
        }
        // The same bytes come out again, or they were none of ours.
        if writer.bytes == *read.0 {
            Ok(read)
        } else {
            Err(HistogramError::compact())
        }
    }
}

/// Sums of many compact histograms, without their growing sum being written again for each of them.
#[derive(Debug)]
pub struct CompactSum {
    counts: Vec<u64>,
    low: usize,
    high: usize,
}

impl CompactSum {
    /// An empty sum. Takes 264 KiB, to be used again and again.
    pub fn new() -> Self {
        Self {
            counts: vec![0; BUCKETS as usize],
            low: BUCKETS as usize,
            high: 0,
        }
    }

    /// Adds durations.
    pub fn add(&mut self, histogram: &CompactHistogram) {
        let mut first = None;
        let mut last = 0;
        for (index, count) in histogram.buckets() {
            last = index as usize;
            first.get_or_insert(last);
            self.counts[last] += count;
        }
        if let Some(first) = first {
            self.low = self.low.min(first);
            self.high = self.high.max(last + 1);
        }
    }

    /// The sum; what is added next begins a new one.
    pub fn take(&mut self) -> CompactHistogram {
        let mut writer = Writer::with_room(USUAL);
        let (low, high) = (self.low, self.high);
        if low < high {
            for (index, count) in self.counts[low..high].iter_mut().enumerate() {
                if *count > 0 {
                    writer.put((low + index) as u64, std::mem::take(count));
                }
            }
        }
        (self.low, self.high) = (BUCKETS as usize, 0);
        writer.done()
    }
}

impl Default for CompactSum {
    fn default() -> Self {
        Self::new()
    }
}

/// The number of the bucket of a duration.
const fn index_of(ns: u64) -> u64 {
    let octave = (ns | (2 * HALF - 1)).ilog2() as u64 + 1 - (2 * HALF).ilog2() as u64;
    octave * HALF + (ns >> octave)
}

/// The longest duration of a bucket.
const fn highest_of(index: u64) -> u64 {
    let octave = (index / HALF).saturating_sub(1);
    ((index - octave * HALF + 1) << octave) - 1
}

/// Reads buckets. Ends where the bytes end.
struct Buckets<'a> {
    bytes: &'a [u8],
    /// The least number that the next bucket can have.
    index: u64,
}

impl Buckets<'_> {
    #[inline]
    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for (place, &byte) in self.bytes.iter().enumerate().take(9) {
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                self.bytes = &self.bytes[place + 1..];
                return Some(value);
            }
        }
        None
    }
}

impl Iterator for Buckets<'_> {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        let index = self.index.checked_add(self.number()?)?;
        let count = self.number()?;
        self.index = index + 1;
        Some((index, count))
    }
}

#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    index: u64,
}

impl Writer {
    fn with_room(bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            index: 0,
        }
    }

    fn put(&mut self, index: u64, count: u64) {
        self.number(index - self.index);
        self.number(count);
        self.index = index + 1;
    }

    #[inline]
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn done(self) -> CompactHistogram {
        CompactHistogram(self.bytes.into_boxed_slice())
    }
}

impl Serialize for CompactHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&STANDARD.encode(&self.0))
        } else {
            serializer.serialize_bytes(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for CompactHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = CompactHistogram;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a compact histogram")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<CompactHistogram, E> {
                let bytes = STANDARD.decode(text).map_err(E::custom)?;
                CompactHistogram::read(bytes).map_err(E::custom)
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<CompactHistogram, E> {
                CompactHistogram::read(bytes.to_vec()).map_err(E::custom)
            }
        }
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(Visitor)
        } else {
            deserializer.deserialize_bytes(Visitor)
        }
    }
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        CompactHistogram::of(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        CompactHistogram::deserialize(deserializer).map(|compact| compact.histogram())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for &value in values {
            histogram.record(value);
        }
        histogram
    }

    fn durations() -> impl Strategy<Value = Vec<u64>> {
        let one = prop_oneof![0..5_000_u64, 0..10_000_000_u64, 0..4_000_000_000_000_u64];
        proptest::collection::vec(one, 0..60)
    }

    proptest! {
        #[test]
        fn nothing_is_lost(values in durations(), share in 0.0..1.0f64) {
            let histogram = of(&values);
            let compact = CompactHistogram::of(&histogram);
            prop_assert_eq!(compact.histogram(), histogram.clone());
            prop_assert_eq!(compact.len(), histogram.len());
            prop_assert_eq!(compact.quantile(share), histogram.quantile(share));
            prop_assert_eq!(compact.quantiles([0.5, 1.0]), histogram.quantile(0.5).zip(histogram.quantile(1.0)).map(|(a, b)| [a, b]));
            let json = serde_json::to_string(&compact).expect("plain data");
            prop_assert_eq!(serde_json::from_str::<CompactHistogram>(&json).expect("own text"), compact);
        }

        #[test]
        fn merging_is_recording_all(left in durations(), right in durations()) {
            let all = CompactHistogram::of(&of(&[left.clone(), right.clone()].concat()));
            let (left, right) = (CompactHistogram::of(&of(&left)), CompactHistogram::of(&of(&right)));
            let (mut one, mut other) = (left.clone(), right.clone());
            one.merge(&right);
            other.merge(&left);
            prop_assert_eq!(&one, &all);
            prop_assert_eq!(&other, &all);
            let mut sum = CompactSum::new();
            sum.add(&left);
            sum.add(&right);
            prop_assert_eq!(&sum.take(), &all);
            prop_assert!(sum.take().is_empty());
        }

        /// Whatever comes from elsewhere is taken or refused, and never panics.
        #[test]
        fn bytes_of_elsewhere_are_taken_only_where_they_are_ours(bytes: Vec<u8>) {
            if let Ok(read) = CompactHistogram::read(bytes) {
                prop_assert_eq!(CompactHistogram::of(&read.histogram()).len(), read.len());
            }
        }
    }
}
