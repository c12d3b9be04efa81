//! The handshake (RFC 6455, section 4): an HTTP/1.1 request to switch protocols, and the reply that must agree.

use crate::http1::head::{self, ParsedHead, PartialHead, trimmed};
use crate::protocol::Version;
use crate::request_values::Values;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_load::Template;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

/// What a server puts behind the key before it hashes both (section 1.3).
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The part of a handshake request that is the same for all connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HandshakeTemplate {
    /// All of it but the value of the last header, which is the key; in rooms with places.
    pub(crate) request: Template,
    /// The subprotocols that it offers.
    pub(super) subprotocols: Vec<String>,
}

impl HandshakeTemplate {
    /// The request, if it has no placeholders.
    pub(super) fn constant(&self) -> Vec<u8> {
        let mut request = Vec::new();
        self.request.render(&mut request, |_, _| {});
        request
    }

    /// The request with the values of a room.
    pub(crate) fn request(&self, values: Values<'_>) -> Vec<u8> {
        let mut request = Vec::new();
        self.request
            .render(&mut request, |index, out| values.append(index, out));
        request
    }
}

/// The status of a reply that switches.
const SWITCHED: u16 = 101;

/// The reply to a handshake, which switches or refuses to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HandshakeReply {
    pub(crate) status: u16,
    pub(crate) version: Version,
    /// Its head, without folds.
    pub(crate) head: Vec<u8>,
}

/// A handshake under way.
#[derive(Debug)]
pub(crate) struct Handshake {
    /// What the key must be answered with.
    accept: String,
    subprotocols: Vec<String>,
    /// The reply so far.
    partial: PartialHead,
}

impl Handshake {
    /// Asks for it with a key of these 16 bytes.
    pub(crate) fn begin(
        random: &[u8],
        (request, asked): (&[u8], &HandshakeTemplate),
        out: &mut Vec<u8>,
    ) -> Self {
        let key = STANDARD.encode(random);
        out.extend_from_slice(request);
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
        Self {
            accept: accept(&key),
            subprotocols: asked.subprotocols.clone(),
            partial: PartialHead::default(),
        }
    }

    /// Takes the reply from the front of `bytes`. Gives it once it is there: until then all of `bytes` are taken.
    pub(crate) fn read(&mut self, bytes: &mut &[u8]) -> Result<Option<HandshakeReply>, &'static str> {
        while !bytes.is_empty() {
            let Some(taken) = self.partial.push(bytes)? else {
                *bytes = &[];
                break;
            };
            *bytes = &bytes[taken..];
            let head = self.partial.bytes();
            let head = head::unfolded(head).unwrap_or_else(|| head.to_vec());
            self.partial.clear();
            let parsed = self.judge(&head)?;
            // An interim reply (1xx) is followed by another one.
            if parsed.status == SWITCHED || parsed.status >= 200 {
                let (status, version) = (parsed.status, parsed.version);
                return Ok(Some(HandshakeReply {
                    status,
                    version,
                    head,
                }));
            }
        }
        Ok(None)
    }

    /// Reads a head; one that switches must say what it switches to.
    fn judge(&self, head: &[u8]) -> Result<ParsedHead, &'static str> {
        let mut headers = HandshakeHeaders::default();
        let parsed = head::parse(head, |name, value| headers.note(name, value))?;
        if parsed.status != SWITCHED {
            return Ok(parsed);
        }
        if parsed.version == Version::Http10 {
            return Err("the service switches in HTTP/1.0, which has no upgrades");
        }
        if !headers.upgrades || !headers.is_web_socket {
            return Err("the service switches to a protocol other than WebSocket");
        }
        match headers.accept {
            None => return Err("the service switches without Sec-WebSocket-Accept"),
            Some(accept) if accept != self.accept.as_bytes() => {
                return Err("the service's Sec-WebSocket-Accept does not match the key");
            }
            Some(_) => {}
        }
        if headers.extends {
            return Err("the service uses an extension (Sec-WebSocket-Extensions), and none is wanted");
        }
        let was_offered = |chosen: &[u8]| self.subprotocols.iter().any(|one| one.as_bytes() == chosen);
        if headers.subprotocol.is_some_and(|chosen| !was_offered(chosen)) {
            return Err("the service chose a subprotocol (Sec-WebSocket-Protocol) that was not offered");
        }
        Ok(parsed)
    }
}

/// The expected value of `Sec-WebSocket-Accept` for a key.
fn accept(key: &str) -> String {
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{GUID}").as_bytes());
    STANDARD.encode(hash)
}

/// The headers of a reply that concern the handshake.
#[derive(Default)]
struct HandshakeHeaders<'a> {
    upgrades: bool,
    is_web_socket: bool,
    accept: Option<&'a [u8]>,
    extends: bool,
    subprotocol: Option<&'a [u8]>,
}

impl<'a> HandshakeHeaders<'a> {
    fn note(&mut self, name: &[u8], value: &'a [u8]) {
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        if is("connection") {
            let mut options = value.split(|&byte| byte == b',').map(trimmed);
            self.upgrades |= options.any(|option| option.eq_ignore_ascii_case(b"upgrade"));
        } else if is("upgrade") {
            self.is_web_socket |= value.eq_ignore_ascii_case(b"websocket");
        } else if is("sec-websocket-accept") {
            self.accept = Some(value);
        } else if is("sec-websocket-extensions") {
            self.extends |= !value.is_empty();
        } else if is("sec-websocket-protocol") {
            self.subprotocol = Some(value);
        }
    }
}

/// What it means that the handshake was answered with this status.
pub(super) const fn refusal(status: u16) -> &'static str {
    match status {
        200..=299 => {
            "the service answers the handshake with a plain reply (2xx): there is no WebSocket at this path"
        }
        300..=399 => "the service redirects the handshake (3xx): use the URL that it redirects to",
        400 => "the service answers the handshake with 400 (bad request)",
        401 => {
            "the service answers the handshake with 401: it requires authentication (-H 'Authorization: …')"
        }
        403 => {
            "the service answers the handshake with 403 (forbidden): it may require an Origin (-H 'Origin: …')"
        }
        404 => "the service answers the handshake with 404: there is nothing at this path",
        405 => "the service answers the handshake with 405: there is no WebSocket at this path",
        426 => "the service answers the handshake with 426: it requires another version of WebSocket",
        429 => "the service answers the handshake with 429 (too many requests)",
        503 => "the service answers the handshake with 503 (unavailable)",
        500..=599 => "the service answers the handshake with a server error (5xx)",
        _ => "the service answers the handshake with a status that does not switch",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_answer_to_a_key_is_the_rfc_s() {
        assert_eq!(
            super::accept("dGhlIHNhbXBsZSBub25jZQ=="),
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
    }
}
