//! Collects replies, and describes those that stay incomplete.

use super::ClientError;
use crate::protocol::{End, Failure, Framing, Head, ReplySink, Token, Version};
use std::time::Instant;

/// Maximum length of a body, which is held in memory, bytes.
const LONGEST: usize = 64 << 20;

/// A complete reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// HTTP version.
    pub version: Version,
    /// Names and values as received, in the order of the reply.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// What ends the body.
    pub framing: Framing,
    /// Whether the connection ends with this reply.
    pub closes: bool,
    /// The body; over gRPC the concatenated messages.
    pub body: Vec<u8>,
    /// The pieces in which the body was received; over gRPC a piece is a message.
    pub pieces: Vec<BodyPart>,
    /// `grpc-status`; `None` for other protocols.
    pub grpc_status: Option<u32>,
    /// The `grpc-message` of a `grpc-status` other than 0, percent-encoded as received.
    pub grpc_message: Vec<u8>,
    /// When its request was queued.
    pub started: Instant,
    /// Bytes received on the connection since then, without those of replies that were complete earlier.
    pub received: usize,
}

/// A piece of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyPart {
    /// Offset of its end in the body.
    pub end: usize,
    /// When it was received.
    pub at: Instant,
}

impl Reply {
    pub(super) const fn new(started: Instant) -> Self {
        Self {
            status: 0,
            version: Version::Http11,
            headers: Vec::new(),
            framing: Framing::NoBody,
            closes: false,
            body: Vec::new(),
            pieces: Vec::new(),
            grpc_status: None,
            grpc_message: Vec::new(),
            started,
            received: 0,
        }
    }

    /// The value of the first header with this name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()));
        found.map(|(_, value)| value.as_slice())
    }

    /// The pieces of the body, each with the time since its request was queued.
    pub fn pieces(&self) -> impl Iterator<Item = (&[u8], std::time::Duration)> {
        let mut begin = 0;
        self.pieces.iter().map(move |piece| {
            let bytes = &self.body[begin..piece.end];
            begin = piece.end;
            (bytes, piece.at.saturating_duration_since(self.started))
        })
    }
}

/// Requests in flight on a connection, and results that the caller has not taken yet.
#[derive(Debug)]
pub(super) struct Replies {
    in_flight: Vec<(Token, Partial)>,
    done: Vec<(Token, Result<Reply, ClientError>)>,
    /// When the bytes that are being processed were received.
    pub(super) now: Instant,
    /// Bytes received since the last reply was complete.
    pub(super) received: usize,
    /// Whether each piece of a body is a message, which the protocol delimits.
    by_message: bool,
}

#[derive(Debug)]
struct Partial {
    reply: Reply,
    /// Whether its first byte was received.
    has_begun: bool,
}

impl Replies {
    pub(super) fn new(by_message: bool) -> Self {
        Self {
            in_flight: Vec::new(),
            done: Vec::new(),
            now: Instant::now(),
            received: 0,
            by_message,
        }
    }

    pub(super) fn begin(&mut self, token: Token) {
        let partial = Partial {
            reply: Reply::new(Instant::now()),
            has_begun: false,
        };
        if self.in_flight.is_empty() {
            self.received = 0;
        }
        self.in_flight.push((token, partial));
    }

    /// Removes and returns the result of a request, once there is one.
    pub(super) fn take(&mut self, token: Token) -> Option<Result<Reply, ClientError>> {
        let at = self.done.iter().position(|(one, _)| *one == token)?;
        Some(self.done.swap_remove(at).1)
    }

    /// Ends a request without a reply.
    pub(super) fn fail(&mut self, token: Token, error: ClientError) {
        self.remove(token);
        self.done.push((token, Err(error)));
    }

    /// Ends all requests in flight, because the connection has ended. `reason`: how the service violated the protocol.
    pub(super) fn end_all(&mut self, reason: Option<&str>) {
        for (token, partial) in std::mem::take(&mut self.in_flight) {
            let error = match reason {
                Some(reason) => ClientError::Malformed(reason.to_owned()),
                None => partial.incomplete(self.received),
            };
            self.done.push((token, Err(error)));
        }
    }

