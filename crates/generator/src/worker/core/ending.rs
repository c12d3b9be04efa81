//! The ways in which a connection can end, all handled by one function.
//!
//! | reason | peer is notified | requests in flight | then |
//! |---|---|---|---|
//! | [`Reason::NotMade`] | no | none | reconnects after a pause; if no other connection is open, requests waiting for one are lost |
//! | [`Reason::Lost`] | no | sent again if that is safe, else `reset` | reconnects |
//! | [`Reason::TimedOut`] | no | the late request is a `timeout`, those after it depend on the protocol | reconnects |
//! | [`Reason::Left`] | yes | none | its user has left |
//! | [`Reason::Over`] | yes | `timeout` | the load is over |
//!
//! A user leaves if the connection could not be established or all requests have been sent. A connection that already
//! has a replacement (see `replacement`) does not reconnect.

use super::connection::State;
use super::{Action, Core};
use crate::worker::backlog::Share;
use crate::worker::load_models::Policy;
use crate::worker::sink::Sink;
use crate::worker::slots::{DueRequest, Resend};
use prony_protocols::layer::Layer;
use prony_protocols::protocol::Protocol;
use prony_records::Outcome;
use std::io;

/// Pause before reconnecting after a connection without any reply, ns: a server that accepts and closes is not
/// contacted again and again without a pause.
const REST: u64 = 1_000_000;

/// Why a connection ends.
#[derive(Debug, Clone, Copy)]
pub(in crate::worker) enum Reason<'a> {
    /// It could not be established: the kernel, TLS or the protocol's greeting failed. Requests without another
    /// connection get this outcome.
    NotMade(Outcome, &'a io::Error),
    /// The peer ended it or violated the protocol, or it has carried as many requests as allowed.
    Lost,
    /// The request in this slot had no reply in time, and the protocol cannot skip it.
    TimedOut(u32),
    /// Its user is done.
    Left,
    /// The load is over.
    Over,
}

impl Reason<'_> {
    /// Whether the peer is notified that the connection is no longer needed.
    const fn announces_close(self) -> bool {
        matches!(self, Self::Left | Self::Over)
    }
}

impl<P: Protocol, L: Layer> Core<P, L> {
    /// Ends a connection; does nothing if it has ended already.
    pub(in crate::worker) fn end(&mut self, number: u32, reason: Reason<'_>, now: u64) {
        if reason.announces_close() {
            self.announce_close(number);
        }
        let was = self.connections[number as usize].state;
        match was {
            State::Closed | State::Queued | State::Resting => return,
            State::Connecting | State::Shaking | State::Greeting => self.connecting -= 1,
            State::Open => self.note_closed(number, now),
            State::Draining => {}
        }
        self.output.actions.push(Action::Close(number));
        self.timers.clear(self.timer(number));
        let connection = &mut self.connections[number as usize];
        connection.state = State::Closed;
        connection.held_since = None;
        if let Some(mut session) = connection.session.take() {
            let mut sink = sink!(self, now);
            session.protocol.handle_disconnect(&mut self.shared, &mut sink);
        }
        for place in self.ledger.slots.of(number) {
            if self.ledger.slots.get(place).active {
                self.end_request(place, reason, now);
            }
        }
        self.settle(now);
        match reason {
            Reason::NotMade(outcome, error) => self.not_made(number, outcome, error, now),
            Reason::Lost | Reason::TimedOut(_) if was == State::Draining => self.replaced(number, now),
            Reason::Lost | Reason::TimedOut(_) => self.reconnect(number, now),
            Reason::Left => {
                if let Policy::Users(users) = &mut self.policy {
                    users.leave(number);
                }
                self.wake(number);
            }
            Reason::Over => {}
        }
    }

    /// Ends a request that was in flight on a connection that ends.
    fn end_request(&mut self, place: u32, reason: Reason<'_>, now: u64) {
        let outcome = match reason {
            Reason::Over => Outcome::Timeout,
            Reason::TimedOut(late) if late == place => Outcome::Timeout,
            Reason::TimedOut(_) if P::QUEUED_REQUESTS_TIME_OUT => Outcome::Timeout,
            Reason::Lost if self.may_retry(place) => {
                return self.ledger.leave_to_resend(place, Resend::Retry, now);
            }
            Reason::TimedOut(_) | Reason::Lost | Reason::Left | Reason::NotMade(..) => Outcome::Reset,
        };
        self.ledger.end(place, outcome, false, now);
    }

    /// Whether a request whose connection has ended is sent again on another one: the server may have closed an idle
    /// connection while the request was on its way. That applies to safe methods only, and once, and only if the
    /// connection had replied before, was idle, and has received no byte since (RFC 9110, section 9.2.2; RFC 9112,
    /// section 9.3.1).
    fn may_retry(&mut self, place: u32) -> bool {
        if !(P::MAY_RETRY && self.settings.retries) {
            return false;
        }
        let number = self.ledger.slots.connection_of(place);
        let slot = self.ledger.slots.get(place);
        let operation = &self.workload.operations[usize::from(slot.operation)];
        operation.is_safe && !slot.retried && self.connections[number as usize].silent_since_idle
    }

    /// Reconnects a connection that was open, if the load needs it.
    fn reconnect(&mut self, number: u32, now: u64) {
        let at = self.decision_time(now);
        if !self.policy.connection_lost(number, at) && self.left_over.is_empty() {
            return self.wake(number);
        }
        let connection = &mut self.connections[number as usize];
        if connection.answered || self.policy.is_users() {
            self.request_connection(number);
        } else {
            self.rest(number, now + REST);
        }
    }

