//! Writes values as TOML, and escapes texts that would be read as a placeholder or a name.

use crate::import::draft::{BRACE, DOLLAR};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The longest table that is written on one line.
const ONE_LINE: usize = 100;

pub(super) fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A key, quoted if necessary.
pub(super) fn key(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        // A key is a single line, so it cannot have triple quotes.
        let mut text = String::from("\"");
        for letter in name.chars() {
            match letter {
                '"' | '\\' => text.extend(['\\', letter]),
                control if control.is_control() => {
                    let _ = write!(text, "\\u{:04X}", u32::from(control));
                }
                other => text.push(other),
            }
        }
        text + "\""
    }
}

/// A JSON value as TOML; long tables are spread over several lines.
pub(super) fn shown(value: &Value, depth: usize) -> String {
    let pad = "    ".repeat(depth + 1);
    let end = "    ".repeat(depth);
    let laid = |open: char, items: Vec<String>, close: char| {
        let short = format!("{open} {} {close}", items.join(", "));
        if items.is_empty() {
            format!("{open}{close}")
        } else if short.len() <= ONE_LINE && !short.contains('\n') {
            if open == '[' {
                format!("[{}]", items.join(", "))
            } else {
                short
            }
        } else {
            let lines = items
                .iter()
                .fold(String::new(), |lines, item| format!("{lines}{pad}{item},\n"));
            format!("{open}\n{lines}{end}{close}")
        }
    };
    match value {
        Value::Null => "\"$null\"".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.to_string(),
            (None, Some(float)) => toml::Value::from(float).to_string(),
            (None, None) => number.to_string(),
        },
        Value::String(text) => quoted(text),
        Value::Array(items) => laid(
            '[',
            items.iter().map(|item| shown(item, depth + 1)).collect(),
            ']',
        ),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, member)| format!("{} = {}", key(name), shown(member, depth + 1)));
            laid('{', members.collect(), '}')
        }
    }
}

/// Escapes the texts of an operation, and collects the placeholders that this requires in addition to its own.
pub(super) struct EscapedTexts {
    pub(super) with: BTreeMap<String, String>,
}

impl EscapedTexts {
    pub(super) fn new(with: &BTreeMap<String, String>) -> Self {
        Self { with: with.clone() }
    }

    fn brace(&mut self) -> String {
        self.with.insert(BRACE.to_owned(), "{".to_owned());
        format!("{{{BRACE}}}")
    }

    /// A literal text: everything that looks like a placeholder is escaped.
    pub(super) fn text(&mut self, text: &str) -> String {
        self.replaced(text, |_| false)
    }

    /// A text with the operation's own placeholders; all others are escaped.
    pub(super) fn own_places(&mut self, text: &str) -> String {
        let own: Vec<String> = self.with.keys().cloned().collect();
        self.replaced(text, |name| own.iter().any(|known| known == name))
    }

    fn replaced(&mut self, text: &str, is_place: impl Fn(&str) -> bool) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let end = after
                .find(|letter: char| !matches!(letter, 'a'..='z' | '0'..='9' | '_'))
                .unwrap_or(after.len());
            let looks = end > 0
                && after[end..].starts_with('}')
                && !after.starts_with(|first: char| first.is_ascii_digit());
            if looks && !is_place(&after[..end]) {
                out.push_str(&self.brace());
            } else {
                out.push('{');
            }
            rest = after;
        }
        out.push_str(rest);
        out
    }

    /// A literal value: a text `$name` is escaped, since it would be a name of `[data]`.
    pub(super) fn json(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let text = self.text(text);
                match text.strip_prefix('$') {
                    Some(rest) => {
                        self.with.insert(DOLLAR.to_owned(), "$".to_owned());
                        Value::from(format!("{{{DOLLAR}}}{rest}"))
                    }
                    None => Value::from(text),
                }
            }
            Value::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(name, member)| (self.text(name), self.json(member)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            other => other.clone(),
        }
    }
}
