//! The contract file, key by key. The comments are the descriptions of its JSON Schema and of the documentation.

mod call;
mod case;
mod expect;
mod script;
mod values;

pub(crate) use call::{
    CallToml, CaptureToml, FileChangeToml, GeneratedBodyToml, MessagesToml, OperationToml,
};
pub(crate) use case::{CaseToml, Deliver, RestartToml};
pub(crate) use expect::{
    ContentEncoding, EchoFormat, EventToml, EventsToml, ExpectToml, FilePartToml, HtmlTableToml, ListToml,
    Status, TableRowsToml,
};
pub(crate) use script::{ExpectedFrameToml, PayloadToml, ScriptStepToml};
pub(crate) use values::{HeaderExpectToml, HeaderText, OneOrMany, TextOrNumber};

use crate::contract::source::SourceToml;
use crate::format::{Spanned, SpannedValue};
use crate::load_table::LoadToml;
use prony_load::Pick;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a service must do: its operations, the cases that check them, and the workloads that load it.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContractToml {
    /// The name of the folder. It need not be written.
    #[serde(skip_serializing)]
    pub(crate) name: Option<Spanned<String>>,
    /// A title for reports. Default: the name.
    #[serde(skip_serializing)]
    pub(crate) title: Option<String>,
    /// A description in a sentence or two.
    #[serde(skip_serializing)]
    pub(crate) summary: Option<String>,
    /// The published measurement from which the contract is derived.
    #[serde(skip_serializing)]
    #[schemars(extend("x-aliases" = ["document"]))]
    pub(crate) study: Option<String>,
    /// The file with the definitions of the gRPC services, in this folder.
    pub(crate) proto: Option<Spanned<String>>,
    /// Common cases that do not apply to this contract.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["without"]))]
    pub(crate) skip_common_cases: Vec<Spanned<String>>,
    /// The backing services that a service needs, such as a database.
    #[serde(default, skip_serializing)]
    #[schemars(extend("x-aliases" = ["backing", "companion"]))]
    pub(crate) backing_service: BTreeMap<String, Spanned<BackingRequirementToml>>,
    /// Rows of the seeded data of a backing service. `{NAME.COLUMN}` is a column of a random row.
    #[serde(default)]
    pub(crate) rows: BTreeMap<String, Spanned<RowsToml>>,
    /// Environment variables of the service.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["environment"]))]
    pub(crate) env: BTreeMap<String, Spanned<VariableToml>>,
    /// Conditions on the backing services, during or after the load.
    #[serde(default)]
    pub(crate) invariant: Vec<Spanned<InvariantToml>>,
    /// Word lists for formulas: `{= colour[i % 16]}`.
    #[serde(default)]
    pub(crate) words: BTreeMap<String, Vec<String>>,
    /// Constants of any shape. `{NAME}` is the value.
    #[serde(default)]
    pub(crate) value: BTreeMap<String, SpannedValue>,
    /// Tokens that requests carry. `{NAME}` is the signed token.
    #[serde(default)]
    pub(crate) jwt: BTreeMap<String, Spanned<JwtToml>>,
    /// The kinds of requests.
    #[serde(default)]
    pub(crate) operation: BTreeMap<String, Spanned<OperationToml>>,
    /// The cases of a check, in addition to the common ones.
    #[serde(default)]
    pub(crate) case: Vec<Spanned<CaseToml>>,
    /// The requests of a load. The first workload is the default.
    #[serde(default)]
    pub(crate) workload: BTreeMap<String, Spanned<WorkloadToml>>,
    /// Files of known bytes in `FILES_DIR`. `{NAME.name}` is the name of a random one; further columns: `bytes`, `type`, `modified`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) files: BTreeMap<String, Spanned<FilesToml>>,
}

/// Files of known bytes: all of them, or some.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilesToml {
    /// Only text, which has compressed siblings (true), or only other files (false).
    pub(crate) text: Option<bool>,
    /// Only files of at least this length.
    pub(crate) min_bytes: Option<u64>,
}

/// A JSON Web Token: `{ alg = "HS256", key = "…", claims = { sub = "{user}", exp = "1h" } }`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JwtToml {
    /// The algorithm of the signature.
    pub(crate) alg: Algorithm,
    /// The key: a text, a file in this folder, or an environment variable.
    pub(crate) key: KeyToml,
    /// The claims. `exp`, `nbf` and `iat` take a duration from now. Texts may have placeholders for values that the request
    /// carries.
    #[serde(default)]
    pub(crate) claims: serde_json::Map<String, serde_json::Value>,
    /// Further members of the header, such as `kid`.
    #[serde(default)]
    pub(crate) header: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
pub(crate) enum Algorithm {
    #[serde(rename = "HS256")]
    Hs256,
    #[serde(rename = "ES256")]
    Es256,
    /// No signature: a service must reject the token.
    #[serde(rename = "none")]
    None,
}

/// The key itself, a file in the contract's folder, or an environment variable.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-give" = "a text, { file = \"key.pem\" } or { variable = \"JWT_KEY\" }"))]
pub(crate) enum KeyToml {
    Text(String),
    File(FileToml),
    Variable(EnvironmentToml),
}

/// A file in the folder of the contract.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileToml {
    /// A file in this folder.
    pub(crate) file: String,
}

