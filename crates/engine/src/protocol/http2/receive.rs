//! Frames of the service, as they come: in pieces of any size.

use super::Semantics;
use super::connection::{Connection, Continued, OUR_WINDOW, Passing, looks_like_text};
use super::frame::{self, ErrorCode, FrameHeader, HEADER_LENGTH, Violation, flag, kind, number, setting};
use super::semantics::Rules;
use super::streams::Stage;
use crate::protocol::{Failure, ReplySink};

/// Largest header block that is put together from CONTINUATION frames, bytes.
const MOST_FRAGMENTS: usize = 512 * 1024;

impl<M: Semantics> Connection<M> {
    /// Takes what came.
    pub(super) fn take<S: ReplySink>(
        &mut self,
        mut bytes: &[u8],
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), Violation> {
        while !bytes.is_empty() {
            let used = if self.passing.is_some() {
                self.pass(bytes, out, sink)?
            } else if self.partial.is_empty() {
                self.take_frame(bytes, out, sink)?
            } else {
                self.complete_frame(bytes, out, sink)?
            };
            bytes = &bytes[used..];
        }
        Ok(())
    }

    /// Takes one frame from the begin of `bytes`, or keeps them where they are not all of it. Gives how many it took.
    #[inline]
    fn take_frame<S: ReplySink>(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<usize, Violation> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER_LENGTH>() else {
            self.partial.extend_from_slice(bytes);
            return Ok(bytes.len());
        };
        let header = FrameHeader::parse(header);
        self.check(header)?;
        if header.kind == kind::DATA {
            self.begin_data(header, out, sink)?;
            return Ok(HEADER_LENGTH);
        }
        let Some(payload) = rest.get(..header.length as usize) else {
            self.partial.extend_from_slice(bytes);
            return Ok(bytes.len());
        };
        self.frame(header, payload, out, sink)?;
        Ok(HEADER_LENGTH + payload.len())
    }

    /// Adds to the frame that is kept, and takes it when it is whole.
    fn complete_frame<S: ReplySink>(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<usize, Violation> {
        let mut used = 0;
        if self.partial.len() < HEADER_LENGTH {
            used = bytes.len().min(HEADER_LENGTH - self.partial.len());
            self.partial.extend_from_slice(&bytes[..used]);
        }
        let Some(header) = self.partial.first_chunk::<HEADER_LENGTH>() else {
            return Ok(used);
        };
        let header = FrameHeader::parse(header);
        self.check(header)?;
        if header.kind == kind::DATA {
            self.partial.clear();
            self.begin_data(header, out, sink)?;
            return Ok(used);
        }
        let missing = HEADER_LENGTH + header.length as usize - self.partial.len();
        let more = missing.min(bytes.len() - used);
        self.partial.extend_from_slice(&bytes[used..used + more]);
        if more == missing {
            let partial = std::mem::take(&mut self.partial);
            self.frame(header, &partial[HEADER_LENGTH..], out, sink)?;
            self.partial = partial;
            self.partial.clear();
        }
        Ok(used + more)
    }

    /// What can be said of a frame by its header alone.
    #[inline]
    fn check(&self, header: FrameHeader) -> Result<(), Violation> {
        if !self.is_ready && header.kind != kind::SETTINGS {
            return Err(Violation::protocol(if looks_like_text(header) {
                "the service answers in HTTP/1.1: it does not speak HTTP/2 on this port"
            } else {
                "the first frame is not SETTINGS: the service does not speak HTTP/2"
            }));
        }
        if header.length > frame::DEFAULT_MAX_FRAME_SIZE {
            return Err(Violation::size("a frame is longer than 16,384 bytes"));
        }
        let continues = header.kind == kind::CONTINUATION;
        match self.continued {
            Some(block) if !continues || header.stream != block.stream => Err(Violation::protocol(
                "a header block is interrupted by another frame",
            )),
            None if continues => Err(Violation::protocol(
                "CONTINUATION without a header block to continue",
            )),
            _ => Ok(()),
        }
    }

    fn frame<S: ReplySink>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), Violation> {
        match header.kind {
            kind::HEADERS => self.headers(header, payload, out, sink),
            kind::CONTINUATION => self.continuation(header, payload, out, sink),
            kind::SETTINGS => self.settings(header, payload, out),
            kind::WINDOW_UPDATE => self.window_update(header, payload, out, sink),
            kind::RST_STREAM => self.reset(header, payload, sink),
            kind::PING => ping(header, payload, out),
            kind::GOAWAY => self.go_away(header, payload, sink),
            kind::PUSH_PROMISE => Err(Violation::protocol(
                "a stream is pushed though that was switched off",
            )),
            kind::PRIORITY if payload.len() != 5 => Err(Violation::size("PRIORITY is not 5 bytes long")),
            kind::PRIORITY if header.stream == 0 => Err(Violation::protocol("PRIORITY without a stream")),
            // Priorities are no concern of a client, and unknown frames must be ignored.
            _ => Ok(()),
        }
    }

