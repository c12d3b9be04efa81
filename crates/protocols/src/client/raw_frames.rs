//! WebSocket frames: sent ones are written without checks, received ones are parsed strictly.

use super::ClientError;
use super::replies::Replies;
use crate::http1::head;
use crate::protocol::{End, ProtocolError, ReplySink as _, Token};
use crate::protocol::{Framing, Head, HeaderList};
use crate::request_values::Values;
use crate::websocket::frame::{self, check_close};
use crate::websocket::handshake::Handshake;
use crate::websocket::reader::{FrameEvent, Reader};
use crate::websocket::{WebSocketMessage, frame::Kind};

/// Maximum length of a received message, bytes.
const LONGEST: u64 = 64 << 20;

/// A frame that is sent without checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawFrame {
    /// Type of the frame (RFC 6455, section 5.2).
    pub opcode: u8,
    /// Whether it is the last frame of its message.
    pub is_final: bool,
    /// Whether it is masked, as all frames of a client must be.
    pub is_masked: bool,
    /// The payload before masking.
    pub payload: Vec<u8>,
}

impl RawFrame {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let key = self.is_masked.then(rand::random);
        frame::write_as_given((self.is_final, self.opcode), key, &self.payload, out);
    }
}

/// A received message or control frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A complete text message.
    Text(Vec<u8>),
    /// A complete binary message.
    Binary(Vec<u8>),
    /// A ping.
    Ping(Vec<u8>),
    /// A pong.
    Pong(Vec<u8>),
    /// A close frame with its code, if it has one.
    Close(Option<u16>),
}

/// The frames of a connection, and the handshake before them.
#[derive(Debug)]
pub(super) struct WebSocketFrames {
    handshake: Option<(Handshake, Token)>,
    has_sent_handshake: bool,
    reader: Reader,
    /// Received bytes that are not parsed yet.
    received: Vec<u8>,
    /// The payload of the incomplete message.
    message: Vec<u8>,
    kind: Kind,
}

impl Default for WebSocketFrames {
    fn default() -> Self {
        Self {
            handshake: None,
            has_sent_handshake: false,
            reader: Reader::new(),
            received: Vec::new(),
            message: Vec::new(),
            kind: Kind::Text,
        }
    }
}

impl WebSocketFrames {
    /// Whether the handshake request, the only request of the connection, is still to be sent.
    pub(super) const fn awaits_handshake(&self) -> bool {
        !self.has_sent_handshake
    }

    /// Number of bytes that are not parsed as frames.
    pub(super) const fn unread(&self) -> usize {
        self.received.len()
    }

    pub(super) fn start(
        &mut self,
        prepared: &WebSocketMessage,
        values: Values<'_>,
        token: Token,
        out: &mut Vec<u8>,
    ) {
        let settings = prepared.handshake();
        let random: [u8; 16] = rand::random();
        let handshake = Handshake::begin(&random, (&settings.request(values), settings), out);
        self.handshake = Some((handshake, token));
        self.has_sent_handshake = true;
    }

    pub(super) fn receive(&mut self, mut bytes: &[u8], replies: &mut Replies) -> Result<(), ProtocolError> {
        if let Some((handshake, token)) = &mut self.handshake {
            let token = *token;
            replies.first_byte(token);
            let Some(answer) = handshake.read(&mut bytes).map_err(ProtocolError)? else {
                return Ok(());
            };
            let mut headers = HeaderList::new();
            // The handshake has parsed the same bytes, so this cannot fail.
            let _ = head::parse(&answer.head, |name, value| headers.push((name, value)));
            let head = Head {
                status: answer.status,
                headers: &headers,
                version: answer.version,
                framing: Framing::NoBody,
                closes: answer.status != 101,
            };
            replies.head(token, head);
            replies.end(token, End { grpc_status: None });
            self.handshake = None;
        }
        if !self.has_sent_handshake {
            return Err(ProtocolError("the service sent data before the handshake"));
        }
        self.received.extend_from_slice(bytes);
        Ok(())
    }

    /// The next control frame or complete message; `None` if more bytes are needed.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, ClientError> {
        let mut bytes = self.received.as_slice();
        let frame = next(&mut self.reader, &mut bytes, (&mut self.kind, &mut self.message));
        let read = self.received.len() - bytes.len();
        self.received.drain(..read);
        frame
    }
}

fn next(
    reader: &mut Reader,
    bytes: &mut &[u8],
    (kind, message): (&mut Kind, &mut Vec<u8>),
) -> Result<Option<Frame>, ClientError> {
    let broken =
        |fault: crate::websocket::Fault| ClientError::Malformed(format!("no WebSocket: {}", fault.reason));
    while let Some(event) = reader.next(bytes, LONGEST).map_err(broken)? {
        match event {
            FrameEvent::Begin(begun) => {
                *kind = begun;
                message.clear();
            }
            FrameEvent::Piece(piece) => message.extend_from_slice(piece),
            FrameEvent::End => {
                let message = std::mem::take(message);
                return Ok(Some(match kind {
                    Kind::Text => Frame::Text(message),
                    Kind::Binary => Frame::Binary(message),
                }));
            }
            FrameEvent::Ping => return Ok(Some(Frame::Ping(reader.control().to_vec()))),
            FrameEvent::Pong => return Ok(Some(Frame::Pong(reader.control().to_vec()))),
            FrameEvent::Close if reader.is_within_message() => {
                return Err("no WebSocket: a close in the middle of a message".into());
            }
            FrameEvent::Close => {
                check_close(reader.control()).map_err(broken)?;
                let code = reader
                    .control()
                    .first_chunk()
                    .map(|code| u16::from_be_bytes(*code));
                return Ok(Some(Frame::Close(code)));
            }
        }
    }
    Ok(None)
}