    fn rest(&mut self, number: u32, until: u64) {
        self.connections[number as usize].state = State::Resting;
        self.timers.set(self.timer(number), until);
    }

    /// Handles a failed attempt to connect.
    fn not_made(&mut self, number: u32, outcome: Outcome, error: &io::Error, now: u64) {
        self.totals.connect_error.get_or_insert_with(|| error.to_string());
        self.totals.connects_failed += 1;
        let pause = self.connections[number as usize].rest();
        if self.policy.is_users() {
            self.user_refused(number, outcome, now);
            return self.wake(number);
        }
        self.rest(number, now + pause);
        let at = self.decision_time(now);
        match &mut self.policy {
            _ if self.phase.is_none() => {}
            Policy::Closed(_) => {
                let left_over = if self.open == 0 {
                    self.left_over.pop_front()
                } else {
                    None
                };
                if let Some(due) = left_over {
                    self.record_loss(due, outcome, now);
                } else if at.is_loading && self.source.claim() {
                    let due = self.source.arrival(now, 0);
                    self.record_loss(due, outcome, now);
                }
            }
            // While other connections are open, on this thread or another one, waiting requests can use them.
            Policy::Open(open) => {
                let any_open = self.open > 0 || open.shared.as_ref().is_some_and(Share::any_open);
                if !any_open {
                    self.lose_waiting(outcome, now);
                }
            }
            Policy::Users(_) => {}
        }
    }

    /// Called when an open connection accepts no further requests.
    pub(super) fn note_closed(&mut self, number: u32, now: u64) {
        self.open -= 1;
        let pausing = self.ledger.slots.paused_on(number);
        self.ledger.recorder.connection_closed(pausing, now);
        if let Some(shared) = self.policy.shared() {
            shared.closed();
        }
    }

    /// Drops all requests that wait for a connection.
    pub(super) fn lose_waiting(&mut self, outcome: Outcome, now: u64) {
        while let Some(due) = self.left_over.pop_front() {
            self.record_loss(due, outcome, now);
        }
        while let Some(due) = self.policy.take_waiting(&mut self.source) {
            self.record_loss(due, outcome, now);
        }
    }

    /// Drops requests that time out before they can be sent; their outcome is `timeout`.
    pub(in crate::worker) fn expire(&mut self, now: u64) {
        let Some(limit) = now.checked_sub(self.settings.timeout) else {
            return;
        };
        while let Some(due) = self.left_over.pop_front_if(|due| due.intended <= limit) {
            self.record_loss(due, Outcome::Timeout, now);
        }
        while let Policy::Open(open) = &mut self.policy
            && let Some(due) = open.take_due_by(limit, &mut self.source)
        {
            self.record_loss(due, Outcome::Timeout, now);
        }
    }

    pub(super) const fn has_timed_out(&self, due: &DueRequest, now: u64) -> bool {
        due.intended.saturating_add(self.settings.timeout) <= now
    }

    /// The request of a connection's user could not be sent in time: the user leaves.
    pub(super) fn user_too_late(&mut self, number: u32, due: DueRequest, now: u64) {
        if let Policy::Users(users) = &mut self.policy {
            let (left, intended) = users.abandon(number, now);
            let count = self.record_losses(left + 1, due, Outcome::Timeout, now);
            self.record_lost_visit((left + 1 - count, intended), Outcome::Timeout, now);
        }
        self.end(number, Reason::Left, now);
    }

    /// A user without a connection leaves: none of the remaining requests is sent.
    pub(super) fn user_refused(&mut self, number: u32, outcome: Outcome, now: u64) {
        let at = self.decision_time(now);
        let Policy::Users(users) = &mut self.policy else {
            return;
        };
        let (mut left, intended, next) = users.remove_refused(number, at);
        if let Some(due) = next {
            self.record_loss(due, outcome, now);
            left -= 1;
        }
        self.record_lost_visit((left, intended), outcome, now);
    }

    /// Records `left` requests of a user that are never sent.
    pub(super) fn record_lost_visit(&mut self, (mut left, intended): (u32, u64), outcome: Outcome, now: u64) {
        while left > 0 {
            let due = self.source.arrival(intended, 0);
            left -= self.record_losses(left, due, outcome, now);
        }
    }

    /// Records a request that was due and is not sent, or not sent again; the only place that does. With the first
    /// request of an arrival, all further ones are lost.
    pub(super) fn record_loss(&mut self, due: DueRequest, outcome: Outcome, now: u64) {
        self.record_losses(u32::MAX, due, outcome, now);
    }

    /// The same for at most `most` requests; returns their number.
    fn record_losses(&mut self, most: u32, due: DueRequest, outcome: Outcome, now: u64) -> u32 {
        let recorder = &mut self.ledger.recorder;
        if let Some(resend_state) = due.resend_state {
            let outcome = if outcome == Outcome::Dropped {
                Outcome::Reset
            } else {
                outcome
            };
            recorder.record_loss(
                (due.operation, due.intended),
                Some(resend_state.epoch),
                outcome,
                now,
            );
            return 1;
        }
        let mut count = 1;
        recorder.record_loss((due.operation, due.intended), None, outcome, now);
        while due.step == 0
            && count < most
            && let Some(operation) = self.source.step(count as u16)
        {
            recorder.record_loss((operation, due.intended), None, outcome, now);
            count += 1;
        }
        count
    }
}
