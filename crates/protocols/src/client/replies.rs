//! Replies as they come, and what is known of those that are not complete.

use super::ClientError;
use crate::protocol::{End, Failure, Framing, Head, ReplySink, Token, Version};
use std::time::Instant;

/// Longest body of a reply, bytes: it is kept in memory.
const LONGEST: usize = 64 << 20;

/// A whole reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Status of HTTP.
    pub status: u16,
    /// The version of HTTP.
    pub version: Version,
    /// Names and values as the service wrote them, in their order.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// What ends the body.
    pub framing: Framing,
    /// Whether the connection ends with this reply.
    pub closes: bool,
    /// The body; over gRPC the messages one after the other.
    pub body: Vec<u8>,
    /// The body as it came; over gRPC a piece is a message.
    pub pieces: Vec<BodyPart>,
    /// `grpc-status`, where gRPC is spoken.
    pub grpc_status: Option<u32>,
    /// What the service says about a `grpc-status` other than 0, percent-encoded as it came.
    pub grpc_message: Vec<u8>,
    /// When its request was queued.
    pub started: Instant,
    /// Bytes that came on the connection from then on, less those of other replies that were complete before.
    pub received: usize,
}

/// A piece of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyPart {
    /// Where it ends in the body.
    pub end: usize,
    /// When it came.
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

    /// Each piece of the body with the time from its request to it.
    pub fn pieces(&self) -> impl Iterator<Item = (&[u8], std::time::Duration)> {
        let mut begin = 0;
        self.pieces.iter().map(move |piece| {
            let bytes = &self.body[begin..piece.end];
            begin = piece.end;
            (bytes, piece.at.saturating_duration_since(self.started))
        })
    }
}

/// The requests of a connection that were not given back yet.
#[derive(Debug)]
pub(super) struct Replies {
    under_way: Vec<(Token, Partial)>,
    done: Vec<(Token, Result<Reply, ClientError>)>,
    /// When the bytes came that are being read.
    pub(super) now: Instant,
    /// Bytes that came since the last reply was complete.
    pub(super) received: usize,
    /// Whether the pieces of bodies are messages, whose ends the protocol tells.
    by_message: bool,
}

#[derive(Debug)]
struct Partial {
    reply: Reply,
    /// Whether anything of it came.
    has_begun: bool,
}

impl Replies {
    pub(super) fn new(by_message: bool) -> Self {
        Self {
            under_way: Vec::new(),
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
        if self.under_way.is_empty() {
            self.received = 0;
        }
        self.under_way.push((token, partial));
    }

    /// The reply, or why there is none, once that is known.
    pub(super) fn take(&mut self, token: Token) -> Option<Result<Reply, ClientError>> {
        let at = self.done.iter().position(|(one, _)| *one == token)?;
        Some(self.done.swap_remove(at).1)
    }

    /// A request ends without a reply.
    pub(super) fn fail(&mut self, token: Token, error: ClientError) {
        self.remove(token);
        self.done.push((token, Err(error)));
    }

    /// The connection ended: so do all requests that are under way. `reason`: what broke it.
    pub(super) fn end_all(&mut self, reason: Option<&str>) {
        for (token, partial) in std::mem::take(&mut self.under_way) {
            let error = match reason {
                Some(reason) => ClientError::Malformed(reason.to_owned()),
                None => partial.cut(self.received),
            };
            self.done.push((token, Err(error)));
        }
    }

    /// Whether something of the body came; the error says why nothing will.
    pub(super) fn has_data(&self, token: Token) -> Result<bool, ClientError> {
        let no_stream = |reply: &Reply| match reply.status {
            200 if reply.body.is_empty() => Err("the reply has no body".into()),
            200 => Ok(true),
            status => Err(ClientError::Malformed(format!("status {status} and no stream"))),
        };
        if let Some((_, result)) = self.done.iter().find(|(one, _)| *one == token) {
            return result.as_ref().map_err(Clone::clone).and_then(no_stream);
        }
        match self.under_way.iter().find(|(one, _)| *one == token) {
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
        let at = self.under_way.iter().position(|(one, _)| *one == token)?;
        Some(self.under_way.remove(at).1.reply)
    }

    fn partial(&mut self, token: Token) -> Option<&mut Partial> {
        let mut all = self.under_way.iter_mut();
        all.find(|(one, _)| *one == token).map(|(_, partial)| partial)
    }
}

impl Partial {
    /// The connection ended before the reply did.
    fn cut(&self, received: usize) -> ClientError {
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
            // What one read brought is one piece, however the protocol cuts it.
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
