//! The headers of every reply, and access control: who may ask, and from where.

use super::delivery::escaped;
use super::hosts::{self, AllowedHosts};
use super::token::Token;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse as _, Response};
use std::sync::{Arc, LazyLock};

/// The parameter of a page's address that has the token.
const PARAMETER: &str = "token=";

/// The page contains its own policy, with the hash of its script; as a header it applies before the first byte is parsed.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let stated = prony_report::served_page()
        .split_once("http-equiv=\"Content-Security-Policy\" content=\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or("default-src 'none'", |(policy, _)| policy);
    HeaderValue::from_str(&format!("{stated}; frame-ancestors 'none'"))
        .expect("invariant: the build writes plain text")
});

/// What a request is measured against.
pub(super) struct Guard {
    hosts: AllowedHosts,
    token: Token,
    /// What the cookie of a browser holds instead of the token: browsers send cookies to all ports of a host, and it ends with
    /// this process.
    session: Token,
    /// Whether changes are possible at all.
    may_change: bool,
}

/// How a request proved that it may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    Token,
    /// The browser adds it by itself, whichever page asks.
    Cookie,
}

impl Guard {
    pub(super) fn new(hosts: AllowedHosts, token: Token, may_change: bool) -> Self {
        Self {
            hosts,
            token,
            session: Token::random(),
            may_change,
        }
    }

    /// The reply to a request that is not answered as it asks.
    fn instead(&self, request: &Request) -> Option<Response> {
        let headers = request.headers();
        let host = text(headers, "host").unwrap_or_default();
        let is_page = is_page(request.uri().path());
        if !self.hosts.contain(host) {
            return Some(refused(
                StatusCode::FORBIDDEN,
                "this server is reached by the address that it listens on: use that as the host, or start it with --allow-host NAME",
            ));
        }
        if self.is_foreign(headers, host, is_page) {
            return Some(refused(
                StatusCode::FORBIDDEN,
                "only pages of this server may ask",
            ));
        }
        let proof = self.proof(headers, host);
        if is_page
            && request.method() == Method::GET
            && let Some(left) = self.without_token(request.uri())
        {
            return Some(self.entrance(host, &left));
        }
        let Some(proof) = proof else {
            return Some(unknown());
        };
        if matches!(*request.method(), Method::GET | Method::HEAD) {
            return None;
        }
        if !self.may_change {
            let reason = "this server is read-only because other machines can reach it";
            return Some(refused(StatusCode::METHOD_NOT_ALLOWED, reason));
        }
        if proof == Proof::Cookie && text(headers, "origin").is_none() {
            let reason = "only pages of this server may make changes";
            return Some(refused(StatusCode::FORBIDDEN, reason));
        }
        None
    }

    /// Whether a page of another server asks. Browsers send the origin with every request that may change something, and the kind
    /// of origin with most requests; a page can set neither.
    fn is_foreign(&self, headers: &HeaderMap, host: &str, is_page: bool) -> bool {
        let site = text(headers, "sec-fetch-site");
        let links = is_page && !headers.contains_key("origin");
        if !links && site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return true;
        }
        let Some(origin) = headers.get("origin") else {
            return false;
        };
        let origin = origin.to_str().unwrap_or_default();
        let by_proxy = self.hosts.are_named(host);
        let own = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://").filter(|_| by_proxy));
        own != Some(host)
    }

    fn proof(&self, headers: &HeaderMap, host: &str) -> Option<Proof> {
        let given = text(headers, "authorization").and_then(|value| value.split_once(' '));
        if given
            .is_some_and(|(kind, token)| kind.eq_ignore_ascii_case("bearer") && self.token.is(token.trim()))
        {
            return Some(Proof::Token);
        }
        let name = cookie_name(host);
        let cookies = headers
            .get_all("cookie")
            .iter()
            .filter_map(|value| value.to_str().ok());
        let mut cookies = cookies
            .flat_map(|value| value.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='));
        cookies
            .any(|(cookie, value)| cookie == name && self.session.is(value))
            .then_some(Proof::Cookie)
    }

    /// The path and query of an address that has the token, without the token.
    fn without_token(&self, address: &Uri) -> Option<String> {
        let query = address.query()?;
        let given = query.split('&').find_map(|part| part.strip_prefix(PARAMETER))?;
        if !self.token.is(given) {
            return None;
        }
        let rest: Vec<&str> = query
            .split('&')
            .filter(|part| !part.starts_with(PARAMETER))
            .collect();
        // Two slashes would begin the name of another host.
        let path = address.path().trim_start_matches('/');
        Some(if rest.is_empty() {
            format!("/{path}")
        } else {
            format!("/{path}?{}", rest.join("&"))
        })
    }

    /// Gives the browser its cookie, and leads on to the page without the token in its address. A redirect would not do: a browser
    /// that followed a link of another site sends no strict cookie after it.
    fn entrance(&self, host: &str, page: &str) -> Response {
        let page = escaped(page);
        let body = format!(
            "<!doctype html><title>prony</title><meta http-equiv=\"refresh\" content=\"0; url={page}\"><a href=\"{page}\">prony</a>\n"
        );
        let cookie = format!(
            "{}={}; Path=/; HttpOnly; SameSite=Strict",
            cookie_name(host),
            self.session.reveal()
        );
        ([(header::SET_COOKIE, cookie)], Html(body)).into_response()
    }
}

