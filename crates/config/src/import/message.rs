//! Turns a recorded request and its reply into an operation.

use crate::contract::is_token;
use crate::import::draft::{Names, is_json, media_type};
use crate::import::size::is_too_deep;
use crate::import::{Body, Expect, ExpectedBody, Operation};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::collections::BTreeSet;
use url::Url;

/// The longest reply that becomes an exact expectation, bytes.
const LONGEST: usize = 16 * 1024;

/// The longest URL, bytes. Servers accept less.
const LONGEST_URL: usize = 16 * 1024;

/// The most headers of a request. Servers accept fewer.
const MOST_HEADERS: usize = 200;

/// The longest number of a JSON text that its value keeps exactly, digits.
const LONGEST_NUMBER: usize = 18;

/// A recorded request.
#[derive(Debug, Clone, Default)]
pub(crate) struct CapturedRequest {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<String>,
    /// Whether a browser sent it, with headers about itself.
    pub(crate) is_of_browser: bool,
}

/// A recorded reply.
#[derive(Debug, Clone, Default)]
pub(crate) struct CapturedReply {
    pub(crate) status: u16,
    pub(crate) media_type: Option<String>,
    /// The body; `None` if it is not text or was not recorded.
    pub(crate) body: Option<String>,
}

/// Headers that each sender writes for its connection.
const OF_CONNECTION: [&str; 10] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "postman-token",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Headers that a browser sends about itself, its page and its cache.
const OF_BROWSER: [&str; 12] = [
    "accept-language",
    "alt-used",
    "cache-control",
    "dnt",
    "if-modified-since",
    "if-none-match",
    "origin",
    "pragma",
    "priority",
    "referer",
    "upgrade-insecure-requests",
    "user-agent",
];

/// The origin and the target (path and query) of a URL.
pub(crate) fn parts(url: &str) -> Result<(String, String), String> {
    if url.len() > LONGEST_URL && !url.starts_with("data:") {
        let begin: String = url.chars().take(60).collect();
        return Err(format!("`{begin}…`: a URL of more than {LONGEST_URL} bytes"));
    }
    let shown = || crate::target::shown(url);
    let parsed = Url::parse(url).map_err(|error| format!("`{}` is not a URL: {error}", shown()))?;
    let origin = parsed.origin().ascii_serialization();
    match parsed.scheme() {
        "http" | "https" => {}
        "ws" | "wss" => return Err("a WebSocket, whose messages are not requests".to_owned()),
        "data" | "blob" | "about" | "javascript" | "file" => {
            return Err(format!(
                "a {}: URL, which is not sent to a server",
                parsed.scheme()
            ));
        }
        scheme if scheme.ends_with("-extension") => {
            return Err(format!("a {scheme}: URL, which is a part of the browser"));
        }
        _ => return Err(format!("`{}`: give an http:// or https:// URL", shown())),
    }
    let query = parsed
        .query()
        .map(|query| format!("?{query}"))
        .unwrap_or_default();
    // A brace would start a placeholder of the contract.
    let target = format!("{}{query}", parsed.path())
        .replace('{', "%7B")
        .replace('}', "%7D");
    Ok((origin, target))
}

/// Makes operations of the requests of a source.
#[derive(Debug, Default)]
pub(crate) struct OperationMaker {
    pub(crate) names: Names,
    /// Headers that were left out, in lowercase.
    dropped: BTreeSet<String>,
}

impl OperationMaker {
    /// The operation of a request with this target.
    pub(crate) fn operation(&mut self, from: String, (sent, target): (&CapturedRequest, &str)) -> Operation {
        let mut operation = Operation {
            name: self.names.of_request(&sent.method, target),
            from,
            method: sent.method.clone(),
            path: target.to_owned(),
            ..Operation::default()
        };
        for (name, value) in &sent.headers {
            let lower = name.to_ascii_lowercase();
            let is_of_browser = OF_BROWSER.contains(&lower.as_str()) || lower.starts_with("sec-");
            if OF_CONNECTION.contains(&lower.as_str()) || lower.starts_with(':') {
                continue;
            }
            if sent.is_of_browser && is_of_browser {
                self.dropped.insert(lower);
                continue;
            }
            let is_control = |letter: char| letter.is_control() && letter != '\t';
            if !is_token(name) || value.contains(is_control) {
                operation.add_gap(format!(
                    "The header `{}` is not one of HTTP, and is left out.",
                    name.escape_debug()
                ));
                continue;
            }
            if operation.headers.len() == MOST_HEADERS {
                operation.add_gap(format!(
                    "Headers from `{name}` on are left out: a request has at most {MOST_HEADERS}."
                ));
                break;
            }
            operation.headers.push((name.clone(), value.clone()));
        }
        let has_authorization = operation
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        if let Some(value) = credentials(&sent.url).filter(|_| !has_authorization) {
            operation.headers.push(("Authorization".to_owned(), value));
        }
        let text = sent.body.as_ref().filter(|body| !body.is_empty());
        operation.body = text.map(|text| body(text, &mut operation));
        operation
    }

