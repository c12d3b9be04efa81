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
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, place, after)) = self.own_place(rest) {
            // A brace before a placeholder would make it a text.
            out = out + &self.without_braces(before) + place;
            rest = after;
        }
        out + &self.text(rest)
    }

    /// The first of the operation's own placeholders, with the texts before and after it.
    fn own_place<'a>(&self, text: &'a str) -> Option<(&'a str, &'a str, &'a str)> {
        text.match_indices('{').find_map(|(open, _)| {
            let (before, rest) = text.split_at(open);
            let end = 1 + rest[1..].find(['{', '}'])?;
            let name = &rest[1..end];
            let is_own = rest[end..].starts_with('}') && name != BRACE && self.with.contains_key(name);
            is_own.then(|| (before, &rest[..=end], &rest[end + 1..]))
        })
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
