//! The life cycle of a connection: waiting for its turn, connecting, handshake, open, closed, and again.

use super::connection::{ConnectionProtocol, State};
use super::ending::Reason;
use super::{Action, Core};
use crate::clock::now_ns;
use crate::transport::is_own_shortage;
use crate::worker::sink::Sink;
use prony_protocols::layer::{AgreedParameters, Layer};
use prony_protocols::protocol::{Protocol, RoomMembership, Token};
use prony_records::{AgreedTls, Outcome};
use std::io;

impl<P: Protocol, L: Layer> Core<P, L> {
    pub(super) const fn timer(&self, number: u32) -> u32 {
        self.ledger.slots.len() as u32 + number
    }

    /// Queues a connection for connecting.
    pub(super) fn request_connection(&mut self, number: u32) {
        self.connections[number as usize].state = State::Queued;
        self.to_connect.push_back(number);
    }

    /// Connects queued connections, as many as may be connecting at once.
    pub(in crate::worker) fn connect_some(&mut self) {
        while self.connecting < self.settings.connecting_at_once
            && let Some(number) = self.to_connect.pop_front()
        {
            let now = now_ns();
            let connection = &mut self.connections[number as usize];
            connection.state = State::Connecting;
            connection.since = now;
            self.timers.set(
                self.timer(number),
                now.saturating_add(self.settings.connect_timeout),
            );
            self.connecting += 1;
            self.output.actions.push(Action::Connect(number));
        }
    }

    pub(in crate::worker) fn connected(&mut self, number: u32, now: u64) {
        let connection = &mut self.connections[number as usize];
        self.totals.connect.record(now.saturating_sub(connection.since));
        self.totals.reconnects += u64::from(connection.used && !self.policy.is_users());
        connection.state = State::Shaking;
        connection.since = now;
        let mut layer = match L::new(&self.layer_config) {
            Ok(layer) => layer,
            Err(error) => return self.handle_refusal(number, error, now),
        };
        if let Err(error) = layer.open(&mut self.output.wire) {
            return self.handle_refusal(number, error, now);
        }
        let protocol = P::new(&mut self.shared, self.settings.depth);
        let established = layer.is_established();
        self.connections[number as usize].session = Some(ConnectionProtocol { protocol, layer });
        self.send_out(number);
        if established {
            self.established(number, now);
        }
    }

    /// The layer's handshake is complete: the protocol may start.
    pub(super) fn established(&mut self, number: u32, now: u64) {
        let connection = &mut self.connections[number as usize];
        if !L::IDENTITY {
            self.totals.tls.record(now.saturating_sub(connection.since));
            let session = connection.session.as_ref();
            self.totals.handshakes.completed += 1;
            self.totals.handshakes.resumed +=
                u64::from(session.is_some_and(|session| session.layer.is_resumed()));
            if self.totals.agreed.is_none() {
                let agreed = session.and_then(|session| session.layer.agreed());
                self.totals.agreed = agreed.map(agreed_tls);
            }
        }
        connection.state = State::Greeting;
        let session = connection
            .session
            .as_mut()
            .expect("invariant: an established connection speaks");
        let out = self.output.of_protocol(!L::IDENTITY);
        let first = &self.workload.operations[0].request;
        if let Some(members) = self.settings.members {
            let room = self.settings.partition.room(number);
            let seat = RoomMembership {
                connection: number,
                members,
                first,
                values: self.parameters.values(u64::from(room)),
            };
            session.protocol.join_room(&mut self.shared, &seat);
        }
        session.protocol.open(&mut self.shared, first, out);
        if session.protocol.is_ready() {
            self.opened(number, now);
        } else {
            self.flush(number, now);
        }
    }

    /// The connection is ready for requests.
    pub(super) fn opened(&mut self, number: u32, now: u64) {
        self.timers.clear(self.timer(number));
        let connection = &mut self.connections[number as usize];
        connection.state = State::Open;
        connection.since = now;
        connection.failures = 0;
        connection.used = true;
        connection.answered = false;
        connection.may_start = self.settings.requests_per_connection;
        connection.held_since = None;
        self.connecting -= 1;
        self.open += 1;
        let pausing = self.ledger.slots.paused_on(number);
        self.ledger.recorder.connection_opened(pausing, now);
        if let Some(shared) = self.policy.shared() {
            shared.opened();
        }
        self.totals.most_open = self.totals.most_open.max(self.open);
        self.note_stream_limit(number);
        self.watch_limit(number, now);
        self.use_connection(number, now);
    }

    /// Lets connections that have reached their age end with their next request.
    pub(in crate::worker) fn retire_old_connections(&mut self, now: u64) {
        let Some(age) = self.settings.connection_age else {
            return;
        };
        for connection in &mut self.connections {
            if connection.state == State::Open && now.saturating_sub(connection.since) >= age {
                connection.may_start = connection.may_start.min(1);
            }
        }
    }

    /// Records it if the server allows fewer requests in flight than configured.
    pub(super) fn note_stream_limit(&mut self, number: u32) {
        let session = self.connections[number as usize].session.as_ref();
        let limit = session.and_then(|session| session.protocol.stream_limit());
        if let Some(limit) = limit.filter(|&limit| limit > 0) {
            let lowest = self.totals.stream_limit.map_or(limit, |known| known.min(limit));
            self.totals.stream_limit = Some(lowest);
        }
    }

