//! Sends requests and receives bytes.

use super::Core;
use super::connection::{ConnectionProtocol, State};
use super::ending::Reason;
use crate::worker::load_models::{Policy, SlotAction};
use crate::worker::sink::Sink;
use crate::worker::slots::{BodyCheck, DueRequest, ResendState};
use prony_protocols::layer::{Layer, LayerError, PeerStream};
use prony_protocols::protocol::{Call, Protocol, ProtocolError, Token};
use prony_protocols::request_values::mix;
use prony_records::Outcome;

/// How long a new connection waits for unsolicited bytes of the peer, ns.
const LISTENING: u64 = 50_000_000;

impl<P: Protocol, L: Layer> Core<P, L> {
    /// Serializes a request into the connection's output.
    pub(super) fn start(&mut self, connection: u32, place: u32, due: DueRequest, now: u64) {
        let operation = &self.workload.operations[usize::from(due.operation)];
        let settings = &self.settings;
        let sampled = settings.check_all
            || operation.judges_every_reply
            || mix(settings.check_key ^ due.number) < settings.check_below;
        if due.starts_arrival {
            self.ledger.recorder.record_start();
        }
        let resend = due.resend_state.unwrap_or_else(|| ResendState {
            epoch: self.ledger.recorder.record_sent(due.operation, due.intended),
            refusals: 0,
            retried: false,
            hop: None,
        });
        if self.ledger.slots.active_on(connection) == 0 {
            let connection = &mut self.connections[connection as usize];
            connection.silent_since_idle = connection.answered;
        }
        let slot = self.ledger.slots.get(place);
        slot.begin(&due, &resend, now);
        // Only a valid reply may be captured from: if its body is used, it is judged completely.
        let judged = sampled || operation.takes.body;
        // The headers contain the content type of a stream, unless the protocol delimits messages.
        slot.wants_headers = operation.takes.head
            || (operation.is_stream && !P::DELIMITS_MESSAGES)
            || (judged && operation.expectation.checks_headers());
        slot.check = BodyCheck::of(operation, sampled, slot.wants_headers);
        if let Some(partial) = &mut slot.partial {
            partial.clear(&self.workload.budget);
        }
        let wants_headers = slot.wants_headers;
        self.ledger.slots.activate(place);
        if settings.defers && resend.hop.is_none() {
            self.started.push(place);
        }
        let times_out = due.intended.saturating_add(settings.timeout);
        // A timer already set is that of an earlier request in this slot, which fires first unless that request was
        // due later.
        if settings.streams {
            let first = Self::first_check(&operation.expectation, now, times_out);
            self.timers.set(place, first);
        } else if !self.timers.is_set(place) || due.resend_state.is_some() {
            self.timers.set(place, times_out);
        }
        let connection = &mut self.connections[connection as usize];
        connection.may_start = if operation.closes {
            0
        } else {
            connection.may_start - 1
        };
        if due.step == 0 && due.resend_state.is_none() {
            self.captures.begin(place);
        }
        let values = self.parameters.values(due.number).at_step(due.step);
        let prepared = if resend.hop.is_none() && operation.cookies.is_none() {
            &operation.request
        } else {
            let is_new = self.policy.is_users() && due.starts_arrival && due.resend_state.is_none();
            let redirected = resend.hop.map(|hop| hop.method);
            self.captures
                .choose(place, operation, (values, redirected), is_new)
        };
        let call = Call {
            token: Token(place),
            prepared,
            values: values.with_captured(self.captures.values.get(place as usize)),
            wants_headers,
            is_last: connection.may_start == 0,
        };
        let session = connection.session.as_mut();
        let session = session.expect("invariant: requests start on open connections");
        let out = self.output.of_protocol(!L::IDENTITY);
        session.protocol.start(&mut self.shared, &call, out);
    }

    /// Sends the bytes that the protocol has written for a connection.
    pub(super) fn flush(&mut self, number: u32, now: u64) {
        if let Err(error) = self.seal_and_send(number) {
            self.layer_failed(number, error, now);
        }
    }

    /// The same for the last bytes of a connection, which ends whether they can be sent or not.
    pub(super) fn seal_and_send(&mut self, number: u32) -> Result<(), LayerError> {
        if L::IDENTITY {
            self.send_out(number);
            return Ok(());
        }
        if self.output.unsealed.is_empty() {
            return Ok(());
        }
        let sealed = match &mut self.connections[number as usize].session {
            Some(session) => session.layer.seal(&self.output.unsealed, &mut self.output.wire),
            None => Ok(()),
        };
        self.output.unsealed.clear();
        self.send_out(number);
        sealed
    }

