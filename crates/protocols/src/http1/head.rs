//! The head of a reply: status line and header fields.
//!
//! A head is refused as soon as its bytes can no longer become a valid one, and for the same reason however it is split:
//! [`PartialHead`] checks each incomplete line with the functions that parse the whole head.

use crate::protocol::Version;
use crate::request_rules::is_token;
use memchr::memmem;

/// Longest head of a reply, bytes; far above what servers send; it bounds the memory for garbage.
const MAX_HEAD: usize = 64 * 1024;

const TOO_LONG: &str = "the head is longer than 64 KiB";

/// The meaning of a head for the rest of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParsedHead {
    pub(crate) status: u16,
    pub(crate) version: Version,
    pub(crate) length: Length,
    /// The server closes the connection after this reply.
    pub(crate) closes: bool,
}

/// Where the body ends (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Fixed(u64),
    Chunked,
    UntilClose,
}

const END: &[u8] = b"\r\n\r\n";

/// Length of the head at the start of `bytes`; `None`: it is incomplete.
pub(crate) fn end(bytes: &[u8]) -> Result<Option<usize>, &'static str> {
    match memmem::find(bytes, END).map(|at| at + END.len()) {
        Some(length) if length > MAX_HEAD => Err(TOO_LONG),
        length => Ok(length),
    }
}

/// A longer line is checked once it is complete: checking it at each byte would take quadratic time.
const CHECKED_IN_PIECES: usize = 256;

/// A head received in pieces.
#[derive(Debug, Default)]
pub(crate) struct PartialHead {
    bytes: Vec<u8>,
    /// Start of the first incomplete line.
    line: usize,
    /// Whether the bytes arrived before the request.
    arrived_idle: bool,
}

impl PartialHead {
    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The head, once [`PartialHead::push`] has returned its length.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.line = 0;
    }

    /// Starts or continues parsing. Returns whether these are the first bytes of the reply.
    pub(crate) fn begin(&mut self) -> bool {
        std::mem::take(&mut self.arrived_idle) || self.is_empty()
    }

    /// Stores bytes that arrive while no request is in flight: as many as it takes to recognise a notice.
    pub(crate) fn push_while_idle(&mut self, bytes: &[u8]) -> &[u8] {
        let room = REQUEST_TIMEOUT_LENGTH.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..room.min(bytes.len())]);
        self.arrived_idle = true;
        &self.bytes
    }

    /// Appends the next piece. Returns the number of its bytes that belong to the head; `None`: the head is incomplete.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<Option<usize>, &'static str> {
        let earlier = self.bytes.len();
        let room = piece.len().min(MAX_HEAD + 1 - earlier);
        self.bytes.extend_from_slice(&piece[..room]);
        // The end mark may lie across the pieces.
        let searched = earlier.saturating_sub(END.len() - 1);
        if let Some(at) = memmem::find(&self.bytes[searched..], END) {
            let length = searched + at + END.len();
            if length > MAX_HEAD {
                return Err(TOO_LONG);
            }
            self.bytes.truncate(length);
            return Ok(Some(length - earlier));
        }
        self.check()?;
        if self.bytes.len() > MAX_HEAD {
            return Err(TOO_LONG);
        }
        Ok(None)
    }

    /// Rejects bytes that can no longer become a head.
    fn check(&mut self) -> Result<(), &'static str> {
        loop {
            let mut lines = HeadLines(&self.bytes[self.line..]);
            let (content, is_whole) = lines.content();
            if !is_whole && content.len() > CHECKED_IN_PIECES {
                return Ok(());
            }
            if self.line == 0 {
                status_line(content, is_whole)?;
            } else if content.first().copied().is_some_and(is_space) {
                let status_line = memchr::memchr(b'\n', &self.bytes);
                if status_line.is_some_and(|at| at + 1 == self.line) {
                    return Err(NOTHING_TO_CONTINUE);
                }
                check_value(content)?;
            } else if is_whole && !content.is_empty() {
                split(content)?;
            } else {
                split_partial(content)?;
            }
            if !lines.end_line()? {
                return Ok(());
            }
            self.line = self.bytes.len() - lines.0.len();
        }
    }
}

/// Number of bytes that show whether a reply is a notice that the server closes an idle connection.
pub(crate) const REQUEST_TIMEOUT_LENGTH: usize = 12;

/// Whether these bytes may be the start of such a notice.
pub(crate) fn may_be_request_timeout(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(REQUEST_TIMEOUT_LENGTH)];
    b"HTTP/1.1 408".starts_with(start) || b"HTTP/1.0 408".starts_with(start)
}

