//! A server of the Model Context Protocol, revision 2026-07-28, on hyper without an SDK.

mod items;
mod methods;
mod protocol;
mod server;

use std::convert::Infallible;
use std::env;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, ORIGIN};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use percent_encoding::percent_decode_str;

use crate::protocol::{Failure, METHOD_NOT_FOUND, Message, Reply};

const LONGEST_BODY: usize = 4 * 1024 * 1024;

fn main() -> std::io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Ok(workers) = setting("WORKERS", "").parse() {
        runtime.worker_threads(workers);
    }
    let address = format!("{}:{}", setting("HOST", "127.0.0.1"), setting("PORT", "8080"));
    let service = service_fn(async |request| Ok::<_, Infallible>(serve(request).await));
    runtime
        .enable_all()
        .build()?
        .block_on(server::run(&address, service))
}

async fn serve(request: Request<Incoming>) -> Response<Full<Bytes>> {
    if let Some(status) = refusal(&request) {
        return respond(status, Vec::new());
    }
    let (head, body) = request.into_parts();
    match Limited::new(body, LONGEST_BODY).collect().await {
        Ok(body) => answer(&head.headers, &body.to_bytes()),
        Err(_) => respond(StatusCode::PAYLOAD_TOO_LARGE, Vec::new()),
    }
}

/// The status for a request whose body need not be read.
fn refusal(request: &Request<Incoming>) -> Option<StatusCode> {
    if percent_decode_str(request.uri().path()).decode_utf8().as_deref() != Ok("/mcp") {
        Some(StatusCode::NOT_FOUND)
    } else if !request.headers().get(ORIGIN).is_none_or(is_local) {
        Some(StatusCode::FORBIDDEN)
    } else if request.method() != Method::POST {
        Some(StatusCode::METHOD_NOT_ALLOWED)
    } else if !is_json(request.headers()) {
        Some(StatusCode::UNSUPPORTED_MEDIA_TYPE)
    } else {
        None
    }
}

/// Only browsers send an Origin.
fn is_local(origin: &HeaderValue) -> bool {
    let uri = origin.to_str().ok().and_then(|text| text.parse::<Uri>().ok());
    uri.and_then(|uri| {
        uri.host()
            .map(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"))
    })
    .unwrap_or(false)
}

fn is_json(headers: &HeaderMap) -> bool {
    let media = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = media.and_then(|value| value.split(';').next()).unwrap_or("");
    media.trim().eq_ignore_ascii_case("application/json")
}

fn answer(headers: &HeaderMap, body: &[u8]) -> Response<Full<Bytes>> {
    let message = Message::parse(body);
    if let Ok(Message { id: None, .. }) = &message {
        return respond(StatusCode::ACCEPTED, Vec::new()); // a notification
    }
    let outcome = message.as_ref().map_err(Failure::clone).and_then(|message| {
        message.check(headers)?;
        methods::run(message)
    });
    let status = match &outcome {
        Ok(_) => StatusCode::OK,
        Err(failure) if failure.code == METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        Err(_) => StatusCode::BAD_REQUEST,
    };
    let id = message.as_ref().ok().and_then(|message| message.id.as_ref());
    let reply = serde_json::to_vec(&Reply::new(id, outcome)).expect("a reply has only texts as keys");
    respond(status, reply)
}

fn respond(status: StatusCode, body: Vec<u8>) -> Response<Full<Bytes>> {
    let has_body = !body.is_empty();
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    if has_body {
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
    }
    response
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
