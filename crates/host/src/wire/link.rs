//! The streams of a connection: which are open in either direction, and how much of each may be sent.

use super::frame::{Frame, Kind};
use super::inbox::Item;
use super::outbox::Outbox;
use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Maximum number of bytes of a stream that its receiver buffers.
pub(super) const WINDOW: usize = 1 << 20;
/// Longest piece of a stream per frame, bytes. Small enough to let beats get in between.
pub(super) const CHUNK: usize = 64 << 10;

/// The state of a connection's streams.
#[derive(Debug, Default)]
pub(crate) struct AgentLink {
    pub(crate) outbox: Outbox,
    streams: Mutex<Streams>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Streams {
    incoming: HashMap<u32, InboundStream>,
    outgoing: HashMap<u32, OutboundStream>,
    over: Option<String>,
}

/// A stream that this side receives.
#[derive(Debug, Default)]
struct InboundStream {
    pieces: VecDeque<Vec<u8>>,
    held: usize,
    /// Bytes that were read but not yet credited to the sender.
    owed: usize,
    end: Option<End>,
}

/// How a stream ended.
#[derive(Debug)]
enum End {
    Whole,
    Broken(String),
}

/// A stream that this side sends.
#[derive(Debug)]
struct OutboundStream {
    credit: usize,
    refused: bool,
}

#[derive(Debug)]
pub(super) enum StreamChunk {
    Bytes(Vec<u8>),
    /// The stream ended and is complete.
    End,
    /// The stream ended early, for this reason.
    Broken(String),
}

impl AgentLink {
    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all streams. Everything that waits fails with the reason.
    pub(crate) fn end(&self, why: &str) {
        let mut streams = self.streams();
        streams.over.get_or_insert_with(|| why.to_owned());
        self.outbox.close();
        self.changed.notify_all();
    }

    /// The reason for the end of the connection, if it has ended.
    pub(crate) fn over(&self) -> Option<String> {
        self.streams().over.clone()
    }

    pub(super) fn open_incoming(&self, stream: u32) {
        self.streams().incoming.insert(stream, InboundStream::default());
    }

    pub(super) fn open_outgoing(&self, stream: u32) {
        let leaving = OutboundStream {
            credit: WINDOW,
            refused: false,
        };
        self.streams().outgoing.insert(stream, leaving);
    }

    /// Handles a received item of a stream. Refuses data of streams that are not open. The error names the violated rule.
    pub(crate) fn take(&self, item: Item) -> Result<(), String> {
        let mut streams = self.streams();
        match item {
            Item::Data { stream, bytes } => match streams.incoming.get_mut(&stream) {
                Some(arriving) => {
                    arriving.held += bytes.len();
                    if arriving.held > WINDOW {
                        return Err(format!("received more of stream {stream} than its credit allows"));
                    }
                    arriving.pieces.push_back(bytes);
                }
                None => self.send(Kind::Refuse, stream, &[]),
            },
            Item::End { stream, broken } => {
                if let Some(arriving) = streams.incoming.get_mut(&stream) {
                    arriving.end = Some(broken.map_or(End::Whole, End::Broken));
                }
            }
            Item::Credit { stream, bytes } => {
                if let Some(leaving) = streams.outgoing.get_mut(&stream) {
                    leaving.credit = (leaving.credit + bytes as usize).min(WINDOW);
                }
            }
            Item::Refuse { stream } => {
                if let Some(leaving) = streams.outgoing.get_mut(&stream) {
                    leaving.refused = true;
                }
            }
            Item::Message { .. } => {}
        }
        self.changed.notify_all();
        Ok(())
    }

    /// The next piece of an incoming stream; waits for it.
    pub(super) fn next(&self, stream: u32) -> StreamChunk {
        let mut streams = self.streams();
        loop {
            let over = streams.over.clone();
            let Some(arriving) = streams.incoming.get_mut(&stream) else {
                return StreamChunk::End;
            };
            if let Some(piece) = arriving.pieces.pop_front() {
                arriving.held -= piece.len();
                arriving.owed += piece.len();
                if arriving.owed >= WINDOW / 4 && arriving.end.is_none() {
                    let credit = (std::mem::take(&mut arriving.owed) as u32).to_be_bytes();
                    self.send(Kind::Credit, stream, &credit);
                }
                return StreamChunk::Bytes(piece);
            }
            match (&arriving.end, over) {
                (Some(End::Whole), _) => return StreamChunk::End,
                (Some(End::Broken(why)), _) => return StreamChunk::Broken(why.clone()),
                (None, Some(why)) => return StreamChunk::Broken(why),
                (None, None) => {}
            }
            streams = self.changed.wait(streams).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Closes the reading end of a stream.
    pub(super) fn close_incoming(&self, stream: u32) {
        let gone = self.streams().incoming.remove(&stream);
        if gone.is_some_and(|gone| gone.end.is_none()) {
            self.send(Kind::Refuse, stream, &[]);
        }
    }

    /// Sends some of the bytes; waits until the receiver accepts more. `None`: it accepts no more.
    pub(super) fn write(&self, stream: u32, bytes: &[u8]) -> Option<usize> {
        let mut streams = self.streams();
        loop {
            if streams.over.is_some() {
                return None;
            }
            let leaving = streams.outgoing.get_mut(&stream)?;
            if leaving.refused {
                return None;
            }
            let length = bytes.len().min(leaving.credit).min(CHUNK);
            if length > 0 || bytes.is_empty() {
                leaving.credit -= length;
                self.send(Kind::Data, stream, &bytes[..length]);
                return Some(length);
            }
            streams = self.changed.wait(streams).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends an outgoing stream.
    pub(super) fn close_outgoing(&self, stream: u32, broken: &str) {
        if self.streams().outgoing.remove(&stream).is_some() {
            let end = broken.len().min(1_000);
            self.send(Kind::End, stream, &broken.as_bytes()[..end]);
        }
    }

    fn send(&self, kind: Kind, stream: u32, payload: &[u8]) {
        let mut frame = Vec::with_capacity(payload.len() + 16);
        Frame::write(kind, stream, payload, &mut frame);
        self.outbox.send(frame);
    }

    pub(crate) fn send_message(&self, id: u32, message: &[u8]) {
        let mut frames = Vec::with_capacity(message.len() + 16);
        Frame::write_message(id, message, &mut frames);
        self.outbox.send(frames);
    }
}
