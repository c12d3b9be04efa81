//! Sends requests as frames, as far as the service's windows allow.

use super::connection::Connection;
use super::frame::{self, FrameHeader, HEADER_LENGTH, flag, kind};
use super::{Http2Request, Semantics};
use crate::protocol::Call;
use prony_load::grpc::PREFIX;

impl<M: Semantics> Connection<M> {
    #[inline]
    pub(super) fn start_stream(
        &mut self,
        scratch: &mut Vec<u8>,
        call: &Call<'_, Http2Request>,
        out: &mut Vec<u8>,
    ) {
        debug_assert!(self.is_ready && !self.is_closing);
        let prepared = call.prepared;
        let slot = self.streams.add(call.token);
        let stream = self.streams.get(slot);
        stream.wants_headers = call.wants_headers;
        stream.reply = M::begin(prepared.is_head);
        stream.send_window = i64::from(self.peer.window);
        stream.receive_window = i64::from(self.offer.window);
        let id = stream.id;
        self.is_closing |= !self.streams.can_open();

        let body = prepared.body(call.values, scratch);
        let begin = out.len();
        out.extend_from_slice(&[0; HEADER_LENGTH]);
        let value = |place, out: &mut Vec<u8>| prepared.value(place, call.values, body.len(), out);
        self.encoder.encode(&prepared.headers, value, out);
        let flags = if prepared.is_bodyless() || body.is_empty() {
            flag::END_STREAM
        } else {
            0
        };
        self.finish_headers(id, flags, begin, out);
        if flags == 0 {
            self.send_body(slot, (body, prepared.unanswered), out);
        }
    }

    /// Writes the header of the HEADERS frame whose payload is `out[begin + 9..]`, and splits the payload into
    /// CONTINUATION frames if it is longer than the service accepts.
    fn finish_headers(&self, stream: u32, flags: u8, begin: usize, out: &mut Vec<u8>) {
        let length = out.len() - begin - HEADER_LENGTH;
        let most = self.peer.max_frame as usize;
        let mut header = FrameHeader {
            length: length.min(most) as u32,
            kind: kind::HEADERS,
            flags: flags | flag::END_HEADERS,
            stream,
        };
        if length > most {
            header.flags = flags;
            let rest = out.split_off(begin + HEADER_LENGTH + most);
            let last = rest.chunks(most).count() - 1;
            for (place, chunk) in rest.chunks(most).enumerate() {
                let flags = if place == last { flag::END_HEADERS } else { 0 };
                frame::write(kind::CONTINUATION, flags, stream, chunk, out);
            }
        }
        out[begin..begin + HEADER_LENGTH].copy_from_slice(&header.to_bytes());
    }

    /// Sends what the windows and the limit on unanswered messages allow, and keeps the rest.
    #[inline]
    fn send_body(&mut self, slot: usize, (body, unanswered): (&[u8], Option<u32>), out: &mut Vec<u8>) {
        let released = unanswered.map_or(body.len(), |count| after_messages(body, 0, count));
        let sent = self.send_data(slot, (body, released), out);
        if sent < body.len() {
            let stream = self.streams.get(slot);
            stream.unsent.extend_from_slice(&body[sent..]);
            stream.unsent_from = 0;
            stream.released = released - sent;
            self.waiting += 1;
        }
    }

    /// Sends DATA frames with the first `released` bytes of a body, and returns the number of bytes sent.
    #[inline]
    fn send_data(&mut self, slot: usize, (body, released): (&[u8], usize), out: &mut Vec<u8>) -> usize {
        let stream = self.streams.get(slot);
        let allowed = stream.send_window.min(self.send_window).max(0) as usize;
        let now = released.min(allowed);
        let mut sent = 0;
        while sent < now {
            let chunk = &body[sent..now.min(sent + self.peer.max_frame as usize)];
            sent += chunk.len();
            let flags = if sent == body.len() { flag::END_STREAM } else { 0 };
            frame::write(kind::DATA, flags, stream.id, chunk, out);
        }
        stream.send_window -= sent as i64;
        self.send_window -= sent as i64;
        sent
    }

    /// Continues the bodies that were held back, after a window has grown.
    pub(super) fn send_waiting(&mut self, out: &mut Vec<u8>) {
        if self.waiting == 0 {
            return;
        }
        for slot in self.streams.slots() {
            if self.send_window <= 0 {
                return;
            }
            if !self.streams.get(slot).unsent.is_empty() {
                self.send_kept(slot, out);
            }
        }
    }

    /// Continues a body that was held back in part.
    fn send_kept(&mut self, slot: usize, out: &mut Vec<u8>) {
        let stream = self.streams.get(slot);
        // Taken out and put back to keep its allocation.
        let mut unsent = std::mem::take(&mut stream.unsent);
        let (from, released) = (stream.unsent_from, stream.released);
        let sent = self.send_data(slot, (&unsent[from..], released - from), out);
        if from + sent == unsent.len() {
            unsent.clear();
            self.waiting -= 1;
        }
        let stream = self.streams.get(slot);
        stream.unsent_from = from + sent;
        stream.unsent = unsent;
    }

    /// `count` messages of a stream were answered: the same number may be sent.
    pub(super) fn release(&mut self, slot: usize, count: u32, out: &mut Vec<u8>) {
        let stream = self.streams.get(slot);
        if !stream.unsent.is_empty() {
            stream.released = after_messages(&stream.unsent, stream.released, count);
            self.send_kept(slot, out);
        }
    }
}

/// Position after `count` gRPC messages, of which the first starts at `from`; the end of the body if there are fewer.
fn after_messages(body: &[u8], from: usize, count: u32) -> usize {
    let mut end = from;
    for _ in 0..count {
        let Some(&[_, a, b, c, d]) = body.get(end..).and_then(<[u8]>::first_chunk::<PREFIX>) else {
            break;
        };
        end += PREFIX + u32::from_be_bytes([a, b, c, d]) as usize;
    }
    end.min(body.len())
}
