//! What is spoken on a connection, without the connection: bytes in, replies out; requests in, bytes out.
//!
//! A [`Protocol`] is the state of one connection. It knows no socket, no clock and no statistics, so that a test can feed
//! it any bytes in any pieces. The worker owns it and calls:
//!
//! 1. [`Protocol::open`] once, when the connection is up;
//! 2. [`Protocol::start`] for a request, while [`Protocol::places`] is above 0;
//! 3. [`Protocol::receive`] with whatever came, which answers through a [`ReplySink`];
//! 4. [`Protocol::end_of_stream`] when the peer has closed its side.
//!
//! Bytes to send are appended to `out`; the worker sends them after each call.

use crate::request_values::Values;
use prony_load::events::IdStep;
use prony_load::{Limits, Request, Target};
use smallvec::SmallVec;

/// The worker's name for a request that is under way. A protocol stores it and gives it back, no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token(pub u32);

/// One request to be started.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a, Prepared> {
    /// The name under which the reply is given back.
    pub token: Token,
    /// The request as [`Protocol::prepare`] made it.
    pub prepared: &'a Prepared,
    /// The values of its parameters.
    pub values: Values<'a>,
    /// Whether [`ReplySink::head`] must carry the headers; else it may give none.
    pub wants_headers: bool,
    /// Whether no request comes after it on this connection: the peer is told so where the protocol can.
    pub is_last: bool,
}

/// The first part of a reply.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// HTTP status.
    pub status: u16,
    /// Headers in the order they came, names as the peer wrote them; empty unless they were asked for.
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
    /// `grpc-status`, where gRPC is spoken.
    pub grpc_status: Option<u32>,
}

/// Why one request failed while its connection may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The reply is not well-formed; what was wrong, for the user.
    Malformed(&'static str),
    /// The peer gave the request up (`RST_STREAM`), with this error code (RFC 9113, section 7).
    Reset(u32),
    /// The peer says that it has not begun with the request, so that it may be sent again (a stream that GOAWAY left out
    /// or that was refused: RFC 9113, section 8.7).
    Unprocessed,
}

/// Where the parts of replies go, in this order for each token: `first_byte`, `head`, `data` (never, once or more often),
/// `end`; or `failed` at any point, after which nothing more comes.
///
/// A sink does not start requests: the worker does, when `receive` has returned. So a protocol that finds bytes left
/// over with no request under way knows that the peer sent more than was asked.
pub trait ReplySink {
    /// The first byte of the reply was seen. Comes again after an interim (1xx) head: the last call counts.
    fn first_byte(&mut self, token: Token);
    /// The head of the final reply.
    fn head(&mut self, token: Token, head: Head<'_>);
    /// The next piece of the body (for gRPC: of the message, without its five-byte prefix).
    fn data(&mut self, token: Token, piece: &[u8]);
    /// One more message of a gRPC reply is complete.
    fn message(&mut self, _token: Token) {}
    /// A member of a room heard a message, which is a request as long as somebody waits for it; how that is in order.
    fn delivered(&mut self, _token: Option<Token>, _step: IdStep) {}
    /// A message came to so many of the members to whom it should come. Before its end, where it has one.
    fn reached(&mut self, _token: Token, _expected: u32, _reached: u32) {}
    /// What the service says about a `grpc-status` other than 0, percent-encoded as it came.
    fn grpc_message(&mut self, _token: Token, _text: &[u8]) {}
    /// The reply is complete, and the place is free again.
    fn end(&mut self, token: Token, end: End);
    /// The request failed, and the place is free again.
    fn failed(&mut self, token: Token, failure: Failure);
}

/// Bytes that end the connection: the peer does not speak the protocol. Every request that is still under way has no
/// reply; the one that was being answered has been reported through [`ReplySink::failed`] where it is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProtocolError(pub &'static str);

/// A request that the protocol cannot carry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// A method that is no token.
    #[error("`{0}` is no HTTP method: use letters, as in GET or POST")]
    Method(String),
    /// A kind of message that WebSocket does not have.
    #[error("`{0}` is no kind of message: a WebSocket carries TEXT and BINARY")]
    Message(String),
    /// A header that cannot be sent.
    #[error("header `{name}` cannot be sent: {reason}")]
    Header {
        /// Its name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// A path that cannot be sent.
    #[error("path `{path}` cannot be sent: {reason}")]
    Path {
        /// The path.
        path: String,
        /// Why not.
        reason: &'static str,
    },
}

/// Whether a request of this method has content by its meaning: then it says so where there is none (RFC 9110, section 8.6).
pub(crate) fn expects_content(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}

/// The place of a connection in rooms of a load, where what one says comes to all of its room.
#[derive(Debug, Clone, Copy)]
pub struct SeatOf<'a, Prepared> {
    /// The number of the connection among those of its worker.
    pub connection: u32,
    /// Members of a room: the first ones are those of the first room.
    pub members: u32,
    /// The first operation of the load.
    pub first: &'a Prepared,
    /// The values of the room, the same for all of its members.
    pub values: Values<'a>,
}

