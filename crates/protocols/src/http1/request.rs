//! Requests as bytes: adjacent constant parts are merged into one piece.

use crate::protocol::{PrepareError, expects_content};
use crate::request_rules::{self, ReservedHeaders};
use crate::request_values::Values;
use prony_load::{Body, GeneratedBody, Header, Part, Proxy, Request, Target, Template};
use std::io::Write as _;

/// How the body of an HTTP/1.1 request is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFraming {
    /// By its length, unless the body itself is described in chunks.
    Length,
    /// In chunks of this many bytes.
    Chunked(usize),
}

/// A request serialised as far as possible before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Http1Request {
    /// The request line and the headers, except those that frame the body or control the connection.
    front: Vec<RequestPart>,
    /// The rest of the head, and the body if its length is known.
    rest: Vec<RequestPart>,
    /// Whether the request sets `Connection` itself.
    has_connection: bool,
    /// A body whose length is known only once its placeholders are filled.
    body: Option<Vec<RequestPart>>,
    framing: BodyFraming,
    is_head: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RequestPart {
    Bytes(Vec<u8>),
    Value(usize),
    /// A part that is computed.
    Computed(Template),
}

/// Headers that decide where a request ends: only prony may write them.
const RESERVED: [ReservedHeaders; 1] = [ReservedHeaders {
    names: &["content-length", "transfer-encoding", "upgrade"],
    reason: "it decides where the request ends, and prony writes it itself",
}];

/// Tells the server that it may close after the reply (RFC 9112, section 9.6).
const CLOSE: &[u8] = b"Connection: close\r\n";

impl Http1Request {
    pub(super) fn new(request: &Request, target: &Target) -> Result<Self, PrepareError> {
        Self::framed(request, target, BodyFraming::Length)
    }

    /// The same with this framing of the body.
    pub(crate) fn framed(
        request: &Request,
        target: &Target,
        framing: BodyFraming,
    ) -> Result<Self, PrepareError> {
        request_rules::check(request, &RESERVED)?;
        let mut front = RequestParts::default();
        front.text(&request.method);
        front.text(" ");
        // A proxy learns from the request where to send it (RFC 9112, section 3.2.2).
        let proxy = target.connect.proxy.as_ref().filter(|_| target.tls.is_none());
        if proxy.is_some() {
            front.text("http://");
            front.text(&target.authority);
        }
        front.template(&request.path);
        front.text(" HTTP/1.1\r\n");
        if let Some(value) = proxy.and_then(Proxy::authorization) {
            front.text("Proxy-Authorization: ");
            front.text(&value);
            front.text("\r\n");
        }
        if !request
            .headers
            .iter()
            .any(|header| header.name.eq_ignore_ascii_case("host"))
        {
            front.text("Host: ");
            front.text(&target.authority);
            front.text("\r\n");
        }
        if let Some(authorization) = target.authorization(request) {
            front.text("Authorization: ");
            front.text(&authorization);
            front.text("\r\n");
        }
        for Header { name, value } in &request.headers {
            front.text(name);
            front.text(": ");
            front.template(value);
            front.text("\r\n");
        }
        let mut rest = RequestParts::default();
        let body = rest.body(request, framing);
        Ok(Self {
            front: front.0,
            rest: rest.0,
            has_connection: request
                .headers
                .iter()
                .any(|header| header.name.eq_ignore_ascii_case("connection")),
            body,
            framing,
            is_head: request.method == "HEAD",
        })
    }

    pub(super) const fn is_head(&self) -> bool {
        self.is_head
    }

    /// Appends the request. `is_last` tells the server that no other request follows on the connection.
    pub(super) fn render(&self, values: Values<'_>, is_last: bool, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        render(&self.front, values, out);
        if is_last && !self.has_connection {
            out.extend_from_slice(CLOSE);
        }
        render(&self.rest, values, out);
        if let Some(body) = &self.body {
            scratch.clear();
            render(body, values, scratch);
            match self.framing {
                BodyFraming::Length => {
                    write!(out, "Content-Length: {}\r\n\r\n", scratch.len()).expect(TO_MEMORY);
                    out.extend_from_slice(scratch);
                }
                BodyFraming::Chunked(size) => {
                    out.extend_from_slice(CHUNKED);
                    write_chunks(scratch, size, out);
                    out.extend_from_slice(LAST_CHUNK);
                }
            }
        }
    }
}

