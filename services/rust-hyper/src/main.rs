//! A server with hyper, without a framework on top.

mod numbers;
mod sequence;
mod server;
mod snoop;

use std::borrow::Cow;
use std::convert::Infallible;
use std::env;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use percent_encoding::percent_decode_str;

type Reply = Response<Full<Bytes>>;

fn main() -> std::io::Result<()> {
    // One thread that shares its tasks with no other, or worker threads that take them from each other.
    let mut runtime = if setting("CURRENT_THREAD", "") == "true" {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    if let Ok(workers) = setting("WORKERS", "").parse() {
        runtime.worker_threads(workers);
    }
    let address = format!("{}:{}", setting("HOST", "127.0.0.1"), setting("PORT", "8080"));
    let service = service_fn(async |request| Ok::<_, Infallible>(answer(&request)));
    runtime
        .enable_all()
        .build()?
        .block_on(server::run(&address, service))
}

fn answer(request: &Request<Incoming>) -> Reply {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return reply(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET");
    }
    let Ok(path) = percent_decode_str(request.uri().path()).decode_utf8() else {
        return reply(StatusCode::NOT_FOUND, "text/plain", "no such path");
    };
    match &*path {
        "/api/test" => return reply(StatusCode::OK, "text/plain", "Hello, World!"),
        "/" => {
            return reply(
                StatusCode::OK,
                "text/html; charset=utf-8",
                snoop::page(request.headers()),
            );
        }
        _ => {}
    }
    if let Some(n) = path.strip_prefix("/api/count/") {
        sequence::answer(n, numbers::count)
    } else if let Some(n) = path.strip_prefix("/api/fib/") {
        sequence::answer(n, numbers::fib)
    } else {
        reply(StatusCode::NOT_FOUND, "text/plain", "no such path")
    }
}

fn reply(status: StatusCode, content_type: &'static str, body: impl Into<Cow<'static, str>>) -> Reply {
    let body = match body.into() {
        Cow::Borrowed(text) => Bytes::from_static(text.as_bytes()),
        Cow::Owned(text) => Bytes::from(text),
    };
    let mut reply = Response::new(Full::new(body));
    *reply.status_mut() = status;
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
