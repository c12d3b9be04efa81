//! What a request may hold, whatever protocol carries it.

use crate::protocol::PrepareError;
use prony_load::{Header, Part, Request, Template};

/// Headers that a protocol writes itself, or forbids, with the reason.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reserved {
    pub(super) names: &'static [&'static str],
    pub(super) reason: &'static str,
}

/// Checks all of a request but its body.
pub(super) fn check(request: &Request, reserved: &[Reserved]) -> Result<(), PrepareError> {
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
            path: shown(path),
            reason,
        })
    };
    // `OPTIONS *` asks about the whole server (RFC 9110, section 9.3.7).
    let is_asterisk = method == "OPTIONS" && literals(path).eq([b'*']) && path.is_constant();
    match path.0.first() {
        _ if is_asterisk => {}
        Some(Part::Literal(bytes)) if bytes.as_slice().first() == Some(&b'/') => {}
        // What an earlier reply gave, as a `Location`.
        Some(Part::Value(_)) => {}
        _ => return wrong("it must begin with `/`"),
    }
    if literals(path).any(|byte| byte <= b' ' || byte == 0x7f) {
        return wrong("it holds a space or a control character: write it as %20 and the like");
    }
    if literals(path).any(|byte| byte == b'#') {
        return wrong("a fragment (`#…`) is never sent: leave it out");
    }
    Ok(())
}

fn check_header(header: &Header, reserved: &[Reserved]) -> Result<(), PrepareError> {
    let wrong = |reason| {
        Err(PrepareError::Header {
            name: header.name.clone(),
            reason,
        })
    };
    if header.name.is_empty() || !header.name.bytes().all(is_token) {
        return wrong("a name is made of letters, digits and `-`");
    }
    for Reserved { names, reason } in reserved {
        if names.iter().any(|name| header.name.eq_ignore_ascii_case(name)) {
            return wrong(reason);
        }
    }
    if literals(&header.value).any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) {
        return wrong("its value holds a control character");
    }
    Ok(())
}

fn literals(template: &Template) -> impl Iterator<Item = u8> + '_ {
    template.0.iter().flat_map(|part| match part {
        Part::Literal(bytes) => bytes.as_slice().iter().copied(),
        Part::Value(_) => [].iter().copied(),
    })
}

fn shown(template: &Template) -> String {
    let mut bytes = Vec::new();
    template.render(&mut bytes, |_, out| out.extend_from_slice("…".as_bytes()));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Characters of a token (RFC 9110, section 5.6.2).
pub(super) const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}
