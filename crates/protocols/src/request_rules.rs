//! Rules for requests that hold for every protocol.

use crate::protocol::PrepareError;
use prony_load::{Header, Part, Request, Template};

/// Headers that a protocol writes itself or forbids, with the reason.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReservedHeaders {
    pub(super) names: &'static [&'static str],
    pub(super) reason: &'static str,
}

/// Checks everything in a request except its body.
pub(super) fn check(request: &Request, reserved: &[ReservedHeaders]) -> Result<(), PrepareError> {
    let method = request.method.as_str();
    if method.is_empty() || !method.bytes().all(is_token) || method == "CONNECT" {
        return Err(PrepareError::Method(method.to_owned()));
    }
    check_path(method, &request.path)?;
    request
        .headers
        .iter()
        .try_for_each(|header| check_header(header, reserved))
}

fn check_path(method: &str, path: &Template) -> Result<(), PrepareError> {
    let wrong = |reason| {
        Err(PrepareError::Path {
            path: placeholder_text(path),
            reason,
        })
    };
    // `OPTIONS *` addresses the whole server (RFC 9110, section 9.3.7).
    let is_asterisk = method == "OPTIONS" && literals(path).eq([b'*']) && path.is_constant();
    match path.0.first() {
        _ if is_asterisk => {}
        Some(Part::Literal(bytes)) if bytes.as_slice().first() == Some(&b'/') => {}
        // A value captured from an earlier reply, such as `Location`.
        Some(Part::Value(_)) => {}
        _ => return wrong("it must begin with `/`"),
    }
    if literals(path).any(|byte| byte <= b' ' || byte == 0x7f) {
        return wrong("it contains a space or a control character: percent-encode it (a space is %20)");
    }
    if literals(path).any(|byte| byte == b'#') {
        return wrong("a fragment (`#…`) is never sent: leave it out");
    }
    Ok(())
}

fn check_header(header: &Header, reserved: &[ReservedHeaders]) -> Result<(), PrepareError> {
    let wrong = |reason| {
        Err(PrepareError::Header {
            name: header.name.clone(),
            reason,
        })
    };
    if header.name.is_empty() || !header.name.bytes().all(is_token) {
        return wrong("a name consists of letters, digits and `-`");
    }
    for ReservedHeaders { names, reason } in reserved {
        if names.iter().any(|name| header.name.eq_ignore_ascii_case(name)) {
            return wrong(reason);
        }
    }
    if literals(&header.value).any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) {
        return wrong("its value contains a control character");
    }
    Ok(())
}

fn literals(template: &Template) -> impl Iterator<Item = u8> + '_ {
    template.0.iter().flat_map(|part| match part {
        Part::Literal(bytes) => bytes.as_slice().iter().copied(),
        _ => [].iter().copied(),
    })
}

/// The text of a template for display, with `…` for each placeholder.
pub(super) fn placeholder_text(template: &Template) -> String {
    let parts = template.0.iter().map(|part| match part {
        Part::Literal(bytes) => String::from_utf8_lossy(bytes.as_slice()),
        _ => "…".into(),
    });
    parts.collect()
}

/// Characters of a token (RFC 9110, section 5.6.2).
pub(super) const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}
