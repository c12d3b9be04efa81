//! The contract file as it is written, key by key.

mod backing;
mod expect;
mod grpc;
mod script;
mod values;

pub(crate) use backing::{
    WrittenAfter, WrittenCompanion, WrittenDuring, WrittenMost, WrittenRows, WrittenVariable,
};
pub(crate) use expect::{
    Received, WrittenEvent, WrittenEvents, WrittenExpect, WrittenHtmlTable, WrittenList, WrittenTableRows,
};
pub(crate) use grpc::WrittenMessages;
pub(crate) use script::{WrittenHeard, WrittenPayload, WrittenTurn};
pub(crate) use values::{HeaderText, OneOrMany};

use crate::contract::source::WrittenSource;
use prony_load::{Pick, WrittenDuration, WrittenLoad};
use std::collections::BTreeMap;
use toml::Spanned;

#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenContract {
    pub(crate) name: Spanned<String>,
    #[serde(skip_serializing)]
    pub(crate) title: String,
    #[serde(skip_serializing)]
    pub(crate) summary: String,
    #[serde(skip_serializing)]
    pub(crate) document: Option<String>,
    pub(crate) proto: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) without: Vec<Spanned<String>>,
    /// Software that a service needs beside it.
    #[serde(default, skip_serializing)]
    pub(crate) companion: BTreeMap<String, Spanned<WrittenCompanion>>,
    /// Values of the companions' seeded data.
    #[serde(default)]
    pub(crate) rows: BTreeMap<String, Spanned<WrittenRows>>,
    /// What the environment of a service has beside what every service gets.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, Spanned<WrittenVariable>>,
    /// What is looked at behind the server when the load is over.
    #[serde(default)]
    pub(crate) after: Vec<Spanned<WrittenAfter>>,
    /// What must hold there while the load goes on.
    #[serde(default)]
    pub(crate) during: Vec<Spanned<WrittenDuring>>,
    /// Lists of words, for the formulas of lists.
    #[serde(default)]
    pub(crate) words: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub(crate) data: BTreeMap<String, toml::Value>,
    /// Tokens that requests carry, by the name of their place.
    #[serde(default)]
    pub(crate) jwt: BTreeMap<String, Spanned<WrittenJwt>>,
    #[serde(default)]
    pub(crate) operation: BTreeMap<String, Spanned<WrittenOperation>>,
    #[serde(default)]
    pub(crate) case: Vec<Spanned<WrittenCase>>,
    #[serde(default)]
    pub(crate) workload: BTreeMap<String, Spanned<WrittenWorkload>>,
}

impl WrittenContract {
    /// Operations and workloads that no contract file holds.
    pub(crate) fn of(
        jwt: BTreeMap<String, Spanned<WrittenJwt>>,
        operation: BTreeMap<String, Spanned<WrittenOperation>>,
        workload: BTreeMap<String, Spanned<WrittenWorkload>>,
    ) -> Self {
        Self {
            name: Spanned::new(0..0, String::new()),
            title: String::new(),
            summary: String::new(),
            document: None,
            proto: None,
            without: Vec::new(),
            companion: BTreeMap::new(),
            rows: BTreeMap::new(),
            environment: BTreeMap::new(),
            after: Vec::new(),
            during: Vec::new(),
            words: BTreeMap::new(),
            data: BTreeMap::new(),
            jwt,
            operation,
            case: Vec::new(),
            workload,
        }
    }
}

/// `{ alg = "HS256", key = "…", claims = { sub = "{user}", exp = "1h" } }`
#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenJwt {
    pub(crate) alg: Algorithm,
    pub(crate) key: WrittenKey,
    /// Texts may have places for the columns of the workload's table.
    #[serde(default)]
    pub(crate) claims: serde_json::Map<String, serde_json::Value>,
    /// Further members of the header, like `kid`.
    #[serde(default)]
    pub(crate) header: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Clone, Copy, serde::Deserialize, serde::Serialize)]