    /// The kernel could not connect: the service refused, or this machine ran out of resources.
    pub(in crate::worker) fn connect_failed(&mut self, number: u32, error: &io::Error, now: u64) {
        let outcome = if is_own_shortage(error) {
            self.totals.own_shortages += 1;
            self.totals.own_shortage.get_or_insert_with(|| error.to_string());
            Outcome::Dropped
        } else {
            Outcome::ConnectError
        };
        self.end(number, Reason::NotMade(outcome, error), now);
    }

    /// The service, or a proxy in front of it, rejected the connection.
    pub(super) fn handle_refusal(
        &mut self,
        number: u32,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
        now: u64,
    ) {
        let error = io::Error::other(error);
        self.end(number, Reason::NotMade(Outcome::ConnectError, &error), now);
    }

    /// Tries to notify the peer that an open connection is no longer needed.
    pub(super) fn announce_close(&mut self, number: u32) {
        let connection = &mut self.connections[number as usize];
        if let (State::Open, Some(session)) = (connection.state, &mut connection.session) {
            let out = self.output.of_protocol(!L::IDENTITY);
            session.protocol.announce_close(&mut self.shared, out);
            let _ = self.seal_and_send(number);
        }
    }

    /// The TCP stream of the peer ended, or the connection broke. With TLS, a complete stream has ended before, at its
    /// `close_notify`.
    pub(in crate::worker) fn ended(&mut self, number: u32, error: Option<&io::Error>, now: u64) {
        self.peer_stream_ended(number, error, L::IDENTITY, now);
    }

    /// The peer sends no more, whether its socket is closed or not. Does nothing if the connection has ended already.
    pub(super) fn peer_stream_ended(
        &mut self,
        number: u32,
        error: Option<&io::Error>,
        is_clean: bool,
        now: u64,
    ) {
        match self.connections[number as usize].state {
            state @ (State::Shaking | State::Greeting) => {
                let during = match state {
                    // A server without TLS may close the connection before its error message is read.
                    State::Shaking => {
                        "in the TLS handshake: does the service speak TLS on this port?".to_owned()
                    }
                    _ => format!("before {}", P::FIRST_FROM_PEER),
                };
                let how = error.map_or_else(String::new, |error| format!(" ({error})"));
                let ended = format!("the server closed the connection{how} {during}");
                return self.handle_refusal(number, ended, now);
            }
            State::Open | State::Draining => {}
            _ => return,
        }
        if error.is_none() {
            self.deliver_end(number, is_clean, now);
        }
        self.end(number, Reason::Lost, now);
    }

    /// Handles due timers: connections that have rested connect, slots that have paused send, and requests and
    /// connects past their timeout end.
    pub(in crate::worker) fn handle_timers(&mut self, now: u64) {
        self.expire(now);
        while let Some((timer, due)) = self.timers.pop(now) {
            let slot_count = self.ledger.slots.len() as u32;
            if timer >= slot_count {
                self.handle_connection_timer(timer - slot_count, now);
                continue;
            }
            let slot = self.ledger.slots.get(timer);
            if slot.paused {
                self.awake(timer, now.saturating_sub(due), now);
            } else if slot.active && self.settings.streams {
                self.handle_stream_timer(timer, now);
            } else if slot.active {
                let until = slot.intended.saturating_add(self.settings.timeout);
                if until > now {
                    self.timers.set(timer, until);
                } else {
                    self.time_out(timer, now);
                }
            }
        }
    }

    fn handle_connection_timer(&mut self, number: u32, now: u64) {
        let connection = &mut self.connections[number as usize];
        match (connection.state, &mut connection.session) {
            (State::Greeting, Some(ConnectionProtocol { protocol, .. })) if protocol.is_ready() => {
                protocol.stop_listening(&mut self.shared);
                return self.opened(number, now);
            }
            _ => {}
        }
        match connection.state {
            State::Resting => self.request_connection(number),
            State::Connecting | State::Shaking | State::Greeting => {
                let error = io::Error::other("no connection within the timeout");
                self.end(number, Reason::NotMade(Outcome::Timeout, &error), now);
            }
            State::Open => self.hold_too_long(number, now),
            State::Closed | State::Queued | State::Draining => {}
        }
    }

    /// A request has had no reply in time.
    pub(super) fn time_out(&mut self, place: u32, now: u64) {
        let number = self.ledger.slots.connection_of(place);
        self.note_unended(place);
        let Some(session) = &mut self.connections[number as usize].session else {
            return;
        };
        let mut sink = sink!(self, now);
        session
            .protocol
            .report_partial(&mut self.shared, Token(place), &mut sink);
        let out = self.output.of_protocol(!L::IDENTITY);
        if session.protocol.cancel(Token(place), out) {
            self.ledger.end(place, Outcome::Timeout, false, now);
            self.settle(now);
            self.use_connection(number, now);
        } else {
            self.end(number, Reason::TimedOut(place), now);
        }
    }
}

fn agreed_tls(agreed: AgreedParameters) -> AgreedTls {
    AgreedTls {
        version: agreed.version,
        cipher_suite: agreed.cipher_suite,
        key_exchange: agreed.key_exchange,
        protocol: agreed.protocol,
    }
}
