//! The keys of expectations.

use super::TextOrNumber;
use super::values::{HeaderText, OneOrMany};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use crate::format::Spanned;

/// The expected reply.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectToml {
    pub(crate) status: Option<OneOrMany<u16>>,
    pub(crate) grpc: Option<Spanned<String>>,
    #[serde(rename = "type")]
    pub(crate) media_type: Option<String>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Spanned<HeaderText>>,
    pub(crate) text: Option<Spanned<String>>,
    pub(crate) file: Option<Spanned<String>>,
    pub(crate) json: Option<Spanned<toml::Value>>,
    /// JSON that the reply must contain; the reply may have further members.
    pub(crate) json_part: Option<Spanned<toml::Value>>,
    pub(crate) json_list: Option<Spanned<ListToml>>,
    pub(crate) html_table: Option<Spanned<HtmlTableToml>>,
    /// Whether the reply contains the length and digest of the request's body.
    #[serde(default)]
    pub(crate) uploaded: bool,
    /// Whether the message that was sent on a WebSocket must be echoed.
    #[serde(default)]
    pub(crate) echoed: bool,
    /// The codings that the body may have; `identity`: none. The other rules apply to the decoded body.
    pub(crate) coding: Option<Spanned<OneOrMany<String>>>,
    /// Whether the rules apply to the decoded body.
    #[serde(default)]
    pub(crate) decoded: bool,
    pub(crate) message: Option<Spanned<toml::Value>>,
    pub(crate) json_schema: Option<Spanned<toml::Value>>,
    pub(crate) matches: Option<Spanned<OneOrMany<String>>>,
    pub(crate) contains: Option<Spanned<OneOrMany<String>>>,
    pub(crate) html_lines: Option<Spanned<OneOrMany<String>>>,
    pub(crate) header_lines: Option<Spanned<String>>,
    pub(crate) integers: Option<Spanned<String>>,
    pub(crate) fibonacci: Option<Spanned<String>>,
    pub(crate) received: Option<EchoFormat>,
    /// The messages of a streamed reply.
    pub(crate) events: Option<Spanned<EventsToml>>,
    /// Values that later steps of a sequence capture from the reply, by name: `json:/id`.
    #[serde(default, alias = "take")]
    pub(crate) capture: BTreeMap<String, Spanned<String>>,
    /// Rules for single values of a JSON reply: `/POINTER=VALUE`.
    pub(crate) json_rules: Option<Spanned<OneOrMany<String>>>,
}

/// `{ from = "{from}", count = "{count}", member = "items", item = "$item" }`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListToml {
    pub(crate) from: String,
    pub(crate) count: String,
    pub(crate) member: Option<String>,
    pub(crate) item: toml::Value,
}

/// `{ title = "Fortunes", header = ["id", "message"], rows = "fortune", more = [["0", "{nonce}"]], sort = "message" }`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HtmlTableToml {
    pub(crate) title: Option<String>,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Option<TableRowsToml>,
    #[serde(default)]
    pub(crate) more: Vec<Vec<String>>,
    pub(crate) sort: Option<String>,
}

/// The name of rows of a backing service, or the rows themselves.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged, expecting = "the name of `[rows.NAME]`, or a list of rows")]
pub(crate) enum TableRowsToml {
    Named(String),
    Written(Vec<Vec<String>>),
}

/// `{ count = "{n}", each = { id = "{= i}", event = "tick", json = { n = "#{= i}" } }, last = { event = "end" } }`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsToml {
    pub(crate) count: TextOrNumber,
    pub(crate) each: EventToml,
    pub(crate) last: Option<EventToml>,
    pub(crate) gap_us: Option<TextOrNumber>,
    #[serde(default)]
    pub(crate) flushed: bool,
}

/// The expectation of one message.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventToml {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) json: Option<toml::Value>,
    pub(crate) text: Option<String>,
    /// Only for gRPC: the whole message.
    pub(crate) message: Option<toml::Value>,
}

/// How the backend's reply reports the request that the backend received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EchoFormat {
    /// With the digest header.
    Digest,
    /// With the description in the body, as for `/received`.
    Description,
}
