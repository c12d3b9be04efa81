//! The head of a reply: status line and header fields.

use crate::request_rules::is_token;
use memchr::memmem;

/// Properties of the reply that its head determines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParsedHead {
    pub(crate) status: u16,
    pub(crate) length: Length,
    /// The server closes the connection after this reply.
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

/// Finds the end of the head at the start of `bytes`, searching from `from`.
pub(crate) fn end(bytes: &[u8], from: usize) -> Option<usize> {
    memmem::find(&bytes[from..], END).map(|at| from + at + END.len())
}

/// Checks whether incomplete bytes can still become a head, so that the client does not wait for a peer that speaks
/// another protocol or ends lines with a bare LF. Bytes before `from` were checked earlier.
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

/// Joins folded header lines, if there are any: white space around a fold becomes one space (RFC 9112, section 5.2).
/// White space before the first field is not a fold; [`parse`] rejects it.
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

/// Parses a whole head, including its end mark, and passes each field to `field`.
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
            return Err(
                "the reply has both Content-Length and Transfer-Encoding, so its length is ambiguous",
            );
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
        let at = memchr::memchr2(b'\n', b'\r', bytes).ok_or("a line of the head does not end")?;
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
        return Err("a header field name is not a token");
    }
    let value = line[colon + 1..].trim_ascii();
    if value.contains(&0) {
        return Err("a header field value contains NUL");
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
    /// Records the fields that decide where the reply ends and whether the connection stays open.
    fn note(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        match name.len() {
            10 if name.eq_ignore_ascii_case(b"connection") => {
                for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                    self.close |= option.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                // A length that is repeated, in one field or in several, counts once (RFC 9112, section 6.3).
                for length in value.split(|&byte| byte == b',') {
                    let length = decimal(length.trim_ascii()).ok_or("Content-Length is not a number")?;
                    if self.length.replace(length).is_some_and(|known| known != length) {
                        return Err("Content-Length has two different values");
                    }
                }
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err("a Transfer-Encoding other than chunked, which was not requested");
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

/// Cache of parsed heads. A server sends the same head again and again until its Date changes, and comparing the bytes
/// is several times faster than parsing them.
#[derive(Debug, Default)]
pub(super) struct Heads {
    known: [Option<(Vec<u8>, ParsedHead)>; 4],
    last_hit: usize,
    next_victim: usize,
}

impl Heads {
    /// Returns the parsed form and the length of the head at the start of `bytes`, if it is cached.
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
