//! JSON with a list whose items are computed from their numbers.

use super::formula::Formula;
use crate::Template;
use crate::expect::{ExpectationError, Memory, Mismatch, excerpt};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write as _;

/// Most items of a list: a reply that asks for more is a mistake in the contract.
const MOST_ITEMS: i64 = 1_000_000;

/// JSON with a list whose items are computed from their numbers, `from`, `from + 1`, ….
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Decimal text: the number of the first item.
    pub from: Template,
    /// Decimal text: the number of items.
    pub count: Template,
    /// The text before the items, including `[`.
    pub front: String,
    /// An item as JSON text, with formulas: `{= i % 7 + 1}` is a number, `{= colour[i % 16]}` an entry of a word
    /// list.
    pub item: String,
    /// The text after the items, including `]`.
    pub back: String,
    /// The word lists; their entries are inserted verbatim.
    pub words: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Clone)]
pub(in crate::expect) struct CompiledList {
    from: Template,
    count: Template,
    front: String,
    item: Vec<ListPart>,
    back: String,
}

#[derive(Debug, Clone)]
enum ListPart {
    Text(String),
    Number(Formula),
    Word(Vec<String>, Formula),
}

impl CompiledList {
    pub(in crate::expect) fn compile(list: &List) -> Result<Self, ExpectationError> {
        Ok(Self {
            from: list.from.clone(),
            count: list.count.clone(),
            front: list.front.clone(),
            item: pieces(&list.item, &list.words)?,
            back: list.back.clone(),
        })
    }

    /// Renders the list into [`Memory::wanted`].
    pub(in crate::expect) fn render(
        &self,
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        let from = number(memory.render(&self.from, value))?;
        let count = number(memory.render(&self.count, value))?;
        let out = &mut memory.wanted;
        out.clear();
        out.extend_from_slice(self.front.as_bytes());
        for i in from..from.saturating_add(count.min(MOST_ITEMS)) {
            if i > from {
                out.push(b',');
            }
            for piece in &self.item {
                match piece {
                    ListPart::Text(text) => out.extend_from_slice(text.as_bytes()),
                    ListPart::Number(formula) => {
                        write!(out, "{}", formula.value(i)).expect("writing to memory does not fail");
                    }
                    ListPart::Word(words, formula) => {
                        let at = formula.value(i).rem_euclid(words.len() as i64);
                        out.extend_from_slice(words[at as usize].as_bytes());
                    }
                }
            }
        }
        out.extend_from_slice(self.back.as_bytes());
        Ok(())
    }
}

fn number(text: &[u8]) -> Result<i64, Mismatch> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| Mismatch::new("body", "a list whose numbers are known", excerpt(text)))
}

/// Splits the text of an item at its formulas.
fn pieces(text: &str, words: &BTreeMap<String, Vec<String>>) -> Result<Vec<ListPart>, ExpectationError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{=") {
        let wrong = |formula: &str, reason: String| ExpectationError::Formula {
            formula: formula.trim().to_owned(),
            reason,
        };
        let (formula, after) = after
            .split_once('}')
            .ok_or_else(|| wrong(after, "it is not closed by `}`".to_owned()))?;
        pieces.push(ListPart::Text(before.to_owned()));
        let trimmed = formula.trim();
        pieces.push(
            match trimmed.strip_suffix(']').and_then(|text| text.split_once('[')) {
                None => ListPart::Number(Formula::parse(trimmed).map_err(|reason| wrong(formula, reason))?),
                Some((name, at)) => {
                    let list = words.get(name.trim()).filter(|list| !list.is_empty());
                    let known: Vec<&str> = words.keys().map(String::as_str).collect();
                    let list = list.ok_or_else(|| {
                        let reason = format!("no word list `{name}`: known are {}", known.join(", "));
                        wrong(formula, reason)
                    })?;
                    let at = Formula::parse(at).map_err(|reason| wrong(formula, reason))?;
                    ListPart::Word(list.clone(), at)
                }
            },
        );
        rest = after;
    }
    pieces.push(ListPart::Text(rest.to_owned()));
    Ok(pieces)
}
