//! Parses URLs that users give. What is shown of a URL has neither its password nor the secrets of its query.

use prony_load::secrets::{MASK, mask_path};
use prony_load::{ConnectOptions, Credentials, Target, Tls, TlsChoices};
use std::borrow::Cow;
use url::{Host, Url};

/// An error in a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Not a URL.
    #[error("invalid URL `{url}` ({reason}) → Example: http://127.0.0.1:8080/path")]
    NoUrl {
        /// The URL, without its secrets.
        url: String,
        reason: String,
    },
    /// Another protocol.
    #[error("`{url}`: prony supports {spoken} here, not {scheme}")]
    Scheme {
        /// The URL, without its secrets.
        url: String,
        scheme: String,
        /// The supported schemes.
        spoken: &'static str,
    },
    #[error("`{url}`: a fragment (`#{fragment}`) is never sent to a server → Remove it.")]
    Fragment {
        /// The URL, without its secrets.
        url: String,
        fragment: String,
    },
}

/// The protocol of a URL, by its scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UrlScheme {
    Http,
    WebSocket,
}

/// The URL with its scheme: one that was typed without any, as in `localhost:8080/x`, means http.
pub fn with_scheme(url: &str) -> Cow<'_, str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.');
    match url.split_once("://") {
        Some((scheme, _)) if scheme.chars().all(is_part) => Cow::Borrowed(url),
        _ => Cow::Owned(format!("http://{url}")),
    }
}

/// Splits the URL of an HTTP server into the address for the connection, and the path with its query, as written.
pub fn parse(url: &str, insecure: bool) -> Result<(Target, String), TargetError> {
    take_apart(url, insecure, UrlScheme::Http)
}

/// The same for the URL of a WebSocket.
pub fn parse_web_socket(url: &str, insecure: bool) -> Result<(Target, String), TargetError> {
    take_apart(url, insecure, UrlScheme::WebSocket)
}

/// Whether a URL has a scheme of WebSockets.
pub fn is_web_socket(url: &str) -> bool {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    ["ws", "wss"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
}

fn take_apart(url: &str, insecure: bool, spoken: UrlScheme) -> Result<(Target, String), TargetError> {
    let with_scheme = with_scheme(url);
    let url = with_scheme.as_ref();
    let owned = || shown(url);
    // A password with a `/` or a `#` in it would not be recognized as one.
    let no_url = |reason: String| TargetError::NoUrl {
        url: match (url.find("://"), url.rfind('@')) {
            (Some(scheme), Some(at)) if scheme < at => format!("{}://{MASK}{}", &url[..scheme], &url[at..]),
            _ => owned(),
        },
        reason,
    };
    // Placeholders of templates are not valid in a URL; the part before the path has none.
    let (authority, path) = split(url).ok_or_else(|| no_url("there is no `://`".to_owned()))?;
    let parsed = Url::parse(authority).map_err(|error| no_url(error.to_string()))?;
    let tls = match (spoken, parsed.scheme()) {
        (UrlScheme::Http, "http") | (UrlScheme::WebSocket, "ws") => false,
        (UrlScheme::Http, "https") | (UrlScheme::WebSocket, "wss") => true,
        (_, scheme) => {
            return Err(TargetError::Scheme {
                url: owned(),
                scheme: scheme.to_owned(),
                spoken: match spoken {
                    UrlScheme::Http => "http and https",
                    UrlScheme::WebSocket => "ws and wss",
                },
            });
        }
    };
    if let Some((_, fragment)) = url.split_once('#') {
        return Err(TargetError::Fragment {
            url: owned(),
            fragment: fragment.to_owned(),
        });
    }
    let host = parsed
        .host()
        .ok_or_else(|| no_url("there is no host".to_owned()))?;
    let port = parsed
        .port_or_known_default()
        .ok_or_else(|| no_url("there is no port".to_owned()))?;
    let name = match &host {
        Host::Domain(name) => (*name).to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    };
    let authority = match parsed.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_string(),
    };
    let target = Target {
        url: owned(),
        tls: tls.then(|| Tls {
            server_name: name.clone(),
            insecure,
            cacert: None,
            choices: TlsChoices::default(),
        }),
        host: name,
        port,
        authority,
        connect: ConnectOptions::default(),
        credentials: Credentials::of_url(parsed.username(), parsed.password()),
    };
    Ok((target, path))
}

/// A URL without its password and the secrets in its query.
pub fn shown(url: &str) -> String {
    let Some((begin, path)) = split(url) else {
        return mask_path(url);
    };
    let rest = &url[begin.len()..];
    let (scheme, authority) = begin.split_at(begin.find("://").map_or(0, |at| at + 3));
    let authority = match authority.rsplit_once('@') {
        Some((user_info, host)) => match user_info.split(':').next().unwrap_or_default() {
            "" => host.to_owned(),
            user => format!("{user}@{host}"),
        },
        None => authority.to_owned(),
    };
    let fragment = rest.find('#').map_or("", |at| &rest[at..]);
    let path = if rest.starts_with('/') {
        path
    } else {
        path[1..].to_owned()
    };
    format!("{scheme}{authority}{}{fragment}", mask_path(&path))
}

