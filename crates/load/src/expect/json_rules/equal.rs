//! Compares JSON values by meaning.

use std::cmp::Ordering;

/// Whether two JSON numbers have the same value, whatever their notation and size.
pub(in crate::expect) fn numbers(left: &[u8], right: &[u8]) -> bool {
    left == right || Number::of(left) == Number::of(right)
}

/// A number as ± 0.DIGITS × 10^exponent, without leading and trailing zeros.
struct Number<'a> {
    is_negative: bool,
    exponent: i64,
    written: &'a [u8],
    /// Leading zeros to skip, and the number of digits that count after them.
    leading: usize,
    count: usize,
}

impl<'a> Number<'a> {
    fn of(number: &'a [u8]) -> Self {
        let end = number.iter().position(|byte| byte.eq_ignore_ascii_case(&b'e'));
        let (written, exponent) = number.split_at(end.unwrap_or(number.len()));
        let point = written
            .iter()
            .position(|&byte| byte == b'.')
            .unwrap_or(written.len());
        let before = digits(&written[..point]).count();
        let all = digits(written).count();
        let leading = digits(written).take_while(|&digit| digit == b'0').count();
        let trailing = digits(written).rev().take_while(|&digit| digit == b'0').count();
        let count = all.saturating_sub(leading + trailing);
        let exponent = before as i64 - leading as i64 + power(exponent);
        Self {
            is_negative: count > 0 && number.starts_with(b"-"),
            exponent: if count == 0 { 0 } else { exponent },
            written,
            leading,
            count,
        }
    }

    fn digits(&self) -> impl Iterator<Item = u8> + '_ {
        digits(self.written).skip(self.leading).take(self.count)
    }
}

impl PartialEq for Number<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.is_negative == other.is_negative
            && self.exponent == other.exponent
            && self.digits().cmp(other.digits()) == Ordering::Equal
    }
}

fn digits(text: &[u8]) -> impl DoubleEndedIterator<Item = u8> + '_ {
    text.iter().copied().filter(u8::is_ascii_digit)
}

/// The exponent after `e`, capped at a limit that is larger than any real number needs.
fn power(text: &[u8]) -> i64 {
    const LARGEST: i64 = i64::MAX / 4;
    let is_negative = text.contains(&b'-');
    let size = digits(text).fold(0, |sum: i64, digit| {
        (sum.saturating_mul(10))
            .saturating_add(i64::from(digit - b'0'))
            .min(LARGEST)
    });
    if is_negative { -size } else { size }
}

/// A value that is compared as a whole.
#[derive(Debug, Clone)]
pub(super) enum ExactStream {
    Text(String),
    Number(Vec<u8>),
    /// `true`, `false`, `null` by its first letter.
    Literal(u8),
    List(Vec<Self>),
    Members(Vec<(String, Self)>),
}

impl PartialEq for ExactStream {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(left), Self::Text(right)) => left == right,
            (Self::Number(left), Self::Number(right)) => numbers(left, right),
            (Self::Literal(left), Self::Literal(right)) => left == right,
            (Self::List(left), Self::List(right)) => left == right,
            (Self::Members(left), Self::Members(right)) => left == right,
            _ => false,
        }
    }
}

impl ExactStream {
    /// Parses a value that is known to be valid JSON and not nested too deep.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let mut reader = Reader { text, at: 0 };
        reader.value()
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self) -> Option<ExactStream> {
        self.skip(|byte| byte.is_ascii_whitespace());
        Some(match self.text.get(self.at)? {
            b'"' => ExactStream::Text(self.string()?),
            b'[' => {
                let mut items = Vec::new();
                while self.goes_on(b']')? {
                    items.push(self.value()?);
                }
                ExactStream::List(items)
            }
            b'{' => {
                let mut members = Vec::new();
                while self.goes_on(b'}')? {
                    let name = self.string()?;
                    self.skip(|byte| byte.is_ascii_whitespace() || byte == b':');
                    members.push((name, self.value()?));
                }
                // The order of members is free; of two with the same name, the stable sort keeps the first one first.
                members.sort_by(|left, right| left.0.cmp(&right.0));
                ExactStream::Members(members)
            }
            &first => {
                let begin = self.at;
                self.skip(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.'));
                if first.is_ascii_alphabetic() {
                    ExactStream::Literal(first)
                } else {
                    ExactStream::Number(self.text[begin..self.at].to_vec())
                }
            }
        })
    }

    /// Skips a bracket or comma; returns whether another value follows.
    fn goes_on(&mut self, end: u8) -> Option<bool> {
        self.skip(|byte| byte.is_ascii_whitespace());
        if *self.text.get(self.at)? == end {
            self.at += 1;
            return Some(false);
        }
        if matches!(self.text[self.at], b'[' | b'{' | b',') {
            self.at += 1;
            self.skip(|byte| byte.is_ascii_whitespace());
            if *self.text.get(self.at)? == end {
                self.at += 1;
                return Some(false);
            }
        }
        Some(true)
    }

    fn string(&mut self) -> Option<String> {
        let begin = self.at;
        self.at += 1;
        while *self.text.get(self.at)? != b'"' {
            self.at += if self.text[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        serde_json::from_slice(&self.text[begin..self.at]).ok()
    }

    fn skip(&mut self, is_skipped: impl Fn(u8) -> bool) {
        while self.text.get(self.at).is_some_and(|&byte| is_skipped(byte)) {
            self.at += 1;
        }
    }
}
