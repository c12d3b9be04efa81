//! What must come back, and whether it did. The same expectation judges a reply in the check and under load.

mod body;
mod capture;
mod compiled;
mod decode;
pub mod events;
mod generated;
mod header;
mod html;
mod json;
mod json_rules;
mod protobuf;
mod schema;
mod series;
mod template_state;
#[cfg(test)]
mod tests;
mod text;

pub use body::ExactBody;
pub use capture::{Bag, LONGEST_TAKEN, Origin, Take};
pub use compiled::CompiledExpectation;
pub use decode::Decoded;
pub use generated::{List, work_out};
pub use html::HtmlTable;
pub use json_rules::{JsonRule, JsonRuleError, JsonTest, JsonWalk};
pub use series::Series;
pub use template_state::Memory;
pub use text::excerpt;

use crate::{Body, Bytes, Template};
use regex::bytes::Regex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What must come back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Status codes that are right; empty: 200 to 299.
    #[serde(default)]
    pub status: Vec<u16>,
    /// `grpc-status` that is right, where gRPC is spoken; absent: 0.
    #[serde(default)]
    pub grpc_status: Option<u32>,
    /// What headers must say.
    #[serde(default)]
    pub headers: Vec<HeaderRule>,
    /// What the body must be; all rules must hold.
    #[serde(default)]
    pub body: Vec<BodyRule>,
    /// What single values of a JSON body must be; all rules must hold. With any, the reply must be JSON by its type as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub json: Vec<JsonRule>,
    /// Whether the body is judged when it is decoded, in the coding that `Content-Encoding` names. A body that does not
    /// decode is wrong.
    #[serde(default, skip_serializing_if = "is_false")]
    pub decode: bool,
    /// Where the reply is a stream of events, of JSON lines or of messages of gRPC: what it must be. The body has no rules then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<events::Events>,
    /// What later requests of the same sequence take from the reply. One in which it is missing is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub take: Vec<Take>,
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
}

/// What a header must say. Names are compared without regard to case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderRule {
    /// The header's name.
    pub name: String,
    /// What must stand there.
    pub value: HeaderValue,
}

/// What the value of a header must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeaderValue {
    /// The header must not be there.
    Absent,
    /// A regular expression that the whole value must match.
    Matches(String),
    /// No such header, or one whose whole value this regular expression matches.
    MatchesIfThere(String),
    /// A media type, `text/plain`. A charset parameter is optional and must be UTF-8 if it is there; where the media type
    /// is written with one, `text/html; charset=utf-8`, it must be there.
    MediaType(String),
    /// This value.
    Equals(Template),
    /// The SHA-256 of these bytes in lower-case hexadecimal digits.
    Sha256(Template),
}

/// What a body must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum BodyRule {
    /// These bytes.
    Exact(Template),
    /// Equal as JSON: key order and white space are free, numbers compare as numbers, and a member that is `null` equals
    /// one that is absent.
    Json(Template),
    /// JSON in which all of this stands: further members of objects are free.
    JsonPart(Template),
    /// JSON whose items are worked out from their numbers.
    List(List),
    /// `{"bytes": n, "sha256": "…"}` of this body, which was sent.
    Uploaded(Body),
    /// A page of HTML with one table.
    HtmlTable(HtmlTable),
    /// JSON that this JSON Schema allows; draft 2020-12 unless its `$schema` says otherwise.
    JsonSchema(serde_json::Value),
    /// A regular expression that is found in the body.
    Matches(String),
    /// Bytes that stand somewhere in the body.
    Contains(Template),
    /// A line of HTML that reads as this text once its character references are resolved, and that holds no bare `<`, `>`
    /// or `&`.
    HtmlLine(Template),
    /// The body for each value of a parameter: `bodies[value − low]`.
    Table {
        /// Index of the parameter.
        parameter: usize,
        /// The value of the first body.
        low: u64,
        /// One body for each value from `low` on.
        bodies: Vec<Bytes>,
    },
    /// Numbers joined by one space, worked out for each reply.
    Series {
        /// Which numbers.
        series: Series,
        /// The last place, as decimal text.
        n: Template,
    },
    /// Equal as a message of Protocol Buffers, however it is encoded.
    Protobuf {
        /// The schema: an encoded `FileDescriptorSet`.
        schema: Bytes,
        /// Full name of the message type.
        message: String,
        /// The message, encoded.
        equals: Template,
    },
}

/// A reply as a protocol delivers it.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    /// HTTP status.
    pub status: u16,
    /// `grpc-status` of the trailers, where gRPC is spoken.
    pub grpc_status: Option<u32>,
    /// Headers in the order they came.
    pub headers: &'a [(&'a [u8], &'a [u8])],
    /// The whole body, or the message of a unary gRPC reply.
    pub body: &'a [u8],
}

/// How a reply differs from its expectation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mismatch {
    /// What was looked at, and the fault where it has a name: `status`, `grpc-status`, `header content-type`,
    /// `body: a newline too many at the end`, `body at persons[1].picture`.
    pub what: String,
    /// What should have come.
    pub expected: String,
    /// What came.
    pub got: String,
}

impl Mismatch {
    /// A mismatch.
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
    #[error("`{pattern}` is no regular expression: {reason}")]
    Pattern {
        /// The expression.
        pattern: String,
        /// What the compiler says.
        reason: String,
    },
    /// A JSON Schema that does not compile.
    #[error("no JSON Schema: {reason}")]
    JsonSchema {
        /// What is wrong, and where in it.
        reason: String,
    },
    /// A formula that cannot be worked out.
    #[error("`{formula}`: {reason}")]
    Formula {
        /// The formula.
        formula: String,
        /// What is wrong.
        reason: String,
    },
    /// More rules for the events of a stream than are told apart.
    #[error("{count} rules for the events of a stream: give at most {most}")]
    TooManyEvents {
        /// How many.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// A schema without the message type, or no schema at all.
    #[error("no message type `{message}`: {reason}")]
    Schema {
        /// The message type asked for.
        message: String,
        /// What is wrong.
        reason: String,
    },
}

/// Regular expressions that are kept compiled, at most.
const MOST: usize = 1024;
/// Expectations of one contract ask for the same few again and again, and a check makes an expectation of each request anew:
/// without it, compiling them took most of the time in which contracts are read. A copy has its own working memory, so those who
/// judge with one never wait for each other.
static COMPILED: Mutex<BTreeMap<String, Regex>> = Mutex::new(BTreeMap::new());

/// A regular expression, compiled once for all who ask the same; or what is wrong with it.
fn regular_expression(pattern: &str) -> Result<Regex, ExpectationError> {
    let mut known = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(compiled) = known.get(pattern) {
        return Ok(compiled.clone());
    }
    let compiled = compile(pattern)?;
    if known.len() == MOST {
        known.clear();
    }
    known.insert(pattern.to_owned(), compiled.clone());
    Ok(compiled)
}

fn compile(pattern: &str) -> Result<Regex, ExpectationError> {
    Regex::new(pattern).map_err(|error| ExpectationError::Pattern {
        pattern: pattern.to_owned(),
        // The last line of the compiler's picture is the sentence.
        reason: error
            .to_string()
            .lines()
            .last()
            .unwrap_or_default()
            .trim()
            .replace("error: ", ""),
    })
}
