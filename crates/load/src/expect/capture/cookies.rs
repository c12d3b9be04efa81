//! Cookies: those that a reply sets, and those that a user stores.

use crate::Reply;

/// The separator between two cookies of a request.
pub(super) const BETWEEN: &[u8] = b"; ";

/// Adds cookies, `a=1; b=2`, to the stored ones; one of the same name is replaced. Cookies that would exceed `most`
/// bytes are dropped.
pub(super) fn store(jar: &mut Vec<u8>, new: &[u8], most: usize) {
    let mut rest = new;
    while !rest.is_empty() {
        let (cookie, after) = first(rest);
        rest = after;
        let name = cookie
            .split_inclusive(|byte| *byte == b'=')
            .next()
            .unwrap_or_default();
        remove(jar, name);
        if jar.len() + BETWEEN.len() + cookie.len() <= most {
            if !jar.is_empty() {
                jar.extend_from_slice(BETWEEN);
            }
            jar.extend_from_slice(cookie);
        }
    }
}

fn first(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memmem::find(text, BETWEEN) {
        Some(at) => (&text[..at], &text[at + BETWEEN.len()..]),
        None => (text, &[]),
    }
}

/// Removes the cookie that starts with this name and `=`.
fn remove(jar: &mut Vec<u8>, name: &[u8]) {
    let mut at = 0;
    while at < jar.len() {
        let length = first(&jar[at..]).0.len();
        if jar[at..].starts_with(name) {
            let end = jar.len().min(at + length + BETWEEN.len());
            jar.drain(at..end);
            if at == jar.len() {
                jar.truncate(at.saturating_sub(BETWEEN.len()));
            }
            return;
        }
        at += length + BETWEEN.len();
    }
}

/// Names and values of the cookies that a reply sets (RFC 6265, section 5.2). A cookie that contains a space is
/// skipped.
pub(super) fn cookies<'a>(reply: &Reply<'a>) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
    let set = |key: &[u8]| key.eq_ignore_ascii_case(b"set-cookie");
    let headers = reply.headers.iter().filter(move |(key, _)| set(key));
    headers.filter_map(|(_, value)| {
        let pair = value.split(|byte| *byte == b';').next()?;
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii());
        (!name.is_empty() && !value.contains(&b' ')).then_some((name, value))
    })
}