    fn begin_data<S: ReplySink>(
        &mut self,
        header: FrameHeader,
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), Violation> {
        if !self.streams.was_opened(header.stream) {
            return Err(Violation::protocol("DATA on a stream that was never opened"));
        }
        let length = i64::from(header.length);
        self.receive_window -= length;
        if self.receive_window < 0 {
            return Err(Violation::flow("more DATA than the connection's window allows"));
        }
        // Granted again in few and large steps.
        if self.receive_window < i64::from(OUR_WINDOW / 2) {
            let spent = i64::from(OUR_WINDOW) - self.receive_window;
            frame::write_window_update(0, spent as u32, out);
            self.receive_window = i64::from(OUR_WINDOW);
        }
        let ends_stream = header.has(flag::END_STREAM);
        if let Some(slot) = self.streams.find(header.stream) {
            let stream = self.streams.get(slot);
            stream.receive_window -= length;
            if stream.receive_window < 0 {
                return Err(Violation::flow("more DATA than the stream's window allows"));
            }
            if stream.receive_window < i64::from(OUR_WINDOW / 2) && !ends_stream {
                let spent = i64::from(OUR_WINDOW) - stream.receive_window;
                frame::write_window_update(header.stream, spent as u32, out);
                stream.receive_window = i64::from(OUR_WINDOW);
            }
            if stream.stage == Stage::Head {
                self.fail(slot, "DATA comes before the head of the reply", out, sink);
            }
        }
        self.passing = Some(Passing {
            stream: header.stream,
            left: header.length,
            padding: (!header.has(flag::PADDED)).then_some(0),
            ends_stream,
        });
        if header.length == 0 {
            self.pass(&[], out, sink)?;
        }
        Ok(())
    }

    /// Passes a piece of a DATA frame on without waiting for the rest.
    #[inline]
    fn pass<S: ReplySink>(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<usize, Violation> {
        let mut passing = self.passing.expect("invariant: a DATA frame is passing");
        let mut used = 0;
        let padding = match (passing.padding, bytes.first()) {
            (Some(padding), _) => padding,
            (None, None) => {
                return Err(Violation::size(
                    "a padded frame has no room for the length of its padding",
                ));
            }
            (None, Some(&padding)) => {
                used = 1;
                passing.left -= 1;
                if u32::from(padding) > passing.left {
                    return Err(Violation::protocol("a frame is padded beyond its own length"));
                }
                passing.padding = Some(u32::from(padding));
                u32::from(padding)
            }
        };
        let take = (passing.left as usize).min(bytes.len() - used);
        let content = take.min((passing.left.saturating_sub(padding)) as usize);
        let slot = self.streams.find(passing.stream);
        if let (Some(slot), true) = (slot, content > 0) {
            let stream = self.streams.get(slot);
            let rules = Rules {
                token: stream.token,
                wants_headers: stream.wants_headers,
            };
            if let Err(failure) = M::data(&mut stream.reply, rules, &bytes[used..used + content], sink) {
                self.give_up(slot, failure, out, sink);
            }
        }
        passing.left -= take as u32;
        if passing.left > 0 {
            self.passing = Some(passing);
        } else {
            self.passing = None;
            if let (Some(slot), true) = (self.streams.find(passing.stream), passing.ends_stream) {
                self.finish(slot, out, sink);
            }
        }
        Ok(used + take)
    }

    #[inline]
    fn headers<S: ReplySink>(
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
                .ok_or(Violation::size("HEADERS have no room for their priority"))?;
        }
        let head = Continued {
            stream: header.stream,
            ends_stream: header.has(flag::END_STREAM),
        };
        if header.has(flag::END_HEADERS) {
            return self.block(head, block, out, sink);
        }
        self.fragments.clear();
        self.fragments.extend_from_slice(block);
        self.continued = Some(head);
        Ok(())
    }

