//! The state of one connection, and the [`Protocol`] it is.

use super::blocks::Blocks;
use super::frame::{self, DEFAULT_MAX_FRAME_SIZE, DEFAULT_WINDOW, FrameHeader, setting};
use super::hpack::Encoder;
use super::streams::Streams;
use super::{Prepared, Semantics};
use crate::protocol::{Call, PrepareError, Protocol, ProtocolError, ReplySink, Token};
use prony_load::{Request, Target};

/// What this side offers for each stream and for the connection, bytes. A generator must never be what holds a reply
/// back, so both are as good as unlimited; the buffers of TCP stay in force.
pub(super) const OUR_WINDOW: u32 = 1 << 30;

/// What the connections of one worker share.
#[derive(Debug, Default)]
pub struct Shared {
    /// The body of the request that is being started.
    pub(super) body: Vec<u8>,
}

/// What the service allows.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerSettings {
    pub(super) max_streams: u32,
    pub(super) window: u32,
    pub(super) max_frame: u32,
}

/// The payload of a DATA frame that is passing through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passing {
    pub(super) stream: u32,
    /// Bytes of the payload still to come, padding included.
    pub(super) left: u32,
    /// Bytes of padding at its end; `None`: the byte that says so is still to come.
    pub(super) padding: Option<u32>,
    pub(super) ends_stream: bool,
}

/// A header block that goes on in CONTINUATION frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct Continued {
    pub(super) stream: u32,
    pub(super) ends_stream: bool,
}

/// One connection.
#[derive(Debug)]
pub struct Connection<M: Semantics> {
    pub(super) depth: u32,
    pub(super) streams: Streams<M::Reply>,
    pub(super) encoder: Encoder,
    pub(super) blocks: Blocks,
    pub(super) peer: PeerSettings,
    /// Whether the service's SETTINGS are there.
    pub(super) is_ready: bool,
    /// Whether the service, or the end of the identifiers, forbids further streams.
    pub(super) is_closing: bool,
    /// What the service still accepts on this connection, bytes.
    pub(super) send_window: i64,
    /// What the service may still send on this connection, bytes.
    pub(super) receive_window: i64,
    /// Streams whose body the windows keep back.
    pub(super) waiting: u32,
    /// The begin of a frame whose rest is still to come.
    pub(super) partial: Vec<u8>,
    pub(super) passing: Option<Passing>,
    pub(super) continued: Option<Continued>,
    /// The header block so far, where it goes on.
    pub(super) fragments: Vec<u8>,
    /// Its length, with a surcharge for each frame.
    pub(super) fragments_cost: usize,
}

impl<M: Semantics> Connection<M> {
    /// Frees a slot and gives the token of its request.
    pub(super) fn close(&mut self, slot: usize) -> Token {
        if !self.streams.get(slot).unsent.is_empty() {
            self.waiting -= 1;
        }
        self.streams.remove(slot)
    }
}

impl<M: Semantics> Protocol for Connection<M> {
    type Prepared = Prepared;
    type Shared = Shared;

    const GREETING: &'static str = "it said a word of HTTP/2";
    const GONE_AT_ONCE: &'static str = "the server ended the connection (GOAWAY) before any request";
    const MULTIPLEXES: bool = true;
    const TELLS_MESSAGES: bool = M::DIALECT.grpc;

    fn prepare(request: &Request, target: &Target) -> Result<Prepared, PrepareError> {
        Prepared::new(request, target, M::DIALECT)
    }

    fn shared() -> Shared {
        Shared::default()
    }

    fn new(_: &mut Shared, depth: u32) -> Self {
        Self {
            depth,
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
            receive_window: i64::from(OUR_WINDOW),
            waiting: 0,
            partial: Vec::new(),
            passing: None,
            continued: None,
            fragments: Vec::new(),
            fragments_cost: 0,
        }
    }

    fn open(&mut self, _: &mut Shared, _: &Prepared, out: &mut Vec<u8>) {
        write_preface(out);
    }

    #[inline]
    fn is_ready(&self) -> bool {
        // A service that allows no stream at first says later that it does.
        self.is_ready && self.peer.max_streams > 0
    }

    #[inline]
    fn stream_limit(&self) -> Option<u32> {
        (self.is_ready && self.peer.max_streams < self.depth).then_some(self.peer.max_streams)
    }

    #[inline]
    fn places(&self) -> u32 {
        if self.is_closing || !self.is_ready {
            return 0;
        }
        self.depth
            .min(self.peer.max_streams)
            .saturating_sub(self.streams.open())
    }

    #[inline]
    fn start(&mut self, shared: &mut Shared, call: &Call<'_, Prepared>, out: &mut Vec<u8>) {
        self.start_stream(&mut shared.body, call, out);
    }

    #[inline]
    fn receive<S: ReplySink>(
        &mut self,
        _: &mut Shared,
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

    fn end_of_stream<S: ReplySink>(&mut self, _: &mut Shared, _: bool, _: &mut S) {
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

/// What a client says first (RFC 9113, section 3.4).
pub(crate) fn write_preface(out: &mut Vec<u8>) {
    out.extend_from_slice(frame::PREFACE);
    let settings = [
        (setting::ENABLE_PUSH, 0),
        (setting::INITIAL_WINDOW_SIZE, OUR_WINDOW),
        (setting::MAX_HEADER_LIST_SIZE, super::blocks::MOST_HEADERS as u32),
    ];
    frame::write_settings(&settings, out);
    frame::write_window_update(0, OUR_WINDOW - DEFAULT_WINDOW, out);
}

/// Whether a frame's header can be that of HTTP/1.1 text: then the service does not speak HTTP/2.
pub(super) fn looks_like_text(header: FrameHeader) -> bool {
    header.to_bytes().starts_with(b"HTTP/1.")
}
