//! JSON with a list whose items are computed from their numbers.

use crate::Template;
use crate::expect::document::Members;
use crate::expect::template_state::Documents;
use crate::expect::{ExpectationError, Memory, Mismatch, excerpt, is_false, json};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Most items of a list: a reply that asks for more is a mistake in the contract.
const MOST_ITEMS: i64 = 1_000_000;

/// JSON with a list whose items are computed from their numbers, `first`, `first + 1`, ….
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Decimal text: the number of the first item.
    pub first: Template,
    /// Decimal text: the number of items.
    pub count: Template,
    /// An item as JSON text; its formulas are computed from the item's number.
    pub each: Template,
    /// The JSON pointer (RFC 6901) of the list; absent or empty: the whole body is the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Whether the objects that hold the list, at each level of the pointer, have no other members.
    #[serde(default, skip_serializing_if = "is_false")]
    pub only: bool,
}

#[derive(Debug, Clone)]
pub(in crate::expect) struct CompiledList {
    first: Template,
    count: Template,
    each: Template,
    /// The unescaped tokens of the pointer.
    path: Vec<String>,
    only: bool,
    /// The text before the items, including `[`.
    front: String,
    /// The text after the items, including `]`.
    back: String,
}

impl CompiledList {
    pub(in crate::expect) fn compile(list: &List) -> Result<Self, ExpectationError> {
        let pointer = list.at.as_deref().unwrap_or_default();
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(ExpectationError::Pointer {
                pointer: pointer.to_owned(),
            });
        }
        let path = json::tokens(pointer);
        let (mut front, mut back) = (String::new(), String::new());
        if list.only {
            for token in &path {
                front = front + "{\"" + &crate::escape::json_string(token) + "\":";
                back.push('}');
            }
        }
        Ok(Self {
            first: list.first.clone(),
            count: list.count.clone(),
            each: list.each.clone(),
            front: front + "[",
            back: "]".to_owned() + &back,
            path,
            only: list.only,
        })
    }

    /// Judges a body. `place` is the rule's index in its expectation.
    pub(in crate::expect) fn judge(
        &self,
        (place, body): (usize, &[u8]),
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        let list = self.render(memory, value)?;
        let wanted = memory.wanted.as_slice();
        let is_whole = self.only || self.path.is_empty();
        if (is_whole && wanted == body) || memory.equal.contains(place, wanted, body) {
            return Ok(());
        }
        if !self.is_met(list.clone(), body, memory) {
            json::equal_at((&self.path, self.only), &memory.wanted[list], body)?;
        }
        memory.equal.insert(place, &memory.wanted, body);
        Ok(())
    }

    /// Whether the body has the list; `false` also if it has to be parsed in another way.
    fn is_met(&self, list: Range<usize>, body: &[u8], memory: &mut Memory) -> bool {
        let (range, path) = if self.only {
            (0..memory.wanted.len(), &[][..])
        } else {
            (list, self.path.as_slice())
        };
        if !memory.reads(body) {
            return false;
        }
        let Documents { got, wanted, .. } = &mut memory.documents;
        wanted.read(&memory.wanted[range])
            && got
                .at(path)
                .is_some_and(|there| wanted.is_in(got, there, Members::Same))
    }

    /// Renders the list and the objects that hold nothing else into [`Memory::wanted`]. Returns the place of the
    /// list.
    fn render(
        &self,
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<Range<usize>, Mismatch> {
        let first = number(memory.render(&self.first, value))?;
        let count = number(memory.render(&self.count, value))?;
        let out = &mut memory.wanted;
        out.clear();
        out.extend_from_slice(self.front.as_bytes());
        for i in first..first.saturating_add(count.min(MOST_ITEMS)) {
            if i > first {
                out.push(b',');
            }
            self.each.render_item(out, i, &mut *value);
        }
        out.extend_from_slice(self.back.as_bytes());
        Ok(self.front.len() - 1..out.len() - (self.back.len() - 1))
    }
}

fn number(text: &[u8]) -> Result<i64, Mismatch> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| Mismatch::new("body", "a list whose numbers are known", excerpt(text)))
}
