//! What must come back, as it is written.

use super::values::{HeaderText, OneOrMany};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// What must come back.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenExpect {
    pub(crate) status: Option<OneOrMany<u16>>,
    pub(crate) grpc: Option<Spanned<String>>,
    #[serde(rename = "type")]
    pub(crate) media_type: Option<String>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Spanned<HeaderText>>,
    pub(crate) text: Option<Spanned<String>>,
    pub(crate) file: Option<Spanned<String>>,
    pub(crate) json: Option<Spanned<toml::Value>>,
    pub(crate) message: Option<Spanned<toml::Value>>,
    pub(crate) json_schema: Option<Spanned<toml::Value>>,
    pub(crate) matches: Option<Spanned<OneOrMany<String>>>,
    pub(crate) contains: Option<Spanned<OneOrMany<String>>>,
    pub(crate) html_lines: Option<Spanned<OneOrMany<String>>>,
    pub(crate) header_lines: Option<Spanned<String>>,
    pub(crate) integers: Option<Spanned<String>>,
    pub(crate) fibonacci: Option<Spanned<String>>,
    pub(crate) received: Option<Received>,
    /// What later steps of a sequence take from the reply, by name: `json:/id`.
    #[serde(default)]
    pub(crate) take: BTreeMap<String, Spanned<String>>,
}

/// How the backend's reply tells what the backend received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Received {
    /// By the digest header.
    Digest,
    /// By the description in the body, of `/received`.
    Description,
}
