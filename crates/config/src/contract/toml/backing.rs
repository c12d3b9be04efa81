//! The keys about backing services.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::Spanned;

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
