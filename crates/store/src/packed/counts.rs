//! Histograms as counts: an `HdrHistogram` V2 unpacked, its numbers written with as many bits as they are unlikely.
//!
//! A number is its sign, how many bits it has, and these bits. How likely each of them is was seen in the numbers before it,
//! given how long the two before were: counts of neighbouring buckets are alike. Coded as in Witten, Neal and Cleary 1987, with
//! ranges of 32 bits.

use super::Damaged;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use std::io::{Read as _, Write as _};

/// Bytes before the compressed part of a histogram.
const OUTER: usize = 8;
/// Bytes before its counts.
const INNER: usize = 40;
/// Bytes and counts beyond which no histogram of ours is.
const LONGEST: u64 = 1 << 20;
const MOST_COUNTS: u64 = 1 << 17;

/// The bytes of a histogram; `None` where the same text could not be made again from them.
pub(super) fn histogram(text: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(text).ok()?;
    let (outer, deflated) = bytes.split_at_checked(OUTER)?;
    let mut inner = Vec::new();
    ZlibDecoder::new(deflated)
        .take(LONGEST)
        .read_to_end(&mut inner)
        .ok()?;
    let (header, counts) = inner.split_at_checked(INNER)?;
    let numbers = numbers_of(counts)?;
    let coded = coded(&numbers);
    let mut out = Vec::with_capacity(coded.len() + OUTER + INNER + 8);
    out.extend(&outer[..4]);
    out.extend(header);
    put_number(&mut out, numbers.len() as u64);
    put_number(&mut out, coded.len() as u64);
    out.extend(coded);
    (take_histogram(&mut &out[..]).ok()? == text).then_some(out)
}

/// The text of a histogram, which is taken from the begin of the bytes.
pub(super) fn take_histogram(bytes: &mut &[u8]) -> Result<String, Damaged> {
    let outer = take(bytes, 4)?;
    let mut inner = take(bytes, INNER)?.to_vec();
    let count = take_number(bytes)?;
    let length = take_number(bytes)?;
    if count > MOST_COUNTS || length > LONGEST {
        return Err(Damaged::new("a histogram is too long"));
    }
    let mut decoder = Decoder::new(take(bytes, length as usize)?);
    let mut model = Model::new();
    for _ in 0..count {
        put_leb(&mut inner, model.number(&mut |likely, _| decoder.bit(likely), 0));
    }
    let mut out = outer.to_vec();
    out.extend([0; 4]);
    let mut encoder = ZlibEncoder::new(out, Compression::default());
    let written = encoder.write_all(&inner).and_then(|()| encoder.finish());
    let mut out = written.map_err(Damaged::new)?;
    let deflated = (out.len() - OUTER) as u32;
    out[4..OUTER].copy_from_slice(&deflated.to_be_bytes());
    Ok(STANDARD.encode(out))
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8], Damaged> {
    let (taken, rest) = bytes
        .split_at_checked(length)
        .ok_or_else(|| Damaged::new("a histogram is cut short"))?;
    *bytes = rest;
    Ok(taken)
}

/// Writes a number in seven bits a byte.
pub(super) fn put_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads what [`put_number`] wrote.
pub(super) fn take_number(bytes: &mut &[u8]) -> Result<u64, Damaged> {
    let mut value = 0;
    for place in 0..9 {
        let byte = take(bytes, 1)?[0];
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Damaged::new("a number is too long"))
}

/// The numbers of an `HdrHistogram`: zigzag, seven bits a byte, the ninth byte with eight.
fn numbers_of(mut bytes: &[u8]) -> Option<Vec<i64>> {
    let mut numbers = Vec::new();
    while !bytes.is_empty() {
        let mut value = 0_u64;
        for place in 0..9 {
            let (&byte, rest) = bytes.split_first()?;
            bytes = rest;
            let bits = if place == 8 { byte } else { byte & 0x7f };
            value |= u64::from(bits) << (7 * place);
            if byte < 0x80 {
                break;
            }
        }
        numbers.push((value >> 1) as i64 ^ -((value & 1) as i64));
    }
    Some(numbers)
}

