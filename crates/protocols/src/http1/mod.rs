//! HTTP/1.1 (RFC 9112) for clients, with pipelining.
//!
//! The parser is strict: a reply that a lenient reader could split in two or merge with the next one is malformed.

mod chunked;
pub(super) mod head;
mod request;

use crate::protocol::{
    Call, End, Failure, Framing, Head, HeaderList, PrepareError, Protocol, ProtocolError, ReplySink, Token,
};
use chunked::Chunks;
use head::{HeadCache, Length, ParsedHead, PartialHead};
use prony_load::{Request, Target};
use std::collections::VecDeque;

pub use request::{BodyFraming, Http1Request};

const UNREQUESTED: &str = "bytes came without a request";

/// State shared by the HTTP/1.1 connections of one worker.
#[derive(Debug, Default)]
pub struct Http1WorkerState {
    heads: HeadCache,
    scratch: Vec<u8>,
}

/// One HTTP/1.1 connection.
#[derive(Debug)]
pub struct Http1 {
    in_flight: VecDeque<PipelinedRequest>,
    depth: u32,
    /// The peer has announced that it closes after the current reply.
    closing: bool,
    /// We have announced that no further request follows.
    last_sent: bool,
    spent: bool,
    /// The peer has sent a notice that it closes the idle connection.
    was_closed_idle: bool,
    reading: BodyState,
    /// An incomplete head.
    partial: PartialHead,
}

#[derive(Debug, Clone, Copy)]
struct PipelinedRequest {
    token: Token,
    is_head: bool,
    wants_headers: bool,
}

#[derive(Debug)]
enum BodyState {
    Head,
    Fixed { left: u64 },
    Chunked(Chunks),
    UntilClose,
}

