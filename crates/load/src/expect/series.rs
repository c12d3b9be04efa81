//! Series of numbers, computed in decimal: no conversion, and no 64-bit limit.

use super::{Memory, Mismatch, excerpt};
use serde::{Deserialize, Serialize};
use std::io::Write as _;

/// A series of numbers, joined by single spaces, without a newline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Series {
    /// 1, 2, …, n; nothing for n = 0.
    Integers,
    /// F(0), F(1), …, F(n) with F(0) = 0 and F(1) = 1.
    Fibonacci,
}

/// Largest supported n: the length of the text of the Fibonacci numbers grows quadratically.
const LARGEST: u64 = 20_000;

/// Decimal digits per limb.
const DIGITS: usize = 18;
/// 10 to the power of [`DIGITS`].
const BASE: u64 = 1_000_000_000_000_000_000;

impl Series {
    /// The text for `n`; `None` where `n` exceeds 20,000.
    ///
    /// ```
    /// use prony_load::Series;
    /// assert_eq!(Series::Integers.text(4).as_deref(), Some("1 2 3 4"));
    /// assert_eq!(Series::Fibonacci.text(10).as_deref(), Some("0 1 1 2 3 5 8 13 21 34 55"));
    /// ```
    pub fn text(self, n: u64) -> Option<String> {
        let mut memory = Memory::default();
        self.write(n, &mut memory)
            .then(|| String::from_utf8(memory.text).expect("invariant: digits and spaces"))
    }

    /// Writes the text for `n`; `false` where `n` exceeds 20,000.
    fn write(self, n: u64, memory: &mut Memory) -> bool {
        let Memory { text, limbs, .. } = memory;
        text.clear();
        match self {
            _ if n > LARGEST => return false,
            Self::Integers => integers(n, text),
            Self::Fibonacci => fibonacci(n, text, limbs),
        }
        true
    }

    /// The name of the series in messages.
    const fn word(self) -> &'static str {
        match self {
            Self::Integers => "the integers",
            Self::Fibonacci => "the Fibonacci numbers",
        }
    }

    /// Judges a body; `memory.wanted` holds n.
    pub(super) fn judge(self, memory: &mut Memory, body: &[u8]) -> Result<(), Mismatch> {
        let n = std::str::from_utf8(&memory.wanted)
            .ok()
            .and_then(|text| text.parse().ok());
        if !n.is_some_and(|n| self.write(n, memory)) {
            let n = excerpt(&memory.wanted);
            let expected = format!("{} known for `{n}`", self.word());
            return Err(Mismatch::new("body", expected, excerpt(body)));
        }
        if memory.text == body {
            return Ok(());
        }
        Err(self.difference(&String::from_utf8_lossy(&memory.text), body))
    }

    /// The mismatch at the first wrong number, or at the first wrong byte where all numbers are right.
    fn difference(self, expected: &str, body: &[u8]) -> Mismatch {
        let got = String::from_utf8_lossy(body);
        let wanted: Vec<&str> = expected.split_ascii_whitespace().collect();
        let found: Vec<&str> = got.split_ascii_whitespace().collect();
        let place = wanted
            .iter()
            .zip(&found)
            .position(|(wanted, found)| wanted != found);
        match place {
            // The separator is wrong, not a number.
            Some(place) if !is_number(found[place]) => super::text::difference(expected.as_bytes(), body),
            Some(place) => {
                let fault = fault(wanted[place], found[place]);
                let what = format!("body, number {} of {}{fault}", place + 1, self.word());
                Mismatch::new(what, wanted[place], excerpt(found[place].as_bytes()))
            }
            None if wanted.len() != found.len() => Mismatch::new(
                format!(
                    "body: {} numbers",
                    if found.len() < wanted.len() {
                        "too few"
                    } else {
                        "too many"
                    }
                ),
                format!(
                    "{} of {}: {}",
                    wanted.len(),
                    self.word(),
                    excerpt(expected.as_bytes())
                ),
                format!("{}: {}", found.len(), excerpt(body)),
            ),
            None => super::text::difference(expected.as_bytes(), body),
        }
    }
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok()
}

/// The fault of a wrong number, where it can be identified: floating point, or an integer type that is too small.
fn fault(wanted: &str, found: &str) -> &'static str {
    if found.contains(['e', 'E', '.']) {
        ": written as a floating-point number"
    } else if wanted.parse::<i64>().is_err() && (found.parse::<i64>().is_ok() || found.parse::<u64>().is_ok())
    {
        ": not exact beyond 64 bits"
    } else {
        ""
    }
}

fn integers(n: u64, out: &mut Vec<u8>) {
    for number in 1..=n {
        if number > 1 {
            out.push(b' ');
        }
        let _ = write!(out, "{number}");
    }
}

fn fibonacci(n: u64, out: &mut Vec<u8>, [last, next]: &mut [Vec<u64>; 2]) {
    out.push(b'0');
    for (limbs, value) in [(&mut *last, 0), (&mut *next, 1)] {
        limbs.clear();
        limbs.push(value);
    }
    for _ in 0..n {
        out.push(b' ');
        write_limbs(out, next);
        add(last, next);
        std::mem::swap(last, next);
    }
}

/// `left += right`, in limbs of [`DIGITS`] decimal digits, the lowest first. `right` must be at least as long as
/// `left`.
fn add(left: &mut Vec<u64>, right: &[u64]) {
    left.resize(right.len(), 0);
    let mut carry = 0;
    for (limb, more) in left.iter_mut().zip(right) {
        let sum = *limb + more + carry;
        carry = sum / BASE;
        *limb = sum % BASE;
    }
    if carry > 0 {
        left.push(carry);
    }
}

fn write_limbs(out: &mut Vec<u8>, limbs: &[u64]) {
    let (highest, rest) = limbs.split_last().expect("invariant: at least one limb");
    let _ = write!(out, "{highest}");
    for limb in rest.iter().rev() {
        let _ = write!(out, "{limb:0DIGITS$}");
    }
}
