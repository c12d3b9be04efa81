//! Requests as bytes: all that is constant is one piece.

use super::super::PrepareError;
use crate::parameters::Values;
use prony_load::{Body, Header, Part, Request, Target, Template};
use std::io::Write as _;

/// A request serialised as far as can be done before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The whole request where the body's length is known, else all before the value of Content-Length.
    front: Vec<Piece>,
    /// A body whose length is known only once its places are filled.
    body: Option<Vec<Piece>>,
    is_head: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Bytes(Vec<u8>),
    Value(usize),
}

/// Headers that say where a request ends: only we may write them.
const FRAMING: [&str; 3] = ["content-length", "transfer-encoding", "upgrade"];

impl Prepared {
    pub(super) fn new(request: &Request, target: &Target) -> Result<Self, PrepareError> {
        check_method(&request.method)?;
        check_path(&request.path)?;
        for header in &request.headers {
            check_header(header)?;
        }
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
        let body = match &request.body {
            Body::None => {
                front.text("\r\n");
                None
            }
            Body::Bytes(template) if template.is_constant() => {
                let mut bytes = Vec::new();
                template.render(&mut bytes, |_, _| {});
                front.text(&format!("Content-Length: {}\r\n\r\n", bytes.len()));
                front.bytes(&bytes);
                None
            }
            Body::Bytes(template) => {
                front.text("Content-Length: ");
                let mut body = Pieces::default();
                body.template(template);
                Some(body.0)
            }
        };
        Ok(Self {
            front: front.0,
            body,
            is_head: request.method == "HEAD",
        })
    }

    pub(super) const fn is_head(&self) -> bool {
        self.is_head
    }

    pub(super) fn render(&self, values: Values<'_>, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        render(&self.front, values, out);
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

    fn template(&mut self, template: &Template) {
        for part in &template.0 {
            match part {
                Part::Literal(bytes) => self.bytes(bytes.as_slice()),
                Part::Value(index) => self.0.push(Piece::Value(*index)),
            }
        }
    }
}

fn check_method(method: &str) -> Result<(), PrepareError> {
    let token = !method.is_empty() && method.bytes().all(super::head::is_token);
    if token && method != "CONNECT" {
        Ok(())
    } else {
        Err(PrepareError::Method(method.to_owned()))
    }
}

fn check_path(path: &Template) -> Result<(), PrepareError> {
    let wrong = |reason| {
        Err(PrepareError::Path {
            path: shown(path),
            reason,
        })
    };
    match path.0.first() {
        Some(Part::Literal(bytes)) if bytes.as_slice().first() == Some(&b'/') => {}
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

fn check_header(header: &Header) -> Result<(), PrepareError> {
    let wrong = |reason| {
        Err(PrepareError::Header {
            name: header.name.clone(),
            reason,
        })
    };
    if header.name.is_empty() || !header.name.bytes().all(super::head::is_token) {
        return wrong("its name is no token");
    }
    if FRAMING.iter().any(|name| header.name.eq_ignore_ascii_case(name)) {
        return wrong("it says where the request ends, which prony writes itself");
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