pub(crate) enum Algorithm {
    #[serde(rename = "HS256")]
    Hs256,
    #[serde(rename = "ES256")]
    Es256,
    /// No signature at all: what a service must refuse.
    #[serde(rename = "none")]
    None,
}

/// The key itself, a file of the folder that holds it, or the environment variable that does.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(
    untagged,
    expecting = "a text, { file = \"key.pem\" } or { variable = \"JWT_KEY\" }"
)]
pub(crate) enum WrittenKey {
    Text(String),
    File { file: String },
    Variable { variable: String },
}

/// With the variant, which values alone would not tell.
impl serde::Serialize for WrittenKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (index, variant, text) = match self {
            Self::Text(text) => (0, "Text", text),
            Self::File { file } => (1, "File", file),
            Self::Variable { variable } => (2, "Variable", variable),
        };
        serializer.serialize_newtype_variant("WrittenKey", index, variant, text)
    }
}

/// One kind of call.
#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenOperation {
    #[serde(skip_serializing)]
    pub(crate) summary: String,
    /// Whether the common cases call it: it can be called alone, and again and again.
    #[serde(default = "yes")]
    pub(crate) common: bool,
    pub(crate) http: Option<Spanned<String>>,
    pub(crate) grpc: Option<Spanned<String>>,
    /// The path of a WebSocket.
    pub(crate) websocket: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) with: BTreeMap<String, Spanned<WrittenSource>>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Spanned<HeaderText>>,
    pub(crate) json: Option<Spanned<toml::Value>>,
    pub(crate) text: Option<Spanned<String>>,
    pub(crate) file: Option<Spanned<String>>,
    pub(crate) generated: Option<Spanned<WrittenGenerated>>,
    pub(crate) message: Option<Spanned<toml::Value>>,
    pub(crate) messages: Option<Spanned<WrittenMessages>>,
    /// How long the caller of gRPC waits.
    pub(crate) deadline: Option<WrittenDuration>,
    pub(crate) expect: Option<Spanned<WrittenExpect>>,
}

/// A body that is made up: `{ bytes = 1024 }`, `{ bytes = "{n}", chunk = 65536 }`.
#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenGenerated {
    pub(crate) bytes: TextOrNumber,
    pub(crate) chunk: Option<u32>,
}

/// A number, or a text with a place.
#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(untagged, expecting = "a whole number, or a text with a place")]
pub(crate) enum TextOrNumber {
    Number(u64),
    Text(String),
}

/// An operation called in a case, with what differs from it; or a request of its own.
#[derive(Debug, Clone, Default, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenCall {
    pub(crate) operation: Option<Spanned<String>>,
    pub(crate) http: Option<Spanned<String>>,
    pub(crate) grpc: Option<Spanned<String>>,
    pub(crate) websocket: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) with: BTreeMap<String, Spanned<WrittenSource>>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Spanned<HeaderText>>,
    pub(crate) json: Option<Spanned<toml::Value>>,
    pub(crate) text: Option<Spanned<String>>,
    pub(crate) file: Option<Spanned<String>>,
    pub(crate) generated: Option<Spanned<WrittenGenerated>>,
    pub(crate) message: Option<Spanned<toml::Value>>,
    pub(crate) messages: Option<Spanned<WrittenMessages>>,
    pub(crate) deadline: Option<WrittenDuration>,
    pub(crate) expect: Option<Spanned<WrittenExpect>>,
    /// What is said on a WebSocket in place of one message, and what must come.
    pub(crate) talk: Option<Spanned<Vec<WrittenTurn>>>,
    pub(crate) within: Option<WrittenDuration>,
    pub(crate) until: Option<WrittenDuration>,
}

