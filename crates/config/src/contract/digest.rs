//! The digest that the relay's backend returns for each request, so that a check can verify that it arrived unchanged.
//!
//! The canonical form of a request is, byte for byte:
//!
//! ```text
//! METHOD SP TARGET LF          the method and the target as sent, with its query
//! name: value LF               each end-to-end header, the name in lower case, sorted by name;
//! …                            headers of one name are joined by ", " in the order of arrival
//! LF
//! BODY                         the decoded body
//! ```
//!
//! The digest is the SHA-256 of that, in lowercase hexadecimal digits. It excludes headers that belong to one connection, that
//! only frame the body, or that a proxy may set for the next hop: see [`is_end_to_end`].
//!
//! The backend computes a digest of each request. These functions are marked for inlining, so that they are compiled and
//! optimised in the crate of the backend.

use crate::contract::template::Builder;
use prony_load::{Body, Request, Template};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// The header with which the backend returns the digest.
pub const HEADER: &str = "prony-digest";

/// Whether a header (its name in lowercase) is end-to-end (RFC 9110, section 7.6.1) and is not one that proxies set
/// themselves. Headers that `Connection` names are not end-to-end either.
#[inline]
pub fn is_end_to_end(name: &str) -> bool {
    !matches!(
        name,
        "connection"
            | "keep-alive"
            | "proxy-connection"
            | "proxy-authenticate"
            | "proxy-authorization"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
            | "host"
            | "content-length"
            | "expect"
            | "via"
            | "forwarded"
            | "x-real-ip"
    ) && !name.starts_with("x-forwarded-")
}

/// A received request.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedRequest<'a> {
    pub method: &'a str,
    /// Path and query, as sent.
    pub target: &'a str,
    /// Headers in the order of arrival, names in lowercase.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The decoded body.
    pub body: &'a [u8],
}

impl ReceivedRequest<'_> {
    /// The end-to-end headers, by name; those of one name in the order of arrival.
    #[inline]
    fn end_to_end(&self) -> Vec<(&str, &[u8])> {
        let named: Vec<String> = self
            .headers
            .iter()
            .filter(|(name, _)| *name == "connection")
            .flat_map(|(_, value)| value.split(|&byte| byte == b','))
            .map(|name| String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase())
            .collect();
        let counts = |name: &str| is_end_to_end(name) && !named.iter().any(|other| other == name);
        let mut headers: Vec<(&str, &[u8])> = self
            .headers
            .iter()
            .copied()
            .filter(|(name, _)| counts(name))
            .collect();
        headers.sort_by_key(|(name, _)| *name);
        headers
    }

    #[inline]
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for part in [self.method, " ", self.target] {
            hash.update(part);
        }
        let mut last = "";
        for (name, value) in self.end_to_end() {
            if name == last {
                hash.update(", ");
            } else {
                for part in ["\n", name, ": "] {
                    hash.update(part);
                }
                last = name;
            }
            hash.update(value);
        }
        hash.update("\n\n");
        hash.update(self.body);
        hex(&hash.finalize())
    }

    /// A readable description of the request: method, target, headers, length and SHA-256 of the body.
    pub fn description(&self) -> Value {
        let mut headers: BTreeMap<&str, String> = BTreeMap::new();
        for (name, value) in self.end_to_end() {
            let joined = headers.entry(name).or_default();
            if !joined.is_empty() {
                joined.push_str(", ");
            }
            joined.push_str(&String::from_utf8_lossy(value));
        }
        json!({
            "method": self.method,
            "target": self.target,
            "headers": headers,
            "body_bytes": self.body.len(),
            "body_sha256": hex(&Sha256::digest(self.body)),
        })
    }
}

#[inline]
fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|half| char::from(DIGITS[usize::from(half)]))
        .collect()
}

/// The canonical form of a request that has not been sent yet, with its placeholders.
pub(crate) fn canonical(request: &Request) -> Template {
    let mut headers: BTreeMap<String, Vec<&Template>> = BTreeMap::new();
    for header in &request.headers {
        let name = header.name.to_ascii_lowercase();
        if is_end_to_end(&name) {
            headers.entry(name).or_default().push(&header.value);
        }
    }
    let mut form = Builder::default();
    form.literal(request.method.as_bytes());
    form.literal(b" ");
    form.template(&request.path);
    form.literal(b"\n");
    for (name, values) in headers {
        form.literal(name.as_bytes());
        form.literal(b": ");
        for (place, value) in values.into_iter().enumerate() {
            if place > 0 {
                form.literal(b", ");
            }
            form.template(value);
        }
        form.literal(b"\n");
    }
    form.literal(b"\n");
    match &request.body {
        Body::None => {}
        Body::Bytes(body) => form.template(body),
        Body::Messages(messages) => form.literal(&messages.framed()),
        Body::Generated(generated) => {
            form.literal(&generated.filler());
            form.template(&generated.end);
        }
    }
    form.build()
}

/// The description of a request that has not been sent yet, which has no placeholders.
pub(crate) fn description(request: &Request) -> Value {
    use crate::contract::template::constant;
    let owned: Vec<(String, Vec<u8>)> = request
        .headers
        .iter()
        .map(|header| (header.name.to_ascii_lowercase(), constant(&header.value)))
        .collect();
    let headers: Vec<(&str, &[u8])> = owned
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_slice()))
        .collect();
    let target = String::from_utf8_lossy(&constant(&request.path)).into_owned();
    let body = request.body.render(|_, _| {}).unwrap_or_default();
    ReceivedRequest {
        method: &request.method,
        target: &target,
        headers: &headers,
        body: &body,
    }
    .description()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::template::constant;
    use prony_load::Header;

    #[test]
    fn headers_that_a_proxy_may_change_are_ignored() {
        let sent = Request {
            method: "POST".into(),
            path: Template::literal("/a%20b?x=1"),
            headers: vec![
                Header {
                    name: "X-Two".into(),
                    value: Template::literal("1"),
                },
                Header {
                    name: "Accept".into(),
                    value: Template::literal("*/*"),
                },
                Header {
                    name: "x-two".into(),
                    value: Template::literal("2"),
                },
            ],
            body: Body::Bytes(Template::literal("body")),
        };
        let received = ReceivedRequest {
            method: "POST",
            target: "/a%20b?x=1",
            headers: &[
                ("host", b"backend"),
                ("via", b"1.1 relay"),
                ("x-forwarded-for", b"127.0.0.1"),
                ("connection", b"keep-alive, X-Hop"),
                ("x-hop", b"gone"),
                ("accept", b"*/*"),
                ("x-two", b"1, 2"),
                ("transfer-encoding", b"chunked"),
            ],
            body: b"body",
        };
        let form = constant(&canonical(&sent));
        assert_eq!(
            String::from_utf8_lossy(&form),
            "POST /a%20b?x=1\naccept: */*\nx-two: 1, 2\n\nbody"
        );
        assert_eq!(received.digest(), hex(&Sha256::digest(&form)));
        assert_eq!(received.description(), description(&sent));
        let changed = ReceivedRequest {
            body: b"bode",
            ..received
        };
        assert_ne!(changed.digest(), received.digest());
    }
}