/// The reply to someone who does not know the token.
fn unknown() -> Response {
    let reason = "the token is missing or belongs to another start: open the whole address that `prony serve` printed; programs send \
                  the header `Authorization: Bearer TOKEN`";
    let mut response = refused(StatusCode::UNAUTHORIZED, reason);
    let headers = response.headers_mut();
    headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

pub(super) async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match guard.instead(&request) {
        Some(response) => response,
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY.clone());
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(
        "cross-origin-resource-policy",
        HeaderValue::from_static("same-origin"),
    );
    response
}

fn refused(status: StatusCode, reason: &str) -> Response {
    (status, format!("{reason}\n")).into_response()
}

/// Whether a path is that of a page, which people open and link to, and which holds no data.
fn is_page(path: &str) -> bool {
    !path.starts_with("/api/") && path != "/metrics"
}

/// Servers on several ports of a host share its cookies. The port in the name is that which the browser knows.
fn cookie_name(host: &str) -> String {
    match hosts::split(host) {
        (_, Some(port)) => format!("prony-{port}"),
        (_, None) => "prony".to_owned(),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "127.0.0.1:4400";

    fn guarded(named: &[&str]) -> Guard {
        let named = named.iter().map(|name| name.parse().expect("a name")).collect();
        let hosts = AllowedHosts::new([127, 0, 0, 1].into(), named);
        Guard::new(hosts, Token::random(), true)
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let value = |text: &str| HeaderValue::from_str(text).expect("a value");
        pairs
            .iter()
            .map(|&(name, text)| (header::HeaderName::from_static(name), value(text)))
            .collect()
    }

    #[test]
    fn pages_of_other_servers_are_foreign() {
        let guard = guarded(&["bench.example"]);
        let foreign = |pairs: &[(&'static str, &str)]| guard.is_foreign(&headers(pairs), HOST, false);
        assert!(!foreign(&[]) && !foreign(&[("origin", "http://127.0.0.1:4400")]));
        assert!(!foreign(&[
            ("origin", "http://127.0.0.1:4400"),
            ("sec-fetch-site", "same-origin")
        ]));
        for origin in [
            "null",
            "http://127.0.0.1:4401",
            "http://localhost:4400",
            "https://127.0.0.1:4400",
            "http://127.0.0.1:4400.evil.example",
        ] {
            assert!(foreign(&[("origin", origin)]), "{origin}");
        }
        for site in ["same-site", "cross-site"] {
            assert!(foreign(&[("sec-fetch-site", site)]), "{site}");
            assert!(
                foreign(&[("origin", "http://127.0.0.1:4400"), ("sec-fetch-site", site)]),
                "{site}"
            );
            // A link that leads here.
            assert!(!guard.is_foreign(&headers(&[("sec-fetch-site", site)]), HOST, true));
        }
        // A proxy in front of it may speak TLS.
        let by_proxy = headers(&[("origin", "https://bench.example")]);
        assert!(!guard.is_foreign(&by_proxy, "bench.example", false));
        assert!(guard.is_foreign(&by_proxy, HOST, false));
    }

    #[test]
    fn the_token_and_the_cookie_prove_who_asks() {
        let guard = guarded(&[]);
        let (token, session) = (guard.token.reveal(), guard.session.reveal());
        let proof = |name: &'static str, value: &str| guard.proof(&headers(&[(name, value)]), HOST);
        assert_eq!(
            proof("authorization", &format!("bearer {token}")),
            Some(Proof::Token)
        );
        assert_eq!(
            proof("cookie", &format!("a=b; prony-4400={session}")),
            Some(Proof::Cookie)
        );
        for (name, value) in [
            ("authorization", format!("Bearer {session}")),
            ("authorization", format!("Basic {token}")),
            ("authorization", token.to_owned()),
            ("cookie", format!("prony-4400={token}")),
            ("cookie", format!("prony-4401={session}")),
            ("cookie", "prony-4400=".to_owned()),
        ] {
            assert_eq!(proof(name, &value), None, "{name}: {value}");
        }
    }

    #[test]
    fn the_token_goes_out_of_the_address() {
        let guard = guarded(&[]);
        let left = |address: String| guard.without_token(&address.parse().expect("an address"));
        let token = guard.token.reveal();
        assert_eq!(left(format!("/?token={token}")).as_deref(), Some("/"));
        assert_eq!(
            left(format!("/compare?a=x&token={token}&b=y")).as_deref(),
            Some("/compare?a=x&b=y")
        );
        assert_eq!(
            left(format!("//evil.example/?token={token}")).as_deref(),
            Some("/evil.example/")
        );
        assert_eq!(left("/?token=wrong".to_owned()), None);
        assert_eq!(left(format!("/?other={token}")), None);
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
