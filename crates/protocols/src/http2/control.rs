//! Frames that concern the connection or flow control rather than a reply.

use super::Semantics;
use super::connection::Connection;
use super::frame::{self, ErrorCode, FrameHeader, Violation, flag, kind, number, setting};
use crate::protocol::{Failure, ReplySink};

impl<M: Semantics> Connection<M> {
    pub(super) fn settings(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        if header.stream != 0 {
            return Err(Violation::protocol("SETTINGS on a stream"));
        }
        if header.has(flag::ACK) {
            if !self.is_ready {
                return Err(Violation::protocol(
                    "the first frame acknowledges SETTINGS instead of sending them",
                ));
            }
            return if payload.is_empty() {
                Ok(())
            } else {
                Err(Violation::size("the acknowledgement of SETTINGS is not empty"))
            };
        }
        if !payload.len().is_multiple_of(6) {
            return Err(Violation::size(
                "the length of SETTINGS is not a multiple of 6 bytes",
            ));
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
                return Err(Violation::protocol(
                    "a service must not enable SETTINGS_ENABLE_PUSH",
                ));
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
                        return Err(Violation::flow("SETTINGS make a window exceed 2^31 - 1"));
                    }
                }
            }
            setting::MAX_FRAME_SIZE if !(16_384..1 << 24).contains(&value) => {
                return Err(Violation::protocol("SETTINGS_MAX_FRAME_SIZE is out of its range"));
            }
            setting::MAX_FRAME_SIZE => self.peer.max_frame = value,
            // MAX_HEADER_LIST_SIZE is advisory, and unknown settings must be ignored.
            _ => {}
        }
        Ok(())
    }

    pub(super) fn window_update<S: ReplySink>(
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
            fault_of_window(increment, self.send_window).map_or(Ok(()), Err)?;
        } else if !self.streams.was_opened(header.stream) {
            return Err(Violation::protocol(
                "WINDOW_UPDATE on a stream that was never opened",
            ));
        } else if let Some(slot) = self.streams.find(header.stream) {
            let stream = self.streams.get(slot);
            stream.send_window += increment;
            if let Some(violation) = fault_of_window(increment, stream.send_window) {
                self.fail(slot, violation, out, sink);
            }
        }
        self.send_waiting(out);
        Ok(())
    }

    pub(super) fn reset<S: ReplySink>(
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
            let failure = match number(payload) {
                code if code == ErrorCode::RefusedStream as u32 => Failure::Unprocessed,
                code => Failure::Reset(code),
            };
            sink.failed(token, failure);
        }
        Ok(())
    }

    /// The service accepts no further streams and reports which of those in flight it will not answer.
    pub(super) fn go_away<S: ReplySink>(
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
                sink.failed(token, Failure::Unprocessed);
            }
        }
        Ok(())
    }
}

/// What is wrong with an update of a window that has this size now (RFC 9113, sections 6.9 and 6.9.1).
fn fault_of_window(increment: i64, window: i64) -> Option<Violation> {
    if increment == 0 {
        Some(Violation::protocol("WINDOW_UPDATE of 0"))
    } else if window > i64::from(i32::MAX) {
        Some(Violation::flow("WINDOW_UPDATE lets a window exceed 2^31 - 1"))
    } else {
        None
    }
}

pub(super) fn ping(header: FrameHeader, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Violation> {
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
