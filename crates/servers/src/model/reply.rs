//! The reply to a request.

use super::request_log::LoggedRequest;
use super::script::{CREATED, Pace, Script, StreamRequest, usage, word};
use super::stream::{EventStream, ModelBody};
use super::{ModelSettings, ModelState};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The names of the models.
const MODELS: [&str; 12] = [
    "steady", "slow", "held", "fast", "plain", "busy", "refused", "missing", "down", "fails", "cut", "odd",
];
/// Tokens of a reply whose request names no number.
const DEFAULT_TOKENS: u64 = 16;
const MOST_TOKENS: u64 = 10_000;
/// The gap of `slow`.
const SLOW_GAP: Duration = Duration::from_millis(20);
/// The gap of `held`.
const HELD_GAP: Duration = Duration::from_secs(1);

pub(super) struct ModelReply;

impl ModelReply {
    pub(super) async fn to(request: Request<Incoming>, shared: &Arc<ModelState>) -> Response<ModelBody> {
        let (head, body) = request.into_parts();
        // A truncated body counts as empty.
        let body = body
            .collect()
            .await
            .map(http_body_util::Collected::to_bytes)
            .unwrap_or_default();
        let received = Instant::now();
        if head.uri.path() == "/seen" {
            return document(
                StatusCode::OK,
                &shared.log.describe(head.uri.query().unwrap_or_default()),
            );
        }
        let has_key = has_key(&head.headers, &shared.settings);
        match (&head.method, head.uri.path()) {
            (&Method::GET, "/v1/models") if has_key => document(StatusCode::OK, &models()),
            (&Method::POST, "/v1/chat/completions") => complete(&body, shared, (has_key, received)).await,
            (_, "/v1/models") => error(
                StatusCode::UNAUTHORIZED,
                "invalid_api_key",
                "this key is not known",
            ),
            (_, path) => error(StatusCode::NOT_FOUND, "not_found", &format!("there is no {path}")),
        }
    }
}

fn has_key(headers: &http::HeaderMap, settings: &ModelSettings) -> bool {
    let Some(key) = &settings.key else { return true };
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    given.and_then(|value| value.strip_prefix("Bearer ")) == Some(key)
}

fn models() -> Value {
    let models =
        MODELS.map(|name| json!({ "id": name, "object": "model", "created": CREATED, "owned_by": "prony" }));
    json!({ "object": "list", "data": models })
}

async fn complete(
    body: &Bytes,
    shared: &Arc<ModelState>,
    (has_key, received): (bool, Instant),
) -> Response<ModelBody> {
    let Some((request, is_stream)) = read(body) else {
        return error(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            "the body is not a chat completion with messages",
        );
    };
    shared
        .log
        .received(&request.nonce, &LoggedRequest { body, has_key });
    if !has_key {
        return error(
            StatusCode::UNAUTHORIZED,
            "invalid_api_key",
            "this key is not known",
        );
    }
    let settings = &shared.settings;
    match request.model.as_str() {
        "busy" => {
            let mut reply = error(
                StatusCode::TOO_MANY_REQUESTS,
                "rate_limit_exceeded",
                "too many requests",
            );
            reply
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from_static("7"));
            reply
        }
        "refused" => error(StatusCode::UNAUTHORIZED, "invalid_api_key", "this key is refused"),
        "missing" => error(StatusCode::NOT_FOUND, "model_not_found", "there is no such model"),
        "down" => error(StatusCode::SERVICE_UNAVAILABLE, "overloaded", "the model is down"),
        name if !MODELS.contains(&name) => {
            error(StatusCode::NOT_FOUND, "model_not_found", "there is no such model")
        }
        name if is_stream && name != "plain" => {
            let pace = pace_of(name, settings);
            let nonce = request.nonce.clone();
            let stream = EventStream::new(shared, Script::new(request, pace), nonce, received);
            let mut reply = Response::new(ModelBody::Stream(stream));
            let headers = reply.headers_mut();
            headers.insert(
                CONTENT_TYPE,
                HeaderValue::from_static("text/event-stream; charset=utf-8"),
            );
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            reply
        }
        name => {
            if name != "fast" {
                tokio::time::sleep(settings.first).await;
            }
            document(StatusCode::OK, &completion(&request))
        }
    }
}

/// The times of the events of a model.
fn pace_of(name: &str, settings: &ModelSettings) -> Pace {
    let (first, gap) = match name {
        "fast" => (Duration::ZERO, Duration::ZERO),
        "slow" => (settings.first, SLOW_GAP),
        "held" => (settings.first, HELD_GAP),
        _ => (settings.first, settings.gap),
    };
    Pace { first, gap }
}

/// What a request asks for, and whether it wants a stream.
fn read(body: &[u8]) -> Option<(StreamRequest, bool)> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let messages = body.get("messages")?.as_array()?;
    let last = |role: &str| {
        let mut of_role = messages.iter().rev().filter(|message| message["role"] == role);
        of_role.next().map(|message| content(&message["content"]))
    };
    let words = |message: &Value| content(&message["content"]).split_whitespace().count() as u64;
    let tokens = ["max_completion_tokens", "max_tokens"]
        .iter()
        .find_map(|name| body.get(name)?.as_u64());
    let request = StreamRequest {
        model: body.get("model")?.as_str()?.to_owned(),
        nonce: last("user")?,
        system: last("system").unwrap_or_default(),
        prompt_tokens: messages.iter().map(words).sum(),
        max_tokens: tokens.unwrap_or(DEFAULT_TOKENS).clamp(1, MOST_TOKENS),
    };
    Some((request, body.get("stream") == Some(&Value::Bool(true))))
}

/// The text of a message, which is a text or a list of parts.
fn content(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

fn completion(request: &StreamRequest) -> Value {
    let text: String = (1..=request.max_tokens).map(word).collect();
    json!({
        "id": format!("chatcmpl-{}", request.nonce),
        "object": "chat.completion",
        "created": CREATED,
        "model": request.model,
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": text },
            "finish_reason": "stop",
        }],
        "usage": usage(request),
    })
}

fn error(status: StatusCode, code: &str, message: &str) -> Response<ModelBody> {
    let kind = if status.is_server_error() {
        "server_error"
    } else {
        "invalid_request_error"
    };
    let body = json!({ "error": { "message": message, "type": kind, "param": null, "code": code } });
    document(status, &body)
}

fn document(status: StatusCode, body: &Value) -> Response<ModelBody> {
    let mut reply = Response::new(ModelBody::Whole(Some(body.to_string().into())));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}
