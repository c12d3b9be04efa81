//! Messages as bytes, and the handshake that opens their connections.

use super::frame::{self, Kind};
use super::handshake::HandshakeTemplate;
use crate::protocol::PrepareError;
use crate::request_rules::{self, ReservedHeaders};
use crate::request_values::Values;
use prony_load::{Body, Header, Part, Request, Target, Template};

/// The constant parts of a message, with the handshake of its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSocketMessage {
    handshake: HandshakeTemplate,
    kind: Kind,
    /// The whole message, or the part before `rest`.
    begin: Vec<u8>,
    rest: Option<Template>,
    /// Length of the message without its values, bytes.
    about: usize,
}

/// Headers that only we may write.
const CONNECTION: ReservedHeaders = ReservedHeaders {
    names: &[
        "connection",
        "upgrade",
        "sec-websocket-key",
        "sec-websocket-version",
    ],
    reason: PART_OF_HANDSHAKE,
};
const EXTENSIONS: ReservedHeaders = ReservedHeaders {
    names: &["sec-websocket-extensions"],
    reason: PART_OF_HANDSHAKE,
};
const BODY: ReservedHeaders = ReservedHeaders {
    names: &["content-length", "transfer-encoding"],
    reason: "a handshake has no body",
};
const PART_OF_HANDSHAKE: &str = "it is a part of the handshake, which prony writes itself";

/// The headers that request the upgrade, up to the name of the key's header.
const UPGRADE: &str =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ";

impl WebSocketMessage {
    pub(super) fn new(request: &Request, target: &Target) -> Result<Self, PrepareError> {
        let reject_placeholders = |prepared: Self| match find_placeholder(request) {
            None => Ok(prepared),
            Some(error) => Err(error),
        };
        Self::for_rooms(request, target).and_then(reject_placeholders)
    }

    /// A request for a handshake alone. It may offer extensions, which a service must not take.
    pub(crate) fn for_handshake(request: &Request, target: &Target) -> Result<Self, PrepareError> {
        request_rules::check(request, &[CONNECTION, BODY])?;
        Ok(Self {
            handshake: handshake(request, target),
            kind: Kind::Text,
            begin: Vec::new(),
            rest: None,
            about: 0,
        })
    }

    /// The same whose handshake may have placeholders: they are filled once for each room.
    pub(super) fn for_rooms(request: &Request, target: &Target) -> Result<Self, PrepareError> {
        request_rules::check(request, &[CONNECTION, EXTENSIONS, BODY])?;
        let kind = match request.method.as_str() {
            "TEXT" => Kind::Text,
            "BINARY" => Kind::Binary,
            other => return Err(PrepareError::Message(other.to_owned())),
        };
        let mut begin = Vec::new();
        let rest = match &request.body {
            // gRPC messages were rejected earlier.
            Body::None | Body::Messages(_) => None,
            Body::Bytes(template) => Some(template),
            Body::Generated(generated) => {
                begin = generated.filler();
                Some(&generated.end)
            }
        };
        let rest = match rest {
            Some(template) if template.is_constant() => {
                template.render(&mut begin, |_, _| {});
                None
            }
            rest => rest.cloned(),
        };
        let literals = rest
            .iter()
            .flat_map(|template| &template.0)
            .map(|part| match part {
                Part::Literal(bytes) => bytes.as_slice().len(),
                _ => 0,
            });
        let about = begin.len() + literals.sum::<usize>();
        Ok(Self {
            handshake: handshake(request, target),
            kind,
            begin,
            rest,
            about,
        })
    }

    pub(crate) const fn handshake(&self) -> &HandshakeTemplate {
        &self.handshake
    }

    pub(super) const fn kind(&self) -> Kind {
        self.kind
    }

    /// Appends the message as a frame, with its values.
    #[inline]
    pub(super) fn write(&self, values: Values<'_>, key: [u8; 4], out: &mut Vec<u8>) {
        frame::fill(self.kind.opcode(), key, self.about, out, |out| {
            self.render(values, out);
        });
    }

    /// Appends the message itself, with its values.
    #[inline]
    pub(super) fn render(&self, values: Values<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.begin);
        if let Some(rest) = &self.rest {
            rest.render(out, |index, out| values.append(index, out));
        }
    }
}

/// Finds a placeholder in the parts of a request that open a connection.
fn find_placeholder(request: &Request) -> Option<PrepareError> {
    if !request.path.is_constant() {
        return Some(PrepareError::Path {
            path: request_rules::placeholder_text(&request.path),
            reason: "a WebSocket is opened once for many messages: its path may have placeholders only with rooms",
        });
    }
    let mut headers = request.headers.iter();
    let header = headers.find(|header| !header.value.is_constant())?;
    Some(PrepareError::Header {
        name: header.name.clone(),
        reason: "a WebSocket is opened once for many messages: its headers may have placeholders only with rooms",
    })
}

fn handshake(request: &Request, target: &Target) -> HandshakeTemplate {
    let Request { path, headers, .. } = request;
    let mut head = Template::literal(b"GET ".to_vec());
    let mut add = |part: Template| head.0.extend(part.0);
    let text = |text: String| Template::literal(text.into_bytes());
    add(path.clone());
    add(text(" HTTP/1.1\r\n".to_owned()));
    if !headers
        .iter()
        .any(|header| header.name.eq_ignore_ascii_case("host"))
    {
        add(text(format!("Host: {}\r\n", target.authority)));
    }
    if let Some(authorization) = target.authorization(request) {
        add(text(format!("Authorization: {authorization}\r\n")));
    }
    let mut subprotocols = Vec::new();
    for Header { name, value } in headers {
        if name.eq_ignore_ascii_case("sec-websocket-protocol") {
            let mut offered = Vec::new();
            value.render(&mut offered, |_, _| {});
            let offered = String::from_utf8_lossy(&offered);
            subprotocols.extend(offered.split(',').map(|one| one.trim().to_owned()));
        }
        add(text(format!("{name}: ")));
        add(value.clone());
        add(text("\r\n".to_owned()));
    }
    add(text(UPGRADE.to_owned()));
    HandshakeTemplate {
        request: head,
        subprotocols,
    }
}
