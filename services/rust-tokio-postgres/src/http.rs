//! As much of HTTP/1.1 as the contracts need.

use std::borrow::Cow;

use httparse::Status;

const LONGEST_HEAD: usize = 16 << 10;
const LONGEST_BODY: usize = 1 << 20;
const MOST_HEADERS: usize = 128;

pub const MALFORMED: &str = "400 Bad Request";
const TOO_LARGE: &str = "413 Content Too Large";
const HEAD_TOO_LARGE: &str = "431 Request Header Fields Too Large";
const UNKNOWN_CODING: &str = "501 Not Implemented";
pub const NO_CONTENT: &str = "204 No Content";

/// What the routes look at.
pub struct Request<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub query: &'a str,
    pub if_match: Option<&'a [u8]>,
    pub body: Cow<'a, [u8]>,
    /// Whether the connection ends with the reply.
    pub close: bool,
}

/// What the first bytes of a connection, or those after the last request, are.
pub enum Parsed<'a> {
    /// The beginning of a request.
    Incomplete,
    /// A request, and how many bytes it took.
    Whole(Request<'a>, usize),
    /// Nothing that could be answered: the connection ends with this status.
    Refused(&'static str),
}

pub fn parse(input: &[u8]) -> Parsed<'_> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let head_bytes = match head.parse(input) {
        Ok(Status::Complete(bytes)) if bytes <= LONGEST_HEAD => bytes,
        Ok(Status::Partial) if input.len() <= LONGEST_HEAD => return Parsed::Incomplete,
        Ok(_) | Err(httparse::Error::TooManyHeaders) => return Parsed::Refused(HEAD_TOO_LARGE),
        Err(_) => return Parsed::Refused(MALFORMED),
    };
    let target = head.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method: head.method.unwrap_or_default(),
        path,
        query,
        if_match: None,
        body: Cow::Borrowed(&[]),
        close: head.version == Some(0),
    };
    let delivery = match request.read_headers(head.headers) {
        Ok(delivery) => delivery,
        Err(status) => return Parsed::Refused(status),
    };
    let rest = &input[head_bytes..];
    match delivery {
        Delivery::Length(length) if rest.len() < length => Parsed::Incomplete,
        Delivery::Length(length) => {
            request.body = Cow::Borrowed(&rest[..length]);
            Parsed::Whole(request, head_bytes + length)
        }
        Delivery::Chunked => match unchunk(rest) {
            Ok(None) => Parsed::Incomplete,
            Ok(Some((body, used))) => {
                request.body = Cow::Owned(body);
                Parsed::Whole(request, head_bytes + used)
            }
            Err(status) => Parsed::Refused(status),
        },
    }
}

enum Delivery {
    Length(usize),
    Chunked,
}

impl<'a> Request<'a> {
    /// Keeps what the routes need, and tells how the body is delivered.
    fn read_headers(&mut self, headers: &[httparse::Header<'a>]) -> Result<Delivery, &'static str> {
        let mut delivery = Delivery::Length(0);
        for header in headers {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            let says = |value: &str| header.value.eq_ignore_ascii_case(value.as_bytes());
            match header.name.len() {
                8 if is("If-Match") => self.if_match = Some(header.value),
                10 if is("Connection") => self.close = says("close") || (self.close && !says("keep-alive")),
                14 if is("Content-Length") => {
                    let length = std::str::from_utf8(header.value)
                        .ok()
                        .and_then(|text| text.parse().ok());
                    match length {
                        Some(length) if length <= LONGEST_BODY => delivery = Delivery::Length(length),
                        Some(_) => return Err(TOO_LARGE),
                        None => return Err(MALFORMED),
                    }
                }
                17 if is("Transfer-Encoding") => {
                    if !says("chunked") {
                        return Err(UNKNOWN_CODING);
                    }
                    return Ok(Delivery::Chunked);
                }
                _ => {}
            }
        }
        Ok(delivery)
    }

    /// The first value of a name in the query.
    pub fn parameter(&self, wanted: &str) -> Option<Cow<'a, str>> {
        form_urlencoded::parse(self.query.as_bytes())
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value)
    }
}

/// A body out of its chunks, and how many bytes they were; `None` where more must come.
fn unchunk(input: &[u8]) -> Result<Option<(Vec<u8>, usize)>, &'static str> {
    let mut body = Vec::new();
    let mut used = 0;
    loop {
        let rest = &input[used..];
        let (line, size) = match httparse::parse_chunk_size(rest) {
            Ok(Status::Complete((line, size))) => (line, usize::try_from(size).unwrap_or(usize::MAX)),
            Ok(Status::Partial) => return Ok(None),
            Err(_) => return Err(MALFORMED),
        };
        if size == 0 {
            // Trailers, up to an empty line.
            let end = rest.windows(4).position(|bytes| bytes == b"\r\n\r\n");
            return Ok(end.map(|end| (body, used + end + 4)));
        }
        if size > LONGEST_BODY - body.len() {
            return Err(TOO_LARGE);
        }
        if rest.len() < line + size + 2 {
            return Ok(None);
        }
        body.extend_from_slice(&rest[line..line + size]);
        used += line + size + 2;
    }
}

/// A reply, which is made anew for each request in the same memory.
#[derive(Default)]
pub struct Reply {
    status: &'static str,
    pub kind: &'static str,
    /// Further headers, each with its end of line.
    pub headers: String,
    pub body: String,
    pub close: bool,
    out: Vec<u8>,
}

impl Reply {
    /// Gives the reply a status and no body.
    pub fn begin(&mut self, status: &'static str) {
        self.status = status;
        self.kind = "text/plain";
        self.headers.clear();
        self.body.clear();
    }

    pub fn bytes(&mut self) -> &[u8] {
        let out = &mut self.out;
        out.clear();
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(self.status.as_bytes());
        if self.close {
            out.extend_from_slice(b"\r\nConnection: close");
        }
        if self.status != NO_CONTENT {
            out.extend_from_slice(b"\r\nContent-Type: ");
            out.extend_from_slice(self.kind.as_bytes());
            out.extend_from_slice(b"\r\nContent-Length: ");
            out.extend_from_slice(itoa::Buffer::new().format(self.body.len()).as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(self.headers.as_bytes());
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(self.body.as_bytes());
        out
    }
}
