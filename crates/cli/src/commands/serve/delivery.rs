//! How replies travel: errors in the form of what was requested, compressed, and tagged so that a browser need not load what it has.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use flate2::write::GzEncoder;
use flate2::{Compression, Crc};
use std::io::Write as _;

/// Shorter replies are not worth compressing, bytes.
const SHORT: usize = 1024;
/// Maximum length of the reason in a refusal, bytes.
const LONGEST_REASON: usize = 64 * 1024;
/// Replies that a program reads while they grow.
pub(super) const LINES: &str = "application/x-ndjson";

pub(super) async fn deliver(request: Request, next: Next) -> Response {
    let gzip = accepts_gzip(request.headers());
    let path = request.uri().path().to_owned();
    let known = request.headers().get(header::IF_NONE_MATCH).cloned();
    let response = with_reason(next.run(request).await, &path).await;
    let response = unless_known(response, known.as_ref());
    if gzip {
        compressed(response).await
    } else {
        response
    }
}

/// A tag of a reply that has the same bytes as long as `parts` stay the same.
pub(super) fn tag(parts: &[&[u8]]) -> HeaderValue {
    let mut sum = Crc::new();
    for part in parts {
        sum.update(part);
        sum.update(&[0]);
    }
    let text = format!("W/\"{:08x}-{:x}\"", sum.sum(), sum.amount());
    HeaderValue::from_str(&text).expect("invariant: hexadecimal digits are a header")
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(4));
    let done = encoder.write_all(bytes).and_then(|()| encoder.finish());
    done.expect("invariant: compression in memory does not fail")
}

pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok());
    accepted.unwrap_or_default().split(',').any(|coding| {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        let quality = parameters.trim().strip_prefix("q=").map(str::trim);
        name.trim().eq_ignore_ascii_case("gzip") && quality.is_none_or(|quality| quality.parse() != Ok(0.0))
    })
}

/// Gives an error the form of what was requested: JSON for the API, a page for everything else.
async fn with_reason(response: Response, path: &str) -> Response {
    let status = response.status();
    let failed = status.is_client_error() || status.is_server_error();
    let is_json = kind(response.headers()).starts_with("application/json");
    if !failed || is_json || path == "/metrics" {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let given = to_bytes(body, LONGEST_REASON).await.unwrap_or_default();
    let given = String::from_utf8_lossy(&given).trim().to_owned();
    let reason = match status {
        _ if !given.is_empty() => given,
        StatusCode::NOT_FOUND => format!("there is no {path} on this server"),
        StatusCode::METHOD_NOT_ALLOWED => format!("{path} does not take this method"),
        _ => status.to_string(),
    };
    let (form, body) = if path.starts_with("/api/") {
        (
            "application/json",
            serde_json::json!({ "error": reason }).to_string(),
        )
    } else {
        ("text/html; charset=utf-8", error_page(status, &reason))
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    parts
        .headers
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(form));
    Response::from_parts(parts, body.into())
}

fn error_page(status: StatusCode, reason: &str) -> String {
    let title = if status == StatusCode::NOT_FOUND {
        "This page does not exist"
    } else {
        "This cannot be shown"
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} – prony</title>\n<main>\n<h1>{title}</h1>\n<p>{}</p>\n<p><a href=\"/\">All runs</a></p>\n</main>\n</html>\n",
        escaped(reason)
    )
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
}

/// Whether a browser already has the reply with this tag, by the header `If-None-Match` of its request.
pub(super) fn is_known(tag: &HeaderValue, known: Option<&HeaderValue>) -> bool {
    let text = |value: &HeaderValue| value.to_str().ok().map(ToOwned::to_owned);
    let known = known.and_then(text).unwrap_or_default();
    let tag = text(tag).unwrap_or_default();
    known.split(',').any(|one| one.trim() == tag)
}

/// Lets a browser keep a reply with a tag, if it asks each time whether that is still the current one.
fn unless_known(mut response: Response, known: Option<&HeaderValue>) -> Response {
    let Some(tag) = response.headers().get(header::ETAG).cloned() else {
        return response;
    };
    let headers = response.headers_mut();
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("private, no-cache"),
    );
    if response.status() == StatusCode::OK && is_known(&tag, known) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        for name in [
            header::CONTENT_LENGTH,
            header::CONTENT_TYPE,
            header::CONTENT_ENCODING,
        ] {
            response.headers_mut().remove(name);
        }
    }
    response
}

async fn compressed(response: Response) -> Response {
    let headers = response.headers();
    let kind = kind(headers);
    // Events and lines are read while they grow.
    let is_whole = kind.starts_with("application/json")
        || kind.starts_with("text/") && !kind.starts_with("text/event-stream");
    if !is_whole || headers.contains_key(header::CONTENT_ENCODING) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // Handlers give whole bodies, so reading one does not fail.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    if bytes.len() < SHORT {
        return Response::from_parts(parts, bytes.into());
    }
    // Not on the thread that serves other pages.
    let shorter = tokio::task::spawn_blocking({
        let bytes = bytes.clone();
        move || gzip(&bytes)
    });
    match shorter.await {
        Ok(shorter) => {
            parts.headers.remove(header::CONTENT_LENGTH);
            mark_as_gzip(&mut parts.headers);
            Response::from_parts(parts, shorter.into())
        }
        Err(_) => Response::from_parts(parts, bytes.into()),
    }
}

pub(super) fn mark_as_gzip(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
}

fn kind(headers: &HeaderMap) -> String {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    kind.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_used_only_if_it_is_accepted() {
        let accepts = |text: &str| {
            let value = HeaderValue::from_str(text).expect("a value");
            accepts_gzip(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, value)]))
        };
        assert!(accepts("gzip, deflate, br") && accepts("br;q=1.0, GZIP;q=0.5"));
        assert!(!accepts("br") && !accepts("gzip;q=0") && !accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn a_tag_depends_on_each_part() {
        assert_eq!(tag(&[b"a", b"b"]), tag(&[b"a", b"b"]));
        assert_ne!(tag(&[b"a", b"b"]), tag(&[b"ab", b""]));
        assert_ne!(tag(&[b"a"]), tag(&[b"b"]));
    }

    #[test]
    fn the_reason_of_an_error_is_text() {
        let page = error_page(StatusCode::NOT_FOUND, "there is no <script>");
        assert!(page.contains("there is no &lt;script>") && page.contains("This page does not exist"));
    }
}