/// Joins folded header lines, if there are any: white space around a fold becomes one space (RFC 9112, section 5.2).
/// White space before the first field is not a fold; [`parse`] rejects it.
pub(crate) fn unfolded(bytes: &[u8]) -> Option<Vec<u8>> {
    let folds = |at: &usize| bytes[at - 1] == b'\r' && bytes.get(at + 1).copied().is_some_and(is_space);
    let mut line_ends = memchr::memchr_iter(b'\n', bytes).skip(1).filter(folds).peekable();
    line_ends.peek()?;
    let mut head = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    for at in line_ends {
        head.extend_from_slice(&bytes[copied..at - 1]);
        while head.pop_if(|byte| is_space(*byte)).is_some() {}
        head.push(b' ');
        copied = at + 1 + bytes[at + 1..].iter().take_while(|byte| is_space(**byte)).count();
    }
    head.extend_from_slice(&bytes[copied..]);
    Some(head)
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// A value without the white space around it (RFC 9110, section 5.6.3).
pub(crate) fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Parses a whole head, its end mark included. Gives each field to `field`.
pub(crate) fn parse<'a>(
    bytes: &'a [u8],
    mut field: impl FnMut(&'a [u8], &'a [u8]),
) -> Result<ParsedHead, &'static str> {
    let mut lines = HeadLines(&bytes[..bytes.len() - 2]);
    let (minor, status) = status_line(lines.content().0, true)?;
    lines.end_line()?;
    let mut fields = Fields::default();
    while !lines.0.is_empty() {
        let (content, _) = lines.content();
        if !content.is_empty() {
            let (name, value) = split(content)?;
            fields.note(name, value);
            field(name, value);
        }
        lines.end_line()?;
    }
    let length = fields.length(minor)?;
    Ok(ParsedHead {
        status,
        version: if minor == 0 {
            Version::Http10
        } else {
            Version::Http11
        },
        length,
        closes: fields.close || (minor == 0 && !fields.keep_alive),
    })
}

struct HeadLines<'a>(&'a [u8]);

impl<'a> HeadLines<'a> {
    /// The next line without its end, and whether its end is there.
    fn content(&self) -> (&'a [u8], bool) {
        let end = memchr::memchr2(b'\n', b'\r', self.0);
        (&self.0[..end.unwrap_or(self.0.len())], end.is_some())
    }

    /// Goes on to the next line. Gives whether the end of this one is there.
    fn end_line(&mut self) -> Result<bool, &'static str> {
        let length = self.content().0.len();
        match self.0[length..] {
            [b'\n', ..] => Err("a line of the head ends with a bare LF instead of CR LF"),
            [] | [b'\r'] => Ok(false),
            [_, b'\n', ..] => {
                self.0 = &self.0[length + 2..];
                Ok(true)
            }
            _ => Err("a line of the head holds a CR that is not followed by LF"),
        }
    }
}

/// Reads the status line, or what of it has come: HTTP/1.x SP ddd, then nothing or SP and a reason (RFC 9112, section 4).
fn status_line(line: &[u8], is_whole: bool) -> Result<(u8, u16), &'static str> {
    const START: &[u8] = b"HTTP/1.";
    let common = line.len().min(START.len());
    if line[..common] != START[..common] || (is_whole && common < START.len()) {
        return Err("the reply does not begin with HTTP/1.");
    }
    let fits = |(at, &byte): (usize, &u8)| match at {
        7 | 10 | 11 => byte.is_ascii_digit(),
        9 => matches!(byte, b'1'..=b'9'),
        8 | 12 => byte == b' ',
        _ => byte == b'\t' || !byte.is_ascii_control(),
    };
    let is_right = line.iter().enumerate().skip(START.len()).all(fits);
    if !is_right || (is_whole && line.len() < 12) {
        return Err("the status line is not `HTTP/1.x ddd reason`");
    }
    let digit = |at: usize| line.get(at).map_or(0, |byte| byte - b'0');
    let status = u16::from(digit(9)) * 100 + u16::from(digit(10)) * 10 + u16::from(digit(11));
    Ok((digit(7), status))
}

const NOTHING_TO_CONTINUE: &str =
    "the line after the status line begins with white space: there is no field that it continues";

/// Name and value.
type Field<'a> = (&'a [u8], &'a [u8]);

/// A whole field line as name and value (RFC 9112, section 5).
pub(crate) fn split(line: &[u8]) -> Result<Field<'_>, &'static str> {
    match split_partial(line)? {
        Some(field) => Ok(field),
        None => Err("a header field has no colon"),
    }
}

