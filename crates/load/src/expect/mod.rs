//! Rules for replies, and the judgement of replies by them. The same expectation judges a reply in the check and
//! under load.

mod body;
mod capture;
mod compiled;
mod decode;
mod document;
pub mod events;
mod file_part;
mod generated;
mod header;
mod html;
mod json;
mod json_rules;
mod json_schema;
mod json_values;
mod protobuf;
mod series;
mod template_state;
#[cfg(test)]
mod tests;
mod text;

pub use body::ExactBody;
pub use capture::{Capture, CapturedValues, Encoding, LONGEST_TAKEN, Origin};
pub use compiled::CompiledExpectation;
pub use decode::DecodedSize;
pub use file_part::FilePart;
pub use generated::List;
pub use html::HtmlTable;
pub use json_rules::{JsonRule, JsonRuleError, JsonTest, JsonWalk};
pub use json_schema::{SchemaDocument, SchemaPart, validate_schema};
pub use json_values::JsonText;
pub use series::Series;
pub use template_state::Memory;
pub use text::excerpt;

use crate::{Body, Bytes, Template};
use regex::bytes::Regex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Rules for a reply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Accepted status codes; empty: 200 to 299.
    #[serde(default)]
    pub status: Vec<u16>,
    /// Expected `grpc-status` for gRPC; absent: 0.
    #[serde(default)]
    pub grpc_status: Option<u32>,
    /// Rules for headers; all must hold.
    #[serde(default)]
    pub headers: Vec<HeaderRule>,
    /// Rules for the body; all must hold.
    #[serde(default)]
    pub body: Vec<BodyRule>,
    /// Rules for single values of a JSON body; all must hold. With any of them, the content type must be JSON as
    /// well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub json: Vec<JsonRule>,
    /// Whether the reply may also be an event stream with exactly one event that has data, unnamed or a `message`. All
    /// rules for the body judge that data then. The content type must be one of the two.
    #[serde(default, skip_serializing_if = "is_false")]
    pub single_event: bool,
    /// Whole expectations, of which one must hold, in addition to all other rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any: Vec<Expectation>,
    /// Whether to decode the body, in the coding that `Content-Encoding` names, before it is judged. A body that does
    /// not decode is a mismatch.
    #[serde(default, skip_serializing_if = "is_false")]
    pub decode: bool,
    /// Rules for a reply that is a stream of events, JSON lines or gRPC messages. There are no rules for the body
    /// then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<events::Events>,
    /// Values captured from the reply for later requests of the same sequence. A reply without one of them is a
    /// mismatch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub take: Vec<Capture>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl Expectation {
    /// Whether the reply is a stream of messages.
    pub const fn is_stream(&self) -> bool {
        self.events.is_some()
    }

    /// Calls `each` with every JSON Schema, those of alternatives too.
    pub(crate) fn visit_schemas<'a>(&'a self, each: &mut impl FnMut(&'a SchemaPart)) {
        for rule in &self.body {
            if let BodyRule::JsonSchema(part) = rule {
                each(part);
            }
        }
        for one in &self.any {
            one.visit_schemas(each);
        }
    }

    /// The same, to change them.
    pub(crate) fn visit_schemas_mut(&mut self, each: &mut impl FnMut(&mut SchemaPart)) {
        for rule in &mut self.body {
            if let BodyRule::JsonSchema(part) = rule {
                each(part);
            }
        }
        for one in &mut self.any {
            one.visit_schemas_mut(each);
        }
    }
}

/// A rule for a header. Names are case-insensitive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderRule {
    /// The header's name.
    pub name: String,
    /// The condition on its value.
    pub value: HeaderValue,
}

/// A condition on the value of a header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeaderValue {
    /// The header must be absent.
    Absent,
    /// A regular expression that must match the whole value.
    Matches(String),
    /// The header must be absent, or this regular expression must match its whole value.
    MatchesIfThere(String),
    /// A media type, `text/plain`. A charset parameter is optional and must be UTF-8 if present; where the media type
    /// is written with one, `text/html; charset=utf-8`, it is required.
    MediaType(String),
    /// A media type that differs between requests, or several separated by ` or `; parameters as for `MediaType`.
    MediaTypeOf(Template),
    /// Exactly this value.
    Equals(Template),
    /// The SHA-256 of these bytes in lower-case hexadecimal digits.
    Sha256(Template),
}