    fn continuation<S: ReplySink>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), Violation> {
        if self.fragments.len() + payload.len() > MOST_FRAGMENTS {
            return Err(Violation {
                code: ErrorCode::EnhanceYourCalm,
                reason: "a header block is longer than 512 KiB",
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

    /// A whole header block.
    #[inline]
    fn block<S: ReplySink>(
        &mut self,
        head: Continued,
        block: &[u8],
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), Violation> {
        let slot = self.streams.find(head.stream);
        let block = match self.blocks.read(block) {
            Ok(block) => block,
            Err(violation) => {
                if let Some(slot) = slot {
                    self.fail(slot, violation.reason, out, sink);
                }
                return Err(violation);
            }
        };
        // A stream that is gone (it timed out): its block was read for the sake of the table.
        let Some(slot) = slot else { return Ok(()) };
        let stream = self.streams.get(slot);
        let rules = Rules {
            token: stream.token,
            wants_headers: stream.wants_headers,
        };
        let meaning = block.meaning;
        let taken = match (meaning.fault, stream.stage, meaning.status) {
            (Some(fault), ..) => Err(Failure::Malformed(fault)),
            (_, Stage::Head, None) => Err(Failure::Malformed("a reply without `:status`")),
            (_, Stage::Head, Some(100..=199)) if head.ends_stream => {
                Err(Failure::Malformed("the stream ends with an interim reply"))
            }
            (_, Stage::Head, Some(101)) => Err(Failure::Malformed("status 101 does not exist in HTTP/2")),
            (_, Stage::Head, Some(100..=199)) => return Ok(()),
            (_, Stage::Head, Some(_)) => {
                stream.stage = Stage::Body;
                M::head(&mut stream.reply, rules, block, head.ends_stream, sink)
            }
            (_, Stage::Body, Some(_)) => Err(Failure::Malformed("a second head in one reply")),
            (_, Stage::Body, None) if !head.ends_stream => {
                Err(Failure::Malformed("trailers that do not end the stream"))
            }
            (_, Stage::Body, None) => M::trailers(&mut stream.reply, rules, block, sink),
        };
        match taken {
            Err(failure) => self.give_up(slot, failure, out, sink),
            Ok(()) if head.ends_stream => self.finish(slot, out, sink),
            Ok(()) => {}
        }
        Ok(())
    }

    /// The stream ended on the service's side.
    #[inline]
    fn finish<S: ReplySink>(&mut self, slot: usize, out: &mut Vec<u8>, sink: &mut S) {
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

    fn fail<S: ReplySink>(&mut self, slot: usize, reason: &'static str, out: &mut Vec<u8>, sink: &mut S) {
        self.give_up(slot, Failure::Malformed(reason), out, sink);
    }

    /// Ends a stream whose reply is malformed.
    fn give_up<S: ReplySink>(&mut self, slot: usize, failure: Failure, out: &mut Vec<u8>, sink: &mut S) {
        frame::write_reset(self.streams.get(slot).id, ErrorCode::Protocol, out);
        let token = self.close(slot);
        sink.failed(token, failure);
    }

    fn settings(&mut self, header: FrameHeader, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Violation> {
        if header.stream != 0 {
            return Err(Violation::protocol("SETTINGS on a stream"));
        }
        if header.has(flag::ACK) {
            if !self.is_ready {
                return Err(Violation::protocol(
                    "the first frame is not SETTINGS but their receipt",
                ));
            }
            return if payload.is_empty() {
                Ok(())
            } else {
                Err(Violation::size("the receipt of SETTINGS is not empty"))
            };
        }
        if !payload.len().is_multiple_of(6) {
            return Err(Violation::size("SETTINGS are not a multiple of 6 bytes long"));
        }
        for entry in payload.chunks_exact(6) {
            self.setting(u16::from_be_bytes([entry[0], entry[1]]), number(&entry[2..]))?;
        }
        self.is_ready = true;
        frame::write(kind::SETTINGS, flag::ACK, 0, &[], out);
        self.send_waiting(out);
        Ok(())
    }

    fn setting(&mut self, identifier: u16, value: u32) -> Result<(), Violation> {
        match identifier {
            setting::HEADER_TABLE_SIZE => self.encoder.set_table_size(value as usize),
            setting::ENABLE_PUSH if value != 0 => {
                return Err(Violation::protocol("a service must not offer to be pushed to"));
            }
            setting::MAX_CONCURRENT_STREAMS => self.peer.max_streams = value,
            setting::INITIAL_WINDOW_SIZE if value > i32::MAX as u32 => {
                return Err(Violation::flow("SETTINGS_INITIAL_WINDOW_SIZE exceeds 2^31 - 1"));
            }
            setting::INITIAL_WINDOW_SIZE => {
                let change = i64::from(value) - i64::from(self.peer.window);
                self.peer.window = value;
                for stream in self.streams.iter_mut() {
                    stream.send_window += change;
                    if stream.send_window > i64::from(i32::MAX) {
                        return Err(Violation::flow("SETTINGS let a window exceed 2^31 - 1"));
                    }
                }
            }
            setting::MAX_FRAME_SIZE if !(16_384..1 << 24).contains(&value) => {
                return Err(Violation::protocol("SETTINGS_MAX_FRAME_SIZE is out of its range"));
            }
            setting::MAX_FRAME_SIZE => self.peer.max_frame = value,
            // MAX_HEADER_LIST_SIZE is advice, and unknown settings must be ignored.
            _ => {}
        }
        Ok(())
    }

    fn window_update<S: ReplySink>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
        sink: &mut S,
    ) -> Result<(), Violation> {
        if payload.len() != 4 {
            return Err(Violation::size("WINDOW_UPDATE is not 4 bytes long"));
        }
        let increment = i64::from(number(payload) & 0x7fff_ffff);
        if header.stream == 0 {
            self.send_window += increment;
            if increment == 0 || self.send_window > i64::from(i32::MAX) {
                return Err(Violation::flow(
                    "WINDOW_UPDATE of 0, or beyond 2^31 - 1, on the connection",
                ));
            }
        } else if !self.streams.was_opened(header.stream) {
            return Err(Violation::protocol(
                "WINDOW_UPDATE on a stream that was never opened",
            ));
        } else if let Some(slot) = self.streams.find(header.stream) {
            let stream = self.streams.get(slot);
            stream.send_window += increment;
            if increment == 0 || stream.send_window > i64::from(i32::MAX) {
                self.fail(
                    slot,
                    "WINDOW_UPDATE of 0, or beyond 2^31 - 1, on the stream",
                    out,
                    sink,
                );
            }
        }
        self.send_waiting(out);
        Ok(())
    }

    fn reset<S: ReplySink>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut S,
    ) -> Result<(), Violation> {
        if payload.len() != 4 {
            return Err(Violation::size("RST_STREAM is not 4 bytes long"));
        }
        if !self.streams.was_opened(header.stream) {
            return Err(Violation::protocol(
                "RST_STREAM on a stream that was never opened",
            ));
        }
        if let Some(slot) = self.streams.find(header.stream) {
            let token = self.close(slot);
            sink.failed(token, Failure::Reset);
        }
        Ok(())
    }

    /// The service takes no further streams, and says which of those under way it will not answer.
    fn go_away<S: ReplySink>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut S,
    ) -> Result<(), Violation> {
        if payload.len() < 8 {
            return Err(Violation::size("GOAWAY is shorter than 8 bytes"));
        }
        if header.stream != 0 {
            return Err(Violation::protocol("GOAWAY on a stream"));
        }
        self.is_closing = true;
        let last = number(&payload[..4]) & 0x7fff_ffff;
        for slot in self.streams.slots() {
            if self.streams.get(slot).id > last {
                let token = self.close(slot);
                sink.failed(token, Failure::Reset);
            }
        }
        Ok(())
    }
}

fn ping(header: FrameHeader, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Violation> {
    if payload.len() != 8 {
        return Err(Violation::size("PING is not 8 bytes long"));
    }
    if header.stream != 0 {
        return Err(Violation::protocol("PING on a stream"));
    }
    if !header.has(flag::ACK) {
        frame::write(kind::PING, flag::ACK, 0, payload, out);
    }
    Ok(())
}
