//! The content of a source, before it becomes a contract.

use crate::contract::is_safe_method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use prony_load::SchemaDocument;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// A draft of a contract.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    pub title: String,
    /// A description of the contract.
    pub summary: String,
    /// The source of the draft.
    pub source: String,
    /// Remarks for the reader about the draft as a whole.
    pub remarks: Vec<String>,
    /// The requests of the source that are not in the draft.
    pub omitted: Vec<Omission>,
    /// Common cases that do not apply, each with the reason.
    pub skip_common_cases: Vec<(String, String)>,
    /// The requests, in order.
    pub operations: Vec<Operation>,
    /// Whether the requests were really sent, and may contain secrets; those of a description are examples.
    pub has_real_requests: bool,
    /// Schemas of replies by name: `$defs` of `schemas.json`.
    pub schemas: Map<String, Value>,
}

/// Requests of the source that are not in the draft.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Omission {
    /// File and line, or the option with the number of its value.
    pub place: String,
    pub reason: String,
    /// The number of requests.
    pub count: usize,
}

impl Omission {
    /// One request.
    pub fn new(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            reason: reason.into(),
            count: 1,
        }
    }
}

impl fmt::Display for Omission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: left out: {}", self.place, self.reason)
    }
}

/// The most omissions that are shown.
const MOST_SHOWN: usize = 100;

/// How much of the source is in a draft, in operations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DraftCounts {
    /// Those in the draft, including the partial ones.
    pub drafted: usize,
    /// Those that differ from the source, as their remarks say.
    pub partial: usize,
    /// Those that are not in the draft.
    pub omitted: usize,
}

impl Draft {
    /// Removes the schemas that no operation uses.
    pub fn retain_used_schemas(&mut self) {
        let names = self
            .operations
            .iter()
            .filter_map(|operation| match &operation.expect.body {
                Some(ExpectedBody::Schema(name)) => {
                    Some(format!("/$defs/{}", name.replace('~', "~0").replace('/', "~1")))
                }
                _ => None,
            });
        let pointers: Vec<String> = names.collect();
        let all = json!({ "$defs": std::mem::take(&mut self.schemas) });
        let used = SchemaDocument::new(all).only(pointers.iter().map(String::as_str));
        if let Some(Value::Object(used)) = used.get("$defs") {
            self.schemas.clone_from(used);
        }
    }

    /// Why something is missing, as the end of a message about a source without any request that can be drafted.
    pub(crate) fn first_reason(&self) -> String {
        let omitted = self.omitted.first().map(ToString::to_string);
        omitted.map(|reason| format!(": {reason}")).unwrap_or_default()
    }

    /// How much of the source is in the draft.
    pub fn counts(&self) -> DraftCounts {
        DraftCounts {
            drafted: self.operations.len(),
            partial: self.operations.iter().filter(|one| one.is_partial).count(),
            omitted: self.omitted.iter().map(|omission| omission.count).sum(),
        }
    }

    /// What is not in the draft, in lines for a reader. A source may have any number of such requests.
    pub fn omitted_lines(&self) -> Vec<String> {
        let shown = self.omitted.iter().take(MOST_SHOWN);
        let mut lines: Vec<String> = shown.map(ToString::to_string).collect();
        let more = self
            .omitted
            .iter()
            .skip(MOST_SHOWN)
            .map(|omission| omission.count);
        let more: usize = more.sum();
        if more > 0 {
            lines.push(format!("{more} more requests are left out."));
        }
        lines
    }
}

/// One request, and the expected reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operation {
    pub name: String,
    /// The origin of the request, for example file and line.
    pub from: String,
    /// A description, if the source has one.
    pub summary: String,
    pub method: String,
    /// Path and query, with placeholders `{name}`. All other braces are percent-encoded.
    pub path: String,
    /// Values of placeholders, before they are encoded for a path or query.
    pub with: BTreeMap<String, String>,
    /// Headers in order; they may contain placeholders.
    pub headers: Vec<(String, String)>,
    pub body: Option<Body>,
    pub expect: Expect,
    /// Remarks for the reader.
    pub remarks: Vec<String>,
    /// What the source calls a success.
    pub success: Success,
    /// Whether the request or the expected reply differs from the source. A remark says how.
    pub is_partial: bool,
}

