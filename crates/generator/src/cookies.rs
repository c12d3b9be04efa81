//! The cookies of one virtual user (RFC 6265), for a client that talks to one host: names, paths, expiry and `Secure`.

use std::time::{Duration, SystemTime};

/// Most cookies of a jar; the oldest makes room.
const MOST: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    path: Vec<u8>,
    /// `None`: with the jar.
    expires: Option<SystemTime>,
}

/// The cookies that a virtual user keeps.
#[derive(Debug, Clone, Default)]
pub(crate) struct CookieJar(Vec<Cookie>);

impl CookieJar {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes a `Set-Cookie` of a reply to a request for this path.
    pub(crate) fn store(&mut self, header: &[u8], request_path: &[u8], is_secure: bool, now: SystemTime) {
        let mut parts = header.split(|byte| *byte == b';');
        let Some((name, value)) = parts.next().and_then(|pair| pair_of(pair, true)) else {
            return;
        };
        let mut cookie = Cookie {
            name: name.to_vec(),
            value: value.to_vec(),
            path: default_path(request_path).to_vec(),
            expires: None,
        };
        let mut max_age = None;
        for attribute in parts {
            let (key, value) = pair_of(attribute, false).unwrap_or_default();
            let text = || std::str::from_utf8(value).ok();
            if key.eq_ignore_ascii_case(b"path") && value.starts_with(b"/") {
                cookie.path = value.to_vec();
            } else if key.eq_ignore_ascii_case(b"max-age") {
                max_age = text().and_then(|text| text.parse::<i64>().ok());
            } else if key.eq_ignore_ascii_case(b"expires") {
                cookie.expires = text().and_then(|text| httpdate::parse_http_date(text).ok());
            } else if key.eq_ignore_ascii_case(b"secure") && !is_secure {
                return;
            }
        }
        // The age counts more than the date (section 5.3).
        if let Some(seconds) = max_age {
            let age = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
            cookie.expires = Some(now.checked_add(age).unwrap_or(now));
        }
        self.0
            .retain(|known| (&known.name, &known.path) != (&cookie.name, &cookie.path));
        if cookie.expires.is_none_or(|expires| expires > now) {
            if self.0.len() == MOST {
                self.0.remove(0);
            }
            self.0.push(cookie);
        }
    }

    /// Appends the value of `Cookie` for a request for this path; nothing if it has no cookie.
    pub(crate) fn write(&mut self, path: &[u8], now: SystemTime, out: &mut Vec<u8>) {
        self.0
            .retain(|cookie| cookie.expires.is_none_or(|expires| expires > now));
        let path = without_query(path);
        let mut fitting: Vec<&Cookie> = self.0.iter().filter(|cookie| fits(&cookie.path, path)).collect();
        // Those with longer paths come first (section 5.4).
        fitting.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        for cookie in fitting {
            let between: &[u8] = if out.is_empty() { b"" } else { b"; " };
            for part in [between, &cookie.name, b"=", &cookie.value] {
                out.extend_from_slice(part);
            }
        }
    }
}

/// Name and value around `=`. A cookie must have both; an attribute may be a name alone.
fn pair_of(text: &[u8], is_cookie: bool) -> Option<(&[u8], &[u8])> {
    let equals = text.iter().position(|byte| *byte == b'=');
    let (name, value) = match equals {
        Some(at) => (text[..at].trim_ascii(), text[at + 1..].trim_ascii()),
        None if is_cookie => return None,
        None => (text.trim_ascii(), &[][..]),
    };
    let breaks_head = |byte: &u8| byte.is_ascii_control();
    (!name.is_empty() && !text.iter().any(breaks_head)).then_some((name, value))
}

fn without_query(path: &[u8]) -> &[u8] {
    path.split(|byte| *byte == b'?').next().unwrap_or_default()
}

/// The path of a cookie without one: up to the last `/` of the request's (section 5.1.4).
fn default_path(path: &[u8]) -> &[u8] {
    let path = without_query(path);
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) if at > 0 => &path[..at],
        _ => b"/",
    }
}

/// Whether a cookie of this path belongs to a request (section 5.1.4).
fn fits(cookie: &[u8], request: &[u8]) -> bool {
    request
        .strip_prefix(cookie)
        .is_some_and(|rest| rest.is_empty() || cookie.ends_with(b"/") || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
    }

    fn sent(jar: &mut CookieJar, path: &str, after_s: u64) -> String {
        let mut out = Vec::new();
        jar.write(path.as_bytes(), now() + Duration::from_secs(after_s), &mut out);
        String::from_utf8(out).expect("text")
    }

    fn jar(headers: &[&str]) -> CookieJar {
        let mut jar = CookieJar::default();
        for header in headers {
            jar.store(header.as_bytes(), b"/shop/cart?x=/y/z", false, now());
        }
        jar
    }

    #[test]
    fn a_cookie_is_replaced_by_its_name_and_path() {
        let mut jar = jar(&["a=1", "b=2; Path=/", "a=3", "c", "=d", "e=f\x01g"]);
        assert_eq!(sent(&mut jar, "/shop/x", 0), "a=3; b=2");
        jar.clear();
        assert_eq!(sent(&mut jar, "/shop/x", 0), "");
    }

    #[test]
    fn paths_decide_where_a_cookie_is_sent() {
        let mut jar = jar(&["a=1", "b=2; path=/", "c=3; Path=/shop/cart/", "d=4; Path=shop"]);
        assert_eq!(sent(&mut jar, "/shop/cart/1?q", 0), "c=3; a=1; d=4; b=2");
        assert_eq!(sent(&mut jar, "/shop", 0), "a=1; d=4; b=2");
        assert_eq!(sent(&mut jar, "/shopping", 0), "b=2");
    }

    #[test]
    fn cookies_expire_and_are_deleted() {
        let mut timed = jar(&[
            "a=1; Max-Age=10",
            "b=2; Expires=Sun, 09 Sep 2001 01:46:45 GMT",
            "c=3; Max-Age=-1",
        ]);
        assert_eq!(sent(&mut timed, "/shop/", 1), "a=1; b=2");
        assert_eq!(sent(&mut timed, "/shop/", 7), "a=1");
        assert_eq!(sent(&mut timed, "/shop/", 11), "");
        let mut deleted = jar(&["a=1", "a=; Max-Age=0"]);
        assert_eq!(sent(&mut deleted, "/shop/", 0), "");
    }

    #[test]
    fn secure_cookies_need_tls() {
        let mut plain = jar(&["a=1; Secure"]);
        assert_eq!(sent(&mut plain, "/shop/", 0), "");
        plain.store(b"a=1; Secure; HttpOnly", b"/", true, now());
        assert_eq!(sent(&mut plain, "/", 0), "a=1");
    }
}
