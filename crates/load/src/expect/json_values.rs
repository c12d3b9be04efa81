//! Rules that compare a body, or a string in it, with expected JSON.
//!
//! A valid reply is compared without an allocation. Only a reply that is not valid is parsed in the general way, which
//! names the first difference.

use super::document::{Document, Members};
use super::template_state::Documents;
use super::{ExpectationError, Memory, Mismatch, json};
use crate::Template;
use serde::{Deserialize, Serialize};

/// A string in a JSON body that is JSON itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonText {
    /// The JSON pointer (RFC 6901) of the string.
    pub at: String,
    /// The JSON that it equals.
    pub json: Template,
}

impl JsonText {
    pub(super) fn compile(&self) -> Result<CompiledText, ExpectationError> {
        if !self.at.is_empty() && !self.at.starts_with('/') {
            let pointer = self.at.clone();
            return Err(ExpectationError::Pointer { pointer });
        }
        Ok(CompiledText {
            path: json::tokens(&self.at),
            expected: ExpectedJson::new(&self.json),
        })
    }
}

/// Expected JSON.
#[derive(Debug, Clone)]
pub(super) struct ExpectedJson {
    template: Template,
    /// What the template stands for, if that is the same for every request.
    document: Option<Document>,
}

impl ExpectedJson {
    pub(super) fn new(template: &Template) -> Self {
        let mut document = Document::default();
        let mut text = Vec::new();
        let is_known = template.is_constant() && {
            template.render(&mut text, |_, _| {});
            document.read(&text)
        };
        Self {
            template: template.clone(),
            document: is_known.then_some(document),
        }
    }

    /// The document, of the template that was rendered; `None`: it has to be parsed in another way.
    fn document<'a>(&'a self, rendered: &[u8], read: &'a mut Document) -> Option<&'a Document> {
        match &self.document {
            Some(known) => Some(known),
            None => read.read(rendered).then_some(read),
        }
    }

    /// Judges a body that must equal or contain this.
    pub(super) fn judge(
        &self,
        (place, body): (usize, &[u8]),
        members: Members,
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        memory.render(&self.template, value);
        let wanted = memory.wanted.as_slice();
        if (wanted == body && !body.is_empty()) || memory.equal.contains(place, wanted, body) {
            return Ok(());
        }
        if self.is_in(body, members, memory) != Some(true) {
            match members {
                Members::Same => json::equal(&memory.wanted, body)?,
                Members::Further => json::has(&memory.wanted, body)?,
            }
        }
        memory.equal.insert(place, &memory.wanted, body);
        Ok(())
    }

    /// Judges a body that must not contain this.
    pub(super) fn judge_absent(
        &self,
        body: &[u8],
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        memory.render(&self.template, value);
        match self.is_in(body, Members::Further, memory) {
            Some(false) => Ok(()),
            _ => json::lacks(&memory.wanted, body),
        }
    }

    /// Whether a body has this; `None`: one of them has to be parsed in another way.
    fn is_in(&self, body: &[u8], members: Members, memory: &mut Memory) -> Option<bool> {
        if !memory.reads(body) {
            return None;
        }
        let Documents { got, wanted, .. } = &mut memory.documents;
        let wanted = self.document(&memory.wanted, wanted)?;
        Some(wanted.is_in(got, Document::ROOT, members))
    }
}

/// A compiled [`JsonText`].
#[derive(Debug, Clone)]
pub(super) struct CompiledText {
    path: Vec<String>,
    expected: ExpectedJson,
}

impl CompiledText {
    pub(super) fn judge(
        &self,
        body: &[u8],
        memory: &mut Memory,
        value: &mut impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<(), Mismatch> {
        memory.render(&self.expected.template, value);
        if self.is_met(body, memory) == Some(true) {
            return Ok(());
        }
        json::equal_in_text(&self.path, &memory.wanted, body)
    }

    fn is_met(&self, body: &[u8], memory: &mut Memory) -> Option<bool> {
        if !memory.reads(body) {
            return None;
        }
        let Documents {
            got, wanted, inner, ..
        } = &mut memory.documents;
        let wanted = self.expected.document(&memory.wanted, wanted)?;
        let text = got.string(got.at(&self.path)?)?;
        Some(inner.read(text) && wanted.is_in(inner, Document::ROOT, Members::Same))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    /// Small documents. They have few names and values: two of them are often equal in part.
    fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-2_i64..3).prop_map(Value::from),
            prop_oneof![Just(0.5), Just(1.0), Just(-2.0)].prop_map(|number: f64| Value::from(number)),
            prop_oneof![Just(""), Just("a"), Just("\u{e9}\n\"\\"), Just("\u{1f642}")].prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 3, |inner| {
            let name = prop_oneof![Just("a"), Just("b"), Just("\u{e9}/~")];
            let members = prop::collection::vec((name, inner.clone()), 0..3);
            prop_oneof![
                prop::collection::vec(inner, 0..3).prop_map(Value::from),
                members.prop_map(|members| {
                    let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
                    Value::Object(members.collect::<Map<_, _>>())
                }),
            ]
        })
    }

    proptest! {
        /// The comparison without allocations has the verdict of the general one.
        #[test]
        fn both_comparisons_agree(wanted in document(), got in document(), pretty in any::<bool>()) {
            let written = if pretty { format!("{got:#}") } else { got.to_string() };
            for got in [written.as_bytes(), wanted.to_string().as_bytes()] {
                let expected = ExpectedJson::new(&Template::literal(wanted.to_string().as_str()));
                let wanted = wanted.to_string();
                for (members, general) in [
                    (Members::Same, json::equal(wanted.as_bytes(), got).is_ok()),
                    (Members::Further, json::has(wanted.as_bytes(), got).is_ok()),
                ] {
                    let mut memory = Memory::default();
                    prop_assert_eq!(expected.is_in(got, members, &mut memory), Some(general));
                }
            }
        }
    }
}
