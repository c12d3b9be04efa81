//! The contract file, key by key.

mod expect;
mod script;
mod values;

pub(crate) use expect::{
    EchoFormat, EventToml, EventsToml, ExpectToml, HtmlTableToml, ListToml, TableRowsToml,
};
pub(crate) use script::{ExpectedFrameToml, PayloadToml, ScriptStepToml};
pub(crate) use values::{HeaderText, OneOrMany};

use crate::contract::source::SourceToml;
use prony_load::{DurationText, LoadText, Pick};
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use crate::format::Spanned;

#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContractToml {
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
    /// The required backing services.
    #[serde(default, skip_serializing)]
    #[serde(rename = "backing", alias = "companion")]
    pub(crate) backing_service: BTreeMap<String, Spanned<BackingRequirementToml>>,
    /// Values of the seeded data of backing services.
    #[serde(default)]
    pub(crate) rows: BTreeMap<String, Spanned<RowsToml>>,
    /// Environment variables of the service, in addition to those that every service gets.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, Spanned<VariableToml>>,
    /// Conditions on backing services after the load.
    #[serde(default)]
    pub(crate) after: Vec<Spanned<FinalInvariantToml>>,
    /// Conditions on backing services during the load.
    #[serde(default)]
    pub(crate) during: Vec<Spanned<LoadInvariantToml>>,
    /// Word lists for the formulas of lists.
    #[serde(default)]
    pub(crate) words: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub(crate) data: BTreeMap<String, toml::Value>,
    /// Tokens that requests carry, by the name of their placeholder.
    #[serde(default)]
    pub(crate) jwt: BTreeMap<String, Spanned<JwtToml>>,
    #[serde(default)]
    pub(crate) operation: BTreeMap<String, Spanned<OperationToml>>,
    #[serde(default)]
    pub(crate) case: Vec<Spanned<CaseToml>>,
    #[serde(default)]
    pub(crate) workload: BTreeMap<String, Spanned<WorkloadToml>>,
}

impl ContractToml {
    /// Operations and workloads that do not come from a contract file.
    pub(crate) fn of(
        jwt: BTreeMap<String, Spanned<JwtToml>>,
        operation: BTreeMap<String, Spanned<OperationToml>>,
        workload: BTreeMap<String, Spanned<WorkloadToml>>,
    ) -> Self {
        Self {
            name: Spanned::new(0..0, String::new()),
            title: String::new(),
            summary: String::new(),
            document: None,
            proto: None,
            without: Vec::new(),
            backing_service: BTreeMap::new(),
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
pub(crate) struct JwtToml {
    pub(crate) alg: Algorithm,
    pub(crate) key: KeyToml,
    /// Texts may have placeholders for the columns of the workload's table.
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
    /// No signature: a service must reject it.
    #[serde(rename = "none")]
    None,
}

/// The key itself, a file in the contract's folder, or an environment variable.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(
    untagged,
    expecting = "a text, { file = \"key.pem\" } or { variable = \"JWT_KEY\" }"
)]
pub(crate) enum KeyToml {
    Text(String),
    File { file: String },
    Variable { variable: String },
}

/// Includes the variant, since the values alone are ambiguous.
impl Serialize for KeyToml {
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
pub(crate) struct OperationToml {
    #[serde(skip_serializing)]
    pub(crate) summary: String,
    /// Whether the common cases call it: this requires that it can be called alone and repeatedly.
    #[serde(default = "yes")]
    pub(crate) common: bool,
    pub(crate) http: Option<Spanned<String>>,
    pub(crate) grpc: Option<Spanned<String>>,
    /// The path of a WebSocket.
    pub(crate) websocket: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) with: BTreeMap<String, Spanned<SourceToml>>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Spanned<HeaderText>>,
    pub(crate) json: Option<Spanned<toml::Value>>,
    pub(crate) text: Option<Spanned<String>>,
    pub(crate) file: Option<Spanned<String>>,
    pub(crate) generated: Option<Spanned<GeneratedBodyToml>>,
    pub(crate) message: Option<Spanned<toml::Value>>,
    pub(crate) messages: Option<Spanned<MessagesToml>>,
    /// The deadline of a gRPC call.
    pub(crate) deadline: Option<DurationText>,
    pub(crate) expect: Option<Spanned<ExpectToml>>,
}

/// A generated body: `{ bytes = 1024 }`, `{ bytes = "{n}", chunk = 65536 }`.
#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GeneratedBodyToml {
    pub(crate) bytes: TextOrNumber,
    pub(crate) chunk: Option<u32>,
}

/// A number, or a text with a placeholder.
#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(untagged, expecting = "a whole number, or a text with a placeholder")]
pub(crate) enum TextOrNumber {
    Number(u64),
    Text(String),
}

