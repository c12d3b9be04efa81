//! Splits a reply into messages, whatever its format.

mod lines;
pub(super) mod sse;

use lines::JsonLinesReader;
use sse::Sse;
use std::ops::ControlFlow;

/// How messages are encoded in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `text/event-stream`.
    ServerSentEvents,
    /// `application/x-ndjson`, `application/jsonl` and their other names: one JSON value per line.
    JsonLines,
    /// gRPC messages, whose ends the protocol marks.
    Messages,
}

/// Media types of JSON Lines.
const JSON_LINES: [&[u8]; 6] = [
    b"application/x-ndjson",
    b"application/ndjson",
    b"application/jsonl",
    b"application/x-jsonl",
    b"application/jsonlines",
    b"application/x-jsonlines",
];

impl Format {
    /// The format that a `content-type` names; `None` where it is not a stream.
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

/// Reads the messages of one reply. Its memory is bounded by the longest message allowed.
#[derive(Debug)]
pub enum Reader {
    /// Server-sent events.
    Sse(Sse),
    /// JSON Lines.
    Lines(JsonLinesReader),
    /// gRPC messages.
    Messages(LengthPrefixedReader),
}

impl Reader {
    /// Creates a reader. `keeps`: whether the data of messages is needed; if not, that of server-sent events and gRPC
    /// is dropped.
    pub const fn new(format: Format, longest: u64, keeps: bool) -> Self {
        match format {
            Format::ServerSentEvents => Self::Sse(Sse::new(longest, keeps)),
            Format::JsonLines => Self::Lines(JsonLinesReader::new(longest)),
            Format::Messages => Self::Messages(LengthPrefixedReader::new(longest, keeps)),
        }
    }

    /// Starts with another reply, and keeps the memory where the format is the same.
    pub fn begin(&mut self, format: Format, longest: u64, keeps: bool) {
        match (self, format) {
            (Self::Sse(sse), Format::ServerSentEvents) => sse.begin(longest, keeps),
            (Self::Lines(lines), Format::JsonLines) => lines.begin(longest),
            (Self::Messages(framed), Format::Messages) => framed.begin(longest, keeps),
            (reader, _) => *reader = Self::new(format, longest, keeps),
        }
    }

    /// Takes the next piece of the reply and passes each complete message to `each`, which decides whether to
    /// continue.
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

    /// Marks the message whose pieces were read as complete, where the protocol delimits messages.
    pub fn complete(&mut self, each: impl FnOnce(&Message<'_>)) {
        if let Self::Messages(framed) = self {
            framed.complete(each);
        }
    }

    /// Handles the end of the reply.
    pub fn end(&mut self, each: impl FnMut(&Message<'_>) -> ControlFlow<()>) -> Result<(), EventFault> {
        match self {
            Self::Sse(sse) => sse.end(),
            Self::Lines(lines) => lines.end(each),
            // The protocol layer has checked whether the reply ends in the middle of a message.
            Self::Messages(_) => Ok(()),
        }
    }

    /// Allocated memory, bytes.
    pub const fn allocated(&self) -> usize {
        match self {
            Self::Sse(sse) => sse.allocated(),
            Self::Lines(lines) => lines.allocated(),
            Self::Messages(framed) => framed.allocated(),
        }
    }
}

/// The message being received.
#[derive(Debug)]
pub struct LengthPrefixedReader {
    longest: u64,
    keeps: bool,
    length: u64,
    allocated: Vec<u8>,
}

impl LengthPrefixedReader {
    const fn new(longest: u64, keeps: bool) -> Self {
        Self {
            longest,
            keeps,
            length: 0,
            allocated: Vec::new(),
        }
    }

    fn begin(&mut self, longest: u64, keeps: bool) {
        (self.longest, self.keeps) = (longest, keeps);
        self.clear();
    }

    const fn allocated(&self) -> usize {
        self.allocated.capacity()
    }

    /// Takes the next piece of the message.
    fn read(&mut self, piece: &[u8]) -> Result<(), EventFault> {
        self.length += piece.len() as u64;
        if self.length > self.longest {
            return Err(EventFault::TooLong);
        }
        if self.keeps {
            self.allocated.extend_from_slice(piece);
        }
        Ok(())
    }

    /// Completes the message and passes it to `each`.
    fn complete(&mut self, each: impl FnOnce(&Message<'_>)) {
        each(&Message {
            name: UNNAMED,
            data: &self.allocated,
            id: None,
        });
        self.clear();
    }

    fn clear(&mut self) {
        self.length = 0;
        self.allocated.clear();
        self.allocated.shrink_to(KEPT);
    }
}

/// The standard's default for the name of an event.
const UNNAMED: &[u8] = b"message";

/// Memory that a reader keeps between messages, bytes: one long message must not hold its memory forever.
const KEPT: usize = 16 * 1024;

/// One message of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The name of the event; `message` where the server sends none, and always for JSON Lines.
    pub name: &'a [u8],
    /// The data; empty where the reader does not keep it.
    pub data: &'a [u8],
    /// The id sent with this event.
    pub id: Option<&'a [u8]>,
}

/// Why a stream is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventFault {
    /// A message is longer than allowed.
    TooLong,
    /// A line is not JSON.
    NoJson,
    /// The stream ends in the middle of a message.
    CutOff,
}
