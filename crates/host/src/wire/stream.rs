//! The two ends of a stream: a [`Read`] and a [`Write`].

use super::link::{AgentLink, StreamChunk};
use std::io::{self, Read, Write};
use std::sync::Arc;

/// The reading end. Dropping it tells the sender to stop.
#[derive(Debug)]
pub(crate) struct InboundReader {
    link: Arc<AgentLink>,
    stream: u32,
    piece: Vec<u8>,
    read: usize,
}

impl InboundReader {
    /// Opens a stream that the other side writes or will write.
    pub(crate) fn open(link: &Arc<AgentLink>, stream: u32) -> Self {
        link.open_incoming(stream);
        Self {
            link: Arc::clone(link),
            stream,
            piece: Vec::new(),
            read: 0,
        }
    }
}

impl Read for InboundReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.piece.len() && !buffer.is_empty() {
            match self.link.next(self.stream) {
                StreamChunk::Bytes(piece) => (self.piece, self.read) = (piece, 0),
                StreamChunk::End => return Ok(0),
                StreamChunk::Broken(why) => return Err(io::Error::new(io::ErrorKind::ConnectionReset, why)),
            }
        }
        let rest = &self.piece[self.read..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.read += length;
        Ok(length)
    }
}

impl Drop for InboundReader {
    fn drop(&mut self) {
        self.link.close_incoming(self.stream);
    }
}

/// The writing end. Dropping it ends the stream.
#[derive(Debug)]
pub(crate) struct OutboundWriter {
    link: Arc<AgentLink>,
    stream: u32,
}

impl OutboundWriter {
    /// Opens a stream that the other side reads.
    pub(crate) fn open(link: &Arc<AgentLink>, stream: u32) -> Self {
        link.open_outgoing(stream);
        Self {
            link: Arc::clone(link),
            stream,
        }
    }

    /// Ends the stream early, with the reason.
    pub(crate) fn break_off(self, why: &str) {
        self.link.close_outgoing(self.stream, why);
    }
}

impl Write for OutboundWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.link.write(self.stream, bytes).ok_or_else(|| {
            let why = self.link.over();
            io::Error::new(
                io::ErrorKind::BrokenPipe,
                why.unwrap_or_else(|| "its reader has closed it".to_owned()),
            )
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for OutboundWriter {
    fn drop(&mut self) {
        self.link.close_outgoing(self.stream, "");
    }
}
