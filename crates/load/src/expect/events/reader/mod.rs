//! One message after the other out of a reply, whatever its format.

mod framed;
mod lines;
pub(super) mod sse;

use super::message::{EventFault, Message};
use framed::Framed;
use lines::Lines;
use sse::Sse;
use std::ops::ControlFlow;

/// How messages stand in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `text/event-stream`.
    ServerSentEvents,
    /// `application/x-ndjson`, `application/jsonl` and their other names: a JSON value a line.
    JsonLines,
    /// Messages of gRPC, whose ends the protocol tells.
    Messages,
}

/// Names of JSON Lines.
const JSON_LINES: [&[u8]; 6] = [
    b"application/x-ndjson",
    b"application/ndjson",
    b"application/jsonl",
    b"application/x-jsonl",
    b"application/jsonlines",
    b"application/x-jsonlines",
];

impl Format {
    /// The format that a `content-type` names, where it is one of a stream.
    pub fn of(content_type: &[u8]) -> Option<Self> {
        let essence = content_type
            .split(|&byte| byte == b';')
            .next()
            .unwrap_or_default();
        let essence = essence.trim_ascii();
        if essence.eq_ignore_ascii_case(b"text/event-stream") {
            return Some(Self::ServerSentEvents);
        }
        JSON_LINES
            .iter()
            .any(|name| essence.eq_ignore_ascii_case(name))
            .then_some(Self::JsonLines)
    }
}

/// Reads the messages of one reply. Its memory is bounded by the longest message that is allowed.
#[derive(Debug)]
pub enum Reader {
    /// Server-sent events.
    Sse(Sse),
    /// JSON Lines.
    Lines(Lines),
    /// Messages of gRPC.
    Messages(Framed),
}

impl Reader {
    /// A reader. `keeps`: whether the data of messages is looked at; else that of server-sent events and of gRPC is not kept.
    pub const fn new(format: Format, longest: u64, keeps: bool) -> Self {
        match format {
            Format::ServerSentEvents => Self::Sse(Sse::new(longest, keeps)),
            Format::JsonLines => Self::Lines(Lines::new(longest)),
            Format::Messages => Self::Messages(Framed::new(longest, keeps)),
        }
    }

    /// Begins with another reply, and keeps the memory where the format is the same.
    pub fn begin(&mut self, format: Format, longest: u64, keeps: bool) {
        match (self, format) {
            (Self::Sse(sse), Format::ServerSentEvents) => sse.begin(longest, keeps),
            (Self::Lines(lines), Format::JsonLines) => lines.begin(longest),
            (Self::Messages(framed), Format::Messages) => framed.begin(longest, keeps),
            (reader, _) => *reader = Self::new(format, longest, keeps),
        }
    }

    /// Takes the next piece of the reply and gives each message that is complete to `each`, which says whether to go on.
    pub fn read(
        &mut self,
        piece: &[u8],
        each: impl FnMut(&Message<'_>) -> ControlFlow<()>,
    ) -> Result<(), EventFault> {
        match self {
            Self::Sse(sse) => sse.read(piece, each),
            Self::Lines(lines) => lines.read(piece, each),
            Self::Messages(framed) => framed.read(piece),
        }
    }

    /// The message whose pieces were read is complete, where the protocol tells it.
    pub fn complete(&mut self, each: impl FnOnce(&Message<'_>)) {
        if let Self::Messages(framed) = self {
            framed.complete(each);
        }
    }

    /// The reply is complete.
    pub fn end(&mut self, each: impl FnMut(&Message<'_>) -> ControlFlow<()>) -> Result<(), EventFault> {
        match self {
            Self::Sse(sse) => sse.end(),
            Self::Lines(lines) => lines.end(each),
            // The protocol has seen whether it ends in the middle of one.
            Self::Messages(_) => Ok(()),
        }
    }

    /// Bytes of memory that it holds.
    pub const fn held(&self) -> usize {
        match self {
            Self::Sse(sse) => sse.held(),
            Self::Lines(lines) => lines.held(),
            Self::Messages(framed) => framed.held(),
        }
    }
}
