//! Requests of JSON-RPC, and the metadata that each has in its body and in its headers.

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::header::HeaderMap;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::methods::Outcome;

pub const REVISION: &str = "2026-07-28";
pub const PARSE_ERROR: i32 = -32700;
pub const INVALID_REQUEST: i32 = -32600;
pub const METHOD_NOT_FOUND: i32 = -32601;
pub const INVALID_PARAMS: i32 = -32602;
pub const HEADER_MISMATCH: i32 = -32020;
pub const UNSUPPORTED_VERSION: i32 = -32022;

/// A request, or a notification, which has no id.
#[derive(Deserialize)]
pub struct Message<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(default, deserialize_with = "present")]
    pub id: Option<Id>,
    #[serde(borrow)]
    pub method: Cow<'a, str>,
    #[serde(borrow, default)]
    pub params: Params<'a>,
}

#[derive(Deserialize, Serialize)]
#[serde(untagged)]
pub enum Id {
    Number(i64),
    Text(String),
}

#[derive(Default, Deserialize)]
pub struct Params<'a> {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub uri: String,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
}

#[derive(Clone, Serialize)]
pub struct Failure {
    pub code: i32,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

#[derive(Serialize)]
pub struct Reply<'a> {
    jsonrpc: &'static str,
    id: Option<&'a Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

impl<'a> Message<'a> {
    pub fn parse(body: &'a [u8]) -> Result<Self, Failure> {
        let message: Self = serde_json::from_slice(body).map_err(|error| {
            let code = if error.is_data() {
                INVALID_REQUEST
            } else {
                PARSE_ERROR
            };
            Failure::new(code, error.to_string())
        })?;
        if message.jsonrpc != "2.0" {
            return Err(Failure::new(INVALID_REQUEST, "jsonrpc must be 2.0"));
        }
        Ok(message)
    }

    /// Compares the metadata of the body with that of the headers.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Failure> {
        let Some(Meta {
            version: Some(version),
            capabilities: Some(_),
        }) = &self.params.meta
        else {
            let message = "_meta must have protocolVersion and clientCapabilities";
            return Err(Failure::new(INVALID_PARAMS, message));
        };
        compare(headers, "mcp-protocol-version", version)?;
        if version != REVISION {
            let data = json!({ "supported": [REVISION], "requested": version });
            return Err(Failure::new(UNSUPPORTED_VERSION, "unsupported protocol version").with(data));
        }
        compare(headers, "mcp-method", &self.method)?;
        match &*self.method {
            "tools/call" | "prompts/get" => compare(headers, "mcp-name", &self.params.name),
            "resources/read" => compare(headers, "mcp-name", &self.params.uri),
            _ => Ok(()),
        }
    }
}

impl Failure {
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    pub fn with(self, data: Value) -> Self {
        Self {
            data: Some(data),
            ..self
        }
    }
}

impl<'a> Reply<'a> {
    pub fn new(id: Option<&'a Id>, outcome: Result<Outcome, Failure>) -> Self {
        let (result, error) = match outcome {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            jsonrpc: "2.0",
            id,
            result,
            error,
        }
    }
}

/// An id that is there must be one: null is not.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Id>, D::Error> {
    Id::deserialize(deserializer).map(Some)
}

fn compare(headers: &HeaderMap, name: &str, expected: &str) -> Result<(), Failure> {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    if value.is_some_and(|value| decoded(value) == expected) {
        return Ok(());
    }
    Err(Failure::new(
        HEADER_MISMATCH,
        format!("{name} differs from the body"),
    ))
}

/// `=?base64?…?=` is the text in it.
fn decoded(value: &str) -> Cow<'_, str> {
    let encoded = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    let text = encoded
        .and_then(|encoded| BASE64_STANDARD.decode(encoded).ok())
        .and_then(|bytes| String::from_utf8(bytes).ok());
    text.map_or(Cow::Borrowed(value), Cow::Owned)
}
