//! The keys of expectations.

use super::values::{HeaderExpectToml, OneOrMany, TextOrNumber};
use crate::format::{Spanned, SpannedValue};
use prony_load::DurationText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The expected reply.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectToml {
    /// The status, or several. Default: 200.
    pub(crate) status: Option<OneOrMany<Status>>,
    /// The status of a gRPC call, such as `NOT_FOUND`. Default: `OK`.
    #[schemars(extend("x-aliases" = ["grpc"]))]
    pub(crate) grpc_status: Option<Spanned<String>>,
    /// The media type of the reply. `json` implies JSON; `"any"` accepts every type. Several are separated by ` or `.
    #[schemars(extend("x-aliases" = ["type"]))]
    pub(crate) content_type: Option<String>,
    /// Headers of the reply: an exact text, `{ matches = "REGEX" }`, true (present) or false (absent).
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Spanned<HeaderExpectToml>>,
    /// The exact body.
    pub(crate) text: Option<Spanned<String>>,
    /// The body equals the content of this file.
    pub(crate) file: Option<Spanned<String>>,
    /// The body equals this JSON.
    pub(crate) json: Option<SpannedValue>,
    /// JSON that the body contains. Its objects may have further members, its lists no further items.
    #[schemars(extend("x-aliases" = ["json_part"]))]
    pub(crate) json_contains: Option<SpannedValue>,
    /// JSON that the body must not contain.
    #[schemars(extend("x-aliases" = ["json_not"]))]
    pub(crate) json_not_contains: Option<SpannedValue>,
    /// A list in the body whose items are computed from their numbers.
    pub(crate) json_list: Option<Spanned<ListToml>>,
    /// The body is valid under this JSON Schema: a file of this folder, `"schemas.json#/$defs/Pet"`, or a table.
    pub(crate) json_schema: Option<SpannedValue>,
    /// Rules for single values of a JSON body: `/POINTER` (present and not null), `!/POINTER`, `/POINTER=VALUE`, `/POINTER!=VALUE`, `/POINTER~REGEX`.
    pub(crate) json_rules: Option<Spanned<OneOrMany<String>>>,
    /// The body is an HTML page with this table.
    pub(crate) html_table: Option<Spanned<HtmlTableToml>>,
    /// Regular expressions that match somewhere in the body.
    pub(crate) matches: Option<Spanned<OneOrMany<String>>>,
    /// Texts that occur in the body.
    pub(crate) contains: Option<Spanned<OneOrMany<String>>>,
    /// The coding of the body, or several that are allowed. The other rules apply to the decoded body.
    #[schemars(extend("x-aliases" = ["coding"]))]
    pub(crate) content_encoding: Option<Spanned<OneOrMany<ContentEncoding>>>,
    /// The message of a gRPC reply.
    pub(crate) message: Option<SpannedValue>,
    /// The messages of a streamed reply.
    pub(crate) events: Option<Spanned<EventsToml>>,
    /// Whether the message that was sent on a WebSocket must be echoed.
    #[serde(default)]
    pub(crate) echoed: bool,
    /// The longest time until the reply is complete. Only in cases.
    pub(crate) within: Option<DurationText>,
    /// Expectations that only prony's own contracts use.
    pub(crate) builtin: Option<BuiltinToml>,
    /// The body equals a file of known bytes, or a slice of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file_part: Option<Spanned<FilePartToml>>,
    /// A string in the body that is JSON itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) json_text: Option<Spanned<JsonTextToml>>,
    /// Whether the body may also be an event stream with exactly one event that has data, unnamed or a `message`. The other rules
    /// apply to that data.
    #[serde(default, skip_serializing_if = "is_false")]
    #[schemars(extend("x-aliases" = ["one_event"]))]
    pub(crate) single_event: bool,
    /// Whole expectations, of which one must hold besides the other keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-aliases" = ["any"]))]
    pub(crate) any_of: Vec<Spanned<Self>>,
    /// Whether the connection may also end before the reply is complete. Only in cases.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) may_break_off: bool,
}

/// A file of known bytes, or a slice of it.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilePartToml {
    /// The name of the file.
    pub(crate) file: Spanned<String>,
    /// The position of the first byte. Default: 0.
    pub(crate) from: Option<Spanned<TextOrNumber>>,
    /// The position of the last byte. Default: the last byte of the file.
    pub(crate) to: Option<Spanned<TextOrNumber>>,
    /// The version of the file, after `change`. Default: 1.
    #[schemars(range(min = 1))]
    pub(crate) version: Option<u32>,
}

/// A status code, or `"2xx"` for 200 to 299.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-give" = "a status such as 201, a list of them, or \"2xx\""))]
pub(crate) enum Status {
    Code(#[schemars(range(min = 100, max = 599))] u16),
    Success(Success),
}

/// Any status from 200 to 299.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub(crate) enum Success {
    #[serde(rename = "2xx")]
    Any,
}