const TO_MEMORY: &str = "invariant: writing to memory does not fail";
const CHUNKED: &[u8] = b"Transfer-Encoding: chunked\r\n\r\n";
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Appends chunks of at most this size (RFC 9112, section 7.1).
fn write_chunks(bytes: &[u8], size: usize, out: &mut Vec<u8>) {
    for chunk in bytes.chunks(size.max(1)) {
        write!(out, "{:x}\r\n", chunk.len()).expect(TO_MEMORY);
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
}

fn render(pieces: &[RequestPart], values: Values<'_>, out: &mut Vec<u8>) {
    for piece in pieces {
        match piece {
            RequestPart::Bytes(bytes) => out.extend_from_slice(bytes),
            RequestPart::Value(index) => values.append(*index, out),
            RequestPart::Computed(template) => template.render(out, |index, out| values.append(index, out)),
        }
    }
}

#[derive(Default)]
struct RequestParts(Vec<RequestPart>);

impl RequestParts {
    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if let Some(RequestPart::Bytes(last)) = self.0.last_mut() {
            last.extend_from_slice(bytes);
        } else {
            self.0.push(RequestPart::Bytes(bytes.to_vec()));
        }
    }

    /// The body with the end of the head before it. Gives a body whose length is known only once its places are filled,
    /// instead.
    fn body(&mut self, request: &Request, framing: BodyFraming) -> Option<Vec<RequestPart>> {
        match &request.body {
            Body::None if expects_content(&request.method) => self.text("Content-Length: 0\r\n\r\n"),
            // Messages of gRPC were refused before.
            Body::None | Body::Messages(_) => self.text("\r\n"),
            Body::Generated(generated) => self.generated(generated, framing),
            Body::Bytes(template) if template.is_constant() => {
                let mut bytes = Vec::new();
                template.render(&mut bytes, |_, _| {});
                self.constant(&bytes, framing);
            }
            Body::Bytes(template) => {
                let mut body = Self::default();
                body.template(template);
                return Some(body.0);
            }
        }
        None
    }

    fn constant(&mut self, body: &[u8], framing: BodyFraming) {
        match framing {
            BodyFraming::Length => {
                self.text(&format!("Content-Length: {}\r\n\r\n", body.len()));
                self.bytes(body);
            }
            BodyFraming::Chunked(size) => {
                let mut chunks = Vec::new();
                write_chunks(body, size, &mut chunks);
                self.bytes(CHUNKED);
                self.bytes(&chunks);
                self.bytes(LAST_CHUNK);
            }
        }
    }

    /// A body that is made up, with what stands before it. Its length is known, and all but its end is one piece.
    fn generated(&mut self, generated: &GeneratedBody, framing: BodyFraming) {
        let filler = generated.filler();
        let size = match (generated.chunk, framing) {
            (None, BodyFraming::Length) => {
                self.text(&format!("Content-Length: {}\r\n\r\n", generated.bytes));
                self.bytes(&filler);
                return self.template(&generated.end);
            }
            (Some(own), BodyFraming::Length) => own as usize,
            (_, BodyFraming::Chunked(size)) => size,
        };
        let mut chunks = Vec::new();
        write_chunks(&filler, size, &mut chunks);
        self.bytes(CHUNKED);
        self.bytes(&chunks);
        let end = generated.bytes - filler.len() as u64;
        if end > 0 {
            self.text(&format!("{end:x}\r\n"));
            self.template(&generated.end);
            self.text("\r\n");
        }
        self.bytes(LAST_CHUNK);
    }

    fn template(&mut self, template: &Template) {
        for part in &template.0 {
            match part {
                Part::Literal(bytes) => self.bytes(bytes.as_slice()),
                Part::Value(index) => self.0.push(RequestPart::Value(*index)),
                Part::Formula(_) | Part::BodyBytes(_) | Part::BodySha256(_) => {
                    self.0.push(RequestPart::Computed(Template(vec![part.clone()])));
                }
            }
        }
    }
}
