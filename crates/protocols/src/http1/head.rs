//! The head of a reply: status line and header fields.

use crate::request_rules::is_token;
use memchr::memmem;

/// What the head says about the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParsedHead {
    pub(crate) status: u16,
    pub(crate) length: Length,
    /// The connection ends after this reply.
    pub(crate) closes: bool,
}

/// Where the body ends (RFC 9112 §6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Fixed(u64),
    Chunked,
    UntilClose,
}

const END: &[u8] = b"\r\n\r\n";

/// Where the head that `bytes` begin with ends, looking from `from` on.
pub(crate) fn end(bytes: &[u8], from: usize) -> Option<usize> {
    memmem::find(&bytes[from..], END).map(|at| from + at + END.len())
}

/// Whether bytes without an end mark can become a head at all. A peer that speaks something else, or ends its lines with a
/// bare LF, is not waited for. The bytes before `from` were looked at before.
pub(crate) fn plausible(bytes: &[u8], from: usize) -> Result<(), &'static str> {
    plausible_start(bytes)?;
    for at in memchr::memchr_iter(b'\n', &bytes[from..]).map(|at| from + at) {
        if at == 0 || bytes[at - 1] != b'\r' {
            return Err("a line of the head ends with a bare LF instead of CR LF");
        }
    }
    Ok(())
}

fn plausible_start(bytes: &[u8]) -> Result<(), &'static str> {
    let start = b"HTTP/1.";
    let common = bytes.len().min(start.len());
    if bytes[..common] == start[..common] {
        Ok(())
    } else {
        Err("the reply does not begin with HTTP/1.")
    }
}

/// The head with each folded line in one piece, where it has any: white space around the fold becomes one space (RFC 9112,
/// section 5.2). White space before the first field folds nothing and is left for [`parse`] to refuse.
pub(crate) fn unfolded(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let folds = |at: &usize| bytes.get(at + 1).is_some_and(is_space);
    let mut line_ends = memchr::memchr_iter(b'\n', bytes).skip(1).filter(folds).peekable();
    line_ends.peek()?;
    let mut head = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    for at in line_ends {
        head.extend_from_slice(&bytes[copied..at]);
        head.pop_if(|byte| *byte == b'\r');
        while head.pop_if(|byte| is_space(byte)).is_some() {}
        head.push(b' ');
        copied = at + 1 + bytes[at + 1..].iter().take_while(|byte| is_space(byte)).count();
    }
    head.extend_from_slice(&bytes[copied..]);
    Some(head)
}

/// Parses a whole head, its end mark included. Gives each field to `field`.
pub(crate) fn parse<'a>(
    bytes: &'a [u8],
    mut field: impl FnMut(&'a [u8], &'a [u8]),
) -> Result<ParsedHead, &'static str> {
    plausible_start(bytes)?;
    let mut lines = Lines(&bytes[..bytes.len() - 2]);
    let (minor, status) = status_line(lines.next_line()?)?;
    let mut fields = Fields::default();
    while !lines.0.is_empty() {
        let (name, value) = split(lines.next_line()?)?;
        fields.note(name, value)?;
        field(name, value);
    }
    let length = match (fields.length, fields.chunked) {
        (Some(_), true) => {
            return Err("both Content-Length and Transfer-Encoding: two ways to read one reply");
        }
        (Some(length), false) => Length::Fixed(length),
        (None, true) if minor == 0 => return Err("Transfer-Encoding in an HTTP/1.0 reply"),
        (None, true) => Length::Chunked,
        (None, false) => Length::UntilClose,
    };
    let closes = fields.close || (minor == 0 && !fields.keep_alive);
    Ok(ParsedHead {
        status,
        length,
        closes,
    })
}

struct Lines<'a>(&'a [u8]);

impl<'a> Lines<'a> {
    fn next_line(&mut self) -> Result<&'a [u8], &'static str> {
        let bytes = self.0;
        let at = memchr::memchr2(b'\n', b'\r', bytes).ok_or("a line of the head has no end")?;
        if bytes[at] != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
            return Err("a line of the head does not end with CR LF");
        }
        self.0 = &bytes[at + 2..];
        Ok(&bytes[..at])
    }
}

fn status_line(line: &[u8]) -> Result<(u8, u16), &'static str> {
    // HTTP/1.x SP ddd, then nothing or SP and a reason.
    let wrong = Err("the status line is not `HTTP/1.x ddd reason`");
    if line.len() < 12 || !line[7].is_ascii_digit() || line[8] != b' ' {
        return wrong;
    }
    let code = &line[9..12];
    if !code.iter().all(u8::is_ascii_digit) || line.get(12).is_some_and(|&byte| byte != b' ') {
        return wrong;
    }
    let status = code
        .iter()
        .fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    if status < 100 {
        return wrong;
    }
    Ok((line[7] - b'0', status))
}

fn split(line: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
    let colon = memchr::memchr(b':', line).ok_or("a header field has no colon")?;
    let name = &line[..colon];
    if name.is_empty() || !name.iter().all(|&byte| is_token(byte)) {
        return Err("a header field's name is no token");
    }
    let value = line[colon + 1..].trim_ascii();
    if value.contains(&0) {
        return Err("a header field's value holds NUL");
    }
    Ok((name, value))
}

#[derive(Default)]
struct Fields {
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
}

impl Fields {
    /// Looks at the fields that say where the reply ends and what comes after it.
    fn note(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        match name.len() {
            10 if name.eq_ignore_ascii_case(b"connection") => {
                for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                    self.close |= option.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                // The same length more than once, in one field or in several, is one length (RFC 9112, section 6.3).
                for length in value.split(|&byte| byte == b',') {
                    let length = decimal(length.trim_ascii()).ok_or("Content-Length is no number")?;
                    if self.length.replace(length).is_some_and(|known| known != length) {
                        return Err("two different values of Content-Length");
                    }
                }
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err("a Transfer-Encoding other than chunked, which nobody asked for");
                }
                self.chunked = true;
            }
            _ => {}
        }
        Ok(())
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(
        digits
            .iter()
            .fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')),
    )
}

/// Heads that were parsed before. A server sends the same head again and again (until its Date changes), and the same
/// bytes have the same meaning: comparing them is several times faster than parsing.
#[derive(Debug, Default)]
pub(super) struct Heads {
    known: [Option<(Vec<u8>, ParsedHead)>; 4],
    last_hit: usize,
    next_victim: usize,
}

impl Heads {
    /// The meaning and the length of the head that `bytes` begin with, where it is known.
    pub(super) fn known(&mut self, bytes: &[u8]) -> Option<(ParsedHead, usize)> {
        let count = self.known.len();
        for step in 0..count {
            let place = (self.last_hit + step) % count;
            if let Some((head, meaning)) = &self.known[place]
                && bytes.starts_with(head)
            {
                self.last_hit = place;
                return Some((*meaning, head.len()));
            }
        }
        None
    }

    pub(super) fn learn(&mut self, head: &[u8], meaning: ParsedHead) {
        let place = self.next_victim;
        self.next_victim = (place + 1) % self.known.len();
        self.last_hit = place;
        match &mut self.known[place] {
            Some((bytes, old)) => {
                bytes.clear();
                bytes.extend_from_slice(head);
                *old = meaning;
            }
            empty => *empty = Some((head.to_vec(), meaning)),
        }
    }
}