    /// Whether the body has started; an error if the reply has none.
    pub(super) fn has_data(&self, token: Token) -> Result<bool, ClientError> {
        let no_stream = |reply: &Reply| match reply.status {
            200 if reply.body.is_empty() => Err("the reply has no body".into()),
            200 => Ok(true),
            status => Err(ClientError::Malformed(format!("status {status} and no stream"))),
        };
        if let Some((_, result)) = self.done.iter().find(|(one, _)| *one == token) {
            return result.as_ref().map_err(Clone::clone).and_then(no_stream);
        }
        match self.in_flight.iter().find(|(one, _)| *one == token) {
            Some((_, partial))
                if partial.reply.body.is_empty() && matches!(partial.reply.status, 0 | 200) =>
            {
                Ok(false)
            }
            Some((_, partial)) => no_stream(&partial.reply),
            None => Err(ClientError::Closed),
        }
    }

    pub(super) fn remove(&mut self, token: Token) -> Option<Reply> {
        let at = self.in_flight.iter().position(|(one, _)| *one == token)?;
        Some(self.in_flight.remove(at).1.reply)
    }

    fn partial(&mut self, token: Token) -> Option<&mut Partial> {
        let mut all = self.in_flight.iter_mut();
        all.find(|(one, _)| *one == token).map(|(_, partial)| partial)
    }
}

impl Partial {
    /// The error of a reply that was incomplete at the end of the connection.
    fn incomplete(&self, received: usize) -> ClientError {
        let length = self.reply.header("content-length");
        let length = length.and_then(crate::http1::head::decimal);
        match (self.reply.framing, length) {
            _ if !self.has_begun => ClientError::Closed,
            (Framing::Length, Some(announced)) => ClientError::Short {
                got: self.reply.body.len(),
                announced,
            },
            _ => ClientError::Cut(received),
        }
    }
}

impl ReplySink for Replies {
    fn first_byte(&mut self, token: Token) {
        if let Some(partial) = self.partial(token) {
            partial.has_begun = true;
        }
    }

    fn head(&mut self, token: Token, head: Head<'_>) {
        let Some(Partial { reply, .. }) = self.partial(token) else {
            return;
        };
        reply.status = head.status;
        reply.version = head.version;
        reply.framing = head.framing;
        reply.closes = head.closes;
        let headers = head.headers.iter();
        reply.headers = headers
            .map(|(name, value)| (name.to_vec(), value.to_vec()))
            .collect();
    }

    fn data(&mut self, token: Token, bytes: &[u8]) {
        let (at, by_message) = (self.now, self.by_message);
        let Some(Partial { reply, .. }) = self.partial(token) else {
            return;
        };
        reply.body.extend_from_slice(bytes);
        let end = reply.body.len();
        if end > LONGEST {
            let text = format!("a reply of more than {LONGEST} bytes");
            return self.fail(token, ClientError::Malformed(text));
        }
        match reply.pieces.last_mut() {
            _ if by_message => {}
            // The bytes of one read form one piece, whatever frames or chunks they are in.
            Some(piece) if piece.at == at => piece.end = end,
            _ => reply.pieces.push(BodyPart { end, at }),
        }
    }

    fn message(&mut self, token: Token) {
        let at = self.now;
        if let Some(Partial { reply, .. }) = self.partial(token) {
            let end = reply.body.len();
            reply.pieces.push(BodyPart { end, at });
        }
    }

    fn grpc_message(&mut self, token: Token, text: &[u8]) {
        if let Some(Partial { reply, .. }) = self.partial(token) {
            reply.grpc_message = text.to_vec();
        }
    }

    fn end(&mut self, token: Token, end: End) {
        if let Some(mut reply) = self.remove(token) {
            reply.grpc_status = end.grpc_status;
            reply.received = std::mem::take(&mut self.received);
            self.done.push((token, Ok(reply)));
        }
    }

    fn failed(&mut self, token: Token, failure: Failure) {
        let error = match failure {
            Failure::Malformed(reason) => reason.into(),
            Failure::Reset(code) => ClientError::Reset(code),
            Failure::Unprocessed => ClientError::Unprocessed,
        };
        if self.remove(token).is_some() {
            self.done.push((token, Err(error)));
        }
    }
}