/// The part before the path, and the path with its query.
fn split(url: &str) -> Option<(&str, String)> {
    let begin = url.find("://")? + 3;
    let end = url[begin..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| begin + at);
    let rest = url[end..].split('#').next().unwrap_or_default();
    let path = if rest.starts_with('/') {
        rest.to_owned()
    } else {
        format!("/{rest}")
    };
    Some((&url[..end], path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> (Target, String) {
        parse(url, false).expect("a good URL")
    }

    #[test]
    fn a_url_is_taken_apart() {
        let (http, path) = target("http://example.com:8080/a/b?c=d");
        assert_eq!(
            (http.host.as_str(), http.port, http.authority.as_str()),
            ("example.com", 8080, "example.com:8080")
        );
        assert_eq!((path.as_str(), http.tls), ("/a/b?c=d", None));
        let (https, path) = target("https://example.com");
        assert_eq!(
            (https.port, https.authority.as_str(), path.as_str()),
            (443, "example.com", "/")
        );
        assert_eq!(https.tls.expect("TLS").server_name, "example.com");
        let (six, path) = target("http://[::1]:9000?x");
        assert_eq!(
            (six.host.as_str(), six.authority.as_str(), path.as_str()),
            ("::1", "[::1]:9000", "/?x")
        );
        assert_eq!(target("http://h/{n:range(1,9)}").1, "/{n:range(1,9)}");
    }

    #[test]
    fn a_url_without_a_scheme_means_http() {
        let (plain, path) = target("localhost:8080/x?to=http://other/");
        assert_eq!(
            (plain.url.as_str(), plain.host.as_str(), plain.port, plain.tls),
            (
                "http://localhost:8080/x?to=http://other/",
                "localhost",
                8080,
                None
            )
        );
        assert_eq!(path, "/x?to=http://other/");
        let (six, _) = target("[::1]:9000");
        assert_eq!((six.host.as_str(), six.port), ("::1", 9000));
        let (named, _) = target("me:secret@h:81/x");
        assert_eq!((named.url.as_str(), named.port), ("http://me@h:81/x", 81));
        assert_eq!(target("example.com").0.port, 80);
    }

    #[test]
    fn the_url_of_a_web_socket_has_a_scheme_of_its_own() {
        let (plain, path) = parse_web_socket("ws://h/chat?a=b", false).expect("a good URL");
        assert_eq!((plain.port, plain.tls, path.as_str()), (80, None, "/chat?a=b"));
        let (sealed, path) = parse_web_socket("WSS://h", true).expect("a good URL");
        assert_eq!((sealed.port, path.as_str()), (443, "/"));
        assert!(sealed.tls.expect("TLS").insecure);
        for (url, is) in [
            ("ws://h", true),
            ("WSS://h", true),
            ("http://ws://", false),
            ("ws:h", false),
        ] {
            assert_eq!(is_web_socket(url), is, "{url}");
        }
        assert!(parse_web_socket("http://h/", false).is_err());
        let error = parse("ws://h/", false).expect_err("no HTTP").to_string();
        assert!(error.contains("http and https here, not ws"), "{error}");
    }

    #[test]
    fn name_and_password_of_a_url_are_sent_and_not_shown() {
        let (target, path) = target("https://me:p%40ss@h:8443/a?token=t-1&page=2");
        let credentials = target.credentials.as_ref().expect("credentials");
        assert_eq!(
            (credentials.user.as_str(), credentials.password.as_str()),
            ("me", "p@ss")
        );
        assert_eq!(target.url, "https://me@h:8443/a?token=***&page=2");
        assert_eq!(
            (target.authority.as_str(), path.as_str()),
            ("h:8443", "/a?token=t-1&page=2")
        );
        assert!(!format!("{target:?}").contains("p@ss"));
        for (url, text) in [
            ("http://h", "http://h"),
            ("http://h?a=b", "http://h?a=b"),
            ("http://:p@h/x#y", "http://h/x#y"),
            ("h/x?key=1", "h/x?key=***"),
        ] {
            assert_eq!(shown(url), text);
        }
    }

    #[test]
    fn an_error_does_not_show_a_password() {
        for url in [
            "ftp://me:PASSW@h/",
            "http://me:PASSW@h/#top",
            "http://me:PASSW/2@h/",
            "http://me:PASSW#2@h/",
            "http://h:99999/?key=PASSW",
            "http://me:PASSW@h:99999/",
        ] {
            let error = parse(url, false).expect_err("a bad URL").to_string();
            assert!(!error.contains("PASSW"), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_sent_is_told() {
        let error_of = |url: &str| parse(url, false).expect_err("a bad URL").to_string();
        assert!(error_of("").contains("invalid URL"));
        assert!(error_of("/x").contains("invalid URL"));
        assert!(error_of("two words").contains("invalid URL"));
        assert!(error_of("ftp://h/").contains("not ftp"));
        assert!(error_of("http://h/#top").contains("`#top`"));
        assert!(error_of("http://").contains("invalid URL"));
        assert!(error_of("http://h:99999/").contains("port"));
        assert!(error_of("http://[::1/").contains("invalid URL"));
    }
}
