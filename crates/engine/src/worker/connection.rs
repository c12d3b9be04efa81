//! The life of a connection: waiting for its turn, connecting, shaking hands, speaking, closed, and again.

use super::core::{Action, Core, Mode};
use super::users::User;
use crate::clock::now_ns;
use crate::layer::Layer;
use crate::protocol::{Protocol, Token};
use crate::recorder::Finished;
use prony_measurement::{Outcome, Phase};
use std::io;

/// One connection of a worker.
pub(super) struct Connection<P, L> {
    pub(super) state: State,
    pub(super) speaking: Option<Speaking<P, L>>,
    /// When the state began.
    pub(super) since: u64,
    /// Whether it stands in the queue of connections with a free place.
    pub(super) queued: bool,
    /// Failed attempts to connect, one after the other.
    failures: u8,
    /// Whether it was established before.
    used: bool,
    /// Whether a reply came on it since it was established.
    pub(super) answered: bool,
    /// The user who has it, where users arrive.
    pub(super) user: User,
}

/// What is spoken on an established TCP connection.
pub(super) struct Speaking<P, L> {
    pub(super) protocol: P,
    pub(super) layer: L,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Not in use.
    Closed,
    /// May connect again at this time.
    Resting {
        until: u64,
    },
    /// Waits for its turn to connect.
    Queued,
    Connecting,
    /// TCP is up, the layer's handshake is under way.
    Shaking,
    /// The protocol waits for what the peer says first.
    Greeting,
    Open,
}

/// Connections that may be under way at once: more would overflow the server's queue, and wait a second for it.
const CONNECTING_AT_ONCE: u32 = 128;
/// Longest pause between attempts to connect, ns.
const LONGEST_REST: u64 = 100_000_000;

impl<P, L> Connection<P, L> {
    pub(super) fn new() -> Self {
        Self {
            state: State::Closed,
            speaking: None,
            since: 0,
            queued: false,
            failures: 0,
            used: false,
            answered: false,
            user: User::default(),
        }
    }

    /// Whether it has been established, or tried and failed.
    pub(super) const fn was_tried(&self) -> bool {
        self.used || self.failures > 0
    }
}

impl<P: Protocol, L: Layer> Core<P, L> {
    /// Puts a connection in the queue of those that connect.
    pub(super) fn want_connection(&mut self, number: u32) {
        self.connections[number as usize].state = State::Queued;
        self.to_connect.push_back(number);
    }

    /// Connects those whose turn it is.
    pub(super) fn connect_some(&mut self) {
        while self.connecting < CONNECTING_AT_ONCE
            && let Some(number) = self.to_connect.pop_front()
        {
            let now = now_ns();
            let connection = &mut self.connections[number as usize];
            connection.state = State::Connecting;
            connection.since = now;
            self.connecting += 1;
            self.actions.push(Action::Connect(number));
        }
    }

    pub(super) fn connected(&mut self, number: u32, now: u64) {
        let connection = &mut self.connections[number as usize];
        self.totals.connect.record(now.saturating_sub(connection.since));
        self.totals.reconnects += u64::from(connection.used && !self.mode.is_users());
        connection.state = State::Shaking;
        connection.since = now;
        let mut layer = match L::new(&self.layer_config) {
            Ok(layer) => layer,
            Err(error) => {
                return self.connect_failed(number, Outcome::Refused, &io::Error::other(error), now);
            }
        };
        if let Err(error) = layer.open(&mut self.out) {
            return self.connect_failed(number, Outcome::Refused, &io::Error::other(error), now);
        }
        let protocol = P::new(&mut self.shared, self.depth);
        let established = layer.is_established();
        self.connections[number as usize].speaking = Some(Speaking { protocol, layer });
        self.send_out(number);
        if established {
            self.established(number, now);
        }
    }

    /// The layer's handshake is over: the protocol may speak.
    pub(super) fn established(&mut self, number: u32, now: u64) {
        let connection = &mut self.connections[number as usize];
        if !L::IDENTITY {
            self.totals.tls.record(now.saturating_sub(connection.since));
        }
        connection.state = State::Greeting;
        let speaking = connection
            .speaking
            .as_mut()
            .expect("invariant: an established connection speaks");
        let out = if L::IDENTITY {
            &mut self.out
        } else {
            &mut self.unsealed
        };
        speaking.protocol.open(&mut self.shared, out);
        if speaking.protocol.is_ready() {
            self.opened(number, now);
        } else {
            self.flush(number, now);
        }
    }

    /// Requests may go.
    pub(super) fn opened(&mut self, number: u32, now: u64) {
        let connection = &mut self.connections[number as usize];
        connection.state = State::Open;
        connection.since = now;
        connection.failures = 0;
        connection.used = true;
        connection.answered = false;
        self.connecting -= 1;
        self.open += 1;
        self.totals.most_open = self.totals.most_open.max(self.open);
        self.note_stream_limit(number);
        self.make_use_of(number, now);
    }

    /// Notes that the server allows fewer requests under way than were asked for.
    pub(super) fn note_stream_limit(&mut self, number: u32) {
        let speaking = self.connections[number as usize].speaking.as_ref();
        if let Some(limit) = speaking.and_then(|speaking| speaking.protocol.stream_limit()) {
            let lowest = self.totals.stream_limit.map_or(limit, |known| known.min(limit));
            self.totals.stream_limit = Some(lowest);
        }
    }

