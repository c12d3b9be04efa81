//! HTTP/1.1 (RFC 9112) as a client speaks it, with pipelining.
//!
//! The parser is strict: a reply that a lenient reader could split in two or merge with the next one is malformed.

mod chunked;
pub(super) mod head;
mod request;

use crate::protocol::{
    Call, End, Failure, Head, HeaderList, PrepareError, Protocol, ProtocolError, ReplySink, Token,
};
use chunked::Chunks;
use head::{Heads, Length, ParsedHead};
use prony_load::{Request, Target};
use prony_records::Outcome;
use std::collections::VecDeque;

pub use request::Prepared;

/// Maximum length of a reply's head, bytes: far above what servers send, but finite so that reading garbage ends.
const MAX_HEAD: usize = 64 * 1024;

/// State shared by the HTTP/1.1 connections of one worker.
#[derive(Debug, Default)]
pub struct Shared {
    heads: Heads,
    scratch: Vec<u8>,
}

/// One HTTP/1.1 connection.
#[derive(Debug)]
pub struct Http1 {
    under_way: VecDeque<UnderWay>,
    depth: u32,
    /// The peer has announced that it closes after the current reply.
    closing: bool,
    /// We have announced that no further request follows.
    last_sent: bool,
    spent: bool,
    reading: Reading,
    /// The start of a head that is not complete yet.
    partial: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct UnderWay {
    token: Token,
    is_head: bool,
    wants_headers: bool,
}

#[derive(Debug)]
enum Reading {
    Head,
    Fixed { left: u64 },
    Chunked(Chunks),
    UntilClose,
}

impl Http1 {
    /// Reads a head from the front of `bytes`. Returns the unread bytes, or `None` if the head is incomplete.
    fn read_head<'a, S: ReplySink>(
        &mut self,
        shared: &mut Shared,
        bytes: &'a [u8],
        sink: &mut S,
    ) -> Result<Option<&'a [u8]>, &'static str> {
        let entry = self.under_way[0];
        if self.partial.is_empty() {
            sink.first_byte(entry.token);
            if !entry.wants_headers
                && let Some((head, length)) = shared.heads.known(bytes)
            {
                self.take_head(head, &[], sink);
                return Ok(Some(&bytes[length..]));
            }
            let Some(length) = head::end(bytes, 0) else {
                return self.keep_partial(bytes);
            };
            self.parse_head(shared, &bytes[..length], sink)?;
            return Ok(Some(&bytes[length..]));
        }
        // The end mark may be split between two pieces.
        let searched = self.partial.len();
        let held = bytes.len().min(MAX_HEAD + 1 - searched.min(MAX_HEAD));
        self.partial.extend_from_slice(&bytes[..held]);
        let Some(length) = head::end(&self.partial, searched.saturating_sub(3)) else {
            return self.check_partial(searched);
        };
        // Taken out and put back to keep its allocation.
        let mut whole = std::mem::take(&mut self.partial);
        self.parse_head(shared, &whole[..length], sink)?;
        whole.clear();
        self.partial = whole;
        Ok(Some(&bytes[length - searched..]))
    }

    fn keep_partial(&mut self, bytes: &[u8]) -> Result<Option<&'static [u8]>, &'static str> {
        self.partial.extend_from_slice(bytes);
        self.check_partial(0)
    }

    /// Rejects an incomplete head that can no longer become valid. `from`: the first byte not checked yet.
    fn check_partial(&self, from: usize) -> Result<Option<&'static [u8]>, &'static str> {
        if self.partial.len() > MAX_HEAD {
            return Err("the head is longer than 64 KiB");
        }
        head::plausible(&self.partial, from)?;
        Ok(None)
    }

