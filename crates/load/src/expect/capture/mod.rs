//! Captures: values of a reply that later requests of the same sequence use.

mod cookies;
mod encoding;
mod json;
#[cfg(test)]
mod tests;

use self::cookies::{BETWEEN, cookies};
use self::json::PathMatch;
use super::{ExpectationError, Mismatch, Reply, excerpt, json as json_text, regular_expression};
pub use encoding::Encoding;
use regex::bytes::{CaptureLocations, Regex};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest captured value before it is encoded, bytes.
pub const LONGEST_TAKEN: usize = 4096;

/// A value that is captured from a reply. A reply without it is a mismatch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// The name that templates use.
    pub name: String,
    /// The slot of the sequence that stores the value: parameters whose source is `Taken` with this number use it.
    pub slot: usize,
    /// Where the value is in the reply.
    pub from: Origin,
    /// How the value is written into requests. All cookies together are always [`Encoding::Text`].
    #[serde(default, skip_serializing_if = "Encoding::is_text")]
    pub encoding: Encoding,
}

/// Where in a reply a value is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The body is JSON, and the value is the target of this pointer (RFC 6901): a string without its quotes, or any
    /// other value as JSON.
    Json(String),
    /// The value of the first header with this name.
    Header(String),
    /// The value of the cookie with this name that the reply sets.
    Cookie(String),
    /// The first group of a regular expression that matches in the body, or the whole match if it has no group.
    Regex(String),
    /// All cookies that the reply sets, formatted as in a request and appended to those of earlier replies. A reply
    /// that sets no cookie is accepted.
    Cookies,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(pointer) => write!(formatter, "json:{pointer}"),
            Self::Header(name) => write!(formatter, "header:{name}"),
            Self::Cookie(name) => write!(formatter, "cookie:{name}"),
            Self::Regex(pattern) => write!(formatter, "regex:{pattern}"),
            Self::Cookies => formatter.write_str("cookies"),
        }
    }
}

impl std::str::FromStr for Origin {
    type Err = String;

    /// Parses `json:/id`, `header:location`, `cookie:session`, `regex:csrf=(\w+)`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |reason: &str| {
            format!("`{text}`: {reason}; write json:/id, header:NAME, cookie:NAME or regex:PATTERN")
        };
        let (kind, rest) = text
            .split_once(':')
            .ok_or_else(|| wrong("it does not say where the value is"))?;
        match kind {
            "json" if rest.is_empty() || rest.starts_with('/') => Ok(Self::Json(rest.to_owned())),
            "json" => Err(wrong("a JSON pointer begins with `/`")),
            "header" | "cookie" | "regex" if rest.is_empty() => Err(wrong("nothing follows the colon")),
            "header" => Ok(Self::Header(rest.to_owned())),
            "cookie" => Ok(Self::Cookie(rest.to_owned())),
            "regex" => Ok(Self::Regex(rest.to_owned())),
            _ => Err(wrong("values are captured from json, header, cookie or regex")),
        }
    }
}

/// A compiled [`Capture`].
#[derive(Debug, Clone)]
pub(super) struct CompiledTake {
    slot: usize,
    /// `token (json:/token)`, for messages.
    label: String,
    place: CaptureSource,
    encoding: Encoding,
}

#[derive(Debug, Clone)]
enum CaptureSource {
    /// The unescaped tokens of a pointer.
    Json(Vec<String>),
    Header(String),
    Cookie(String),
    Regex(Regex),
    Cookies,
}

impl CompiledTake {
    pub(super) fn compile(take: &Capture) -> Result<Self, ExpectationError> {
        let place = match &take.from {
            Origin::Json(pointer) => CaptureSource::Json(json_text::tokens(pointer)),
            Origin::Header(name) => CaptureSource::Header(name.clone()),
            Origin::Cookie(name) => CaptureSource::Cookie(name.clone()),
            Origin::Regex(pattern) => CaptureSource::Regex(regular_expression(pattern)?),
            Origin::Cookies => CaptureSource::Cookies,
        };
        Ok(Self {
            slot: take.slot,
            label: format!("{} ({})", take.name, take.from),
            encoding: match place {
                CaptureSource::Cookies => Encoding::Text,
                _ => take.encoding,
            },
            place,
        })
    }

    pub(super) const fn reads_body(&self) -> bool {
        matches!(self.place, CaptureSource::Json(_) | CaptureSource::Regex(_))
    }

