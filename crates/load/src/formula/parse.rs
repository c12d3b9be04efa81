//! The syntax of formulas.

use super::{Formula, Operator};
use std::ops::Range;

/// The longest text of a formula, bytes. It also limits how deep brackets are nested.
const LONGEST: usize = 1_000;

/// The names that a formula may use.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// The formula that a name stands for.
    pub formula: &'a dyn Fn(&str) -> Option<Formula>,
    /// The word list with a name.
    pub words: &'a dyn Fn(&str) -> Option<Vec<String>>,
}

/// A text that is not a formula.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FormulaError {
    /// What is wrong, in plain words.
    pub message: String,
    /// The bytes of the text at fault.
    pub range: Range<usize>,
    /// The name, where it is unknown.
    pub name: Option<String>,
}

impl Operator {
    /// The operator of a sign, and its precedence.
    const fn of(sign: char) -> Option<(Self, u8)> {
        Some(match sign {
            '+' => (Self::Plus, 1),
            '-' => (Self::Minus, 1),
            '*' => (Self::Times, 2),
            '/' => (Self::DividedBy, 2),
            '%' => (Self::Remainder, 2),
            _ => return None,
        })
    }
}

impl Formula {
    /// Parses a formula: integers, names, `+ - * / %`, a minus sign before an operand, and brackets; or
    /// `words[formula]`, an entry of a word list. A name consists of letters, digits, `_` and `.`.
    pub fn parse(text: &str, names: &Names<'_>) -> Result<Self, FormulaError> {
        if text.len() > LONGEST {
            let message = format!("a formula has at most {LONGEST} bytes");
            return Err(error(message, 0..text.len()));
        }
        let mut parser = Parser { text, at: 0, names };
        parser.skip_spaces();
        let formula = match parser.words()? {
            Some(word) => word,
            None => parser.sum(0)?,
        };
        if parser.at == text.len() {
            return Ok(formula);
        }
        Err(error(format!("unexpected `{}`", parser.rest()), parser.end()))
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    names: &'a Names<'a>,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text[self.at..].trim_end()
    }

    /// The range of the unread text.
    fn end(&self) -> Range<usize> {
        self.at..self.at + self.rest().len()
    }

    fn skip_spaces(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Reads a sign and the spaces after it, if it is next.
    fn sign(&mut self, sign: char) -> bool {
        let is_next = self.rest().starts_with(sign);
        if is_next {
            self.at += sign.len_utf8();
            self.skip_spaces();
        }
        is_next
    }

    /// Reads the longest text of these characters, and the spaces after it.
    fn span(&mut self, belongs: impl Fn(char) -> bool) -> (&'a str, Range<usize>) {
        let rest = self.rest();
        let length = rest.find(|letter| !belongs(letter)).unwrap_or(rest.len());
        let range = self.at..self.at + length;
        self.at += length;
        self.skip_spaces();
        (&rest[..length], range)
    }

    /// Reads a name, if one is next.
    fn name(&mut self) -> Option<(&'a str, Range<usize>)> {
        let begins = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
        self.rest()
            .starts_with(begins)
            .then(|| self.span(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.')))
    }

    /// Reads `name[formula]`, if it is next.
    fn words(&mut self) -> Result<Option<Formula>, FormulaError> {
        let begin = self.at;
        let Some((name, range)) = self.name() else {
            return Ok(None);
        };
        if !self.sign('[') {
            self.at = begin;
            return Ok(None);
        }
        let words = (self.names.words)(name);
        let words = words.ok_or_else(|| unknown("word list", name, range.clone()))?;
        if words.is_empty() {
            return Err(error(format!("the word list `{name}` has no entry"), range));
        }
        let index = self.sum(0)?;
        if self.sign(']') {
            return Ok(Some(Formula::Word(words, Box::new(index))));
        }
        Err(error(
            "a bracket is not closed".to_owned(),
            begin..self.text.trim_end().len(),
        ))
    }

    /// Parses operands while their operators bind more tightly than `least`.
    fn sum(&mut self, least: u8) -> Result<Formula, FormulaError> {
        let mut left = self.operand()?;
        while let Some((operator, binds)) = self.rest().chars().next().and_then(Operator::of)
            && binds > least
        {
            self.at += 1;
            self.skip_spaces();
            let right = self.sum(binds)?;
            left = Formula::Of(Box::new((left, right)), operator);
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Formula, FormulaError> {
        let begin = self.at;
        if self.rest().starts_with(|letter: char| letter.is_ascii_digit()) {
            let (digits, range) = self.span(|letter| letter.is_ascii_digit());
            let number = digits.parse();
            return number
                .map(Formula::Number)
                .map_err(|_| error(format!("`{digits}` is too large"), range));
        }
        if self.sign('-') {
            let operand = self.operand()?;
            return Ok(match operand {
                Formula::Number(number) => Formula::Number(number.wrapping_neg()),
                operand => Formula::Of(Box::new((Formula::Number(0), operand)), Operator::Minus),
            });
        }
        if self.sign('(') {
            let inner = self.sum(0)?;
            if self.sign(')') {
                return Ok(inner);
            }
            return Err(error(
                "a bracket is not closed".to_owned(),
                begin..self.text.trim_end().len(),
            ));
        }
        if let Some((name, range)) = self.name() {
            if self.rest().starts_with('[') {
                let message = format!("an entry of `{name}` is a text: it must be the whole formula");
                return Err(error(message, range));
            }
            return (self.names.formula)(name).ok_or_else(|| unknown("value", name, range));
        }
        let found = match self.rest() {
            "" => "the formula ends".to_owned(),
            rest => format!("`{rest}`"),
        };
        let message = format!("{found} where an integer, a name or a bracket is expected");
        Err(error(message, self.end()))
    }
}

const fn error(message: String, range: Range<usize>) -> FormulaError {
    FormulaError {
        message,
        range,
        name: None,
    }
}

fn unknown(kind: &str, name: &str, range: Range<usize>) -> FormulaError {
    FormulaError {
        name: Some(name.to_owned()),
        ..error(format!("no {kind} `{name}`"), range)
    }
}
