//! What a source says, before it is a contract.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A contract to be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    /// What people call it.
    pub title: String,
    /// What it asks of a service.
    pub summary: String,
    /// Where it is from.
    pub source: String,
    /// What a reader must know: what was left out, and why.
    pub remarks: Vec<String>,
    /// Common cases that do not apply, each with the reason.
    pub without: Vec<(String, String)>,
    /// What is asked, in order.
    pub operations: Vec<Operation>,
    /// Schemas of replies by name: `$defs` of `schemas.json`.
    pub schemas: Map<String, Value>,
}

/// One request, and what must come back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operation {
    /// The contract's word for it.
    pub name: String,
    /// File and line, or what else it is from.
    pub from: String,
    /// What it does.
    pub summary: String,
    /// The method.
    pub method: String,
    /// Path and query, with places `{name}`.
    pub path: String,
    /// What stands in the places.
    pub with: BTreeMap<String, String>,
    /// Headers in their order; places may stand in them.
    pub headers: Vec<(String, String)>,
    /// What is sent.
    pub body: Option<Body>,
    /// What must come back.
    pub expect: Expect,
    /// What a reader must know.
    pub remarks: Vec<String>,
}

/// Places with which a text can hold what would be a place or a name: `{` and `$`.
pub(crate) const BRACE: &str = "brace";
pub(crate) const DOLLAR: &str = "dollar";

/// What is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A value as JSON.
    Json(Value),
    /// A text.
    Text(String),
}

/// What must come back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expect {
    /// Statuses that are right.
    pub status: Vec<u16>,
    /// The media type.
    pub media_type: Option<String>,
    /// The body.
    pub body: Option<ExpectedBody>,
}

/// What the body must be.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpectedBody {
    /// This value.
    Json(Value),
    /// What this schema of the draft allows.
    Schema(String),
    /// This text.
    Text(String),
    /// A match of this regular expression.
    Matches(String),
}

/// Names for operations: plain, and each once.
#[derive(Debug, Default)]
pub(crate) struct Names(std::collections::BTreeSet<String>);

/// The longest name of an operation.
const LONGEST: usize = 60;

impl Names {
    /// The name that was wished for, as a key of TOML that needs no quotes.
    pub(crate) fn take(&mut self, wished: &str) -> String {
        let plain: String = wished
            .trim()
            .chars()
            .map(|letter| {
                if letter.is_ascii_alphanumeric() {
                    letter
                } else {
                    '_'
                }
            })
            .collect();
        let plain = plain.trim_matches('_');
        let plain = if plain.is_empty() { "request" } else { plain };
        let plain = &plain[..plain.len().min(LONGEST)];
        let mut name = plain.to_owned();
        let mut number = 2;
        while !self.0.insert(name.clone()) {
            name = format!("{plain}_{number}");
            number += 1;
        }
        name
    }

    /// The same from method and path: `getPetsId`.
    pub(crate) fn of_request(&mut self, method: &str, path: &str) -> String {
        let path = path.split('?').next().unwrap_or_default();
        let words = path
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty());
        let name = words.fold(method.to_ascii_lowercase(), |mut name, word| {
            let (first, rest) = word.split_at(1);
            name.push_str(&first.to_ascii_uppercase());
            name.push_str(rest);
            name
        });
        self.take(&name)
    }
}

impl Operation {
    /// A place for a value, under a name that is free: `{name}`.
    pub(crate) fn place(&mut self, wished: &str, value: &str) -> String {
        let mut name = String::new();
        for letter in wished.chars() {
            if letter.is_ascii_uppercase() {
                let follows = name.ends_with(|last: char| last.is_ascii_lowercase() || last.is_ascii_digit());
                if follows {
                    name.push('_');
                }
                name.push(letter.to_ascii_lowercase());
            } else if letter.is_ascii_lowercase() || letter.is_ascii_digit() {
                name.push(letter);
            } else if !name.ends_with('_') {
                name.push('_');
            }
        }
        let name = name.trim_matches('_');
        let reserved = name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit());
        let base = if reserved {
            format!("value{name}")
        } else {
            name.to_owned()
        };
        let mut name = base.clone();
        let mut number = 2;
        while self.with.contains_key(&name) || [BRACE, DOLLAR].contains(&name.as_str()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        self.with.insert(name.clone(), value.to_owned());
        format!("{{{name}}}")
    }

    /// Sends this header, in the place of one of the same name; places that only that one had are gone.
    pub fn set_header(&mut self, name: &str, value: &str) {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        let texts: Vec<String> = self.headers.iter().map(|(_, value)| value.clone()).collect();
        let path = self.path.clone();
        self.with.retain(|place, _| {
            let sign = format!("{{{place}}}");
            path.contains(&sign) || texts.iter().any(|text| text.contains(&sign))
        });
    }

    /// Whether the method changes nothing.
    pub(crate) fn only_reads(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }
}

/// The media type alone, in small letters.
pub(crate) fn media_type(value: &str) -> String {
    value
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}

/// Whether a media type is JSON.
pub(crate) fn is_json(media_type: &str) -> bool {
    let kind = self::media_type(media_type);
    kind == "application/json" || kind.ends_with("+json")
}

/// A value as it stands in a path or query.
pub(crate) fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte.into());
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}
