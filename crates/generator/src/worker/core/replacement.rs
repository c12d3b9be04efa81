//! Replacement of connections before they end: the peer accepts no further requests on one (GOAWAY, `Connection:
//! close`) while others are still in flight on it. Like every client, the load continues on a new connection at once.
//!
//! The new one uses a spare number. Both together never have more requests in flight than a single connection may
//! have.

use super::Core;
use super::connection::State;
use prony_protocols::layer::Layer;
use prony_protocols::protocol::Protocol;

/// Most connections of a thread that can be replaced at the same time; further ones reconnect after their last reply.
const MOST_SPARE: u32 = 256;

impl<P: Protocol, L: Layer> Core<P, L> {
    /// Spare numbers that a thread needs in order to replace connections.
    pub(super) fn spare_numbers(connections: u32, depth: u32, is_replaced: bool) -> u32 {
        if is_replaced && (P::MULTIPLEXES || depth > 1) {
            connections.min(MOST_SPARE)
        } else {
            0
        }
    }

    /// The peer accepts no further requests on a connection: open another one.
    pub(super) fn replace(&mut self, number: u32, now: u64) {
        // Users have one connection each, and there are no spare numbers.
        if self.spare.is_empty() || self.connections[number as usize].state != State::Open {
            return;
        }
        let at = self.decision_time(now);
        if !self.policy.connection_lost(number, at) && self.left_over.is_empty() {
            return;
        }
        let Some(spare) = self.spare.pop() else { return };
        let connection = &mut self.connections[number as usize];
        connection.state = State::Draining;
        connection.replaced_by = Some(spare);
        self.note_closed(number, now);
        let replacement = &mut self.connections[spare as usize];
        replacement.used = true;
        replacement.replaces = Some(number);
        self.request_connection(spare);
    }

    /// How many requests a connection may have in flight, given those in flight on the connections that it replaces.
    pub(super) fn room_beside(&self, number: u32, older: u32) -> u32 {
        let mut busy = self.ledger.slots.busy_on(number);
        let mut next = Some(older);
        while let Some(older) = next {
            busy += self.ledger.slots.busy_on(older);
            next = self.connections[older as usize].replaces;
        }
        self.settings.depth.saturating_sub(busy)
    }

    /// A replaced connection has ended. Its pausing slots move to the replacement.
    pub(super) fn replaced(&mut self, number: u32, now: u64) {
        let connection = &mut self.connections[number as usize];
        let (older, newer) = (connection.replaces.take(), connection.replaced_by.take());
        if let Some(older) = older {
            self.connections[older as usize].replaced_by = newer;
        }
        self.spare.push(number);
        let Some(newer) = newer else { return };
        self.connections[newer as usize].replaces = older;
        for place in self.ledger.slots.of(number) {
            if self.ledger.slots.get(place).paused
                && let Some(other) = self.ledger.slots.take(newer)
            {
                self.ledger.slots.move_pause(place, other);
                if self.connections[newer as usize].state == State::Open {
                    self.ledger.recorder.pauses.rise(now);
                }
                self.captures.swap(place, other);
                if let Some(until) = self.timers.clear(place) {
                    self.timers.set(other, until);
                }
                self.ledger.slots.release(place);
            }
        }
        self.use_connection(newer, now);
    }
}
