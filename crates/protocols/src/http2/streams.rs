//! The open streams, found by their identifier in constant time.
//!
//! The identifier of a stream determines its slot. If an older stream still occupies that slot, the new one skips its
//! identifier: a client may leave identifiers out, and long-lived requests are rare.

use super::frame::LAST_STREAM;
use crate::protocol::Token;

/// Progress of the reply of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyState {
    /// Waiting for the head.
    Head,
    /// The head has arrived; body or trailers follow.
    Body,
}

/// One request in flight.
#[derive(Debug)]
pub(super) struct Stream<R> {
    /// The stream identifier; 0: the slot is free.
    pub(super) id: u32,
    pub(super) token: Token,
    pub(super) wants_headers: bool,
    pub(super) stage: ReplyState,
    pub(super) reply: R,
    /// Bytes that the peer still accepts on this stream; negative after the peer has shrunk its window.
    pub(super) send_window: i64,
    /// Bytes that the peer may still send.
    pub(super) receive_window: i64,
    /// The part of the body that is held back, starting at `unsent_from`. Up to `released` it waits for the peer's
    /// windows; the rest waits for replies to earlier messages.
    pub(super) unsent: Vec<u8>,
    pub(super) unsent_from: usize,
    pub(super) released: usize,
}

/// The streams of one connection.
#[derive(Debug)]
pub(super) struct Streams<R> {
    /// Empty until the first request, so that an idle connection costs little.
    slots: Vec<Stream<R>>,
    slot_count: u32,
    next_id: u32,
    open: u32,
}

impl<R: Default> Streams<R> {
    pub(super) fn new(depth: u32) -> Self {
        Self {
            slots: Vec::new(),
            slot_count: depth.saturating_mul(2).max(2).next_power_of_two(),
            next_id: 1,
            open: 0,
        }
    }

    pub(super) const fn open(&self) -> u32 {
        self.open
    }

    /// Whether there are identifiers left for another stream.
    pub(super) const fn can_open(&self) -> bool {
        // Skipping uses at most one identifier per slot.
        self.next_id < LAST_STREAM - 2 * self.slot_count
    }

    /// Whether a stream with this identifier was ever opened.
    pub(super) const fn was_opened(&self, id: u32) -> bool {
        id % 2 == 1 && id < self.next_id
    }

    /// The slot of an open stream.
    pub(super) fn find(&self, id: u32) -> Option<usize> {
        let slot = self.slot_of(id);
        (self.slots.get(slot)?.id == id && id != 0).then_some(slot)
    }

    pub(super) fn find_token(&self, token: Token) -> Option<usize> {
        self.slots
            .iter()
            .position(|stream| stream.id != 0 && stream.token == token)
    }

    pub(super) fn get(&mut self, slot: usize) -> &mut Stream<R> {
        &mut self.slots[slot]
    }

    /// All slots, including free ones, which have the identifier 0 and nothing unsent.
    pub(super) const fn slots(&self) -> std::ops::Range<usize> {
        0..self.slots.len()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream<R>> {
        self.slots.iter_mut().filter(|stream| stream.id != 0)
    }

    /// Opens the next stream and returns its slot. The caller sets windows and reply.
    pub(super) fn add(&mut self, token: Token) -> usize {
        if self.slots.is_empty() {
            let free = || Stream {
                id: 0,
                token: Token(0),
                wants_headers: false,
                stage: ReplyState::Head,
                reply: R::default(),
                send_window: 0,
                receive_window: 0,
                unsent: Vec::new(),
                unsent_from: 0,
                released: 0,
            };
            self.slots.resize_with(self.slot_count as usize, free);
        }
        while self.slots[self.slot_of(self.next_id)].id != 0 {
            self.next_id += 2;
        }
        let id = self.next_id;
        self.next_id += 2;
        self.open += 1;
        let slot = self.slot_of(id);
        let stream = &mut self.slots[slot];
        stream.id = id;
        stream.token = token;
        stream.stage = ReplyState::Head;
        slot
    }

    /// Frees a slot and returns the token of its request.
    pub(super) fn remove(&mut self, slot: usize) -> Token {
        let stream = &mut self.slots[slot];
        debug_assert_ne!(stream.id, 0, "a slot is freed once");
        stream.id = 0;
        stream.unsent.clear();
        stream.unsent_from = 0;
        self.open -= 1;
        stream.token
    }

    const fn slot_of(&self, id: u32) -> usize {
        ((id >> 1) & (self.slot_count - 1)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_whose_slot_is_taken_is_left_out() {
        let mut streams: Streams<()> = Streams::new(2);
        let old = streams.add(Token(7));
        for _ in 0..10 {
            let slot = streams.add(Token(8));
            let id = streams.get(slot).id;
            assert_ne!(slot, old);
            assert_eq!(streams.find(id), Some(slot));
            streams.remove(slot);
            assert_eq!(streams.find(id), None);
        }
        assert_eq!(streams.find(1), Some(old));
        assert_eq!(streams.open(), 1);
        assert!(!streams.was_opened(2) && streams.was_opened(1));
    }
}