    /// Sends the bytes written for the wire since the last time.
    pub(super) fn send_out(&mut self, number: u32) {
        let count = self.output.send(number);
        self.ledger.recorder.sent_bytes(count);
    }

    /// Uses connections whose requests have ended by events on other connections.
    pub(in crate::worker) fn use_woken(&mut self, now: u64) {
        while let Some(number) = self.woken.pop() {
            self.use_connection(number, now);
        }
    }

    /// Handles received bytes.
    pub(in crate::worker) fn received(&mut self, number: u32, bytes: &[u8], now: u64) {
        self.ledger.recorder.received_bytes(bytes.len());
        if L::IDENTITY {
            return self.receive_plain(number, bytes, now);
        }
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let Some(session) = &mut self.connections[number as usize].session else {
            return;
        };
        let unsealed = session.layer.unseal(bytes, &mut plain, &mut self.output.wire);
        let established = session.layer.is_established();
        self.send_out(number);
        match unsealed {
            Err(error) => self.layer_failed(number, error, now),
            Ok(peer_stream) => {
                if established && self.connections[number as usize].state == State::Shaking {
                    self.established(number, now);
                }
                if !plain.is_empty() {
                    self.receive_plain(number, &plain, now);
                }
                if peer_stream == PeerStream::Ended {
                    self.peer_stream_ended(number, None, true, now);
                }
            }
        }
        self.plain = plain;
    }

    fn layer_failed(&mut self, number: u32, error: LayerError, now: u64) {
        if matches!(
            self.connections[number as usize].state,
            State::Open | State::Draining
        ) {
            self.end(number, Reason::Lost, now);
        } else {
            self.handle_refusal(number, error, now);
        }
    }

    /// Passes plain bytes to the protocol.
    fn receive_plain(&mut self, number: u32, bytes: &[u8], now: u64) {
        let connection = &mut self.connections[number as usize];
        let Some(session) = connection.session.as_mut() else {
            return;
        };
        connection.silent_since_idle = false;
        let was_ready = session.protocol.is_ready();
        let mut sink = sink!(self, now);
        let out = self.output.of_protocol(!L::IDENTITY);
        let result = session.protocol.receive(&mut self.shared, bytes, out, &mut sink);
        if connection.state == State::Greeting {
            return self.take_greeting(number, (was_ready, result), now);
        }
        let (is_closing, is_spent) = (session.protocol.is_closing(), session.protocol.is_spent());
        connection.answered |= !self.ledger.ended.is_empty();
        if !self.ledger.stopped.is_empty() && !self.stop_streams(now) {
            return self.end_with_its_replies(number, now);
        }
        let connection = &self.connections[number as usize];
        if let Err(error) = result {
            self.totals.violation.get_or_insert(error.0);
        } else if !is_spent {
            self.settle(now);
            if is_closing {
                self.replace(number, now);
            }
            self.watch_limit(number, now);
            return self.use_connection(number, now);
        } else if connection.answered {
            self.totals.closed_by_server += u64::from(connection.may_start > 0);
        }
        self.end_with_its_replies(number, now);
    }

    /// Handles the first bytes of the peer, before any request.
    fn take_greeting(
        &mut self,
        number: u32,
        (was_ready, result): (bool, Result<(), ProtocolError>),
        now: u64,
    ) {
        let Some(ConnectionProtocol { protocol, .. }) = &self.connections[number as usize].session else {
            return;
        };
        let error = match result {
            Ok(()) if protocol.is_spent() => P::CLOSED_BEFORE_REQUESTS,
            Ok(()) if protocol.is_ready() && !protocol.is_listening() => return self.opened(number, now),
            Ok(()) => {
                if protocol.is_ready() && !was_ready {
                    self.timers.set(self.timer(number), now + LISTENING);
                }
                return self.flush(number, now);
            }
            Err(error) => error.0,
        };
        // Notify the peer of the error; if that fails, the original error still counts.
        let _ = self.seal_and_send(number);
        self.handle_refusal(number, error, now);
    }

    /// Ends a connection that receives nothing more, after its received replies are handled.
    fn end_with_its_replies(&mut self, number: u32, now: u64) {
        self.settle(now);
        let _ = self.seal_and_send(number);
        self.end(number, Reason::Lost, now);
    }

