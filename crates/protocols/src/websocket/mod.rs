//! WebSocket (RFC 6455) for clients, over HTTP/1.1: each message that is sent is a request, and the next
//! message received is its reply.
//!
//! No extension is offered, so a compressed frame is malformed. If the peer violates the protocol, the connection is
//! closed with the code that the RFC names. Start at [`WebSocket`]: `handshake` comes first, `reader` parses frames,
//! `frame` defines their format. Where connections are members of rooms, `rooms` tracks which message must be delivered
//! to whom.

pub(crate) mod frame;
pub(crate) mod handshake;
mod prepare;
pub(crate) mod reader;
mod rooms;
mod utf8;

pub use prepare::WebSocketMessage;

use crate::protocol::{
    Call, End, Failure, Framing, Head, PrepareError, Protocol, ProtocolError, ReplySink, RoomMembership,
    Token, Version,
};
use crate::request_values::mix;
use frame::{Kind, code, opcode};
use handshake::Handshake;
use prony_load::events::LONGEST_EVENT;
use prony_load::{Limits, Request, Target};
use reader::{FrameEvent, Reader};
use rooms::{RoomPosition, Rooms};
use std::collections::VecDeque;

/// The head of each message: that of the handshake.
const SWITCHED_HEAD: Head<'static> = Head {
    status: 101,
    headers: &[],
    version: Version::Http11,
    framing: Framing::Stream,
    closes: false,
};

/// A protocol violation by the peer, and the close code for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    code: u16,
    pub(crate) reason: &'static str,
}

/// One WebSocket connection.
#[derive(Debug)]
pub struct WebSocket {
    /// Present until the peer has switched protocols.
    handshake: Option<Handshake>,
    in_flight: VecDeque<AwaitedMessage>,
    depth: u32,
    reader: Reader,
    /// Number of messages that the service sends on its own before the first request; `None` until that is known.
    greetings: Option<u32>,
    /// Number of messages received before the first request.
    greetings_received: u32,
    /// Whether the message being received is one of those.
    is_greeting: bool,
    /// Whether a request was sent.
    has_sent: bool,
    /// Whether the type of the message being received differs from the one that was sent.
    is_other_kind: bool,
    /// No more messages are sent.
    closing: bool,
    /// The message sent last is the last one of the load.
    last_sent: bool,
    spent: bool,
    member: Option<Member>,
}

/// Membership of a connection in a room.
#[derive(Debug)]
struct Member {
    position: RoomPosition,
    /// The handshake request, which is the same for the whole room.
    handshake_request: Vec<u8>,
    /// Whether it has received its own greeting: from then on the service counts it as a member.
    is_in: bool,
    /// Type and content of the message being received.
    kind: Kind,
    message: Vec<u8>,
}

/// Maximum length of a greeting, bytes.
const LONGEST_GREETING: u64 = 64;

#[derive(Debug, Clone, Copy)]
struct AwaitedMessage {
    token: Token,
    kind: Kind,
}

impl WebSocket {
    fn read<S: ReplySink>(
        &mut self,
        shared: &mut WebSocketSettings,
        mut bytes: &[u8],
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), Fault> {
        while !self.spent
            && let Some(event) = self.reader.next(&mut bytes, shared.longest)?
        {
            if let (Some(member), Some(rooms)) = (&mut self.member, &mut shared.rooms) {
                match event {
                    FrameEvent::Begin(kind) => {
                        member.kind = kind;
                        member.message.clear();
                        continue;
                    }
                    FrameEvent::Piece(piece) => {
                        member.message.extend_from_slice(piece);
                        continue;
                    }
                    FrameEvent::End => {
                        let message = (member.kind, member.message.as_slice());
                        member.is_in |= rooms.receive(member.position, message, sink)?;
                        continue;
                    }
                    FrameEvent::Ping | FrameEvent::Pong | FrameEvent::Close => {}
                }
            }
            match event {
                // A service may send first; after the first request its messages are replies.
                FrameEvent::Begin(_) if !self.has_sent => self.is_greeting = true,
                FrameEvent::Piece(_) if self.is_greeting => {}
                FrameEvent::End if self.is_greeting => {
                    self.is_greeting = false;
                    self.greetings_received = self.greetings_received.saturating_add(1);
                }
                FrameEvent::Begin(kind) => self.begin(kind, sink)?,
                FrameEvent::Piece(piece) => sink.data(self.in_flight[0].token, piece),
                FrameEvent::End => self.complete(shared, out, sink),
                FrameEvent::Ping => frame::write(opcode::PONG, self.reader.control(), shared.key(), out),
                // An unsolicited pong needs no answer (section 5.5.3).
                FrameEvent::Pong => {}
                FrameEvent::Close => self.closed(shared, out, sink)?,
            }
        }
        Ok(())
    }

