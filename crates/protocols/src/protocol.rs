//! A protocol without its connection: bytes in, replies out; requests in, bytes out.
//!
//! A [`Protocol`] is the state of one connection. It has no socket, no clock and no statistics, so that a test can feed
//! it any bytes in any pieces. The worker owns it and calls:
//!
//! 1. [`Protocol::open`] once, when the connection is up;
//! 2. [`Protocol::start`] for a request, while [`Protocol::free_slots`] is above 0;
//! 3. [`Protocol::receive`] with the received data; it reports replies through a [`ReplySink`];
//! 4. [`Protocol::end_of_stream`] when the peer has closed its side.
//!
//! Bytes to send are appended to `out`; the worker sends them after each call.

use crate::request_values::Values;
use prony_load::events::IdStep;
use prony_load::{Limits, Request, Target};
use smallvec::SmallVec;

/// The worker's handle for a request in flight. A protocol only stores it and returns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token(pub u32);

/// One request to be started.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a, Prepared> {
    /// The token with which the reply is reported.
    pub token: Token,
    /// The request as returned by [`Protocol::prepare`].
    pub prepared: &'a Prepared,
    /// The values of the request's parameters.
    pub values: Values<'a>,
    /// Whether [`ReplySink::head`] must include the headers; otherwise it may omit them.
    pub wants_headers: bool,
    /// Whether this is the last request on the connection; the peer is informed where the protocol allows it.
    pub is_last: bool,
}

/// The first part of a reply.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// HTTP status.
    pub status: u16,
    /// Headers in the order received, with names as the peer wrote them; empty unless requested.
    pub headers: &'a [(&'a [u8], &'a [u8])],
    /// The version that the peer answers in.
    pub version: Version,
    /// What ends the body.
    pub framing: Framing,
    /// Whether the peer says that the connection ends after this reply.
    pub closes: bool,
}

/// Versions of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1, or a higher minor version, which means the same to a client (RFC 9110, section 2.5).
    Http11,
    /// HTTP/2.
    Http2,
}

/// What ends the body of a reply (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is none, whatever the headers say: a reply to HEAD, 204, 304, or a switch of protocols.
    NoBody,
    /// `Content-Length`.
    Length,
    /// The chunked transfer coding.
    Chunked,
    /// The end of the connection.
    UntilClose,
    /// The end of the stream of HTTP/2, or of the message of a WebSocket.
    Stream,
}

impl Framing {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NoBody => "no body",
            Self::Length => "length",
            Self::Chunked => "chunked",
            Self::UntilClose => "until close",
            Self::Stream => "stream",
        }
    }
}

/// Headers put together for a [`Head`] without allocating, unless a reply has more of them than any usual one.
pub type HeaderList<'a> = SmallVec<[(&'a [u8], &'a [u8]); 32]>;

/// The last part of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// `grpc-status`, if the protocol is gRPC.
    pub grpc_status: Option<u32>,
}

/// Why a single request failed; its connection may continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The reply is malformed; holds the reason, for the user.
    Malformed(&'static str),
    /// The peer gave the request up (`RST_STREAM`), with this error code (RFC 9113, section 7).
    Reset(u32),
    /// The peer says that it has not begun with the request, so that it may be sent again (a stream that GOAWAY left out
    /// or that was refused: RFC 9113, section 8.7).
    Unprocessed,
}

