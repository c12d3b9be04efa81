//! Operations, and calls of them.

use super::expect::ExpectToml;
use super::script::ScriptStepToml;
use super::values::{HeaderText, TextOrNumber};
use super::yes;
use crate::contract::source::SourceToml;
use crate::format::{Spanned, SpannedValue};
use prony_load::{DurationText, Origin};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One kind of request, and the expected reply.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OperationToml {
    /// A description in a sentence.
    #[serde(default, skip_serializing)]
    pub(crate) summary: String,
    /// Whether the common cases call it, which requires that it can be repeated.
    #[serde(default = "yes")]
    #[schemars(extend("x-aliases" = ["common"]))]
    pub(crate) common_cases: bool,
    /// Whether it changes nothing, so that a check may send it to a server that prony did not start. Default: `true` for GET, HEAD
    /// and OPTIONS.
    #[serde(default, skip_serializing)]
    pub(crate) safe: Option<bool>,
    /// Operations that must be called before, because this one uses what they capture.
    #[serde(default)]
    pub(crate) needs: Vec<Spanned<String>>,
    /// Method and path: `GET /items/{id}`.
    #[schemars(extend("format" = "request"))]
    pub(crate) http: Option<Spanned<String>>,
    /// The gRPC method: `package.Service/method`.
    pub(crate) grpc: Option<Spanned<String>>,
    /// The path of a WebSocket.
    pub(crate) websocket: Option<Spanned<String>>,
    /// Values of placeholders.
    #[serde(default)]
    pub(crate) with: BTreeMap<String, Spanned<SourceToml>>,
    /// Headers of the request.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Spanned<HeaderText>>,
    /// A JSON body.
    pub(crate) json: Option<SpannedValue>,
    /// A body, or a message over a WebSocket.
    pub(crate) text: Option<Spanned<String>>,
    /// The body is the content of this file, with its placeholders filled.
    pub(crate) file: Option<Spanned<String>>,
    /// A generated body, for uploads.
    pub(crate) generated: Option<Spanned<GeneratedBodyToml>>,
    /// The message of a gRPC call.
    pub(crate) message: Option<SpannedValue>,
    /// The messages of a gRPC call that sends a stream.
    pub(crate) messages: Option<Spanned<MessagesToml>>,
    /// The deadline of a gRPC call.
    pub(crate) deadline: Option<DurationText>,
    /// The expected reply.
    pub(crate) expect: Option<Spanned<ExpectToml>>,
    /// Values of the reply for later requests, by the name of their placeholder.
    #[serde(default)]
    pub(crate) capture: BTreeMap<String, Spanned<CaptureToml>>,
}

/// Where in the reply a value is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-give" = "one of { json = \"/id\" }, { header = \"location\" }, { cookie = \"session\" } and { regex = \"csrf=(\\\\w+)\" }"))]
pub(crate) enum CaptureToml {
    /// The target of a JSON Pointer.
    Json(String),
    /// The value of a header.
    Header(String),
    /// The value of a cookie.
    Cookie(String),
    /// The first group of a regular expression that matches in the body.
    Regex(String),
}

impl CaptureToml {
    /// Where the value is. The error says what is wrong with a pointer.
    pub(crate) fn origin(&self) -> Result<Origin, String> {
        Ok(match self {
            Self::Json(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
                Origin::Json(pointer.clone())
            }
            Self::Json(pointer) => {
                let path = pointer.trim_start_matches('$').trim_start_matches('.');
                let path = path.replace(['.', '['], "/").replace(']', "");
                let path = path.trim_start_matches('/');
                return Err(format!(
                    "`json` is \"{pointer}\": write the JSON Pointer \"/{path}\""
                ));
            }
            Self::Header(name) => Origin::Header(name.clone()),
            Self::Cookie(name) => Origin::Cookie(name.clone()),
            Self::Regex(pattern) => Origin::Regex(pattern.clone()),
        })
    }
}

/// A generated body: incompressible bytes.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GeneratedBodyToml {
    /// Its length in bytes.
    pub(crate) bytes: Spanned<TextOrNumber>,
    /// Send it in chunks of this length, bytes.
    #[schemars(range(min = 1))]
    pub(crate) chunk: Option<u32>,
}

/// The messages of a gRPC call that sends a stream.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessagesToml {
    /// The number of messages.
    pub(crate) count: Spanned<TextOrNumber>,
    /// A message. In formulas, `i` is its number, from 1.
    pub(crate) each: SpannedValue,
    /// The largest number of messages that may wait for their replies.
    pub(crate) unanswered: Option<Spanned<TextOrNumber>>,
}

/// A call of an operation, with the keys that differ from it; or a request without an operation.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallToml {
    /// The operation that is called.
    pub(crate) operation: Option<Spanned<String>>,
    /// Method and path: `GET /items/{id}`.
    #[schemars(extend("format" = "request"))]
    pub(crate) http: Option<Spanned<String>>,
    /// The gRPC method: `package.Service/method`.
    pub(crate) grpc: Option<Spanned<String>>,
    /// The path of a WebSocket.
    pub(crate) websocket: Option<Spanned<String>>,
    /// Values of placeholders. A case calls the operation with each value of a list or range.
    #[serde(default)]
    pub(crate) with: BTreeMap<String, Spanned<SourceToml>>,
    /// Headers of the request, in addition to those of the operation; `false` removes one.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Spanned<HeaderText>>,
    /// A JSON body.
    pub(crate) json: Option<SpannedValue>,
    /// A body, or a message over a WebSocket.
    pub(crate) text: Option<Spanned<String>>,
    /// The body is the content of this file, with its placeholders filled.
    pub(crate) file: Option<Spanned<String>>,
    /// A generated body, for uploads.
    pub(crate) generated: Option<Spanned<GeneratedBodyToml>>,
    /// The message of a gRPC call.
    pub(crate) message: Option<SpannedValue>,
    /// The messages of a gRPC call that sends a stream.
    pub(crate) messages: Option<Spanned<MessagesToml>>,
    /// The deadline of a gRPC call.
    pub(crate) deadline: Option<DurationText>,
    /// The expected reply, instead of the operation's.
    pub(crate) expect: Option<Spanned<ExpectToml>>,
    /// Values of the reply for later calls, instead of those of the operation; `{}` captures nothing.
    pub(crate) capture: Option<BTreeMap<String, Spanned<CaptureToml>>>,
    /// The frames of a WebSocket, instead of a single message.
    #[schemars(extend("x-aliases" = ["talk"]))]
    pub(crate) script: Option<Spanned<Vec<Spanned<ScriptStepToml>>>>,
    /// Repeat the request until the expectation holds, at most for this time.
    #[schemars(extend("x-aliases" = ["until"]))]
    pub(crate) retry_for: Option<DurationText>,
    /// Change a file of known bytes before the request. Only in cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) change: Option<Spanned<FileChangeToml>>,
    /// The request is sent to this backing service instead of the service; in a case with `disconnect`, after the clients have left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) backing_service: Option<Spanned<String>>,
}

/// A change of a file of known bytes.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileChangeToml {
    /// The backing service that writes the file, by its name in this contract.
    pub(crate) service: Spanned<String>,
    /// The version that is written.
    #[schemars(range(min = 1))]
    pub(crate) version: u32,
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
            capture: Some(operation.capture.clone()),
            script: None,
            retry_for: None,
            change: None,
            backing_service: None,
        }
    }
}
