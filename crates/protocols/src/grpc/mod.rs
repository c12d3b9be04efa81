//! gRPC over HTTP/2: unary calls and streaming in both directions
//! ([the protocol](https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md)).
//!
//! Each message is preceded by five bytes: a compression flag and a four-byte length. DATA frames may split it
//! anywhere. The outcome is `grpc-status` in the trailers; a reply without messages may carry it in its only header
//! block. No compression is offered, so a compressed message is malformed.

use crate::http2::{Block, Connection, Dialect, Rules, Semantics, pass_head};
use crate::protocol::{End, Failure, ReplySink, Token};
use prony_load::grpc::PREFIX;

/// A gRPC connection.
pub type Grpc = Connection<GrpcSemantics>;

/// How HTTP/2 frames form a gRPC reply.
#[derive(Debug)]
pub struct GrpcSemantics;

/// State of a reply that is being received.
#[derive(Debug, Default)]
pub struct GrpcReply {
    /// Whether the HTTP status is not 200, so that the rest is not gRPC.
    is_foreign: bool,
    status: Option<u32>,
    prefix: [u8; PREFIX],
    prefix_filled: u8,
    /// Bytes of the current message that have not arrived yet.
    missing: u32,
    /// Number of complete messages.
    messages: u32,
}

impl Semantics for GrpcSemantics {
    type Reply = GrpcReply;

    const DIALECT: Dialect = Dialect {
        headers: &[("content-type", "application/grpc"), ("te", "trailers")],
        grpc: true,
    };

    #[inline]
    fn begin(_: bool) -> GrpcReply {
        GrpcReply::default()
    }

    #[inline]
    fn head<S: ReplySink>(
        reply: &mut GrpcReply,
        rules: Rules,
        block: &Block,
        ends: bool,
        sink: &mut S,
    ) -> Result<(), Failure> {
        let status = block.meaning.status.unwrap_or_default();
        pass_head(rules, block, status, sink);
        if status != 200 {
            reply.is_foreign = true;
            return Ok(());
        }
        if ends {
            return Self::trailers(reply, rules, block, sink);
        }
        if !block.meaning.is_grpc {
            return Err(Failure::Malformed(
                "the reply is not gRPC: its `content-type` is not `application/grpc`",
            ));
        }
        Ok(())
    }

    #[inline]
    fn data<S: ReplySink>(
        reply: &mut GrpcReply,
        rules: Rules,
        mut piece: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        if reply.is_foreign {
            sink.data(rules.token, piece);
            return Ok(());
        }
        while !piece.is_empty() {
            if reply.missing == 0 {
                piece = reply.take_prefix(piece)?;
                if usize::from(reply.prefix_filled) < PREFIX {
                    return Ok(());
                }
                reply.prefix_filled = 0;
                reply.begin_message(rules.token, sink);
            }
            let (message, rest) = piece.split_at(piece.len().min(reply.missing as usize));
            if !message.is_empty() {
                sink.data(rules.token, message);
                reply.missing -= message.len() as u32;
                reply.end_message(rules.token, sink);
            }
            piece = rest;
        }
        Ok(())
    }

    #[inline]
    fn messages(reply: &GrpcReply) -> u32 {
        reply.messages
    }

    #[inline]
    fn trailers<S: ReplySink>(
        reply: &mut GrpcReply,
        rules: Rules,
        block: &Block,
        sink: &mut S,
    ) -> Result<(), Failure> {
        reply.status = block.meaning.grpc_status;
        if reply.status.is_some_and(|status| status != 0)
            && let Some((_, text)) = block.fields.iter().find(|(name, _)| *name == b"grpc-message")
        {
            sink.grpc_message(rules.token, text);
        }
        Ok(())
    }

    #[inline]
    fn end(reply: &GrpcReply) -> Result<End, Failure> {
        if reply.prefix_filled > 0 || reply.missing > 0 {
            return Err(Failure::Malformed("the stream ends in the middle of a message"));
        }
        if reply.status.is_none() && !reply.is_foreign {
            return Err(Failure::Malformed("the stream ends without `grpc-status`"));
        }
        Ok(End {
            grpc_status: reply.status,
        })
    }
}

impl GrpcReply {
    /// Fills the prefix from the start of `piece` and returns the rest. The prefix itself may arrive in pieces.
    #[inline]
    fn take_prefix<'a>(&mut self, piece: &'a [u8]) -> Result<&'a [u8], Failure> {
        let filled = usize::from(self.prefix_filled);
        let more = piece.len().min(PREFIX - filled);
        self.prefix[filled..filled + more].copy_from_slice(&piece[..more]);
        self.prefix_filled += more as u8;
        match self.prefix[0] {
            0 => Ok(&piece[more..]),
            1 => Err(Failure::Malformed(
                "a message is compressed, but compression was not offered",
            )),
            _ => Err(Failure::Malformed(
                "the compression flag of a message is neither 0 nor 1",
            )),
        }
    }

    #[inline]
    fn begin_message<S: ReplySink>(&mut self, token: Token, sink: &mut S) {
        let [_, a, b, c, d] = self.prefix;
        self.missing = u32::from_be_bytes([a, b, c, d]);
        self.end_message(token, sink);
    }

    /// Counts the message if it is complete.
    #[inline]
    fn end_message<S: ReplySink>(&mut self, token: Token, sink: &mut S) {
        if self.missing == 0 {
            self.messages = self.messages.saturating_add(1);
            sink.message(token);
        }
    }
}

/// Undoes the coding of `grpc-message`; what is no code stays as it is.
pub fn percent_decoded(text: &[u8]) -> Vec<u8> {
    percent_encoding::percent_decode(text).collect()
}

#[cfg(test)]
mod tests;