/// Receives the parts of replies, in this order for each token: `first_byte`, `head`, `data` (any number of times),
/// `end`; or `failed` at any point, after which nothing follows.
///
/// A sink does not start requests: the worker does, after `receive` has returned. So if a protocol finds leftover bytes
/// with no request in flight, the peer sent more than was requested.
pub trait ReplySink {
    /// The first byte of the reply arrived. Called again after an interim (1xx) head: the last call counts.
    fn first_byte(&mut self, token: Token);
    /// The head of the final reply.
    fn head(&mut self, token: Token, head: Head<'_>);
    /// The next piece of the body (for gRPC: of the message, without its five-byte prefix).
    fn data(&mut self, token: Token, piece: &[u8]);
    /// Another message of a gRPC reply is complete.
    fn message(&mut self, _token: Token) {}
    /// A member of a room received a message. `_token` is the message's request while its sender waits for it; `_step`
    /// says whether the message arrived in order.
    fn delivery(&mut self, _token: Option<Token>, _step: IdStep) {}
    /// A message reached `_reached` of the `_expected` members of its room. Called before its `end`, if it has one.
    fn coverage(&mut self, _token: Token, _expected: u32, _reached: u32) {}
    /// The `grpc-message` of a `grpc-status` other than 0, percent-encoded as received.
    fn grpc_message(&mut self, _token: Token, _text: &[u8]) {}
    /// The reply is complete, and its slot is free again.
    fn end(&mut self, token: Token, end: End);
    /// The request failed, and its slot is free again.
    fn failed(&mut self, token: Token, failure: Failure);
}

/// The peer violates the protocol, and the connection ends. Requests in flight get no reply; the one that was being
/// answered has been reported through [`ReplySink::failed`] where it is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProtocolError(pub &'static str);

/// A request that the protocol cannot carry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// The method is not a token.
    #[error("`{0}` is not an HTTP method: use letters, as in GET or POST")]
    Method(String),
    /// WebSocket does not have this type of message.
    #[error("`{0}` is not a type of message: a WebSocket carries TEXT and BINARY")]
    Message(String),
    /// A header that cannot be sent.
    #[error("header `{name}` cannot be sent: {reason}")]
    Header {
        /// Name of the header.
        name: String,
        /// The rule that the header breaks.
        reason: &'static str,
    },
    /// A path that cannot be sent.
    #[error("path `{path}` cannot be sent: {reason}")]
    Path {
        /// The path as the request has it.
        path: String,
        /// The rule that the path breaks.
        reason: &'static str,
    },
}

/// Whether requests of this method usually have content: then an empty body is sent as such (RFC 9110, section 8.6).
pub(crate) fn expects_content(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}

/// Position of a connection in the rooms of a load. A message that one member sends is delivered to its whole room.
#[derive(Debug, Clone, Copy)]
pub struct RoomMembership<'a, Prepared> {
    /// Number of the connection among those of its worker.
    pub connection: u32,
    /// Members per room: the first `members` connections form the first room.
    pub members: u32,
    /// The first operation of the load.
    pub first: &'a Prepared,
    /// The values of the room, which all of its members share.
    pub values: Values<'a>,
}

/// Protocol state of one connection.
pub trait Protocol: Sized {
    /// A request serialised as far as possible before the run.
    type Request: Send + Sync;
    /// State that the connections of one worker share: caches and scratch memory.
    type WorkerState;

    /// What the peer must send before any request (see [`Protocol::is_ready`]), as the end of the sentence "the server
    /// closed the connection before …".
    const FIRST_FROM_PEER: &'static str;

    /// Error text for a connection that the peer ends with the first thing it sends.
    const CLOSED_BEFORE_REQUESTS: &'static str;

    /// Whether a safe request may be sent again if its connection closed at the same time. HTTP/2 itself reports which
    /// requests were not processed.
    const MAY_RETRY: bool = false;

    /// Whether replies may arrive in a different order than their requests.
    const MULTIPLEXES: bool = false;

    /// Whether a request that waits behind one that timed out has timed out as well, where that costs the connection; else its
    /// connection was reset.
    const QUEUED_REQUESTS_TIME_OUT: bool = false;

    /// Whether the protocol itself reports the end of each message of a reply ([`ReplySink::message`]).
    const DELIMITS_MESSAGES: bool = false;

    /// Serialises the parts that are the same for each request.
    fn prepare(request: &Request, target: &Target) -> Result<Self::Request, PrepareError>;

