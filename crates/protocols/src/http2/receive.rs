//! Reads frames from the service, in pieces of any size.

use super::Semantics;
use super::connection::{Connection, DataInProgress, looks_like_text};
use super::control::ping;
use super::frame::{self, FrameHeader, HEADER_LENGTH, Violation, flag, kind};
use super::semantics::Rules;
use super::streams::ReplyState;
use crate::protocol::ReplySink;

impl<M: Semantics> Connection<M> {
    /// Processes received bytes.
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

    /// Processes one frame from the start of `bytes`, or keeps an incomplete one. Returns the number of bytes consumed.
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

    /// Adds bytes to the incomplete frame, and processes the frame once it is complete.
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

    /// Checks that need only the frame header.
    #[inline]
    fn check(&self, header: FrameHeader) -> Result<(), Violation> {
        if !self.is_ready && header.kind != kind::SETTINGS {
            return Err(Violation::protocol(if looks_like_text(header) {
                "the service answers in HTTP/1.1: it does not speak HTTP/2 on this port"
            } else {
                "the first frame is not SETTINGS: the service does not speak HTTP/2"
            }));
        }
        if header.length > self.offer.max_frame {
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
                "the service pushed a stream, but push is disabled",
            )),
            kind::PRIORITY if payload.len() != 5 => Err(Violation::size("PRIORITY is not 5 bytes long")),
            kind::PRIORITY if header.stream == 0 => Err(Violation::protocol("PRIORITY without a stream")),
            // A client ignores priorities, and unknown frames must be ignored.
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
        // The window is replenished in few, large steps.
        let (window, connection_window) = (self.offer.window, self.offer.connection_window);
        if self.receive_window <= i64::from(connection_window / 2) {
            let spent = i64::from(connection_window) - self.receive_window;
            frame::write_window_update(0, spent as u32, out);
            self.receive_window = i64::from(connection_window);
        }
        let ends_stream = header.has(flag::END_STREAM);
        if let Some(slot) = self.streams.find(header.stream) {
            let stream = self.streams.get(slot);
            stream.receive_window -= length;
            if stream.receive_window < 0 {
                return Err(Violation::flow("more DATA than the stream's window allows"));
            }
            if stream.receive_window <= i64::from(window / 2) && !ends_stream {
                let spent = i64::from(window) - stream.receive_window;
                frame::write_window_update(header.stream, spent as u32, out);
                stream.receive_window = i64::from(window);
            }
            if stream.stage == ReplyState::Head {
                let violation = Violation::protocol("DATA comes before the head of the reply");
                self.fail(slot, violation, out, sink);
            }
        }
        self.passing = Some(DataInProgress {
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
                    "a padded frame is too short for its padding length",
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
            let before = M::messages(&stream.reply);
            match M::data(&mut stream.reply, rules, &bytes[used..used + content], sink) {
                Ok(()) => {
                    let answered = M::messages(&stream.reply) - before;
                    if answered > 0 {
                        self.release(slot, answered, out);
                    }
                }
                Err(failure) => self.reset_malformed(slot, failure, out, sink),
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
}
