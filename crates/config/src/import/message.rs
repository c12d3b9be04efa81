//! Turns a recorded request and its reply into an operation.

use crate::import::draft::{Names, is_json, media_type};
use crate::import::size::is_too_deep;
use crate::import::{Body, Expect, ExpectedBody, Operation};
use serde_json::Value;
use url::Url;

/// The longest reply that becomes an exact expectation, bytes.
const LONGEST: usize = 16 * 1024;

/// The longest URL, bytes. Servers accept less.
const LONGEST_URL: usize = 16 * 1024;

/// The most headers of a request. Servers accept fewer.
const MOST_HEADERS: usize = 200;

/// A recorded request.
#[derive(Debug, Clone, Default)]
pub(crate) struct CapturedRequest {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<String>,
}

/// A recorded reply.
#[derive(Debug, Clone, Default)]
pub(crate) struct CapturedReply {
    pub(crate) status: u16,
    pub(crate) media_type: Option<String>,
    /// The body; `None` if it is not text or was not recorded.
    pub(crate) body: Option<String>,
}

/// Headers that belong to one connection or to the client.
const NOT_KEPT: [&str; 22] = [
    "accept-encoding",
    "accept-language",
    "alt-used",
    "cache-control",
    "connection",
    "content-length",
    "dnt",
    "expect",
    "host",
    "if-modified-since",
    "if-none-match",
    "keep-alive",
    "origin",
    "postman-token",
    "pragma",
    "priority",
    "referer",
    "te",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
];

/// The origin and the target (path and query) of a URL.
pub(crate) fn parts(url: &str) -> Result<(String, String), String> {
    if url.len() > LONGEST_URL {
        let begin: String = url.chars().take(60).collect();
        return Err(format!("`{begin}…`: a URL of more than {LONGEST_URL} bytes"));
    }

    let shown = || crate::target::shown(url);
    let parsed = Url::parse(url).map_err(|error| format!("`{}` is not a URL: {error}", shown()))?;
    let origin = parsed.origin().ascii_serialization();
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(format!("`{}`: give an http:// or https:// URL", shown()));
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

/// The operation of a request with this target.
pub(crate) fn operation(
    names: &mut Names,
    from: String,
    (sent, target): (&CapturedRequest, &str),
) -> Operation {
    let mut operation = Operation {
        name: names.of_request(&sent.method, target),
        from,
        method: sent.method.clone(),
        path: target.to_owned(),
        ..Operation::default()
    };
    for (name, value) in &sent.headers {
        let lower = name.to_ascii_lowercase();
        if NOT_KEPT.contains(&lower.as_str()) || lower.starts_with("sec-") || lower.starts_with(':') {
            continue;
        }
        if operation.headers.len() == MOST_HEADERS {
            let remark =
                format!("Headers from `{name}` on are left out: a request has at most {MOST_HEADERS}.");
            operation.remarks.push(remark);
            break;
        }
        operation.headers.push((name.clone(), value.clone()));
    }
    operation.body = sent.body.as_ref().filter(|body| !body.is_empty()).map(|text| {
        let kind = operation
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        match serde_json::from_str::<Value>(text) {
            Ok(value) if kind.is_some_and(|(_, kind)| is_json(kind)) && !is_too_deep(&value) => {
                Body::Json(value)
            }
            _ => Body::Text(text.clone()),
        }
    });
    operation
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
            let value = serde_json::from_str(text).ok();
            if value.as_ref().is_some_and(is_too_deep) {
                let remark = "The reply is nested too deeply for an exact expectation: status and type only.";
                remarks.push(remark.to_owned());
            }
            value.filter(|value| !is_too_deep(value)).map(ExpectedBody::Json)
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