/// A call of an operation in a case, with the keys that differ from it; or a request without an operation.
#[derive(Debug, Clone, Default, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallToml {
    pub(crate) operation: Option<Spanned<String>>,
    pub(crate) http: Option<Spanned<String>>,
    pub(crate) grpc: Option<Spanned<String>>,
    pub(crate) websocket: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) with: BTreeMap<String, Spanned<SourceToml>>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Spanned<HeaderText>>,
    pub(crate) json: Option<Spanned<toml::Value>>,
    pub(crate) text: Option<Spanned<String>>,
    pub(crate) file: Option<Spanned<String>>,
    pub(crate) generated: Option<Spanned<GeneratedBodyToml>>,
    pub(crate) message: Option<Spanned<toml::Value>>,
    pub(crate) messages: Option<Spanned<MessagesToml>>,
    pub(crate) deadline: Option<DurationText>,
    pub(crate) expect: Option<Spanned<ExpectToml>>,
    /// The script of a WebSocket, instead of a single message.
    #[serde(alias = "talk")]
    pub(crate) script: Option<Spanned<Vec<ScriptStepToml>>>,
    pub(crate) within: Option<DurationText>,
    pub(crate) until: Option<DurationText>,
}

/// A case: calls, one after the other, and how they are delivered.
#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseToml {
    pub(crate) name: Spanned<String>,
    pub(crate) call: Option<Spanned<CallToml>>,
    #[serde(default)]
    pub(crate) calls: Vec<Spanned<CallToml>>,
    #[serde(default)]
    pub(crate) deliver: Deliver,
    #[serde(default)]
    pub(crate) alone: bool,
    #[serde(default)]
    pub(crate) thorough: bool,
    pub(crate) times: Option<u32>,
    /// The backing service that goes away and comes back.
    pub(crate) restart: Option<Spanned<String>>,
    pub(crate) away: Option<Spanned<DurationText>>,
    pub(crate) recovers: Option<Spanned<DurationText>>,
    /// The clients that leave in the middle of their streams.
    pub(crate) leave: Option<Spanned<ClientDisconnectToml>>,
}

/// `{ streams = 100, within = "5s" }`
#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClientDisconnectToml {
    pub(crate) streams: u32,
    pub(crate) within: Option<DurationText>,
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
pub(crate) struct WorkloadToml {
    #[serde(skip_serializing)]
    pub(crate) summary: String,
    #[serde(default)]
    pub(crate) mix: Vec<Spanned<StepToml>>,
    #[serde(default)]
    pub(crate) sequence: Vec<Spanned<StepToml>>,
    /// A table with a row for each user.
    pub(crate) data: Option<Spanned<TableToml>>,
    /// Whether users return the cookies that they receive.
    #[serde(default)]
    pub(crate) cookies: bool,
    pub(crate) load: Spanned<LoadText>,
}

/// `"users.csv"`, or `{ file = "users.csv", pick = "random" }`.
#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(from = "EitherTable")]
pub(crate) struct TableToml {
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

impl From<EitherTable> for TableToml {
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
pub(crate) struct StepToml {
    pub(crate) operation: Spanned<String>,
    #[serde(default)]
    pub(crate) with: BTreeMap<String, Spanned<SourceToml>>,
    #[serde(default = "one")]
    pub(crate) weight: u32,
    /// How often a sequence repeats this step before the next one.
    #[serde(default = "one")]
    pub(crate) times: u32,
}

const fn yes() -> bool {
    true
}

const fn one() -> u32 {
    1
}

impl From<&OperationToml> for CallToml {
    fn from(operation: &OperationToml) -> Self {
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
            script: None,
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

/// `{ count = "{count}", each = { value = "{= i}" }, unanswered = 1 }`
#[derive(Debug, Clone, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessagesToml {
    pub(crate) count: TextOrNumber,
    pub(crate) each: toml::Value,
    /// The largest number of messages that may wait for their replies.
    pub(crate) unanswered: Option<TextOrNumber>,
}

/// `[backing.NAME]`: all keys other than `use` and `seed` are settings of the backing service.
pub(crate) type BackingRequirementToml = BTreeMap<String, Spanned<toml::Value>>;

/// `JWT_SECRET = "…"`, or `{ file = "public.pem" }`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged, expecting = "a text, or { file = \"public.pem\" }")]
pub(crate) enum VariableToml {
    Text(String),
    File { file: String },
}

/// `[rows.NAME]`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowsToml {
    #[serde(rename = "backing", alias = "companion")]
    pub(crate) backing_service: Option<Spanned<String>>,
    pub(crate) query: String,
}

/// `[[after]]`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FinalInvariantToml {
    pub(crate) name: String,
    #[serde(rename = "backing", alias = "companion")]
    pub(crate) backing_service: Option<Spanned<String>>,
    pub(crate) query: String,
    pub(crate) equals: Spanned<String>,
}

/// `[[during]]`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoadInvariantToml {
    pub(crate) name: String,
    #[serde(rename = "backing", alias = "companion")]
    pub(crate) backing_service: Option<Spanned<String>>,
    pub(crate) connections: Spanned<UpperLimitToml>,
}

/// `16`, or `"DATABASE_POOL"`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(
    untagged,
    expecting = "a number, or a variable that the backing service exports, like \"DATABASE_POOL\""
)]
pub(crate) enum UpperLimitToml {
    Number(u64),
    Variable(String),
}

impl schemars::JsonSchema for ContractToml {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ContractToml".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "object" })
    }
}