    /// Appends the value to the captured ones.
    pub(super) fn take(
        &self,
        reply: &Reply<'_>,
        body: &[u8],
        captured: &mut CaptureBuffer,
    ) -> Result<(), Mismatch> {
        let begin = captured.text.len();
        let mut is_json = false;
        let found = match &self.place {
            CaptureSource::Json(path) => {
                let allows_null = self.encoding == Encoding::Json;
                json::take(body, path, &mut captured.text).and_then(|found| match found {
                    PathMatch::Text => Ok(()),
                    PathMatch::Null if !allows_null => Err("null"),
                    PathMatch::Null | PathMatch::Value => {
                        is_json = true;
                        Ok(())
                    }
                    PathMatch::Nothing => Err("no such member"),
                })
            }
            CaptureSource::Header(name) => header(reply, name)
                .map(|value| captured.text.extend_from_slice(without_origin(name, value)))
                .ok_or("no such header"),
            CaptureSource::Cookie(name) => cookies(reply)
                .filter(|(key, _)| *key == name.as_bytes())
                .last()
                .map(|(_, value)| captured.text.extend_from_slice(value))
                .ok_or("no such cookie"),
            CaptureSource::Regex(regex) => capture_match(regex, body, captured),
            CaptureSource::Cookies => {
                for (name, value) in cookies(reply) {
                    let between = if captured.text.len() > begin { BETWEEN } else { b"" };
                    for part in [between, name, b"=", value] {
                        captured.text.extend_from_slice(part);
                    }
                }
                Ok(())
            }
        };
        let is_short = captured.text.len() - begin <= LONGEST_TAKEN;
        let encoded = found.and_then(|()| match self.encoding {
            _ if !is_short => Err("a value longer than 4096 bytes"),
            // It is written as it is.
            Encoding::Json if is_json => Ok(()),
            encoding => encoding.encode(&mut captured.text, begin, &mut captured.scratch),
        });
        let Err(reason) = encoded else {
            captured.values.push(CapturedRange {
                slot: self.slot,
                begin,
                end: captured.text.len(),
                adds: matches!(self.place, CaptureSource::Cookies),
            });
            return Ok(());
        };
        let what = format!("captured {}", self.label);
        Err(Mismatch::new(
            what,
            "a value",
            format!("{reason}: `{}`", excerpt(body)),
        ))
    }
}

/// The values captured from one reply; its memory is reused.
#[derive(Debug, Clone, Default)]
pub(super) struct CaptureBuffer {
    text: Vec<u8>,
    values: Vec<CapturedRange>,
    /// A value before it is encoded.
    scratch: Vec<u8>,
    groups: Option<CaptureLocations>,
}

#[derive(Debug, Clone, Copy)]
struct CapturedRange {
    slot: usize,
    begin: usize,
    end: usize,
    /// Whether it is appended to the current value of the slot.
    adds: bool,
}

impl CaptureBuffer {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.values.clear();
    }

    /// Stores the values in the slots of the sequence.
    pub(super) fn pass_captures(&self, bag: &mut CapturedValues) {
        for value in &self.values {
            bag.set(value.slot, &self.text[value.begin..value.end], value.adds);
        }
    }
}

/// The values that one sequence has captured so far.
#[derive(Debug, Clone, Default)]
pub struct CapturedValues(Vec<Vec<u8>>);

impl CapturedValues {
    /// The value of a slot; empty where none was captured yet.
    pub fn get(&self, slot: usize) -> &[u8] {
        self.0.get(slot).map_or(&[], Vec::as_slice)
    }

    /// Clears the values, and keeps their memory.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(Vec::clear);
    }

    /// Sets the value of a slot.
    pub fn replace(&mut self, slot: usize, value: &[u8]) {
        self.set(slot, value, false);
    }

    fn set(&mut self, slot: usize, value: &[u8], adds: bool) {
        if self.0.len() <= slot {
            self.0.resize_with(slot + 1, Vec::new);
        }
        let place = &mut self.0[slot];
        if adds {
            cookies::store(place, value, LONGEST_TAKEN);
        } else {
            place.clear();
            place.extend_from_slice(value);
        }
    }
}

fn header<'a>(reply: &Reply<'a>, name: &str) -> Option<&'a [u8]> {
    let wanted = |key: &[u8]| key.eq_ignore_ascii_case(name.as_bytes());
    let found = reply.headers.iter().find(|(key, _)| wanted(key));
    found.map(|(_, value)| *value)
}

/// The path of a `Location` with a host: the request goes to the same target as all others.
fn without_origin<'a>(name: &str, value: &'a [u8]) -> &'a [u8] {
    let schemes: [&[u8]; 2] = [b"http://", b"https://"];
    let rest = schemes.iter().find_map(|scheme| value.strip_prefix(*scheme));
    match rest.filter(|_| name.eq_ignore_ascii_case("location")) {
        Some(rest) => rest
            .iter()
            .position(|byte| *byte == b'/')
            .map_or(b"/", |at| &rest[at..]),
        None => value,
    }
}

fn capture_match(regex: &Regex, body: &[u8], captured: &mut CaptureBuffer) -> Result<(), &'static str> {
    let groups = match &mut captured.groups {
        Some(groups) if groups.len() == regex.captures_len() => groups,
        other => other.insert(regex.capture_locations()),
    };
    let none = "no match of the expression";
    regex.captures_read(groups, body).ok_or(none)?;
    let group = usize::from(groups.len() > 1);
    let (begin, end) = groups.get(group).ok_or(none)?;
    captured.text.extend_from_slice(&body[begin..end]);
    Ok(())
}