fn put_leb(out: &mut Vec<u8>, number: i64) {
    let mut value = ((number << 1) ^ (number >> 63)) as u64;
    for _ in 0..8 {
        if value < 0x80 {
            out.push(value as u8);
            return;
        }
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn coded(numbers: &[i64]) -> Vec<u8> {
    let mut encoder = Encoder::default();
    let mut model = Model::new();
    for &number in numbers {
        model.number(
            &mut |likely, bit| {
                encoder.bit(likely, bit);
                bit
            },
            number,
        );
    }
    encoder.done()
}

/// How likely a bit is set, in 65,536ths, and how often it was seen.
#[derive(Clone, Copy)]
struct Likely {
    set: u16,
    seen: u8,
}

/// Times after which what was seen is forgotten as fast as it comes.
const MEMORY: u8 = 30;
/// Longest number in bits.
const BITS: usize = 64;
/// Contexts: how long the two numbers before were together.
const CONTEXTS: usize = 16;

impl Likely {
    const NEW: Self = Self {
        set: 1 << 15,
        seen: 0,
    };

    fn ask(&mut self, bit: &mut dyn FnMut(u16, bool) -> bool, wanted: bool) -> bool {
        let found = bit(self.set, wanted);
        self.saw(found);
        found
    }

    fn saw(&mut self, bit: bool) {
        let wanted = if bit { 65_535 } else { 0 };
        let step = (wanted - i32::from(self.set)) / (i32::from(self.seen) + 2);
        self.set = (i32::from(self.set) + step).clamp(64, 65_535 - 64) as u16;
        self.seen = (self.seen + 1).min(MEMORY);
    }
}

struct Model {
    sign: [Likely; CONTEXTS],
    length: Vec<[Likely; BITS + 1]>,
    top: Vec<[Likely; 8]>,
    before: [usize; 2],
}

impl Model {
    fn new() -> Self {
        Self {
            sign: [Likely::NEW; CONTEXTS],
            length: vec![[Likely::NEW; BITS + 1]; 2 * CONTEXTS],
            top: vec![[Likely::NEW; 8]; 2 * (BITS + 1)],
            before: [0; 2],
        }
    }

    /// Walks through the bits of a number. `bit` is given how likely the bit is set and the bit itself, and gives the bit: one
    /// that encodes gives it back, one that decodes ignores it.
    fn number(&mut self, bit: &mut dyn FnMut(u16, bool) -> bool, number: i64) -> i64 {
        let context = (self.before[0] + self.before[1]).min(CONTEXTS - 1);
        let magnitude = number.unsigned_abs();
        let negative = self.sign[context].ask(bit, number < 0);
        let side = usize::from(negative);
        let wanted = BITS - magnitude.leading_zeros() as usize;
        let lengths = &mut self.length[side * CONTEXTS + context];
        let mut length = 0;
        while length < BITS && lengths[length].ask(bit, length < wanted) {
            length += 1;
        }
        let top = &mut self.top[side * (BITS + 1) + length];
        let mut found = u64::from(length > 0);
        for place in (0..length.saturating_sub(1)).rev() {
            let wanted = (magnitude >> place) & 1 == 1;
            let set = if found < 8 {
                top[found as usize].ask(bit, wanted)
            } else {
                bit(1 << 15, wanted)
            };
            found = found << 1 | u64::from(set);
        }
        self.before = [self.before[1], if negative { 0 } else { length }];
        if negative {
            (found as i64).wrapping_neg()
        } else {
            found as i64
        }
    }
}

#[derive(Default)]
struct Encoder {
    low: u32,
    /// From the highest number downwards.
    above: u32,
    out: Vec<u8>,
}

/// Where a range is cut: the lower part is that of a bit that is set.
fn cut(low: u32, high: u32, likely: u16) -> u32 {
    low + ((u64::from(high - low) * u64::from(likely)) >> 16) as u32
}

impl Encoder {
    fn bit(&mut self, likely: u16, bit: bool) {
        let high = u32::MAX - self.above;
        let middle = cut(self.low, high, likely);
        let (mut low, mut high) = if bit {
            (self.low, middle)
        } else {
            (middle + 1, high)
        };
        while (low ^ high) >> 24 == 0 {
            self.out.push((high >> 24) as u8);
            low <<= 8;
            high = high << 8 | 0xff;
        }
        (self.low, self.above) = (low, u32::MAX - high);
    }

    /// A byte of the range tells all: those after it are read as zero.
    fn done(mut self) -> Vec<u8> {
        self.out.extend((u32::MAX - self.above).to_be_bytes());
        self.out
    }
}

struct Decoder<'a> {
    low: u32,
    high: u32,
    value: u32,
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Self {
            low: 0,
            high: u32::MAX,
            value: 0,
            rest: bytes,
        };
        for _ in 0..4 {
            decoder.next();
        }
        decoder
    }

    fn next(&mut self) {
        let byte = self.rest.split_first().map_or(0, |(&byte, rest)| {
            self.rest = rest;
            byte
        });
        self.value = self.value << 8 | u32::from(byte);
    }

    fn bit(&mut self, likely: u16) -> bool {
        let middle = cut(self.low, self.high, likely);
        let bit = self.value <= middle;
        if bit {
            self.high = middle;
        } else {
            self.low = middle + 1;
        }
        while (self.low ^ self.high) >> 24 == 0 {
            self.low <<= 8;
            self.high = self.high << 8 | 0xff;
            self.next();
        }
        bit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_measurement::Histogram;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(numbers in proptest::collection::vec(prop_oneof![-3..3_i64, 0..5_000_i64, any::<i64>()], 0..300)) {
            let bytes = coded(&numbers);
            let mut decoder = Decoder::new(&bytes);
            let mut model = Model::new();
            for &number in &numbers {
                prop_assert_eq!(model.number(&mut |likely, _| decoder.bit(likely), 0), number);
            }
            let mut written = Vec::new();
            for &number in &numbers {
                put_leb(&mut written, number);
            }
            prop_assert_eq!(numbers_of(&written), Some(numbers));
        }

        #[test]
        fn histograms_come_back(values in proptest::collection::vec(0..10_000_000_u64, 0..400)) {
            let mut all = Histogram::new();
            for value in values {
                all.record(value);
            }
            let text = all.encode();
            let packed = histogram(&text).expect("our own text");
            prop_assert_eq!(take_histogram(&mut &packed[..]).expect("own bytes"), text);
        }

        /// Whatever comes from elsewhere: nothing panics.
        #[test]
        fn bytes_of_elsewhere_do_no_harm(bytes: Vec<u8>) {
            let _ = take_histogram(&mut &bytes[..]);
        }
    }

    #[test]
    fn other_texts_are_left_as_they_are() {
        for text in ["", "no histogram", "AAAA", "HISTFAAAAAAAAAAAAAA="] {
            assert!(histogram(text).is_none(), "{text}");
        }
    }
}