    fn parse_head<S: ReplySink>(
        &mut self,
        shared: &mut Shared,
        bytes: &[u8],
        sink: &mut S,
    ) -> Result<(), &'static str> {
        let wants_headers = self.under_way[0].wants_headers;
        let unfolded = head::unfolded(bytes);
        let mut headers = HeaderList::new();
        let head = head::parse(unfolded.as_deref().unwrap_or(bytes), |name, value| {
            if wants_headers {
                headers.push((name, value));
            }
        })?;
        if head.status == 101 {
            return Err("status 101 switches to a protocol that was not requested");
        }
        if head.status >= 200 {
            shared.heads.learn(bytes, head);
            self.take_head(head, &headers, sink);
        }
        Ok(())
    }

    fn take_head<S: ReplySink>(&mut self, head: ParsedHead, headers: &[(&[u8], &[u8])], sink: &mut S) {
        let entry = self.under_way[0];
        if head.closes {
            self.closing = true;
            // The server must not process requests that were pipelined after this one (RFC 9112, section 9.6).
            for behind in self.under_way.drain(1..) {
                sink.failed(behind.token, Failure::Unprocessed);
            }
        }
        sink.head(
            entry.token,
            Head {
                status: head.status,
                headers,
            },
        );
        let bodiless = entry.is_head || head.status == 204 || head.status == 304;
        self.reading = match head.length {
            _ if bodiless => Reading::Fixed { left: 0 },
            Length::Fixed(left) => Reading::Fixed { left },
            Length::Chunked => Reading::Chunked(Chunks::new()),
            Length::UntilClose => {
                self.closing = true;
                Reading::UntilClose
            }
        };
    }

    /// Reads a body from the front of `bytes`. Returns the unread bytes and whether the body is complete.
    fn read_body<'a, S: ReplySink>(
        &mut self,
        bytes: &'a [u8],
        sink: &mut S,
    ) -> Result<(&'a [u8], bool), &'static str> {
        let token = self.under_way[0].token;
        match &mut self.reading {
            Reading::Head => Ok((bytes, false)),
            Reading::Fixed { left } => {
                let count = usize::try_from(*left).map_or(bytes.len(), |wanted| wanted.min(bytes.len()));
                if count > 0 {
                    sink.data(token, &bytes[..count]);
                    *left -= count as u64;
                }
                Ok((&bytes[count..], *left == 0))
            }
            Reading::Chunked(chunks) => chunks.read(bytes, |piece| sink.data(token, piece)),
            Reading::UntilClose => {
                if !bytes.is_empty() {
                    sink.data(token, bytes);
                }
                Ok((&[], false))
            }
        }
    }

    /// Whether the server closes an idle connection with a 408 because no request came (RFC 9110, section 15.5.9).
    fn is_request_timeout(&self, bytes: &[u8]) -> bool {
        let is_idle = self.under_way.is_empty() && !self.spent;
        is_idle
            && [b"HTTP/1.1 408", b"HTTP/1.0 408"]
                .iter()
                .any(|start| bytes.starts_with(*start))
    }

    fn complete<S: ReplySink>(&mut self, left_over: &[u8], sink: &mut S) -> Result<(), &'static str> {
        let last = self.under_way.len() == 1 || self.closing;
        if last && !left_over.is_empty() {
            return Err("the server sent more bytes than the reply may have");
        }
        let entry = self
            .under_way
            .pop_front()
            .expect("invariant: a reply has its request");
        self.reading = Reading::Head;
        self.spent = self.closing || (self.last_sent && self.under_way.is_empty());
        sink.end(entry.token, End { grpc_status: None });
        Ok(())
    }

    fn read<S: ReplySink>(
        &mut self,
        shared: &mut Shared,
        mut bytes: &[u8],
        sink: &mut S,
    ) -> Result<(), &'static str> {
        while !bytes.is_empty() {
            if self.under_way.is_empty() || self.spent {
                if self.is_request_timeout(bytes) {
                    (self.closing, self.spent) = (true, true);
                    return Ok(());
                }
                return Err("the server sent bytes without a request");
            }
            if matches!(self.reading, Reading::Head) {
                match self.read_head(shared, bytes, sink)? {
                    Some(rest) => bytes = rest,
                    None => return Ok(()),
                }
                if matches!(self.reading, Reading::Head) {
                    continue;
                }
            }
            let (rest, complete) = self.read_body(bytes, sink)?;
            bytes = rest;
            if complete {
                self.complete(bytes, sink)?;
            }
        }
        Ok(())
    }
}

impl Protocol for Http1 {
    type Prepared = Prepared;
    type Shared = Shared;

    const GREETING: &'static str = "it sent any data";
    const GONE_AT_ONCE: &'static str = "the server ended the connection before any request";
    const MAY_RETRY: bool = true;
    const BEHIND_A_TIMEOUT: Outcome = Outcome::Timeout;

    fn prepare(request: &Request, target: &Target) -> Result<Prepared, PrepareError> {
        Prepared::new(request, target)
    }

    fn shared() -> Shared {
        Shared::default()
    }

    fn new(_: &mut Shared, depth: u32) -> Self {
        Self {
            under_way: VecDeque::with_capacity(depth as usize),
            depth,
            closing: false,
            last_sent: false,
            spent: false,
            reading: Reading::Head,
            partial: Vec::new(),
        }
    }

    fn open(&mut self, _: &mut Shared, _: &Prepared, _: &mut Vec<u8>) {}

    #[inline]
    fn places(&self) -> u32 {
        if self.closing || self.last_sent {
            0
        } else {
            self.depth - self.under_way.len() as u32
        }
    }

    #[inline]
    fn start(&mut self, shared: &mut Shared, call: &Call<'_, Prepared>, out: &mut Vec<u8>) {
        call.prepared
            .render(call.values, call.is_last, &mut shared.scratch, out);
        self.last_sent |= call.is_last;
        self.under_way.push_back(UnderWay {
            token: call.token,
            is_head: call.prepared.is_head(),
            wants_headers: call.wants_headers,
        });
    }

    fn receive<S: ReplySink>(
        &mut self,
        shared: &mut Shared,
        bytes: &[u8],
        _: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), ProtocolError> {
        self.read(shared, bytes, sink).map_err(|reason| {
            self.closing = true;
            self.spent = true;
            if let Some(entry) = self.under_way.pop_front() {
                sink.failed(entry.token, Failure::Malformed(reason));
            }
            ProtocolError(reason)
        })
    }

    fn end_of_stream<S: ReplySink>(&mut self, _: &mut Shared, is_clean: bool, sink: &mut S) {
        if matches!(self.reading, Reading::UntilClose) {
            if is_clean {
                self.complete(&[], sink).expect("invariant: nothing is left over");
            } else if let Some(entry) = self.under_way.pop_front() {
                let reason = "the TLS connection ended without close_notify, so the body may be truncated";
                sink.failed(entry.token, Failure::Malformed(reason));
            }
        }
        self.closing = true;
        self.spent = true;
    }

    fn cancel(&mut self, _: Token, _: &mut Vec<u8>) -> bool {
        self.closing = true;
        false
    }

    #[inline]
    fn is_closing(&self) -> bool {
        self.closing
    }

    #[inline]
    fn is_spent(&self) -> bool {
        self.spent || (self.closing && self.under_way.is_empty())
    }
}

#[cfg(test)]
mod tests;
