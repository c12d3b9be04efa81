//! Values of a draft as TOML. Texts of the source that look like placeholders or formulas are escaped.

use crate::format::template::{Piece, escaped, parse};
use crate::import::draft::BRACE;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use toml_edit::{Array, InlineTable, Value};

/// Texts and placeholders as one text, if escapes can express it. A part is a placeholder if its second member is set.
fn escaped_parts(parts: &[(&str, bool)]) -> Option<String> {
    let texts = parts.iter().map(|(part, is_place)| match is_place {
        true => Some((*part).to_owned()),
        false => escaped(part),
    });
    let whole = texts.collect::<Option<String>>()?;
    let pieces = parse(&whole).ok()?;
    let read = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => Some((text.clone(), false)),
        Piece::Reference(reference) => Some((format!("{{{}}}", reference.name.plain()?), true)),
        Piece::Formula(_) => None,
    });
    let parts = parts.iter().filter(|(part, _)| !part.is_empty());
    let parts = parts.map(|(part, is_place)| Some(((*part).to_owned(), *is_place)));
    read.eq(parts).then_some(whole)
}

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
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, place, after)) = self.own_place(rest) {
            parts.extend([(before, false), (place, true)]);
            rest = after;
        }
        parts.push((rest, false));
        if let Some(escaped) = escaped_parts(&parts) {
            return escaped;
        }
        // Braces around a placeholder can make it another one, or a text.
        let last = parts.len() - 1;
        let parts = parts.into_iter().enumerate();
        let texts = parts.map(|(number, (part, is_place))| match (is_place, number == last) {
            (true, _) => part.to_owned(),
            (false, true) => self.text(part),
            (false, false) => self.without_braces(part),
        });
        texts.collect()
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