impl Status {
    /// The codes that a list of statuses accepts; empty for 200 to 299, which a list of further codes cannot extend.
    pub(crate) fn codes(all: &[Self]) -> Vec<u16> {
        let code = |status: &Self| match status {
            Self::Code(code) => vec![*code],
            Self::Success(Success::Any) => (200..300).collect(),
        };
        match all {
            [Self::Success(Success::Any)] => Vec::new(),
            several => several.iter().flat_map(code).collect(),
        }
    }
}

/// A content coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ContentEncoding {
    Gzip,
    Br,
    Zstd,
    Deflate,
    /// No coding.
    Identity,
    /// Any of them, or none.
    Any,
}

impl ContentEncoding {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Br => "br",
            Self::Zstd => "zstd",
            Self::Deflate => "deflate",
            Self::Identity => "identity",
            Self::Any => "any",
        }
    }
}

/// Expectations that only prony's own contracts use.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BuiltinToml {
    /// The numbers from 1 to n, joined by spaces.
    pub(crate) integers: Option<Spanned<String>>,
    /// The Fibonacci numbers up to F(n), joined by spaces.
    pub(crate) fibonacci: Option<Spanned<String>>,
    /// Lines of HTML, with their character references resolved.
    pub(crate) html_lines: Option<Spanned<OneOrMany<String>>>,
    /// A line of HTML for each header of the request, with `$name` and `$value`.
    pub(crate) header_lines: Option<Spanned<String>>,
    /// How the reply reports the request that the backend received.
    pub(crate) received: Option<EchoFormat>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// A string in a JSON body that is JSON itself.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JsonTextToml {
    /// The JSON Pointer to the string.
    pub(crate) at: Spanned<String>,
    /// The JSON that it equals.
    pub(crate) json: SpannedValue,
}

/// A list whose items are computed from their numbers.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListToml {
    /// The JSON Pointer to the list. Default: the whole body.
    pub(crate) at: Option<Spanned<String>>,
    /// The number of the first item. Default: 1.
    pub(crate) first: Option<Spanned<TextOrNumber>>,
    /// The number of items.
    pub(crate) count: Spanned<TextOrNumber>,
    /// An item. In formulas, `i` is its number.
    pub(crate) each: SpannedValue,
    /// Whether the object that holds the list has no other members.
    #[serde(default)]
    pub(crate) only: bool,
}

/// An HTML page with one table.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HtmlTableToml {
    /// The title of the page.
    pub(crate) title: Option<String>,
    /// The header cells.
    pub(crate) header: Vec<String>,
    /// The name of `[rows.NAME]`, or the rows themselves.
    pub(crate) rows: Option<TableRowsToml>,
    /// Further rows.
    #[serde(default)]
    pub(crate) more: Vec<Vec<String>>,
    /// The column by which the rows are sorted.
    pub(crate) sort: Option<String>,
}

/// The name of rows of a backing service, or the rows themselves.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-give" = "the name of `[rows.NAME]`, or a list of rows"))]
pub(crate) enum TableRowsToml {
    Named(String),
    Written(Vec<Vec<String>>),
}

/// A stream of messages.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsToml {
    /// The number of messages, without those that `last` describes.
    pub(crate) count: Spanned<TextOrNumber>,
    /// A message. In formulas, `i` is its number, from 1.
    pub(crate) each: EventToml,
    /// The message after these, which ends the stream, or several.
    #[serde(serialize_with = "one_or_many")]
    pub(crate) last: Option<OneOrMany<EventToml>>,
    /// The service waits this long before each message but the first, in microseconds.
    pub(crate) gap_us: Option<Spanned<TextOrNumber>>,
    /// Whether each message must arrive when it is due, and not only the whole stream.
    #[serde(default)]
    pub(crate) flushed: bool,
    /// Whether at least half of the messages must arrive half of `gap_us` or more after the one before: none of them waits for others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) separate: bool,
    /// The first messages, which differ from `each`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first: Option<OneOrMany<EventToml>>,
}

/// Writes one message as itself, and several as a list.
#[expect(clippy::ref_option, reason = "serde passes a reference to the member")]
fn one_or_many<S: serde::Serializer>(
    messages: &Option<OneOrMany<EventToml>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match messages {
        Some(OneOrMany(several)) if several.len() == 1 => several.first().serialize(serializer),
        other => other.serialize(serializer),
    }
}

/// One message of a stream.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventToml {
    /// The id of a server-sent event.
    pub(crate) id: Option<Spanned<String>>,
    /// The name of a server-sent event.
    pub(crate) event: Option<Spanned<String>>,
    /// The data equals this JSON.
    pub(crate) json: Option<SpannedValue>,
    /// The exact data.
    pub(crate) text: Option<Spanned<String>>,
    /// For gRPC: the whole message.
    pub(crate) message: Option<SpannedValue>,
    /// JSON that the data contains. Its objects may have further members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) json_contains: Option<SpannedValue>,
}

/// How the backend's reply reports the request that the backend received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EchoFormat {
    /// With the digest header.
    Digest,
    /// With the description in the body, as for `/received`.
    Description,
}