    /// An attempt to connect came to nothing.
    pub(super) fn connect_failed(&mut self, number: u32, outcome: Outcome, error: &io::Error, now: u64) {
        self.totals.connect_error.get_or_insert_with(|| error.to_string());
        self.totals.connects_failed += 1;
        self.actions.push(Action::Close(number));
        self.connecting -= 1;
        let connection = &mut self.connections[number as usize];
        connection.speaking = None;
        connection.failures = connection.failures.saturating_add(1);
        let rest = (1_000_000_u64 << connection.failures.min(10)).min(LONGEST_REST);
        connection.state = State::Resting { until: now + rest };
        self.resting += 1;
        self.blame_no_connection(number, outcome, now);
    }

    /// Counts the requests that had no connection to go on.
    fn blame_no_connection(&mut self, number: u32, outcome: Outcome, now: u64) {
        if self.phase.is_none() {
            return;
        }
        let is_loading = self.is_loading();
        match &mut self.mode {
            Mode::Closed if is_loading => {
                let operation = self.chooser.first();
                self.recorder.unsent(operation, now, outcome);
            }
            Mode::Closed => {}
            // As long as others are open, what waits can go there.
            Mode::Open(pacer) => {
                while self.open == 0
                    && let Some(intended) = pacer.take()
                {
                    let operation = self.chooser.first();
                    self.recorder.unsent(operation, intended, outcome);
                }
            }
            Mode::Users(_) => {
                self.resting -= 1;
                self.user_failed(number, outcome);
            }
        }
    }

    /// Ends a connection. What was under way on it gets this outcome.
    pub(super) fn close(&mut self, number: u32, outcome: Outcome, now: u64) {
        self.actions.push(Action::Close(number));
        let connection = &mut self.connections[number as usize];
        match connection.state {
            State::Open => self.open -= 1,
            State::Connecting | State::Shaking | State::Greeting => self.connecting -= 1,
            State::Closed | State::Queued | State::Resting { .. } => return,
        }
        connection.speaking = None;
        connection.state = State::Closed;
        for slot in self.slots.of(number) {
            self.give_up(slot, outcome, now);
        }
    }

    /// A request that was sent gets no reply.
    pub(super) fn give_up(&mut self, number: u32, outcome: Outcome, now: u64) {
        let slot = self.slots.get(number);
        if !slot.active {
            return;
        }
        let request = Finished {
            epoch: slot.epoch,
            operation: slot.operation,
            intended: slot.intended,
            sent: slot.sent,
            first_byte: slot.first_byte,
            end: now,
            outcome,
        };
        self.recorder.finished(&request, false);
        self.slots.deactivate(number);
        self.slots.give_back(number);
    }

    /// The peer closed its side, or the connection broke.
    pub(super) fn ended(&mut self, number: u32, error: Option<&io::Error>, now: u64) {
        match self.connections[number as usize].state {
            state @ (State::Shaking | State::Greeting) => {
                let closed = io::Error::other(match state {
                    State::Shaking => "the server closed the connection in the TLS handshake",
                    _ => "the server closed the connection before it said a word of HTTP/2",
                });
                return self.connect_failed(number, Outcome::Refused, error.unwrap_or(&closed), now);
            }
            State::Open => {}
            _ => return,
        }
        if error.is_none() {
            self.deliver_end(number, now);
        }
        self.close(number, Outcome::Reset, now);
        self.after_close(number, now);
    }

    /// What comes after a connection that was open: another one, where the load needs it.
    pub(super) fn after_close(&mut self, number: u32, now: u64) {
        match &self.mode {
            Mode::Users(_) if self.is_loading() && self.connections[number as usize].user.left > 0 => {
                self.want_connection(number);
            }
            Mode::Users(_) => self.user_left(number),
            Mode::Closed if self.phase == Some(Phase::Drain) && self.again.is_empty() => {}
            Mode::Closed | Mode::Open(_) => self.reconnect(number, now),
        }
    }

    fn reconnect(&mut self, number: u32, now: u64) {
        let connection = &mut self.connections[number as usize];
        // A server that accepts and closes is not asked again and again without pause.
        if connection.answered {
            self.want_connection(number);
        } else {
            connection.state = State::Resting {
                until: now + 1_000_000,
            };
            self.resting += 1;
        }
    }

    /// Connections that have rested long enough connect again.
    pub(super) fn wake_resting(&mut self, now: u64) {
        if self.resting == 0 {
            return;
        }
        for number in 0..self.connections.len() as u32 {
            if let State::Resting { until } = self.connections[number as usize].state
                && until <= now
            {
                self.resting -= 1;
                self.want_connection(number);
            }
        }
    }

    /// Ends what has taken longer than the timeout.
    pub(super) fn sweep_timeouts(&mut self, now: u64) {
        let limit = now.saturating_sub(self.timeout);
        for number in 0..self.connections.len() as u32 {
            match self.connections[number as usize].state {
                State::Connecting | State::Shaking | State::Greeting
                    if self.connections[number as usize].since < limit =>
                {
                    let error = io::Error::other("no connection within the timeout");
                    self.connect_failed(number, Outcome::Timeout, &error, now);
                }
                State::Open => self.sweep_requests(number, limit, now),
                _ => {}
            }
        }
    }

    fn sweep_requests(&mut self, number: u32, limit: u64, now: u64) {
        let mut cancelled = false;
        for place in self.slots.of(number) {
            let slot = self.slots.get(place);
            if !slot.active || slot.sent >= limit {
                continue;
            }
            let Some(speaking) = &mut self.connections[number as usize].speaking else {
                return;
            };
            let out = if L::IDENTITY {
                &mut self.out
            } else {
                &mut self.unsealed
            };
            if speaking.protocol.cancel(Token(place), out) {
                self.give_up(place, Outcome::Timeout, now);
                cancelled = true;
            } else {
                // Whoever stands behind it in the pipeline has no reply in time either.
                self.close(number, Outcome::Timeout, now);
                self.after_close(number, now);
                return;
            }
        }
        if cancelled {
            self.make_use_of(number, now);
        }
    }
}
