//! Redirects that are followed: where they lead, and with which method.

use url::Url;

/// How a redirected request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectMethod {
    /// With its method and body.
    Same,
    /// As GET, without a body.
    Get,
}

impl RedirectMethod {
    /// The method after a reply with this status; `None` if it is no redirect. As in the Fetch standard, POST becomes GET after 301
    /// and 302, which RFC 9110 allows (sections 15.4.2 and 15.4.3).
    pub(crate) fn after(status: u16, method: &str) -> Option<Self> {
        Some(match (status, method) {
            (303, "GET" | "HEAD") => Self::Same,
            (303, _) | (301 | 302, "POST") => Self::Get,
            (301 | 302 | 307 | 308, _) => Self::Same,
            _ => return None,
        })
    }
}

/// The part of a location to request, if it is of the same origin as the request at `base`; the error is the location.
pub(crate) fn path_at(location: &[u8], origin: &str, base: &[u8]) -> Result<String, String> {
    let location = String::from_utf8_lossy(location);
    let base = format!("{origin}{}", String::from_utf8_lossy(base));
    let resolved = Url::parse(&base).and_then(|base| Ok((base.join(location.trim())?, base)));
    match resolved {
        Ok((found, base)) if found.origin() == base.origin() && found.has_host() => Ok(match found.query() {
            Some(query) => format!("{}?{query}", found.path()),
            None => found.path().to_owned(),
        }),
        _ => Err(location.into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_depends_on_the_status() {
        use RedirectMethod::{Get, Same};
        for (status, method, expected) in [
            (301, "GET", Some(Same)),
            (301, "POST", Some(Get)),
            (302, "PUT", Some(Same)),
            (303, "PUT", Some(Get)),
            (303, "HEAD", Some(Same)),
            (307, "POST", Some(Same)),
            (308, "DELETE", Some(Same)),
            (304, "GET", None),
            (200, "GET", None),
        ] {
            assert_eq!(
                RedirectMethod::after(status, method),
                expected,
                "{status} {method}"
            );
        }
    }

    #[test]
    fn locations_are_resolved_within_their_origin() {
        let path = |location: &str| path_at(location.as_bytes(), "http://h:8080", b"/a/b?c=d");
        for (location, expected) in [
            ("/x?y=1#top", "/x?y=1"),
            ("x", "/a/x"),
            ("../x", "/x"),
            ("?e", "/a/b?e"),
            ("http://H:8080/y z", "/y%20z"),
            ("//h:8080", "/"),
        ] {
            assert_eq!(path(location).as_deref(), Ok(expected), "{location}");
        }
        for other in [
            "https://h:8080/",
            "http://h/",
            "http://i:8080/",
            "mailto:a@b",
            "//i/",
        ] {
            assert_eq!(path(other), Err(other.to_owned()));
        }
    }
}
