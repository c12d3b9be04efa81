//! State of one HTTP/2 connection and its implementation of [`Protocol`].

use super::blocks::Blocks;
use super::frame::{self, DEFAULT_MAX_FRAME_SIZE, DEFAULT_WINDOW, FrameHeader, setting};
use super::hpack::Encoder;
use super::streams::Streams;
use super::{Http2Request, Semantics};
use crate::protocol::{Call, PrepareError, Protocol, ProtocolError, ReplySink, Token};
use prony_load::{Http2Offer, Limits, Request, Target};

/// State shared by the HTTP/2 connections of one worker.
#[derive(Debug, Default)]
pub struct Http2WorkerState {
    /// Scratch space for the body of the request that is being started.
    pub(super) body: Vec<u8>,
    /// What this side offers.
    pub(super) offer: Http2Offer,
}

/// Limits that the service has set.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerSettings {
    pub(super) max_streams: u32,
    pub(super) window: u32,
    pub(super) max_frame: u32,
}

/// A DATA frame whose payload is being passed on.
#[derive(Debug, Clone, Copy)]
pub(super) struct DataInProgress {
    pub(super) stream: u32,
    /// Bytes of the payload that have not arrived yet, including padding.
    pub(super) left: u32,
    /// Bytes of padding at the end; `None` until the padding length has arrived.
    pub(super) padding: Option<u32>,
    pub(super) ends_stream: bool,
}

/// A header block that continues in CONTINUATION frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartialHeaderBlock {
    pub(super) stream: u32,
    pub(super) ends_stream: bool,
}

/// One HTTP/2 connection.
#[derive(Debug)]
pub struct Connection<M: Semantics> {
    pub(super) depth: u32,
    pub(super) streams: Streams<M::Reply>,
    pub(super) encoder: Encoder,
    pub(super) blocks: Blocks,
    pub(super) peer: PeerSettings,
    /// What this side offers.
    pub(super) offer: Http2Offer,
    /// Whether the service's SETTINGS have arrived.
    pub(super) is_ready: bool,
    /// Whether no further streams can be opened, because of the service or because the identifiers are used up.
    pub(super) is_closing: bool,
    /// Bytes that the service still accepts on this connection.
    pub(super) send_window: i64,
    /// Bytes that the service may still send on this connection.
    pub(super) receive_window: i64,
    /// Number of streams whose body waits for a larger window.
    pub(super) waiting: u32,
    /// The start of an incomplete frame.
    pub(super) partial: Vec<u8>,
    pub(super) passing: Option<DataInProgress>,
    pub(super) continued: Option<PartialHeaderBlock>,
    /// The header block so far, if it continues.
    pub(super) fragments: Vec<u8>,
    /// Its length, with a surcharge for each frame.
    pub(super) fragments_cost: usize,
}

impl<M: Semantics> Connection<M> {
    /// Frees a slot and returns the token of its request.
    pub(super) fn close(&mut self, slot: usize) -> Token {
        if !self.streams.get(slot).unsent.is_empty() {
            self.waiting -= 1;
        }
        self.streams.remove(slot)
    }
}

impl<M: Semantics> Protocol for Connection<M> {
    type Request = Http2Request;
    type WorkerState = Http2WorkerState;

    const FIRST_FROM_PEER: &'static str = "it sent HTTP/2 settings";
    const CLOSED_BEFORE_REQUESTS: &'static str =
        "the server ended the connection (GOAWAY) before any request";
    const MULTIPLEXES: bool = true;
    const DELIMITS_MESSAGES: bool = M::DIALECT.grpc;

    fn prepare(request: &Request, target: &Target) -> Result<Http2Request, PrepareError> {
        Http2Request::new(request, target, M::DIALECT)
    }

    fn shared() -> Http2WorkerState {
        Http2WorkerState::default()
    }

    fn shared_within(limits: &Limits) -> Http2WorkerState {
        Http2WorkerState {
            offer: limits.http2,
            ..Http2WorkerState::default()
        }
    }