    fn begin<S: ReplySink>(&mut self, kind: Kind, sink: &mut S) -> Result<(), Fault> {
        let Some(entry) = self.in_flight.front() else {
            return Err(Fault {
                code: code::POLICY,
                reason: "the service sent a message that was not requested",
            });
        };
        self.is_other_kind = kind != entry.kind;
        sink.first_byte(entry.token);
        sink.head(entry.token, SWITCHED_HEAD);
        Ok(())
    }

    fn complete<S: ReplySink>(&mut self, shared: &mut WebSocketSettings, out: &mut Vec<u8>, sink: &mut S) {
        let entry = self.in_flight.pop_front();
        let entry = entry.expect("invariant: a message that has begun has its request");
        if self.is_other_kind {
            let reason = match entry.kind {
                Kind::Text => "a text message was sent, but the reply is binary",
                Kind::Binary => "a binary message was sent, but the reply is text",
            };
            sink.failed(entry.token, Failure::Malformed(reason));
        } else {
            sink.end(entry.token, End { grpc_status: None });
        }
        if self.last_sent && self.in_flight.is_empty() {
            self.announce_close(shared, out);
            self.spent = true;
        }
    }

    /// The peer closes the connection: echoes its close code.
    fn closed<S: ReplySink>(
        &mut self,
        shared: &mut WebSocketSettings,
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), Fault> {
        let payload = self.reader.control();
        frame::check_close(payload)?;
        let code = &payload[..payload.len().min(2)];
        if !self.closing {
            frame::write(opcode::CLOSE, code, shared.key(), out);
        }
        self.closing = true;
        self.spent = true;
        if self.reader.is_within_message()
            && !self.is_greeting
            && let Some(entry) = self.in_flight.pop_front()
        {
            let reason = "the service closed the connection in the middle of a message";
            sink.failed(entry.token, Failure::Malformed(reason));
        }
        Ok(())
    }
}

impl Protocol for WebSocket {
    type Request = WebSocketMessage;
    type WorkerState = WebSocketSettings;

    const FIRST_FROM_PEER: &'static str = "it answered the WebSocket handshake";
    const CLOSED_BEFORE_REQUESTS: &'static str = "the server closed the WebSocket before any message";

    fn prepare(request: &Request, target: &Target) -> Result<WebSocketMessage, PrepareError> {
        WebSocketMessage::new(request, target)
    }

    fn prepare_for_rooms(request: &Request, target: &Target) -> Result<WebSocketMessage, PrepareError> {
        WebSocketMessage::for_rooms(request, target)
    }

    fn shared() -> WebSocketSettings {
        WebSocketSettings::new(LONGEST_EVENT)
    }

    fn shared_within(limits: &Limits) -> WebSocketSettings {
        WebSocketSettings::new(limits.longest_message.unwrap_or(LONGEST_EVENT))
    }

    fn new(shared: &mut WebSocketSettings, depth: u32) -> Self {
        Self {
            handshake: None,
            in_flight: VecDeque::with_capacity(depth as usize),
            depth,
            reader: Reader::new(),
            greetings: shared.greetings,
            greetings_received: 0,
            is_greeting: false,
            has_sent: false,
            is_other_kind: false,
            // Until the handshake is complete.
            closing: true,
            last_sent: false,
            spent: false,
            member: None,
        }
    }

    fn join_room(&mut self, shared: &mut WebSocketSettings, seat: &RoomMembership<'_, WebSocketMessage>) {
        let random = shared.random();
        let rooms = shared.rooms.get_or_insert_with(|| Rooms::new(seat.members));
        shared.longest = shared.longest.max(LONGEST_GREETING);
        let greeting = format!("prony is here: {random:016x}");
        self.member = Some(Member {
            position: rooms.add_member(seat.connection, greeting.into_bytes()),
            handshake_request: seat.first.handshake().request(seat.values),
            is_in: false,
            kind: Kind::Text,
            message: Vec::new(),
        });
    }

    fn open(&mut self, shared: &mut WebSocketSettings, first: &WebSocketMessage, out: &mut Vec<u8>) {
        let random = [shared.random().to_ne_bytes(), shared.random().to_ne_bytes()];
        let template = first.handshake();
        let constant;
        let request = if let Some(member) = &self.member {
            &member.handshake_request
        } else {
            constant = template.constant();
            &constant
        };
        self.handshake = Some(Handshake::begin(random.as_flattened(), (request, template), out));
    }

    #[inline]
    fn is_ready(&self) -> bool {
        !self.closing && self.member.as_ref().is_none_or(|member| member.is_in)
    }

    #[inline]
    fn is_listening(&self) -> bool {
        self.member.is_none()
            && self
                .greetings
                .is_none_or(|greetings| self.greetings_received < greetings)
    }