/// A case: calls, one after the other, and how they are delivered.
#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenCase {
    pub(crate) name: Spanned<String>,
    pub(crate) call: Option<Spanned<WrittenCall>>,
    #[serde(default)]
    pub(crate) calls: Vec<Spanned<WrittenCall>>,
    #[serde(default)]
    pub(crate) deliver: Deliver,
    #[serde(default)]
    pub(crate) alone: bool,
    #[serde(default)]
    pub(crate) thorough: bool,
    pub(crate) times: Option<u32>,
    /// The companion that goes away and comes back.
    pub(crate) restart: Option<Spanned<String>>,
    pub(crate) away: Option<Spanned<WrittenDuration>>,
    pub(crate) recovers: Option<Spanned<WrittenDuration>>,
    /// How many clients leave in the middle of their streams.
    pub(crate) leave: Option<Spanned<WrittenLeave>>,
}

/// `{ streams = 100, within = "5s" }`
#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenLeave {
    pub(crate) streams: u32,
    pub(crate) within: Option<WrittenDuration>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Deliver {
    #[default]
    Whole,
    SingleBytes,
    OnePacket,
    Chunked,
    ManyConnections,
}

#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenWorkload {
    #[serde(skip_serializing)]
    pub(crate) summary: String,
    #[serde(default)]
    pub(crate) mix: Vec<Spanned<WrittenStep>>,
    #[serde(default)]
    pub(crate) sequence: Vec<Spanned<WrittenStep>>,
    /// A table with a row for each user.
    pub(crate) data: Option<Spanned<WrittenTable>>,
    /// Whether users send back the cookies that they are given.
    #[serde(default)]
    pub(crate) cookies: bool,
    pub(crate) load: Spanned<WrittenLoad>,
}

/// `"users.csv"`, or `{ file = "users.csv", pick = "random" }`.
#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(from = "EitherTable")]
pub(crate) struct WrittenTable {
    pub(crate) file: String,
    pub(crate) pick: Pick,
}

#[derive(serde::Deserialize)]
#[serde(
    untagged,
    expecting = "the name of a file, or { file = \"users.csv\", pick = \"in_turn\", \"random\" or \"once\" }"
)]
enum EitherTable {
    File(String),
    Whole {
        file: String,
        #[serde(default)]
        pick: Pick,
    },
}

impl From<EitherTable> for WrittenTable {
    fn from(either: EitherTable) -> Self {
        match either {
            EitherTable::File(file) => Self {
                file,
                pick: Pick::default(),
            },
            EitherTable::Whole { file, pick } => Self { file, pick },
        }
    }
}

#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenStep {
    pub(crate) operation: Spanned<String>,
    #[serde(default)]
    pub(crate) with: BTreeMap<String, Spanned<WrittenSource>>,
    #[serde(default = "one")]
    pub(crate) weight: u32,
    /// How often a sequence takes this step before the next one.
    #[serde(default = "one")]
    pub(crate) times: u32,
}

const fn yes() -> bool {
    true
}

const fn one() -> u32 {
    1
}

impl From<&WrittenOperation> for WrittenCall {
    fn from(operation: &WrittenOperation) -> Self {
        Self {
            operation: None,
            http: operation.http.clone(),
            grpc: operation.grpc.clone(),
            websocket: operation.websocket.clone(),
            with: operation.with.clone(),
            headers: operation.headers.clone(),
            json: operation.json.clone(),
            text: operation.text.clone(),
            file: operation.file.clone(),
            generated: operation.generated.clone(),
            message: operation.message.clone(),
            messages: operation.messages.clone(),
            deadline: operation.deadline,
            expect: operation.expect.clone(),
            talk: None,
            within: None,
            until: None,
        }
    }
}

/// The tables of a kind in the order of the file.
pub(crate) fn in_order<T>(
    tables: &BTreeMap<String, Spanned<T>>,
) -> impl Iterator<Item = (&str, &Spanned<T>)> {
    let mut sorted: Vec<_> = tables
        .iter()
        .map(|(name, table)| (name.as_str(), table))
        .collect();
    sorted.sort_by_key(|(_, table)| table.span().start);
    sorted.into_iter()
}