/// A condition on a body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum BodyRule {
    /// Exactly these bytes.
    Exact(Template),
    /// Equal as JSON: key order and white space are ignored, numbers are compared by value, and a `null` member
    /// equals an absent one.
    Json(Template),
    /// JSON that contains all of this: objects may have additional members.
    JsonPart(Template),
    /// JSON that does not contain all of this.
    JsonNotContains(Template),
    /// JSON with a string that is JSON itself.
    JsonText(JsonText),
    /// JSON whose items are computed from their numbers.
    List(List),
    /// `{"bytes": n, "sha256": "…"}` of this body, which was sent.
    Uploaded(Body),
    /// An HTML page with one table.
    HtmlTable(HtmlTable),
    /// JSON that is valid under this JSON Schema; draft 2020-12 unless its `$schema` says otherwise.
    JsonSchema(SchemaPart),
    /// A regular expression that matches somewhere in the body.
    Matches(String),
    /// Bytes that occur somewhere in the body.
    Contains(Template),
    /// A line of HTML that equals this text once its character references are resolved, and that contains no
    /// unescaped `<`, `>` or `&`.
    HtmlLine(Template),
    /// One body for each value of a parameter: `bodies[value − low]`.
    Table {
        /// Index of the parameter.
        parameter: usize,
        /// The value of the first body.
        low: u64,
        /// The bodies for the values from `low` on.
        bodies: Vec<Bytes>,
    },
    /// A file of known bytes, or a slice of it.
    FilePart(FilePart),
    /// Numbers joined by single spaces, computed for each reply.
    Series {
        /// The series.
        series: Series,
        /// Decimal text: the last index of the series.
        n: Template,
    },
    /// Equal as a Protocol Buffers message, whatever its encoding.
    Protobuf {
        /// The schema: an encoded `FileDescriptorSet`.
        schema: Bytes,
        /// Full name of the message type.
        message: String,
        /// The expected message, encoded.
        equals: Template,
    },
}

/// A reply as the protocol layer delivers it.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    /// The HTTP status code.
    pub status: u16,
    /// `grpc-status` of the trailers, for gRPC.
    pub grpc_status: Option<u32>,
    /// Headers in the order received.
    pub headers: &'a [(&'a [u8], &'a [u8])],
    /// The whole body, or the message of a unary gRPC reply.
    pub body: &'a [u8],
}

/// How a reply differs from its expectation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mismatch {
    /// The part that was judged, and the fault where it has a name: `status`, `grpc-status`, `header content-type`,
    /// `body: an extra newline at the end`, `body at persons[1].picture`.
    pub what: String,
    /// The expected value.
    pub expected: String,
    /// The received value.
    pub got: String,
}

impl Mismatch {
    /// Creates a mismatch from its parts.
    pub fn new(what: impl Into<String>, expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            expected: expected.into(),
            got: got.into(),
        }
    }
}

/// An expectation that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpectationError {
    /// A regular expression that does not compile.
    #[error("`{pattern}` is not a regular expression: {reason}")]
    Pattern {
        /// The regular expression.
        pattern: String,
        /// The error of the regex compiler.
        reason: String,
    },
    /// A JSON Schema that does not compile.
    #[error("not a JSON Schema: {reason}")]
    JsonSchema {
        /// The fault and its location.
        reason: String,
    },
    /// A text that is not a JSON pointer.
    #[error("`{pointer}` is not a JSON pointer: it begins with `/`")]
    Pointer {
        /// The text as written.
        pointer: String,
    },
    /// More event rules than a stream can track.
    #[error("{count} rules for the events of a stream: give at most {most}")]
    TooManyEvents {
        /// Number of rules given.
        count: usize,
        /// Largest number allowed.
        most: usize,
    },
    /// A schema without the message type, or an invalid schema.
    #[error("no message type `{message}`: {reason}")]
    Schema {
        /// The requested message type.
        message: String,
        /// The reason.
        reason: String,
    },
}

/// Largest number of regular expressions kept compiled.
const MOST: usize = 1024;
/// A cache of compiled regular expressions. Expectations of one contract repeat a few of them, and the check builds a
/// new expectation for each request: without the cache, compiling took most of the time of reading contracts. Each
/// clone has its own scratch memory, so concurrent users never wait for each other.
static COMPILED: Mutex<BTreeMap<String, Regex>> = Mutex::new(BTreeMap::new());

/// A regular expression, compiled once per pattern; or the reason why it is invalid.
fn regular_expression(pattern: &str) -> Result<Regex, ExpectationError> {
    let mut cache = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(compiled) = cache.get(pattern) {
        return Ok(compiled.clone());
    }
    let compiled = compile(pattern)?;
    if cache.len() == MOST {
        cache.clear();
    }
    cache.insert(pattern.to_owned(), compiled.clone());
    Ok(compiled)
}

fn compile(pattern: &str) -> Result<Regex, ExpectationError> {
    Regex::new(pattern).map_err(|error| ExpectationError::Pattern {
        pattern: pattern.to_owned(),
        // The last line of the compiler's multi-line error is the message.
        reason: error
            .to_string()
            .lines()
            .last()
            .unwrap_or_default()
            .trim()
            .replace("error: ", ""),
    })
}