/// The statuses that the source of a request calls a success.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Success {
    /// It says nothing: any status below 400.
    #[default]
    Unknown,
    /// Any status from 200 to 299.
    Any,
    /// These.
    Listed(Vec<u16>),
}

impl Success {
    fn has(&self, status: u16) -> bool {
        match self {
            Self::Unknown => (200..400).contains(&status),
            Self::Any => (200..300).contains(&status),
            Self::Listed(all) => all.contains(&status),
        }
    }
}

/// The placeholder for a brace that cannot be written in another way.
pub(crate) const BRACE: &str = "brace";

/// The body of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    Json(Value),
    Text(String),
    /// A text with placeholders of the operation. All other braces are text.
    Template(String),
}

/// The expected reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expect {
    /// Valid statuses.
    pub status: Vec<u16>,
    pub media_type: Option<String>,
    pub body: Option<ExpectedBody>,
}

/// The expected body.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpectedBody {
    /// Exactly this value.
    Json(Value),
    /// A value that matches this schema of the draft.
    Schema(String),
    /// Exactly this text.
    Text(String),
    /// A match of this regular expression.
    Matches(String),
}

/// Valid, unique names for operations: each with the next number of those that resemble it.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<String, usize>);

/// The longest name of an operation.
const LONGEST: usize = 60;

impl Names {
    /// A unique name that resembles the given one and needs no quotes as a TOML key.
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
        self.unique(plain)
    }

    /// This name, or one that is like it and not taken.
    pub(crate) fn unique(&mut self, base: &str) -> String {
        let mut name = base.to_owned();
        while self.0.contains_key(&name) {
            let number = self.0.entry(base.to_owned()).or_insert(1);
            *number += 1;
            name = format!("{base}_{number}");
        }
        self.0.insert(name.clone(), 1);
        name
    }

    /// A unique name from method and path: `getPetsId`.
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
    /// Whether a reply with this status is a success, or what the source has recorded.
    pub fn is_success(&self, status: u16) -> bool {
        self.success.has(status) || self.expect.status.contains(&status)
    }

    /// Adds a remark about a part of the source that the request lacks or changes.
    pub(crate) fn add_gap(&mut self, remark: impl Into<String>) {
        self.remarks.push(remark.into());
        self.is_partial = true;
    }

    /// A placeholder for a value, under an unused name: `{name}`.
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
        let name = self.unused(base);
        self.with.insert(name.clone(), value.to_owned());
        format!("{{{name}}}")
    }

    /// This name of a placeholder, or the same with a number. A search that doubles, since a source may use one name very often.
    fn unused(&self, base: String) -> String {
        let is_used = |name: &str| self.with.contains_key(name) || self.has_text(&format!("{{{name}}}"));
        if !is_used(&base) && base != BRACE {
            return base;
        }
        let name = |number: usize| format!("{base}_{number}");
        let (mut used, mut free) = (1, 2);
        while is_used(&name(free)) {
            (used, free) = (free, free * 2);
        }
        while free - used > 1 {
            let middle = used.midpoint(free);
            if is_used(&name(middle)) {
                used = middle;
            } else {
                free = middle;
            }
        }
        name(free)
    }

    /// Whether a header, or a body with placeholders, contains this text.
    fn has_text(&self, text: &str) -> bool {
        let has_body = matches!(&self.body, Some(Body::Template(body)) if body.contains(text));
        has_body || self.headers.iter().any(|(_, value)| value.contains(text))
    }

    /// Removes the values of placeholders that the request does not have.
    pub(crate) fn drop_unused_values(&mut self) {
        let mut with = std::mem::take(&mut self.with);
        with.retain(|place, _| {
            let sign = format!("{{{place}}}");
            self.path.contains(&sign) || self.has_text(&sign)
        });
        self.with = with;
    }

    /// Sets this header and replaces one of the same name, including placeholders that only the replaced header used.
    pub fn set_header(&mut self, name: &str, value: &str) {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self.drop_unused_values();
    }

    /// Whether the method changes nothing.
    pub fn only_reads(&self) -> bool {
        is_safe_method(&self.method)
    }
}

/// The media type alone, in lowercase.
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

/// The unreserved characters of RFC 3986, section 2.3, stay as they are.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A value, encoded for a path or query.
pub(crate) fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}