    fn new(shared: &mut Http2WorkerState, depth: u32) -> Self {
        Self {
            depth,
            offer: shared.offer,
            streams: Streams::new(depth),
            encoder: Encoder::default(),
            blocks: Blocks::new(),
            peer: PeerSettings {
                max_streams: u32::MAX,
                window: DEFAULT_WINDOW,
                max_frame: DEFAULT_MAX_FRAME_SIZE,
            },
            is_ready: false,
            is_closing: false,
            send_window: i64::from(DEFAULT_WINDOW),
            receive_window: i64::from(shared.offer.connection_window),
            waiting: 0,
            partial: Vec::new(),
            passing: None,
            continued: None,
            fragments: Vec::new(),
            fragments_cost: 0,
        }
    }

    fn open(&mut self, _: &mut Http2WorkerState, _: &Http2Request, out: &mut Vec<u8>) {
        write_preface(self.offer, out);
    }

    #[inline]
    fn is_ready(&self) -> bool {
        // A service that allows no streams at first raises the limit later: until then, requests wait.
        self.is_ready
    }

    #[inline]
    fn stream_limit(&self) -> Option<u32> {
        (self.is_ready && self.peer.max_streams < self.depth).then_some(self.peer.max_streams)
    }

    #[inline]
    fn free_slots(&self) -> u32 {
        if self.is_closing || !self.is_ready {
            return 0;
        }
        self.depth
            .min(self.peer.max_streams)
            .saturating_sub(self.streams.open())
    }

    #[inline]
    fn start(&mut self, shared: &mut Http2WorkerState, call: &Call<'_, Http2Request>, out: &mut Vec<u8>) {
        self.start_stream(&mut shared.body, call, out);
    }

    #[inline]
    fn receive<S: ReplySink>(
        &mut self,
        _: &mut Http2WorkerState,
        bytes: &[u8],
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), ProtocolError> {
        self.take(bytes, out, sink).map_err(|violation| {
            self.is_closing = true;
            frame::write_go_away(violation.code, out);
            ProtocolError(violation.reason)
        })
    }

    fn end_of_stream<S: ReplySink>(&mut self, _: &mut Http2WorkerState, _: bool, _: &mut S) {
        self.is_closing = true;
    }

    fn cancel(&mut self, token: Token, out: &mut Vec<u8>) -> bool {
        if let Some(slot) = self.streams.find_token(token) {
            let stream = self.streams.get(slot).id;
            frame::write_reset(stream, frame::ErrorCode::Cancel, out);
            self.close(slot);
        }
        true
    }

    #[inline]
    fn is_closing(&self) -> bool {
        self.is_closing
    }

    #[inline]
    fn is_spent(&self) -> bool {
        self.is_closing && self.streams.open() == 0
    }
}

/// The first bytes of a client (RFC 9113, section 3.4).
pub(crate) fn write_preface(offer: Http2Offer, out: &mut Vec<u8>) {
    out.extend_from_slice(frame::PREFACE);
    let settings = [
        (setting::ENABLE_PUSH, 0),
        (setting::INITIAL_WINDOW_SIZE, offer.window),
        (setting::MAX_HEADER_LIST_SIZE, super::blocks::MOST_HEADERS as u32),
        (setting::MAX_FRAME_SIZE, offer.max_frame),
    ];
    // A frame size that is the usual one is not worth a setting.
    let count = if offer.max_frame == DEFAULT_MAX_FRAME_SIZE {
        3
    } else {
        4
    };
    frame::write_settings(&settings[..count], out);
    if offer.connection_window > DEFAULT_WINDOW {
        frame::write_window_update(0, offer.connection_window - DEFAULT_WINDOW, out);
    }
}

/// Whether a frame's header can be that of HTTP/1.1 text: then the service does not speak HTTP/2.
pub(super) fn looks_like_text(header: FrameHeader) -> bool {
    header.to_bytes().starts_with(b"HTTP/1.")
}