/// An environment variable of prony.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnvironmentToml {
    /// An environment variable of prony.
    pub(crate) variable: String,
}

/// Includes the variant, since the values alone are ambiguous.
impl Serialize for KeyToml {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (index, variant, text) = match self {
            Self::Text(text) => (0, "Text", text),
            Self::File(FileToml { file }) => (1, "File", file),
            Self::Variable(EnvironmentToml { variable }) => (2, "Variable", variable),
        };
        serializer.serialize_newtype_variant("WrittenKey", index, variant, text)
    }
}

/// The requests of a load.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkloadToml {
    /// A description in a sentence.
    #[serde(default, skip_serializing)]
    pub(crate) summary: String,
    /// Operations that are drawn at random, by weight.
    #[serde(default)]
    pub(crate) mix: Vec<Spanned<StepToml>>,
    /// Operations that a user calls one after the other on one connection.
    #[serde(default)]
    pub(crate) sequence: Vec<Spanned<StepToml>>,
    /// A CSV or JSON Lines file with a row for each user. `{COLUMN}` is a value of the user's row.
    pub(crate) data: Option<Spanned<TableToml>>,
    /// Whether users return the cookies that they receive.
    #[serde(default)]
    pub(crate) cookies: bool,
    /// The load, if a suite does not set another.
    pub(crate) load: Spanned<LoadToml>,
}

/// A table of users: the name of a file, or a file and how the row of a user is chosen.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(from = "EitherTable")]
#[schemars(with = "EitherTable")]
pub(crate) struct TableToml {
    pub(crate) file: String,
    pub(crate) pick: Pick,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-give" = "the name of a file, or { file = \"users.csv\", pick = \"random\" }"))]
enum EitherTable {
    File(String),
    Whole(PickedTable),
}

/// A file, and how the row of a user is chosen.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PickedTable {
    /// The file, in this folder.
    file: String,
    /// How the row of a user is chosen.
    #[serde(default)]
    pick: Pick,
}

impl From<EitherTable> for TableToml {
    fn from(either: EitherTable) -> Self {
        match either {
            EitherTable::File(file) => Self {
                file,
                pick: Pick::default(),
            },
            EitherTable::Whole(PickedTable { file, pick }) => Self { file, pick },
        }
    }
}

/// An operation of a workload.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepToml {
    /// The name of the operation.
    pub(crate) operation: Spanned<String>,
    /// Values of placeholders, instead of those of the operation.
    #[serde(default)]
    pub(crate) with: BTreeMap<String, Spanned<SourceToml>>,
    /// The share of a mix, relative to the other weights.
    #[serde(default = "one")]
    pub(crate) weight: u32,
    /// How often a sequence repeats the step before the next one.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub(crate) times: u32,
}

impl StepToml {
    /// A call of an operation as it is.
    pub(crate) const fn of(operation: Spanned<String>) -> Self {
        Self {
            operation,
            with: BTreeMap::new(),
            weight: 1,
            times: 1,
        }
    }
}

const fn yes() -> bool {
    true
}

const fn one() -> u32 {
    1
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

/// A backing service that a service needs.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackingRequirementToml {
    /// The name of its folder in `backing-services/`, such as `postgresql`.
    #[serde(rename = "use")]
    #[schemars(length(min = 1))]
    pub(crate) uses: Spanned<String>,
    /// Files of this folder that create its data, in the order in which they run.
    #[serde(default)]
    pub(crate) seed: Vec<Spanned<String>>,
    /// Settings that the backing service defines.
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, SpannedValue>,
}

/// A text, or the content of a file: `{ file = "public.pem" }`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-give" = "a text, or { file = \"public.pem\" }"))]
pub(crate) enum VariableToml {
    Text(String),
    File(FileToml),
}

/// Rows of the seeded data of a backing service.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowsToml {
    /// The backing service to query, if there are several.
    #[schemars(extend("x-aliases" = ["backing", "companion"]))]
    pub(crate) backing_service: Option<Spanned<String>>,
    /// The query. Its columns keep their types: a number, true, false, null and JSON are inserted as such.
    pub(crate) query: String,
}

/// A condition on a backing service: a query and the number that it must return after the load, or the largest number of
/// connections during the load.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InvariantToml {
    /// What it means, for reports.
    pub(crate) name: String,
    /// The backing service, if there are several.
    #[schemars(extend("x-aliases" = ["backing", "companion"]))]
    pub(crate) backing_service: Option<Spanned<String>>,
    /// A query that returns one whole number. It runs before and after the load.
    pub(crate) query: Option<Spanned<String>>,
    /// The number that the query must return after the load: a sum of `before`, numbers and `OPERATION.STATUS`, the number of
    /// replies.
    pub(crate) equals: Option<Spanned<String>>,
    /// The largest number of connections that the service may have open: a number, or a variable of the backing service.
    pub(crate) max_connections: Option<Spanned<UpperLimitToml>>,
}

/// `16`, or `"DATABASE_POOL"`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-give" = "a number, or a variable of the backing service, such as \"DATABASE_POOL\""))]
pub(crate) enum UpperLimitToml {
    Number(#[schemars(range(min = 1))] u64),
    Variable(String),
}
