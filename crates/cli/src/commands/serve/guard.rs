//! The headers of every reply, and access control.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::net::IpAddr;
use std::sync::LazyLock;

/// The page contains its own policy, with the hash of its script; as a header it applies before the first byte is parsed.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let stated = prony_report::served_page()
        .split_once("http-equiv=\"Content-Security-Policy\" content=\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or("default-src 'none'", |(policy, _)| policy);
    HeaderValue::from_str(&format!("{stated}; frame-ancestors 'none'"))
        .expect("invariant: the build writes plain text")
});

/// On loopback, rejects host names other than this machine's, so that a foreign page that rebinds its name to 127.0.0.1 reads
/// nothing, and rejects changes by pages of other servers. Beyond loopback, rejects everything except reads.
pub(super) async fn guard(only_local: bool, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let host = text(headers, "host");
    if only_local && !host.is_some_and(is_local) {
        return (StatusCode::FORBIDDEN, "use localhost or 127.0.0.1 as the host\n").into_response();
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        if !only_local {
            let reason = "this server is read-only because other machines can reach it\n";
            return (StatusCode::METHOD_NOT_ALLOWED, reason).into_response();
        }
        if !is_own(headers, host) {
            let reason = "only pages of this server may make changes\n";
            return (StatusCode::FORBIDDEN, reason).into_response();
        }
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

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether the request comes from a page of this server. Browsers send the origin with every request that may change
/// something, and the kind of origin with most requests; a page can set neither.
fn is_own(headers: &HeaderMap, host: Option<&str>) -> bool {
    let origin = text(headers, "origin").and_then(|origin| origin.strip_prefix("http://"));
    let site = headers.get("sec-fetch-site");
    origin.is_some() && origin == host && site.is_none_or(|site| site == "same-origin")
}

fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    // Any name can be made to resolve to this machine, but a loopback address leads here only from this machine.
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
    fn only_pages_of_this_server_change_something() {
        const HOST: &str = "127.0.0.1:4400";
        let asked = |origin: Option<&'static str>, site: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            for (name, value) in [("origin", origin), ("sec-fetch-site", site)] {
                if let Some(value) = value {
                    headers.insert(name, HeaderValue::from_static(value));
                }
            }
            is_own(&headers, Some(HOST))
        };
        assert!(asked(Some("http://127.0.0.1:4400"), None));
        assert!(asked(Some("http://127.0.0.1:4400"), Some("same-origin")));
        for (origin, site) in [
            (None, None),
            (None, Some("same-origin")),
            (Some("null"), None),
            (Some("http://127.0.0.1:4401"), None),
            (Some("http://localhost:4400"), None),
            (Some("https://127.0.0.1:4400"), None),
            (Some("http://127.0.0.1:4400.evil.example"), None),
            (Some("http://127.0.0.1:4400"), Some("same-site")),
            (Some("http://127.0.0.1:4400"), Some("cross-site")),
        ] {
            assert!(!asked(origin, site), "{origin:?}, {site:?}");
        }
        assert!(!is_own(&HeaderMap::new(), None));
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