    /// The peer ended its stream: a reply may end with it. `is_clean`: the stream cannot have been truncated.
    pub(super) fn deliver_end(&mut self, number: u32, is_clean: bool, now: u64) {
        let connection = &mut self.connections[number as usize];
        let Some(session) = connection.session.as_mut() else {
            return;
        };
        let mut sink = sink!(self, now);
        session
            .protocol
            .end_of_stream(&mut self.shared, is_clean, &mut sink);
        if !self.ledger.ended.is_empty() {
            connection.answered = true;
            self.totals.closed_by_server += u64::from(connection.may_start > 0);
        }
        self.settle(now);
    }

    /// Gives a slot its next request. Returns whether one was started; otherwise the slot is free.
    pub(super) fn fill(&mut self, place: u32, late: u64, now: u64) -> bool {
        let number = self.ledger.slots.connection_of(place);
        let next = if self.free_slots(number) == 0 {
            SlotAction::Idle
        } else if let Some(due) = self.left_over.pop_front() {
            self.captures.fetch(place, due.number);
            SlotAction::Send(due)
        } else {
            let at = self.decision_time(now);
            self.policy.next_action(number, late, at, &mut self.source)
        };
        match next {
            SlotAction::Send(due) if self.policy.is_users() && self.has_timed_out(&due, now) => {
                self.ledger.slots.release(place);
                self.user_too_late(number, due, now);
            }
            SlotAction::Send(due) => {
                self.start(number, place, due, now);
                return true;
            }
            SlotAction::Idle => {
                self.ledger.slots.get(place).ready = now;
                self.ledger.slots.release(place);
            }
            SlotAction::Leave => {
                self.ledger.slots.release(place);
                self.end(number, Reason::Left, now);
            }
        }
        false
    }

    /// Sends everything that can be sent on a connection now.
    pub(in crate::worker) fn use_connection(&mut self, number: u32, now: u64) {
        if let Policy::Open(_) = self.policy {
            self.queue_idle(number);
        } else {
            while self.free_slots(number) > 0
                && let Some(place) = self.ledger.slots.take(number)
            {
                if !self.fill(place, 0, now) {
                    break;
                }
            }
        }
        self.flush(number, now);
        self.send_waiting(now);
        let connection = &self.connections[number as usize];
        let is_used_up = connection.state == State::Open && connection.may_start == 0;
        let replaced_by = connection.replaced_by;
        if is_used_up && self.ledger.slots.active_on(number) == 0 {
            self.end(number, Reason::Lost, now);
        }
        if let Some(newer) = replaced_by {
            self.use_connection(newer, now);
        }
    }

    pub(super) fn free_slots(&self, number: u32) -> u32 {
        let connection = &self.connections[number as usize];
        match &connection.session {
            Some(session) if connection.state == State::Open => {
                let free_slots = session.protocol.free_slots().min(connection.may_start);
                match connection.replaces {
                    None => free_slots,
                    Some(older) => free_slots.min(self.room_beside(number, older)),
                }
            }
            _ => 0,
        }
    }

    fn queue_idle(&mut self, number: u32) {
        if self.free_slots(number) > 0 && self.ledger.slots.has_free(number) {
            let connection = &mut self.connections[number as usize];
            if !connection.queued {
                connection.queued = true;
                self.idle.push_back(number);
            }
        }
    }

    /// Open load: sends the waiting requests on connections with a free slot, the one idle for longest first.
    pub(in crate::worker) fn send_waiting(&mut self, now: u64) {
        let Policy::Open(_) = self.policy else { return };
        self.expire(now);
        while self.policy.is_waiting() || !self.left_over.is_empty() {
            let Some(number) = self.idle.pop_front() else {
                return self.pass_on(now);
            };
            self.connections[number as usize].queued = false;
            if self.free_slots(number) == 0 {
                continue;
            }
            let Some(place) = self.ledger.slots.take(number) else {
                continue;
            };
            let is_sent = self.fill(place, 0, now);
            self.queue_idle(number);
            if !is_sent {
                // Another thread was faster.
                return;
            }
            self.flush(number, now);
        }
    }

    /// Passes arrivals without a slot here to the other threads.
    fn pass_on(&mut self, now: u64) {
        while let Policy::Open(open) = &mut self.policy
            && let Some(left) = open.pass_on(&mut self.source)
        {
            if let Err(due) = left {
                self.record_loss(due, Outcome::Dropped, now);
            }
        }
    }

    /// Announces to the other threads whether there is a free slot here. Returns whether an arrival waits that can
    /// use it.
    pub(in crate::worker) fn announce_free_slot(&mut self) -> bool {
        let has_free_slot = !self.idle.is_empty();
        self.policy
            .shared()
            .is_some_and(|shared| shared.announce_free_slot(has_free_slot))
    }
}
