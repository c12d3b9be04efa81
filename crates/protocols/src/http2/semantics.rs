//! How the frames of a stream form a reply.

use super::{Block, Dialect};
use crate::protocol::{End, Failure, Framing, Head, HeaderList, ReplySink, Token, Version};

/// Properties of a request that are needed when its reply arrives.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The token that the worker gave the request.
    pub token: Token,
    /// Whether the worker wants the headers.
    pub wants_headers: bool,
}

/// How the frames of a stream form a reply. The connection has already checked their order and their headers.
pub trait Semantics {
    /// State kept for each request in flight.
    type Reply: Default + std::fmt::Debug;

    /// Which headers and framing requests use.
    const DIALECT: Dialect;

    /// The state before the first frame of a reply.
    fn begin(is_head: bool) -> Self::Reply;

    /// Processes the head of the final reply. `ends`: nothing follows.
    fn head<S: ReplySink>(
        reply: &mut Self::Reply,
        rules: Rules,
        block: &Block,
        ends: bool,
        sink: &mut S,
    ) -> Result<(), Failure>;

    /// Processes a piece of the body.
    fn data<S: ReplySink>(
        reply: &mut Self::Reply,
        rules: Rules,
        piece: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure>;

    /// Number of complete messages in the reply so far, where each of them answers one message of the request.
    fn messages(_: &Self::Reply) -> u32 {
        0
    }

    /// Processes the headers after the body.
    fn trailers<S: ReplySink>(
        reply: &mut Self::Reply,
        rules: Rules,
        block: &Block,
        sink: &mut S,
    ) -> Result<(), Failure>;

    /// Completes the reply.
    fn end(reply: &Self::Reply) -> Result<End, Failure>;
}

/// Passes the head on, with headers if they are wanted.
pub(crate) fn pass_head<S: ReplySink>(rules: Rules, block: &Block, status: u16, sink: &mut S) {
    sink.first_byte(rules.token);
    let mut headers = HeaderList::new();
    if rules.wants_headers {
        headers.extend(block.fields.iter().filter(|(name, _)| !name.starts_with(b":")));
    }
    let head = Head {
        status,
        headers: &headers,
        version: Version::Http2,
        framing: Framing::Stream,
        closes: false,
    };
    sink.head(rules.token, head);
}

/// The semantics of plain HTTP.
#[derive(Debug)]
pub struct Http;

/// State of a reply that is being received.
#[derive(Debug, Default)]
pub struct HttpReply {
    /// `content-length`, if the reply has a body.
    promised: Option<u64>,
    received: u64,
    is_head: bool,
    bodyless: bool,
}

impl Semantics for Http {
    type Reply = HttpReply;

    const DIALECT: Dialect = Dialect {
        headers: &[],
        grpc: false,
    };

    fn begin(is_head: bool) -> HttpReply {
        HttpReply {
            is_head,
            ..HttpReply::default()
        }
    }

    #[inline]
    fn head<S: ReplySink>(
        reply: &mut HttpReply,
        rules: Rules,
        block: &Block,
        _ends: bool,
        sink: &mut S,
    ) -> Result<(), Failure> {
        let status = block.meaning.status.unwrap_or_default();
        reply.bodyless = reply.is_head || matches!(status, 204 | 304);
        // `content-length` may describe a body that is not sent (RFC 9110, section 8.6).
        reply.promised = if reply.bodyless {
            Some(0)
        } else {
            block.meaning.content_length
        };
        pass_head(rules, block, status, sink);
        Ok(())
    }

    #[inline]
    fn data<S: ReplySink>(
        reply: &mut HttpReply,
        rules: Rules,
        piece: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        reply.received += piece.len() as u64;
        if reply.promised.is_some_and(|promised| reply.received > promised) {
            return Err(Failure::Malformed(if reply.bodyless {
                "the reply has a body, but none is allowed"
            } else {
                "the body is longer than `content-length` says"
            }));
        }
        sink.data(rules.token, piece);
        Ok(())
    }

    fn trailers<S: ReplySink>(_: &mut HttpReply, _: Rules, _: &Block, _: &mut S) -> Result<(), Failure> {
        Ok(())
    }

    #[inline]
    fn end(reply: &HttpReply) -> Result<End, Failure> {
        if reply.promised.is_some_and(|promised| reply.received < promised) {
            return Err(Failure::Malformed(
                "the body is shorter than `content-length` says",
            ));
        }
        Ok(End { grpc_status: None })
    }
}
