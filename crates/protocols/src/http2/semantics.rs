//! What a stream's frames mean as a reply.

use super::{Block, Dialect};
use crate::protocol::{End, Failure, Framing, Head, HeaderList, ReplySink, Token, Version};

/// What is known of a request when its reply comes.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The worker's name of the request.
    pub token: Token,
    /// Whether the headers are asked for.
    pub wants_headers: bool,
}

/// What a stream's frames mean. The connection has checked their order and that the headers are well-formed.
pub trait Semantics {
    /// What is kept for each request under way.
    type Reply: Default + std::fmt::Debug;

    /// How requests are sent.
    const DIALECT: Dialect;

    /// The state before the first frame of a reply.
    fn begin(is_head: bool) -> Self::Reply;

    /// The head of the final reply; `ends`: nothing follows.
    fn head<S: ReplySink>(
        reply: &mut Self::Reply,
        rules: Rules,
        block: &Block,
        ends: bool,
        sink: &mut S,
    ) -> Result<(), Failure>;

    /// A piece of the body.
    fn data<S: ReplySink>(
        reply: &mut Self::Reply,
        rules: Rules,
        piece: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure>;

    /// Complete messages of the reply so far, where each of them answers one of the request.
    fn messages(_: &Self::Reply) -> u32 {
        0
    }

    /// Headers after the body.
    fn trailers<S: ReplySink>(
        reply: &mut Self::Reply,
        rules: Rules,
        block: &Block,
        sink: &mut S,
    ) -> Result<(), Failure>;

    /// The reply is complete.
    fn end(reply: &Self::Reply) -> Result<End, Failure>;
}

/// Passes the head on, with headers where they are asked for.
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

/// Plain HTTP.
#[derive(Debug)]
pub struct Http;

/// A reply under way.
#[derive(Debug, Default)]
pub struct HttpReply {
    /// `content-length`, where the reply has a body.
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
        // The length of a body that is not sent is allowed to stand there (RFC 9110, section 8.6).
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
                "a body where there must be none"
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