    fn stop_listening(&mut self, shared: &mut WebSocketSettings) {
        shared.greetings.get_or_insert(self.greetings_received);
        self.greetings = Some(0);
    }

    #[inline]
    fn free_slots(&self) -> u32 {
        if self.closing || self.last_sent {
            0
        } else if self.member.is_some() {
            // The messages of a member complete on other members' connections: the worker counts them.
            self.depth
        } else {
            self.depth - self.in_flight.len() as u32
        }
    }

    #[inline]
    fn start(
        &mut self,
        shared: &mut WebSocketSettings,
        call: &Call<'_, WebSocketMessage>,
        out: &mut Vec<u8>,
    ) {
        if let (Some(member), Some(rooms)) = (&self.member, &mut shared.rooms) {
            let request = (call.token, call.prepared.kind());
            rooms.send(member.position, request, |out| {
                call.prepared.render(call.values, out);
            });
            call.prepared.write(call.values, shared.key(), out);
            return;
        }
        call.prepared.write(call.values, shared.key(), out);
        self.has_sent = true;
        self.last_sent |= call.is_last;
        self.in_flight.push_back(AwaitedMessage {
            token: call.token,
            kind: call.prepared.kind(),
        });
    }

    fn receive<S: ReplySink>(
        &mut self,
        shared: &mut WebSocketSettings,
        mut bytes: &[u8],
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), ProtocolError> {
        if let Some(handshake) = &mut self.handshake {
            match handshake.read(&mut bytes) {
                Ok(None) => return Ok(()),
                Ok(Some(answer)) if answer.status == SWITCHED_HEAD.status => self.handshake = None,
                Ok(Some(answer)) => {
                    self.spent = true;
                    return Err(ProtocolError(handshake::refusal(answer.status)));
                }
                Err(reason) => {
                    self.spent = true;
                    return Err(ProtocolError(reason));
                }
            }
            self.closing = false;
            if let (Some(member), Some(rooms)) = (&self.member, &shared.rooms) {
                let greeting = rooms.greeting(member.position).to_vec();
                frame::write(opcode::TEXT, &greeting, shared.key(), out);
            }
        }
        self.read(shared, bytes, out, sink).map_err(|fault| {
            if !self.closing {
                frame::write(opcode::CLOSE, &fault.code.to_be_bytes(), shared.key(), out);
            }
            self.closing = true;
            self.spent = true;
            if let Some(entry) = self.in_flight.pop_front() {
                sink.failed(entry.token, Failure::Malformed(fault.reason));
            }
            ProtocolError(fault.reason)
        })
    }

    fn end_of_stream<S: ReplySink>(&mut self, _: &mut WebSocketSettings, _: bool, _: &mut S) {
        self.closing = true;
        self.spent = true;
    }

    fn report_partial<S: ReplySink>(&mut self, shared: &mut WebSocketSettings, token: Token, sink: &mut S) {
        if let (Some(member), Some(rooms)) = (&self.member, &mut shared.rooms) {
            rooms.abandon(member.position, token, sink);
        }
    }

    fn handle_disconnect<S: ReplySink>(&mut self, shared: &mut WebSocketSettings, sink: &mut S) {
        if let (Some(member), Some(rooms)) = (&self.member, &mut shared.rooms) {
            rooms.remove_member(member.position, sink);
        }
    }

    fn cancel(&mut self, _: Token, _: &mut Vec<u8>) -> bool {
        if self.member.is_some() {
            // A late message is recognised by its content.
            return true;
        }
        // A late reply would be taken for the reply to the next message.
        self.closing = true;
        false
    }

    fn announce_close(&mut self, shared: &mut WebSocketSettings, out: &mut Vec<u8>) {
        if !self.closing {
            self.closing = true;
            frame::write(opcode::CLOSE, &code::NORMAL.to_be_bytes(), shared.key(), out);
        }
    }

    #[inline]
    fn is_spent(&self) -> bool {
        self.spent
    }
}

/// State that the WebSocket connections of one worker share.
#[derive(Debug)]
pub struct WebSocketSettings {
    /// Maximum length of a received message, bytes.
    longest: u64,
    /// State of the random number generator for masking keys.
    random: u64,
    /// Number of messages that the service sends on its own on a new connection, once that is known.
    greetings: Option<u32>,
    /// Present if connections are members of rooms.
    rooms: Option<Rooms>,
}

impl WebSocketSettings {
    fn new(longest: u64) -> Self {
        Self {
            longest,
            random: rand::random(),
            greetings: None,
            rooms: None,
        }
    }

    /// 64 random bits. Masks keep proxies from mistaking what a script in a browser has written for HTTP. A load has no
    /// such content, so a fast generator with a random seed is enough.
    const fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.random)
    }

    const fn key(&mut self) -> [u8; 4] {
        (self.random() as u32).to_ne_bytes()
    }
}

#[cfg(test)]
mod tests;
