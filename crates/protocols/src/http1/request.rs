//! Requests as bytes: adjacent constant parts are merged into one piece.

use crate::protocol::{PrepareError, expects_content};
use crate::request_rules::{self, Reserved};
use crate::request_values::Values;
use prony_load::{Body, Generated, Header, Part, Request, Target, Template};
use std::io::Write as _;

/// A request serialised as far as possible before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The request line and the headers, except those that frame the body or control the connection.
    front: Vec<Piece>,
    /// The rest of the head and, if its length is known, the body; otherwise everything up to the value of
    /// Content-Length.
    rest: Vec<Piece>,
    /// Whether the request sets `Connection` itself.
    has_connection: bool,
    /// A body whose length is known only once its placeholders are filled.
    body: Option<Vec<Piece>>,
    is_head: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Bytes(Vec<u8>),
    Value(usize),
}

/// Headers that decide where a request ends: only prony may write them.
const RESERVED: [Reserved; 1] = [Reserved {
    names: &["content-length", "transfer-encoding", "upgrade"],
    reason: "it decides where the request ends, and prony writes it itself",
}];

/// Tells the server that it may close after the reply (RFC 9112, section 9.6).
const CLOSE: &[u8] = b"Connection: close\r\n";

impl Prepared {
    pub(super) fn new(request: &Request, target: &Target) -> Result<Self, PrepareError> {
        request_rules::check(request, &RESERVED)?;
        let mut front = Pieces::default();
        front.text(&request.method);
        front.text(" ");
        front.template(&request.path);
        front.text(" HTTP/1.1\r\n");
        if !request
            .headers
            .iter()
            .any(|header| header.name.eq_ignore_ascii_case("host"))
        {
            front.text("Host: ");
            front.text(&target.authority);
            front.text("\r\n");
        }
        for Header { name, value } in &request.headers {
            front.text(name);
            front.text(": ");
            front.template(value);
            front.text("\r\n");
        }
        let mut rest = Pieces::default();
        let body = match &request.body {
            Body::None if expects_content(&request.method) => {
                rest.text("Content-Length: 0\r\n\r\n");
                None
            }
            // gRPC messages were rejected earlier.
            Body::None | Body::Messages(_) => {
                rest.text("\r\n");
                None
            }
            Body::Generated(generated) => {
                rest.generated(generated);
                None
            }
            Body::Bytes(template) if template.is_constant() => {
                let mut bytes = Vec::new();
                template.render(&mut bytes, |_, _| {});
                rest.text(&format!("Content-Length: {}\r\n\r\n", bytes.len()));
                rest.bytes(&bytes);
                None
            }
            Body::Bytes(template) => {
                rest.text("Content-Length: ");
                let mut body = Pieces::default();
                body.template(template);
                Some(body.0)
            }
        };
        Ok(Self {
            front: front.0,
            rest: rest.0,
            has_connection: request
                .headers
                .iter()
                .any(|header| header.name.eq_ignore_ascii_case("connection")),
            body,
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
            write!(out, "{}\r\n\r\n", scratch.len()).expect("writing to memory does not fail");
            out.extend_from_slice(scratch);
        }
    }
}

fn render(pieces: &[Piece], values: Values<'_>, out: &mut Vec<u8>) {
    for piece in pieces {
        match piece {
            Piece::Bytes(bytes) => out.extend_from_slice(bytes),
            Piece::Value(index) => values.append(*index, out),
        }
    }
}

#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if let Some(Piece::Bytes(last)) = self.0.last_mut() {
            last.extend_from_slice(bytes);
        } else {
            self.0.push(Piece::Bytes(bytes.to_vec()));
        }
    }

    /// Appends a generated body and the header lines before it. Its length is known, and everything but its end is
    /// constant.
    fn generated(&mut self, generated: &Generated) {
        let filler = generated.filler();
        let Some(chunk) = generated.chunk else {
            self.text(&format!("Content-Length: {}\r\n\r\n", generated.bytes));
            self.bytes(&filler);
            return self.template(&generated.end);
        };
        self.text("Transfer-Encoding: chunked\r\n\r\n");
        for piece in filler.chunks(chunk as usize) {
            self.text(&format!("{:x}\r\n", piece.len()));
            self.bytes(piece);
            self.text("\r\n");
        }
        let end = generated.bytes - filler.len() as u64;
        if end > 0 {
            self.text(&format!("{end:x}\r\n"));
            self.template(&generated.end);
            self.text("\r\n");
        }
        self.text("0\r\n\r\n");
    }

    fn template(&mut self, template: &Template) {
        for part in &template.0 {
            match part {
                Part::Literal(bytes) => self.bytes(bytes.as_slice()),
                Part::Value(index) => self.0.push(Piece::Value(*index)),
            }
        }
    }
}