impl Http1 {
    /// Reads a head from the front of `bytes`. Returns the unread bytes, or `None` if the head is incomplete.
    fn read_head<'a, S: ReplySink>(
        &mut self,
        shared: &mut Http1WorkerState,
        bytes: &'a [u8],
        sink: &mut S,
    ) -> Result<Option<&'a [u8]>, &'static str> {
        let entry = self.in_flight[0];
        if self.partial.begin() {
            sink.first_byte(entry.token);
        }
        if self.partial.is_empty() {
            if !entry.wants_headers
                && let Some((head, length)) = shared.heads.get(bytes)
            {
                self.take_head(head, &[], sink);
                return Ok(Some(&bytes[length..]));
            }
            if let Some(length) = head::end(bytes)? {
                self.parse_head(shared, &bytes[..length], sink)?;
                return Ok(Some(&bytes[length..]));
            }
        }
        let Some(count) = self.partial.push(bytes)? else {
            return Ok(None);
        };
        // Taken out and put back to keep its allocation.
        let mut whole = std::mem::take(&mut self.partial);
        self.parse_head(shared, whole.bytes(), sink)?;
        whole.clear();
        self.partial = whole;
        Ok(Some(&bytes[count..]))
    }

    fn parse_head<S: ReplySink>(
        &mut self,
        shared: &mut Http1WorkerState,
        bytes: &[u8],
        sink: &mut S,
    ) -> Result<(), &'static str> {
        let wants_headers = self.in_flight[0].wants_headers;
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
            shared.heads.insert(bytes, head);
            self.take_head(head, &headers, sink);
        }
        Ok(())
    }

    fn take_head<S: ReplySink>(&mut self, head: ParsedHead, headers: &[(&[u8], &[u8])], sink: &mut S) {
        let entry = self.in_flight[0];
        if head.closes {
            self.closing = true;
            // The server must not process requests that were pipelined after this one (RFC 9112, section 9.6).
            for behind in self.in_flight.drain(1..) {
                sink.failed(behind.token, Failure::Unprocessed);
            }
        }
        let is_bodiless = entry.is_head || head.status == 204 || head.status == 304;
        let (reading, framing) = match head.length {
            _ if is_bodiless => (BodyState::Fixed { left: 0 }, Framing::NoBody),
            Length::Fixed(left) => (BodyState::Fixed { left }, Framing::Length),
            Length::Chunked => (BodyState::Chunked(Chunks::new()), Framing::Chunked),
            Length::UntilClose => {
                self.closing = true;
                (BodyState::UntilClose, Framing::UntilClose)
            }
        };
        self.reading = reading;
        let head = Head {
            status: head.status,
            headers,
            version: head.version,
            framing,
            closes: self.closing,
        };
        sink.head(entry.token, head);
    }

    /// Reads a body from the front of `bytes`. Returns the unread bytes and whether the body is complete.
    fn read_body<'a, S: ReplySink>(
        &mut self,
        bytes: &'a [u8],
        sink: &mut S,
    ) -> Result<(&'a [u8], bool), &'static str> {
        let token = self.in_flight[0].token;
        match &mut self.reading {
            BodyState::Head => Ok((bytes, false)),
            BodyState::Fixed { left } => {
                let count = usize::try_from(*left).map_or(bytes.len(), |wanted| wanted.min(bytes.len()));
                if count > 0 {
                    sink.data(token, &bytes[..count]);
                    *left -= count as u64;
                }
                Ok((&bytes[count..], *left == 0))
            }
            BodyState::Chunked(chunks) => chunks.read(bytes, |piece| sink.data(token, piece)),
            BodyState::UntilClose => {
                if !bytes.is_empty() {
                    sink.data(token, bytes);
                }
                Ok((&[], false))
            }
        }
    }

    /// Handles bytes on an idle connection. Only a notice that the server closes it is allowed (RFC 9110, section 15.5.9); that
    /// ends the connection without a violation.
    fn read_idle(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        let notice = self.partial.push_while_idle(bytes);
        if !head::may_be_request_timeout(notice) {
            return Err(UNREQUESTED);
        }
        if notice.len() == head::REQUEST_TIMEOUT_LENGTH {
            (self.closing, self.spent, self.was_closed_idle) = (true, true, true);
        }
        Ok(())
    }

    fn complete<S: ReplySink>(&mut self, left_over: &[u8], sink: &mut S) -> Result<(), &'static str> {
        let is_last = self.in_flight.len() == 1 || self.closing;
        if is_last && !left_over.is_empty() && (self.closing || !head::may_be_request_timeout(left_over)) {
            return Err("more bytes came than the reply may have");
        }
        let entry = self
            .in_flight
            .pop_front()
            .expect("invariant: a reply has its request");
        self.reading = BodyState::Head;
        self.spent = self.closing || (self.last_sent && self.in_flight.is_empty());
        sink.end(entry.token, End { grpc_status: None });
        Ok(())
    }

    fn read<S: ReplySink>(
        &mut self,
        shared: &mut Http1WorkerState,
        mut bytes: &[u8],
        sink: &mut S,
    ) -> Result<(), &'static str> {
        while !bytes.is_empty() {
            if self.spent {
                // The rest of the notice.
                return if self.was_closed_idle {
                    Ok(())
                } else {
                    Err(UNREQUESTED)
                };
            }
            if self.in_flight.is_empty() {
                return self.read_idle(bytes);
            }
            if matches!(self.reading, BodyState::Head) {
                match self.read_head(shared, bytes, sink)? {
                    Some(rest) => bytes = rest,
                    None => return Ok(()),
                }
                if matches!(self.reading, BodyState::Head) {
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
    type Request = Http1Request;
    type WorkerState = Http1WorkerState;

    const FIRST_FROM_PEER: &'static str = "it sent any data";
    const CLOSED_BEFORE_REQUESTS: &'static str = "the server ended the connection before any request";
    const MAY_RETRY: bool = true;
    const QUEUED_REQUESTS_TIME_OUT: bool = true;

    fn prepare(request: &Request, target: &Target) -> Result<Http1Request, PrepareError> {
        Http1Request::new(request, target)
    }

    fn shared() -> Http1WorkerState {
        Http1WorkerState::default()
    }

    fn new(_: &mut Http1WorkerState, depth: u32) -> Self {
        Self {
            in_flight: VecDeque::with_capacity(depth as usize),
            depth,
            closing: false,
            last_sent: false,
            spent: false,
            was_closed_idle: false,
            reading: BodyState::Head,
            partial: PartialHead::default(),
        }
    }

    fn open(&mut self, _: &mut Http1WorkerState, _: &Http1Request, _: &mut Vec<u8>) {}

    #[inline]
    fn free_slots(&self) -> u32 {
        if self.closing || self.last_sent {
            0
        } else {
            self.depth - self.in_flight.len() as u32
        }
    }

    #[inline]
    fn start(&mut self, shared: &mut Http1WorkerState, call: &Call<'_, Http1Request>, out: &mut Vec<u8>) {
        call.prepared
            .render(call.values, call.is_last, &mut shared.scratch, out);
        self.last_sent |= call.is_last;
        self.in_flight.push_back(PipelinedRequest {
            token: call.token,
            is_head: call.prepared.is_head(),
            wants_headers: call.wants_headers,
        });
    }

    fn receive<S: ReplySink>(
        &mut self,
        shared: &mut Http1WorkerState,
        bytes: &[u8],
        _: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), ProtocolError> {
        self.read(shared, bytes, sink).map_err(|reason| {
            self.closing = true;
            self.spent = true;
            if let Some(entry) = self.in_flight.pop_front() {
                sink.failed(entry.token, Failure::Malformed(reason));
            }
            ProtocolError(reason)
        })
    }

    fn end_of_stream<S: ReplySink>(&mut self, _: &mut Http1WorkerState, is_clean: bool, sink: &mut S) {
        if matches!(self.reading, BodyState::UntilClose) {
            if is_clean {
                self.complete(&[], sink).expect("invariant: nothing is left over");
            } else if let Some(entry) = self.in_flight.pop_front() {
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
        self.spent || (self.closing && self.in_flight.is_empty())
    }
}

#[cfg(test)]
mod tests;
