//! How curl reads and sends the URL of a command.

use super::CurlError;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// All but the unreserved characters of RFC 3986, section 2.3.
pub(super) const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The longest URL in which patterns are searched, bytes: servers accept none that are longer.
const LONGEST_PATTERN: usize = 16 << 10;

/// A URL without its user information, which it sends as a header.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SentUrl {
    pub(super) url: String,
    /// Name and password as `name:password`.
    pub(super) user: Option<String>,
}

/// How the text of a URL is read.
pub(super) struct UrlOptions<'a> {
    pub(super) default_scheme: &'a str,
    pub(super) keeps_dots: bool,
    /// Whether braces and brackets are text.
    pub(super) has_no_patterns: bool,
    /// What is added to the query.
    pub(super) query: &'a str,
}

/// Reads the text of a URL.
pub(super) fn sent(text: &str, options: &UrlOptions<'_>) -> Result<SentUrl, CurlError> {
    let text = text.trim();
    let text = text.split('#').next().unwrap_or_default();
    if !options.has_no_patterns && text.len() <= LONGEST_PATTERN && is_pattern(text) {
        return Err(CurlError::Pattern(crate::target::shown(text)));
    }
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
        _ => (options.default_scheme, text),
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(end);
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => {
            let user = percent_decode_str(user).decode_utf8_lossy().into_owned();
            let user = if user.contains(':') { user } else { user + ":" };
            (Some(user), host)
        }
        None => (None, authority),
    };
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let path = if options.keeps_dots {
        path.to_owned()
    } else {
        without_dots(path)
    };
    let queries = [query.unwrap_or_default(), options.query];
    let queries: Vec<&str> = queries.into_iter().filter(|query| !query.is_empty()).collect();
    let mark = if query.is_some() || !queries.is_empty() {
        "?"
    } else {
        ""
    };
    let url = format!("{scheme}://{host}{path}{mark}{}", queries.join("&"));
    // Controls and letters beyond ASCII; everything else is sent as it is written.
    let url = utf8_percent_encode(&url, CONTROLS).to_string();
    Ok(SentUrl { url, user })
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
}

/// Whether a URL has a list `{a,b}` or a range `[1-3]`, for which curl sends several requests.
fn is_pattern(url: &str) -> bool {
    let path = url.find("://").map_or(0, |at| at + 3);
    let path = path + url[path..].find(['/', '?']).unwrap_or(0);
    let enclosed = |open: char, close: char| {
        let opens = url[path..].match_indices(open);
        opens.filter_map(move |(at, _)| url[path + at + 1..].split(close).next())
    };
    // A placeholder such as `{n:range(1,9)}` is not one.
    let is_list = |text: &str| text.contains(',') && !text.contains(['(', ':', '"']);
    let is_range = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or_default();
        let is_word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_word(first) && is_word(last.split(':').next().unwrap_or_default())
    };
    enclosed('{', '}').any(is_list) || enclosed('[', ']').any(is_range)
}

/// A path without the segments `.` and `..` (RFC 3986, section 5.2.4).
fn without_dots(path: &str) -> String {
    if !path.contains("/.") {
        return path.to_owned();
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}
