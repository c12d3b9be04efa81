//! Values of a draft as TOML. Texts of the source that look like placeholders or formulas are escaped.

use crate::format::template::escaped;
use crate::import::draft::BRACE;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use toml_edit::{Array, InlineTable, Value};

/// Escapes the texts of an operation, and collects the placeholders that this requires in addition to its own.
pub(super) struct EscapedTexts {
    pub(super) with: BTreeMap<String, String>,
}

impl EscapedTexts {
    pub(super) fn new(with: &BTreeMap<String, String>) -> Self {
        Self { with: with.clone() }
    }

    /// A text without placeholders.
    pub(super) fn text(&mut self, text: &str) -> String {
        escaped(text).unwrap_or_else(|| self.without_braces(text))
    }

    /// A text with the operation's own placeholders.
    pub(super) fn own_places(&mut self, text: &str) -> String {
        let own = |after: &str| {
            let name = after.split_once('}')?.0;
            self.with.contains_key(name).then_some(name.len() + 1)
        };
        let Some((open, length)) = text
            .match_indices('{')
            .find_map(|(open, _)| Some((open, own(&text[open + 1..])?)))
        else {
            return self.text(text);
        };
        let (before, place) = text.split_at(open);
        let (place, after) = place.split_at(1 + length);
        // A brace before a placeholder would make it a text.
        self.without_braces(before) + place + &self.own_places(after)
    }

    fn without_braces(&mut self, text: &str) -> String {
        if text.contains('{') {
            self.with.insert(BRACE.to_owned(), "{".to_owned());
        }
        text.replace('{', &format!("{{{BRACE}}}"))
    }

    /// A JSON value without placeholders.
    pub(super) fn json(&mut self, value: &Json) -> Value {
        match value {
            Json::Null => "{= null}".into(),
            Json::Bool(truth) => (*truth).into(),
            Json::Number(number) => match number.as_i64() {
                Some(whole) => whole.into(),
                None => number.as_f64().unwrap_or(f64::MAX).into(),
            },
            Json::String(text) => self.text(text).into(),
            Json::Array(items) => items.iter().map(|item| self.json(item)).collect::<Array>().into(),
            Json::Object(members) => members
                .iter()
                .map(|(name, member)| (self.text(name), self.json(member)))
                .collect::<InlineTable>()
                .into(),
        }
    }
}
