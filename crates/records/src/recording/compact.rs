//! A compact encoding of histograms, for sending them between machines and for keeping many at once.

use super::Histogram;
use super::buckets::{BUCKETS, highest_of, index_of};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Initial capacity: an interval seldom needs more bytes.
const USUAL: usize = 4096;

/// The durations of a [`Histogram`] in as few bytes as needed. Each non-empty bucket is stored as the number of empty buckets
/// before it, and its count. A gap below 8 and a count up to 16, which cover most buckets of an interval, share one byte;
/// otherwise a byte of 128 is followed by both in LEB128. Equal durations give equal bytes, in whatever order they were merged.
///
/// In JSON it is base64. Untrusted bytes are decoded up to the first invalid one; their cost is bounded by their length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompactHistogram(Box<[u8]>);

impl CompactHistogram {
    /// Encodes the durations of a histogram.
    pub fn of(histogram: &Histogram) -> Self {
        let mut writer = Writer::with_room(USUAL);
        for (highest, count) in histogram.buckets() {
            writer.put(index_of(highest), count);
        }
        writer.done()
    }

    /// Decodes the durations into a histogram.
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

    /// Whether it contains no duration.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of durations.
    pub fn len(&self) -> u64 {
        self.buckets()
            .fold(0, |sum, (_, count)| sum.saturating_add(count))
    }

    /// The duration in ns that a share `quantile` (0 to 1) of all durations does not exceed. Equals [`Histogram::quantile`].
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        self.quantiles([quantile]).map(|[found]| found)
    }

    /// Several quantiles at once; `shares` must be ascending.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N]) -> Option<[u64; N]> {
        let all = self.len();
        let wanted = shares.map(|share| ((share.min(1.0) * all as f64).ceil() as u64).max(1));
        let (mut found, mut next, mut sum) = ([0; N], 0, 0);
        for (index, count) in self.buckets() {
            sum = u64::saturating_add(sum, count);
            while next < N && sum >= wanted[next] {
                found[next] = highest_of(index);
                next += 1;
            }
        }
        (all > 0).then_some(found)
    }

    /// The non-empty buckets in ascending order: longest duration in ns, and count.
    pub fn durations(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets().map(|(index, count)| (highest_of(index), count))
    }

    /// Adds the durations of another histogram.
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
                    std::cmp::Ordering::Equal => (left, count.saturating_add(more)),
                },
            };
            ours.next_if(|bucket| bucket.0 == index);
            theirs.next_if(|bucket| bucket.0 == index);
            writer.put(index, count);
        }
        *self = writer.done();
    }

    /// Index and count of each non-empty bucket, in ascending order.
    fn buckets(&self) -> Buckets<'_> {
        Buckets {
            bytes: self.0.iter(),
            index: 0,
        }
    }
}

/// Number of buckets that are checked together, since most buckets of long durations are empty.
const BLOCK: usize = 16;

/// The sum of many compact histograms. Adding to it does not re-encode the growing sum each time.
#[derive(Debug)]
pub struct CompactSum {
    counts: Vec<u64>,
    low: usize,
    high: usize,
}

impl CompactSum {
    /// An empty sum. Takes 264 KiB and can be reused.
    pub fn new() -> Self {
        Self {
            counts: vec![0; BUCKETS as usize],
            low: BUCKETS as usize,
            high: 0,
        }
    }

    /// Adds the durations of a histogram.
    pub fn add(&mut self, histogram: &CompactHistogram) {
        let mut buckets = histogram.buckets();
        let Some((first, count)) = buckets.next() else {
            return;
        };
        let (counts, mut last) = (&mut self.counts[..BUCKETS as usize], first as usize);
        counts[last] = counts[last].saturating_add(count);
        for (index, count) in buckets {
            last = index as usize;
            counts[last] = counts[last].saturating_add(count);
        }
        self.low = self.low.min(first as usize);
        self.high = self.high.max(last + 1);
    }

    /// Returns the sum and resets it to empty.
    pub fn take(&mut self) -> CompactHistogram {
        let mut writer = Writer::with_room(USUAL);
        let (low, high) = (self.low, self.high);
        if low < high {
            for (block, counts) in self.counts[low..high].chunks_mut(BLOCK).enumerate() {
                if counts.iter().fold(0, |any, count| any | count) == 0 {
                    continue;
                }
                for (index, count) in counts.iter_mut().enumerate() {
                    if *count > 0 {
                        let index = low + block * BLOCK + index;
                        writer.put(index as u64, std::mem::take(count));
                    }
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

/// Decodes buckets. Stops at the end of the bytes or at an invalid one.
struct Buckets<'a> {
    bytes: std::slice::Iter<'a, u8>,
    /// The lowest index that the next bucket can have.
    index: u64,
}

impl Buckets<'_> {
    // Not inlined, so that the loop over common buckets stays small.
    #[inline(never)]
    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for place in 0..9 {
            let &byte = self.bytes.next()?;
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
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
        let &byte = self.bytes.next()?;
        let (gap, count) = if byte < 0x80 {
            (u64::from(byte >> 4), u64::from(byte & 15) + 1)
        } else {
            (self.number()?, self.number()?)
        };
        let index = self.index + gap;
        self.index = index + 1;
        (index < BUCKETS).then_some((index, count))
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
        let gap = index - self.index;
        if gap < 8 && (1..=16).contains(&count) {
            self.bytes.push(((gap as u8) << 4) | (count - 1) as u8);
        } else {
            self.bytes.push(0x80);
            self.number(gap);
            self.number(count);
        }
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
                Ok(CompactHistogram(bytes.into()))
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<CompactHistogram, E> {
                Ok(CompactHistogram(bytes.into()))
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

        /// Decoding and merging arbitrary bytes must not panic.
        #[test]
        fn bytes_of_elsewhere_do_no_harm(bytes: Vec<u8>, other in durations()) {
            let mut read = CompactHistogram(bytes.into());
            let (all, found) = (read.len(), read.quantile(0.5));
            prop_assert_eq!(found.is_some(), all > 0);
            let other = CompactHistogram::of(&of(&other));
            let mut sum = CompactSum::new();
            sum.add(&read);
            sum.add(&other);
            read.merge(&other);
            prop_assert_eq!(sum.take().len(), read.len());
            prop_assert!(read.histogram().len() <= read.len());
        }
    }
}