    /// A remark about the headers that were left out.
    pub(crate) fn remark(&self) -> Option<String> {
        let names: Vec<&str> = self.dropped.iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| {
            format!(
                "Headers that a browser sends about itself are left out: {}.",
                names.join(", ")
            )
        })
    }
}

/// The body of a request: JSON where it is that, else text.
fn body(text: &str, operation: &mut Operation) -> Body {
    let kind = operation
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        .map(|(_, kind)| kind.to_ascii_lowercase())
        .unwrap_or_default();
    let charset = kind
        .split_once("charset=")
        .map(|(_, charset)| charset.trim_matches('"'));
    if let Some(charset) = charset.filter(|charset| !charset.starts_with("utf-8"))
        && !text.is_ascii()
    {
        operation.add_gap(format!("The body was in {charset}, and is sent in UTF-8."));
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) if is_json(&kind) && !is_too_deep(&value) && !has_long_number(text) => Body::Json(value),
        _ => Body::Text(text.to_owned()),
    }
}

/// Whether a text may have a number that its value does not keep exactly.
fn has_long_number(text: &str) -> bool {
    let mut words = text.split(|letter: char| !letter.is_ascii_digit());
    words.any(|digits| digits.len() > LONGEST_NUMBER)
}

/// The header of the credentials in a URL.
fn credentials(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let pair = format!(
        "{}:{}",
        decoded(url.username()),
        decoded(url.password().unwrap_or_default())
    );
    (pair != ":").then(|| format!("Basic {}", STANDARD.encode(pair)))
}

/// A body as text, which is all that a draft can contain.
pub(crate) fn text_body(body: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(body).ok().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| {
        "a binary body, which a draft cannot contain: save it as a file of the contract, `file = …`"
            .to_owned()
    })
}

/// The reply is unknown: a success is expected until the author says more.
pub(crate) fn guess(operation: &mut Operation, why: &str) {
    operation.expect.status = vec![200];
    operation.remarks.push(format!(
        "{why}: 200 is a guess. Use `--record URL` to query the server."
    ));
}

/// The source that a file is, if it is another one than expected.
pub(crate) fn other_source(value: &Value) -> Option<&'static str> {
    let has = |name: &str| value.get(name).is_some();
    if value.pointer("/log/entries").is_some() {
        Some("this is a HAR file: give it with --har")
    } else if has("openapi") || has("swagger") {
        Some("this is an OpenAPI description: give it with --openapi")
    } else if value.pointer("/info/schema").is_some() && has("item") {
        Some("this is a Postman collection: give it with --postman")
    } else {
        None
    }
}

/// The expectation of the next reply, according to a recorded one.
pub(crate) fn expectation(came: &CapturedReply, remarks: &mut Vec<String>) -> Expect {
    let kind = came
        .media_type
        .as_deref()
        .map(media_type)
        .filter(|kind| !kind.is_empty());
    let body = match (&came.body, &kind) {
        (Some(text), _) if text.len() > LONGEST => {
            remarks.push(format!(
                "The reply of {} bytes is too long for an exact expectation: status and type only.",
                text.len()
            ));
            None
        }
        (Some(text), Some(kind)) if is_json(kind) => {
            let value: Option<Value> = serde_json::from_str(text).ok();
            let fault = match &value {
                None => Some("is not JSON, as its type says"),
                Some(value) if is_too_deep(value) => Some("is nested too deeply for an exact expectation"),
                Some(_) if has_long_number(text) => {
                    Some("has a number that a contract does not keep exactly")
                }
                Some(_) => None,
            };
            remarks.extend(fault.map(|fault| format!("The reply {fault}: status and type only.")));
            value.filter(|_| fault.is_none()).map(ExpectedBody::Json)
        }
        (Some(text), Some(kind)) if kind == "text/plain" => Some(ExpectedBody::Text(text.clone())),
        (None, Some(kind)) => {
            remarks.push(format!(
                "The body of the reply ({kind}) is not text, or was not recorded: status and type only."
            ));
            None
        }
        _ => None,
    };
    Expect {
        status: vec![came.status],
        media_type: kind,
        body,
    }
}
