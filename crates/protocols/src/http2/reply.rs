//! Header blocks and the end of replies.

use super::Semantics;
use super::connection::{Connection, PartialHeaderBlock};
use super::frame::{self, ErrorCode, FrameHeader, Violation, flag};
use super::semantics::Rules;
use super::streams::ReplyState;
use crate::protocol::{Failure, ReplySink};

/// Limit on a header block that is assembled from CONTINUATION frames, bytes.
const MOST_FRAGMENTS: usize = 512 * 1024;
/// What a CONTINUATION frame counts for in addition to its payload, bytes.
const FRAGMENT_COST: usize = 64;

impl<M: Semantics> Connection<M> {
    #[inline]
    pub(super) fn headers<S: ReplySink>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), Violation> {
        if !self.streams.was_opened(header.stream) {
            return Err(Violation::protocol("HEADERS on a stream that was never opened"));
        }
        let mut block = frame::without_padding(header, payload)?;
        if header.has(flag::PRIORITY) {
            block = block
                .get(5..)
                .ok_or(Violation::size("HEADERS is too short for its priority"))?;
        }
        let head = PartialHeaderBlock {
            stream: header.stream,
            ends_stream: header.has(flag::END_STREAM),
        };
        if header.has(flag::END_HEADERS) {
            return self.block(head, block, out, sink);
        }
        self.fragments.clear();
        self.fragments.extend_from_slice(block);
        self.fragments_cost = block.len();
        self.continued = Some(head);
        Ok(())
    }

    pub(super) fn continuation<S: ReplySink>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), Violation> {
        // Empty frames count as well, or a block of them could go on for ever.
        self.fragments_cost += payload.len() + FRAGMENT_COST;
        if self.fragments_cost > MOST_FRAGMENTS {
            return Err(Violation {
                code: ErrorCode::EnhanceYourCalm,
                reason: "a header block is longer than 512 KiB, or in thousands of frames",
            });
        }
        self.fragments.extend_from_slice(payload);
        if !header.has(flag::END_HEADERS) {
            return Ok(());
        }
        let head = self.continued.take().expect("invariant: a block is continued");
        let fragments = std::mem::take(&mut self.fragments);
        let result = self.block(head, &fragments, out, sink);
        self.fragments = fragments;
        result
    }

    /// Processes a complete header block.
    #[inline]
    fn block<S: ReplySink>(
        &mut self,
        head: PartialHeaderBlock,
        block: &[u8],
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), Violation> {
        let slot = self.streams.find(head.stream);
        let block = match self.blocks.read(block) {
            Ok(block) => block,
            Err(violation) => {
                if let Some(slot) = slot {
                    self.fail(slot, violation, out, sink);
                }
                return Err(violation);
            }
        };
        // The stream has ended (it timed out); its block was decoded only to keep the table in step.
        let Some(slot) = slot else { return Ok(()) };
        let stream = self.streams.get(slot);
        let rules = Rules {
            token: stream.token,
            wants_headers: stream.wants_headers,
        };
        let meaning = block.meaning;
        let result = match (meaning.fault, stream.stage, meaning.status) {
            (Some(fault), ..) => Err(Failure::Malformed(fault)),
            (_, ReplyState::Head, None) => Err(Failure::Malformed("a reply without `:status`")),
            (_, ReplyState::Head, Some(100..=199)) if head.ends_stream => {
                Err(Failure::Malformed("the stream ends with an interim reply"))
            }
            (_, ReplyState::Head, Some(101)) => {
                Err(Failure::Malformed("status 101 does not exist in HTTP/2"))
            }
            (_, ReplyState::Head, Some(100..=199)) => return Ok(()),
            (_, ReplyState::Head, Some(_)) => {
                stream.stage = ReplyState::Body;
                M::head(&mut stream.reply, rules, block, head.ends_stream, sink)
            }
            (_, ReplyState::Body, Some(_)) => Err(Failure::Malformed("a second head in one reply")),
            (_, ReplyState::Body, None) if !head.ends_stream => {
                Err(Failure::Malformed("trailers that do not end the stream"))
            }
            (_, ReplyState::Body, None) => M::trailers(&mut stream.reply, rules, block, sink),
        };
        match result {
            Err(failure) => self.reset_malformed(slot, failure, out, sink),
            Ok(()) if head.ends_stream => self.finish(slot, out, sink),
            Ok(()) => {}
        }
        Ok(())
    }

    /// The service ended its side of the stream.
    #[inline]
    pub(super) fn finish<S: ReplySink>(&mut self, slot: usize, out: &mut Vec<u8>, sink: &mut S) {
        let stream = self.streams.get(slot);
        // The service may answer before it has read the whole request (RFC 9113, section 8.1).
        if !stream.unsent.is_empty() {
            frame::write_reset(stream.id, ErrorCode::NoError, out);
        }
        let end = M::end(&stream.reply);
        let token = self.close(slot);
        match end {
            Ok(end) => sink.end(token, end),
            Err(failure) => sink.failed(token, failure),
        }
    }

    /// Ends a stream on which the service broke a rule, and says which kind of rule.
    pub(super) fn fail<S: ReplySink>(
        &mut self,
        slot: usize,
        violation: Violation,
        out: &mut Vec<u8>,
        sink: &mut S,
    ) {
        frame::write_reset(self.streams.get(slot).id, violation.code, out);
        let token = self.close(slot);
        sink.failed(token, Failure::Malformed(violation.reason));
    }

    /// Ends a stream whose reply is malformed.
    pub(super) fn reset_malformed<S: ReplySink>(
        &mut self,
        slot: usize,
        failure: Failure,
        out: &mut Vec<u8>,
        sink: &mut S,
    ) {
        frame::write_reset(self.streams.get(slot).id, ErrorCode::Protocol, out);
        let token = self.close(slot);
        sink.failed(token, failure);
    }
}
