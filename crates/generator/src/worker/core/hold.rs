//! Connections on which the peer allows no request for a while: HTTP/2 with `SETTINGS_MAX_CONCURRENT_STREAMS` 0.
//!
//! What waits there is due, so the peer's pause is part of response times. In an open load and for users, requests have due times
//! of their own. A closed load would send at once: each of its slots wants to from the moment when it is free and the load runs.

use super::Core;
use super::connection::State;
use super::ending::Reason;
use crate::worker::load_models::Policy;
use crate::worker::slots::DueRequest;
use prony_protocols::layer::Layer;
use prony_protocols::protocol::Protocol;
use prony_records::Outcome;
use std::io;

/// Text for a connection on which a timeout has passed without any request.
const NO_STREAM: &str =
    "the server allowed no stream (SETTINGS_MAX_CONCURRENT_STREAMS is 0) within the timeout";

impl<P: Protocol, L: Layer> Core<P, L> {
    /// Notices that the peer stops or resumes to allow requests on an open connection.
    #[inline]
    pub(super) fn watch_limit(&mut self, number: u32, now: u64) {
        let connection = &self.connections[number as usize];
        let session = connection.session.as_ref();
        let is_held = session.is_some_and(|session| session.protocol.stream_limit() == Some(0));
        if is_held != connection.held_since.is_some() {
            self.change_hold(number, is_held, now);
        }
    }

    fn change_hold(&mut self, number: u32, is_held: bool, now: u64) {
        let connection = &mut self.connections[number as usize];
        if connection.state != State::Open {
            return;
        }
        let since = std::mem::replace(&mut connection.held_since, is_held.then_some(now));
        if is_held {
            self.timers
                .set(self.timer(number), now.saturating_add(self.settings.timeout));
            return;
        }
        self.timers.clear(self.timer(number));
        if let (Some(since), Policy::Closed(_)) = (since, &self.policy) {
            self.send_held(number, since, now);
        }
    }

    /// Closed load: sends what has waited since then in the free slots of a connection.
    fn send_held(&mut self, number: u32, since: u64, now: u64) {
        while self.free_slots(number) > 0
            && self.left_over.is_empty()
            && let Some(place) = self.ledger.slots.take(number)
        {
            let wanted = since.max(self.ledger.slots.get(place).ready);
            match self.wanted(wanted) {
                Some(due) => {
                    self.ledger.recorder.record_hold(wanted, now);
                    self.start(number, place, due, now);
                }
                None => return self.ledger.slots.release(place),
            }
        }
    }

    /// Closed load: the request that a free slot has wanted to send since then, if it still does.
    fn wanted(&mut self, since: u64) -> Option<DueRequest> {
        (self.is_loading() && self.source.claim()).then(|| self.source.arrival(since, 0))
    }

    /// The load begins: nothing was due before.
    pub(super) fn hold_from(&mut self, begin: u64) {
        for number in 0..self.connections.len() as u32 {
            let connection = &mut self.connections[number as usize];
            if connection.held_since.is_some() {
                connection.held_since = Some(begin);
                self.timers
                    .set(self.timer(number), begin.saturating_add(self.settings.timeout));
            }
        }
    }

    /// The timer of an open connection: if the peer has allowed no request for the time of a timeout, what waits has timed out.
    pub(super) fn hold_too_long(&mut self, number: u32, now: u64) {
        let Some(since) = self.connections[number as usize].held_since else {
            return;
        };
        if self.policy.is_users() {
            let error = io::Error::other(NO_STREAM);
            return self.end(number, Reason::NotMade(Outcome::Timeout, &error), now);
        }
        self.totals
            .connect_error
            .get_or_insert_with(|| NO_STREAM.to_owned());
        self.lose_held(number, since, Outcome::Timeout, now);
        self.connections[number as usize].held_since = Some(now);
        self.timers
            .set(self.timer(number), now.saturating_add(self.settings.timeout));
    }

    /// The load is over: what a closed load has wanted to send in vain was due, and is not sent any more.
    pub(super) fn give_up_held(&mut self, end: u64, now: u64) {
        for number in 0..self.connections.len() as u32 {
            if let Some(since) = self.connections[number as usize]
                .held_since
                .filter(|&since| since < end)
            {
                self.lose_held(number, since, Outcome::Dropped, now);
            }
        }
    }

    /// Records a request that was not sent for each free slot of a connection of a closed load.
    fn lose_held(&mut self, number: u32, since: u64, outcome: Outcome, now: u64) {
        let Policy::Closed(_) = self.policy else { return };
        let mut taken = Vec::new();
        while let Some(place) = self.ledger.slots.take(number) {
            taken.push(place);
            let wanted = since.max(self.ledger.slots.get(place).ready);
            if let Some(due) = self.wanted(wanted) {
                self.ledger.recorder.record_hold(wanted, now);
                self.record_loss(due, outcome, now);
                self.ledger.slots.get(place).ready = now;
            }
        }
        for place in taken.into_iter().rev() {
            self.ledger.slots.release(place);
        }
    }
}