    /// Like [`Protocol::prepare`], for a load with rooms: the opening of a connection may contain placeholders.
    fn prepare_for_rooms(request: &Request, target: &Target) -> Result<Self::Request, PrepareError> {
        Self::prepare(request, target)
    }

    /// Creates the shared state of one worker.
    fn shared() -> Self::WorkerState;

    /// Creates the shared state of one worker, with the limits of a job.
    fn shared_within(_: &Limits) -> Self::WorkerState {
        Self::shared()
    }

    /// Creates a connection that may have up to `depth` requests in flight.
    fn new(shared: &mut Self::WorkerState, depth: u32) -> Self;

    /// Makes the connection a member of a room. Called before [`Protocol::open`].
    fn join_room(&mut self, _: &mut Self::WorkerState, _: &RoomMembership<'_, Self::Request>) {}

    /// The connection is up: appends the bytes to send before any request (nothing in HTTP/1.1, the preface in HTTP/2,
    /// the handshake of WebSocket). `first` is the first operation of the load.
    fn open(&mut self, shared: &mut Self::WorkerState, first: &Self::Request, out: &mut Vec<u8>);

    /// Whether the peer has sent everything it must send before any request (its SETTINGS in HTTP/2, its part of the
    /// handshake in WebSocket). Until then the connection does not count as established.
    fn is_ready(&self) -> bool {
        true
    }

    /// Whether the peer may send data on its own before the first request, so that it is worth waiting a moment.
    fn is_listening(&self) -> bool {
        false
    }

    /// That moment is over.
    fn stop_listening(&mut self, _: &mut Self::WorkerState) {}

    /// The number of concurrent requests that the peer allows, if it is less than requested. 0: for now none; requests wait.
    fn stream_limit(&self) -> Option<u32> {
        None
    }

    /// Number of requests that may be started now. 0 for good once the peer has announced that it will close.
    fn free_slots(&self) -> u32;

    /// Starts a request. Call only while [`Protocol::free_slots`] is above 0.
    fn start(&mut self, shared: &mut Self::WorkerState, call: &Call<'_, Self::Request>, out: &mut Vec<u8>);

    /// Processes bytes from the peer, in pieces of any size.
    fn receive<S: ReplySink>(
        &mut self,
        shared: &mut Self::WorkerState,
        bytes: &[u8],
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), ProtocolError>;

    /// The peer closed its side. Completes a reply whose body lasts until then; all other requests in flight get no
    /// reply, which the worker handles. `is_clean`: the peer itself ended the connection; otherwise anyone on the path
    /// may have cut it (TLS without `close_notify`).
    fn end_of_stream<S: ReplySink>(&mut self, shared: &mut Self::WorkerState, is_clean: bool, sink: &mut S);

    /// A request is about to be given up: reports what is known about it.
    fn report_partial<S: ReplySink>(&mut self, _: &mut Self::WorkerState, _: Token, _: &mut S) {}

    /// The connection has ended, and its requests are about to fail: no more data arrives.
    fn handle_disconnect<S: ReplySink>(&mut self, _: &mut Self::WorkerState, _: &mut S) {}

    /// Gives up a request that timed out. Returns whether the connection can continue. HTTP/1.1 cannot, because the
    /// late reply would be taken for the reply to the next request.
    fn cancel(&mut self, token: Token, out: &mut Vec<u8>) -> bool;

    /// The load no longer needs the connection and is about to close it: announces this to the peer where the protocol
    /// allows it.
    fn announce_close(&mut self, _: &mut Self::WorkerState, _: &mut Vec<u8>) {}

    /// Whether the peer accepts no further requests on the connection, while replies may still arrive.
    fn is_closing(&self) -> bool {
        false
    }

    /// Whether the connection is used up: the peer announced that it will close, and no more replies can arrive.
    fn is_spent(&self) -> bool;
}