/// The same for an incomplete line; `None`: its name is incomplete.
fn split_partial(line: &[u8]) -> Result<Option<Field<'_>>, &'static str> {
    let colon = memchr::memchr(b':', line);
    let name = &line[..colon.unwrap_or(line.len())];
    if name.first().copied().is_some_and(is_space) {
        return Err(NOTHING_TO_CONTINUE);
    }
    if (name.is_empty() && colon.is_some()) || !name.iter().all(|&byte| is_token(byte)) {
        return Err("a header field's name is no token");
    }
    let Some(colon) = colon else { return Ok(None) };
    let value = &line[colon + 1..];
    check_value(value)?;
    Ok(Some((name, trimmed(value))))
}

/// NUL is refused, other control characters are not (RFC 9110, section 5.5).
fn check_value(value: &[u8]) -> Result<(), &'static str> {
    if memchr::memchr(0, value).is_some() {
        return Err("a header field's value holds NUL");
    }
    Ok(())
}

/// The fields that frame the reply and decide whether the connection persists.
#[derive(Default)]
struct Fields {
    length: Option<u64>,
    codings: Codings,
    close: bool,
    keep_alive: bool,
    fault: Option<&'static str>,
}

/// The transfer codings of a body.
#[derive(Default, PartialEq, Eq)]
enum Codings {
    #[default]
    None,
    Chunked,
    Others,
}

impl Fields {
    fn note(&mut self, name: &[u8], value: &[u8]) {
        match name.len() {
            10 if name.eq_ignore_ascii_case(b"connection") => {
                for option in value.split(|&byte| byte == b',').map(trimmed) {
                    self.close |= option.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                if let Err(reason) = note_length(&mut self.length, value) {
                    self.fault.get_or_insert(reason);
                }
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.note_codings(value),
            _ => {}
        }
    }

    fn note_codings(&mut self, value: &[u8]) {
        let before = std::mem::take(&mut self.codings);
        // Empty members of a list mean nothing (RFC 9110, section 5.6.1).
        let all = value.split(|&byte| byte == b',').map(trimmed);
        let mut codings = all.filter(|coding| !coding.is_empty());
        let first = codings.next();
        let is_chunked = first.is_some_and(|coding| coding.eq_ignore_ascii_case(b"chunked"));
        self.codings = if before == Codings::None && is_chunked && codings.next().is_none() {
            Codings::Chunked
        } else {
            Codings::Others
        };
    }

    /// How the body ends, as far as the fields say (RFC 9112, section 6.3).
    fn length(&self, minor: u8) -> Result<Length, &'static str> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        match (self.length, &self.codings) {
            (_, Codings::Others) => {
                Err("a Transfer-Encoding other than chunked, once: nothing else was asked for")
            }
            (Some(_), Codings::Chunked) => {
                Err("both Content-Length and Transfer-Encoding: the end of the body is ambiguous")
            }
            (None, Codings::Chunked) if minor == 0 => Err("Transfer-Encoding in an HTTP/1.0 reply"),
            (None, Codings::Chunked) => Ok(Length::Chunked),
            (Some(length), Codings::None) => Ok(Length::Fixed(length)),
            (None, Codings::None) => Ok(Length::UntilClose),
        }
    }
}

/// Takes a value of `Content-Length`. The same length more than once, in one field or in several, is one length (RFC 9110,
/// section 8.6).
pub(crate) fn note_length(known: &mut Option<u64>, value: &[u8]) -> Result<(), &'static str> {
    for length in value.split(|&byte| byte == b',') {
        let length = decimal(trimmed(length)).ok_or("Content-Length is not a number")?;
        if known.replace(length).is_some_and(|known| known != length) {
            return Err("two different values of Content-Length");
        }
    }
    Ok(())
}

/// A number of digits alone: no sign, no space.
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

/// Cache of parsed heads. A server sends the same head again and again until its Date changes, and comparing the bytes
/// is several times faster than parsing them.
#[derive(Debug, Default)]
pub(super) struct HeadCache {
    entries: [Option<(Vec<u8>, ParsedHead)>; 4],
    last_hit: usize,
    next_victim: usize,
}

impl HeadCache {
    /// Returns the parsed form and the length of the head at the start of `bytes`, if it is cached.
    pub(super) fn get(&mut self, bytes: &[u8]) -> Option<(ParsedHead, usize)> {
        let count = self.entries.len();
        for step in 0..count {
            let index = (self.last_hit + step) % count;
            if let Some((head, meaning)) = &self.entries[index]
                && bytes.starts_with(head)
            {
                self.last_hit = index;
                return Some((*meaning, head.len()));
            }
        }
        None
    }

    pub(super) fn insert(&mut self, head: &[u8], meaning: ParsedHead) {
        let index = self.next_victim;
        self.next_victim = (index + 1) % self.entries.len();
        self.last_hit = index;
        match &mut self.entries[index] {
            Some((bytes, old)) => {
                bytes.clear();
                bytes.extend_from_slice(head);
                *old = meaning;
            }
            empty => *empty = Some((head.to_vec(), meaning)),
        }
    }
}
