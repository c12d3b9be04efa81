//! The protocol of a connection: one of the state machines that the generator uses.

use super::PreparedRequest;
use super::raw_frames::WebSocketFrames;
use super::replies::Replies;
use crate::grpc::Grpc;
use crate::http1::{self, Http1};
use crate::http2::{self, Http2};
use crate::protocol::{Call, Protocol as _, ProtocolError, Token};
use crate::request_values::Values;
use prony_load::Protocol;

/// Maximum number of requests in flight: more than a case of a contract has.
const PIPELINED: u32 = 4096;
/// Maximum number of requests in flight over HTTP/2.
const STREAMS: u32 = 128;

/// The protocol state of a connection.
#[derive(Debug)]
pub(super) enum ProtocolState {
    Http1(Box<Http1>, Box<http1::Http1WorkerState>),
    Http2(Box<Http2>, http2::Http2WorkerState),
    Grpc(Box<Grpc>, http2::Http2WorkerState),
    WebSocket(Box<WebSocketFrames>),
}

macro_rules! with_protocol {
    ($protocol_state:expr, $state:ident, $shared:ident => $result:expr, $frames:ident => $other:expr) => {
        match $protocol_state {
            ProtocolState::Http1($state, $shared) => $result,
            ProtocolState::Http2($state, $shared) => $result,
            ProtocolState::Grpc($state, $shared) => $result,
            ProtocolState::WebSocket($frames) => $other,
        }
    };
}

impl ProtocolState {
    /// The state of a new connection. Appends the bytes to send before any request to `out`.
    pub(super) fn open(protocol: Protocol, out: &mut Vec<u8>) -> Self {
        let mut shared = http2::Http2WorkerState::default();
        match protocol {
            Protocol::Http1 => {
                let mut shared = Http1::shared();
                Self::Http1(Box::new(Http1::new(&mut shared, PIPELINED)), Box::new(shared))
            }
            Protocol::Http2 => {
                http2::write_preface(prony_load::Http2Offer::default(), out);
                Self::Http2(Box::new(Http2::new(&mut shared, STREAMS)), shared)
            }
            Protocol::Grpc => {
                http2::write_preface(prony_load::Http2Offer::default(), out);
                Self::Grpc(Box::new(Grpc::new(&mut shared, STREAMS)), shared)
            }
            Protocol::WebSocket => Self::WebSocket(Box::default()),
        }
    }

    /// Whether requests may be started. Also true if the connection is closing, so that nothing waits for it.
    pub(super) fn is_ready(&self) -> bool {
        with_protocol!(self, state, _shared => (state.is_ready() && state.free_slots() > 0) || state.is_closing(),
            _frames => true)
    }

    /// Whether a request may be started now.
    pub(super) fn has_free_slot(&self) -> bool {
        with_protocol!(self, state, _shared => state.free_slots() > 0, frames => frames.awaits_handshake())
    }

    /// Whether the service has announced the end of an HTTP/1.1 connection, so that it reads no more requests.
    pub(super) fn reads_no_more(&self) -> bool {
        matches!(self, Self::Http1(state, _) if state.is_closing())
    }

    pub(super) fn start(
        &mut self,
        request: &PreparedRequest,
        values: Values<'_>,
        token: Token,
        out: &mut Vec<u8>,
    ) {
        match (self, request) {
            (Self::Http1(state, shared), PreparedRequest::Http1(prepared)) => {
                state.start(shared, &call(token, prepared, values), out);
            }
            (Self::Http2(state, shared), PreparedRequest::Http2(prepared)) => {
                state.start(shared, &call(token, prepared, values), out);
            }
            (Self::Grpc(state, shared), PreparedRequest::Http2(prepared)) => {
                state.start(shared, &call(token, prepared, values), out);
            }
            (Self::WebSocket(frames), PreparedRequest::WebSocket(prepared)) => {
                frames.start(prepared, values, token, out);
            }
            _ => unreachable!("invariant: a client prepares requests for its own connections"),
        }
    }

    pub(super) fn receive(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        replies: &mut Replies,
    ) -> Result<(), ProtocolError> {
        with_protocol!(self, state, shared => state.receive(shared, bytes, out, replies),
            frames => frames.receive(bytes, replies))
    }

    /// The stream of the service ended. `is_clean`: it cannot have been truncated.
    pub(super) fn end_of_stream(&mut self, is_clean: bool, replies: &mut Replies) {
        with_protocol!(self, state, shared => state.end_of_stream(shared, is_clean, replies), _frames => {});
    }

    /// Cancels a request, and notifies the service where the protocol allows it.
    pub(super) fn cancel(&mut self, token: Token, out: &mut Vec<u8>) {
        with_protocol!(self, state, _shared => { state.cancel(token, out); }, _frames => {});
    }
}

const fn call<'a, Prepared>(token: Token, prepared: &'a Prepared, values: Values<'a>) -> Call<'a, Prepared> {
    Call {
        token,
        prepared,
        values,
        wants_headers: true,
        is_last: false,
    }
}
