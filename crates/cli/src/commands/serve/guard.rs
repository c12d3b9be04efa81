//! What every reply carries, and who may ask.

use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::net::IpAddr;
use std::sync::LazyLock;

/// The page states its own policy, with the hash of its script; as a header it holds before the first byte is parsed.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let stated = prony_report::served_page()
        .split_once("http-equiv=\"Content-Security-Policy\" content=\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or("default-src 'none'", |(policy, _)| policy);
    HeaderValue::from_str(&format!("{stated}; frame-ancestors 'none'"))
        .expect("invariant: the build writes plain text")
});

/// Refuses all but reading; on loopback also names other than this machine's, so that a foreign page that rebinds its name
/// to 127.0.0.1 reads nothing.
pub(super) async fn guard(only_local: bool, request: Request, next: Next) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return (StatusCode::METHOD_NOT_ALLOWED, "this server only shows\n").into_response();
    }
    let host = request
        .headers()
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    if only_local && !host.is_some_and(is_local) {
        return (StatusCode::FORBIDDEN, "ask by localhost or 127.0.0.1\n").into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY.clone());
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    // A name may be made to lead here from anywhere, an address of the loopback only from this machine.
    let address = name
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_local() {
        for host in [
            "localhost",
            "localhost:80",
            "127.0.0.1:4400",
            "127.0.0.2:4400",
            "[::1]:1",
            "[::1]",
        ] {
            assert!(is_local(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:80",
            "127.0.0.1.evil.example",
            "",
        ] {
            assert!(!is_local(host), "{host}");
        }
    }

    #[test]
    fn the_policy_names_the_script_of_the_page() {
        let policy = POLICY.to_str().expect("plain text");
        assert!(
            policy.contains("script-src 'sha256-") && !policy.contains("unsafe"),
            "{policy}"
        );
    }
}