/// One connection's state of a protocol.
pub trait Protocol: Sized {
    /// A request serialised as far as can be done before the run.
    type Prepared: Send + Sync;
    /// What the connections of one worker share: caches and scratch memory.
    type Shared;

    /// What the peer says before any request, where it says something (see [`Protocol::is_ready`]): the end of the sentence
    /// "the server closed the connection before …".
    const GREETING: &'static str;

    /// Why a connection is of no use whose peer ends it with the first thing that it says.
    const GONE_AT_ONCE: &'static str;

    /// Whether a safe request may be sent again whose connection ended as it came. HTTP/2 says itself which requests were not
    /// processed.
    const MAY_RETRY: bool = false;

    /// Whether replies may come in another order than their requests.
    const MULTIPLEXES: bool = false;

    /// Whether a request that waits behind one that timed out has timed out as well, where that costs the connection; else its
    /// connection was reset.
    const TIMES_OUT_IN_TURN: bool = false;

    /// Whether the protocol itself tells where each message of a reply ends ([`ReplySink::message`]).
    const TELLS_MESSAGES: bool = false;

    /// Serialises what does not change from request to request.
    fn prepare(request: &Request, target: &Target) -> Result<Self::Prepared, PrepareError>;

    /// The same for a load with rooms: what opens a connection may have places.
    fn prepare_for_rooms(request: &Request, target: &Target) -> Result<Self::Prepared, PrepareError> {
        Self::prepare(request, target)
    }

    /// The shared part for one worker.
    fn shared() -> Self::Shared;

    /// The same under the limits of a job.
    fn shared_within(_: &Limits) -> Self::Shared {
        Self::shared()
    }

    /// A connection that may have up to `depth` requests under way.
    fn new(shared: &mut Self::Shared, depth: u32) -> Self;

    /// The connection is a member of a room. Before [`Protocol::open`].
    fn enter(&mut self, _: &mut Self::Shared, _: &SeatOf<'_, Self::Prepared>) {}

    /// The connection is up: what is sent before any request (nothing in HTTP/1.1, the preface in HTTP/2, the handshake of
    /// WebSocket). `first` is the first operation of the load.
    fn open(&mut self, shared: &mut Self::Shared, first: &Self::Prepared, out: &mut Vec<u8>);

    /// Whether the peer has said what it has to say before any request (its SETTINGS in HTTP/2, its part of the handshake of
    /// WebSocket). Until then the connection counts as not established.
    fn is_ready(&self) -> bool {
        true
    }

    /// Whether the peer may say something by itself before the first request, so that it is worth waiting a moment.
    fn is_listening(&self) -> bool {
        false
    }

    /// The moment is over.
    fn stop_listening(&mut self, _: &mut Self::Shared) {}

    /// How many requests the peer lets be under way at once, where that is less than was asked for.
    fn stream_limit(&self) -> Option<u32> {
        None
    }

    /// How many requests may be started now. 0 for good once the peer has said that it will close.
    fn places(&self) -> u32;

    /// Starts a request. Only while [`Protocol::places`] is above 0.
    fn start(&mut self, shared: &mut Self::Shared, call: &Call<'_, Self::Prepared>, out: &mut Vec<u8>);

    /// Takes bytes from the peer, in pieces of any size.
    fn receive<S: ReplySink>(
        &mut self,
        shared: &mut Self::Shared,
        bytes: &[u8],
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), ProtocolError>;

    /// The peer closed its side: completes a reply whose body lasts until then. All other requests under way have no
    /// reply; the worker knows them. `is_clean`: the end is the peer's own; else anybody on the way may have cut the
    /// connection (TLS without `close_notify`).
    fn end_of_stream<S: ReplySink>(&mut self, shared: &mut Self::Shared, is_clean: bool, sink: &mut S);

    /// A request is about to be given up: what is known of it is told.
    fn give_up<S: ReplySink>(&mut self, _: &mut Self::Shared, _: Token, _: &mut S) {}

    /// The connection has ended, and its requests are about to: nothing more comes on it.
    fn gone<S: ReplySink>(&mut self, _: &mut Self::Shared, _: &mut S) {}

    /// Gives a request up (it timed out). Returns whether the connection goes on; HTTP/1.1 cannot, since the late reply
    /// would be taken for the next one's.
    fn cancel(&mut self, token: Token, out: &mut Vec<u8>) -> bool;

    /// We are about to close the connection, since the load needs it no more: what the peer is told, where the protocol can.
    fn goodbye(&mut self, _: &mut Self::Shared, _: &mut Vec<u8>) {}

    /// Whether the peer takes no further request on the connection, while replies may still come.
    fn is_closing(&self) -> bool {
        false
    }

    /// Whether the connection is used up: the peer said that it will close, and no reply can come any more.
    fn is_spent(&self) -> bool;
}
