//! The values that fill the placeholders of a template: pure functions of (seed, request number).

use prony_load::{CapturedValues, Parameter, Pick, Source};
use std::io::Write as _;

/// The parameters of a workload.
#[derive(Debug, Clone)]
pub struct Parameters {
    sources: Vec<Source>,
    seed: u64,
}

/// The parameter values of one request.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    parameters: &'a Parameters,
    number: u64,
    /// Step of its sequence, from 0.
    step: u16,
    /// Values captured from earlier replies of the sequence.
    captured: Option<&'a CapturedValues>,
}

impl Parameters {
    /// Creates the parameters of a job with this seed.
    pub fn new(parameters: &[Parameter], seed: u64) -> Self {
        Self {
            sources: parameters
                .iter()
                .map(|parameter| parameter.source.clone())
                .collect(),
            seed,
        }
    }

    /// The values of the request with this number.
    #[inline]
    pub const fn values(&self, number: u64) -> Values<'_> {
        Values {
            parameters: self,
            number,
            step: 0,
            captured: None,
        }
    }
}

impl<'a> Values<'a> {
    /// The same, with the values captured from earlier replies of the sequence.
    #[must_use]
    #[inline]
    pub const fn with_captured(self, captured: Option<&'a CapturedValues>) -> Self {
        Self { captured, ..self }
    }

    /// The same, for this step of the sequence.
    #[must_use]
    #[inline]
    pub const fn at_step(self, step: u16) -> Self {
        Self { step, ..self }
    }

    /// Appends the value of parameter `index`; an index without a parameter is a slot for captured values.
    pub fn append(&self, index: usize, out: &mut Vec<u8>) {
        let Parameters { sources, seed } = self.parameters;
        let random = |salt: u64| mix(seed ^ mix(self.number ^ mix(index as u64 ^ (salt << 32))));
        let captured = |slot: usize| self.captured.map_or(&[][..], |bag| bag.get(slot));
        let Some(source) = sources.get(index) else {
            return out.extend_from_slice(captured(index));
        };
        match source {
            Source::Counter { start } => decimal(start.wrapping_add(self.number), out),
            Source::Range { low, high } => decimal(low + self.number % (high - low).saturating_add(1), out),
            Source::Random { low, high } => {
                let span = u128::from(high - low) + 1;
                decimal(low + below(random(0), span), out);
            }
            Source::Hex { digits } => {
                for begin in (0..*digits).step_by(16) {
                    let block = hex(random(u64::from(begin / 16)));
                    let block = block.as_flattened();
                    out.extend_from_slice(&block[..usize::from(digits - begin).min(16)]);
                }
            }
            Source::Messages(messages) => {
                let message = (self.number % messages.len() as u64) as usize;
                out.extend_from_slice(messages[message].as_slice());
            }
            Source::Lines(lines) => {
                let line = (self.number % lines.len() as u64) as usize;
                out.extend_from_slice(lines[line].as_bytes());
            }
            Source::Column { values, pick } => {
                let rows = values.len() as u64;
                let row = match pick {
                    Pick::InTurn | Pick::Once => self.number % rows,
                    // Depends on the number alone, so that all columns of a table use the same row.
                    Pick::Random => below(mix(seed ^ mix(self.number)), u128::from(rows)),
                    Pick::Each => {
                        let request = self.number ^ (u64::from(self.step) << 48);
                        below(mix(seed ^ mix(request)), u128::from(rows))
                    }
                };
                out.extend_from_slice(values[row as usize].as_bytes());
            }
            Source::Taken(slot) => out.extend_from_slice(captured(*slot)),
        }
    }
}

/// The 16 hexadecimal digits of a number, lowest first. Computes eight at a time, one per byte of a register.
fn hex(bits: u64) -> [[u8; 8]; 2] {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let eight = |half: u64| {
        let spread = (half | half << 16) & 0x0000_ffff_0000_ffff;
        let spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff;
        let digits = (spread | spread << 4) & (EACH * 0x0f);
        // Digits above 9 reach 16 when 6 is added.
        let letters = ((digits + EACH * 6) >> 4) & EACH;
        let text = digits + EACH * u64::from(b'0') + letters * u64::from(b'a' - b'0' - 10);
        text.to_le_bytes()
    };
    [eight(bits & 0xffff_ffff), eight(bits >> 32)]
}

fn decimal(value: u64, out: &mut Vec<u8>) {
    write!(out, "{value}").expect("writing to memory does not fail");
}

/// Maps 64 random bits to a number below `span` (at most 2^64): the high half of their product, without a division.
#[inline]
pub const fn below(random: u64, span: u128) -> u64 {
    ((random as u128 * span) >> 64) as u64
}

/// The finaliser of `SplitMix64` (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, 2014).
#[inline]
pub const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(source: Source, number: u64) -> String {
        let parameter = Parameter {
            name: "p".into(),
            source,
        };
        let parameters = Parameters::new(&[parameter], 7);
        let mut out = Vec::new();
        parameters.values(number).append(0, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn digits_are_those_of_the_number_the_lowest_first() {
        for number in (0..1_000).map(mix).chain([0, u64::MAX, 0x0123_4567_89ab_cdef]) {
            let plain: String = format!("{number:016x}").chars().rev().collect();
            assert_eq!(hex(number).as_flattened(), plain.as_bytes());
        }
    }

    #[test]
    fn a_counter_counts() {
        let seen: Vec<String> = (0..3)
            .map(|number| value(Source::Counter { start: 10 }, number))
            .collect();
        assert_eq!(seen, ["10", "11", "12"]);
    }

    #[test]
    fn a_range_cycles_and_includes_its_end() {
        let values: Vec<String> = (0..4)
            .map(|number| value(Source::Range { low: 1, high: 3 }, number))
            .collect();
        assert_eq!(values, ["1", "2", "3", "1"]);
    }

    #[test]
    fn random_values_stay_inside_and_come_again() {
        for number in 0..1000 {
            let text = value(Source::Random { low: 5, high: 6 }, number);
            assert!(text == "5" || text == "6", "{text}");
            assert_eq!(text, value(Source::Random { low: 5, high: 6 }, number));
        }
        let whole = Source::Random {
            low: 0,
            high: u64::MAX,
        };
        assert_ne!(value(whole.clone(), 0), value(whole, 1));
        let hex = value(Source::Hex { digits: 40 }, 3);
        assert_eq!(hex.len(), 40);
        assert!(hex.bytes().all(|digit| digit.is_ascii_hexdigit()));
    }

    #[test]
    fn a_feed_is_cycled() {
        let lines = Source::Lines(vec!["a".into(), "b".into()]);
        assert_eq!(value(lines.clone(), 2), "a");
        assert_eq!(value(lines, 3), "b");
    }

    #[test]
    fn each_step_has_a_row_of_its_own_and_its_columns_are_of_one_row() {
        let column = |letter: &str| Parameter {
            name: letter.into(),
            source: Source::Column {
                values: (0..100).map(|row| format!("{letter}{row}")).collect(),
                pick: Pick::Each,
            },
        };
        let parameters = Parameters::new(&[column("a"), column("b")], 7);
        let value = |step, index| {
            let mut out = Vec::new();
            parameters.values(3).at_step(step).append(index, &mut out);
            String::from_utf8(out).expect("text")
        };
        let rows: std::collections::BTreeSet<String> = (0..50).map(|step| value(step, 0)).collect();
        assert!(rows.len() > 25, "{rows:?}");
        for step in 0..50 {
            assert_eq!(value(step, 0)[1..], value(step, 1)[1..]);
        }
    }
}
