//! Integers computed from the number of an item, from values of the request, and from constants:
//! `i * 37 % 9900 + 100`.

mod parse;

pub use parse::{FormulaError, Names};

use serde::{Deserialize, Serialize};
use std::io::Write as _;

/// A formula of integers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Formula {
    /// The number of the item.
    Item,
    /// A constant.
    Number(i64),
    /// The decimal value of the workload's parameter with this index.
    Value(usize),
    /// An entry of a word list; the index is taken modulo its length. Only as a whole formula.
    Word(Vec<String>, Box<Self>),
    /// Two operands and their operator.
    Of(Box<(Self, Self)>, Operator),
}

/// An operator of two integers. Overflow wraps at 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    /// The sum.
    Plus,
    /// The difference.
    Minus,
    /// The product.
    Times,
    /// The quotient, truncated toward zero; 0 where the divisor is 0, or the quotient exceeds 64 bits.
    DividedBy,
    /// The remainder, with the sign of the dividend; 0 where the divisor is 0.
    Remainder,
}

impl Operator {
    fn apply(self, left: i64, right: i64) -> i64 {
        match self {
            Self::Plus => left.wrapping_add(right),
            Self::Minus => left.wrapping_sub(right),
            Self::Times => left.wrapping_mul(right),
            Self::DividedBy => left.checked_div(right).unwrap_or_default(),
            Self::Remainder => left.checked_rem(right).unwrap_or_default(),
        }
    }
}

impl Formula {
    /// The number for item `i`; `value(k, out)` appends the value of parameter `k`. `None` where a parameter is not a
    /// whole number of 64 bits, and for a word.
    pub fn number(&self, i: i64, value: &mut impl FnMut(usize, &mut Vec<u8>)) -> Option<i64> {
        self.evaluate(i, &mut Vec::new(), value)
    }

    /// The number, if every operand is a constant.
    pub fn constant(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Of(sides, operator) => Some(operator.apply(sides.0.constant()?, sides.1.constant()?)),
            Self::Item | Self::Value(_) | Self::Word(..) => None,
        }
    }

    /// Appends the number or the word for item `i`; nothing where [`Formula::number`] has no result.
    pub fn render(&self, out: &mut Vec<u8>, i: i64, value: &mut impl FnMut(usize, &mut Vec<u8>)) {
        match self {
            Self::Word(words, index) => {
                if let Some(index) = index.evaluate(i, out, value)
                    && let Some(place) = index.checked_rem_euclid(words.len() as i64)
                {
                    out.extend_from_slice(words[place as usize].as_bytes());
                }
            }
            formula => {
                if let Some(number) = formula.evaluate(i, out, value) {
                    write!(out, "{number}").expect("writing to memory does not fail");
                }
            }
        }
    }

    /// Whether the result depends on the number of the item.
    pub fn mentions_item(&self) -> bool {
        match self {
            Self::Item => true,
            Self::Number(_) | Self::Value(_) => false,
            Self::Word(_, index) => index.mentions_item(),
            Self::Of(sides, _) => sides.0.mentions_item() || sides.1.mentions_item(),
        }
    }

    /// Calls `each` with the index of each parameter.
    pub fn visit_parameters(&self, each: &mut impl FnMut(usize)) {
        match self {
            Self::Item | Self::Number(_) => {}
            Self::Value(index) => each(*index),
            Self::Word(_, index) => index.visit_parameters(each),
            Self::Of(sides, _) => {
                sides.0.visit_parameters(each);
                sides.1.visit_parameters(each);
            }
        }
    }

    /// The number. Values of parameters are written after the end of `scratch` for a moment.
    fn evaluate(
        &self,
        i: i64,
        scratch: &mut Vec<u8>,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Option<i64> {
        match self {
            Self::Item => Some(i),
            Self::Number(number) => Some(*number),
            Self::Value(index) => {
                let begin = scratch.len();
                value(*index, scratch);
                let text = std::str::from_utf8(&scratch[begin..]).ok();
                let number = text.and_then(|text| text.parse().ok());
                scratch.truncate(begin);
                number
            }
            Self::Word(..) => None,
            Self::Of(sides, operator) => {
                let left = sides.0.evaluate(i, scratch, value)?;
                Some(operator.apply(left, sides.1.evaluate(i, scratch, value)?))
            }
        }
    }
}

#[cfg(test)]
mod tests;
