//! Requests go out, bytes come in.

use super::again::Again;
use super::connection::State;
use super::core::{Action, Core, Mode};
use super::sink::Sink;
use super::slots::BodyCheck;
use crate::layer::Layer;
use crate::protocol::{Call, Protocol, Token};
use prony_measurement::Outcome;

/// A request that is due.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    pub(super) operation: u16,
    /// Step of its sequence.
    pub(super) step: u16,
    /// Number that decides the values of its parameters.
    pub(super) number: u64,
    pub(super) intended: u64,
    /// When the first request of its sequence was due.
    pub(super) sequence_begin: u64,
    /// Where it was sent before and left unprocessed.
    pub(super) again: Option<Again>,
}

impl<P: Protocol, L: Layer> Core<P, L> {
    /// The first request of an arrival.
    pub(super) fn arrival(&mut self, intended: u64) -> Due {
        let number = self.next_number;
        self.next_number += 1;
        Due {
            operation: self.chooser.first(),
            step: 0,
            number,
            intended,
            sequence_begin: intended,
            again: None,
        }
    }

    /// Serialises a request into the connection's output.
    pub(super) fn start(&mut self, connection: u32, place: u32, due: Due, now: u64) {
        let operation = &self.workload.operations[usize::from(due.operation)];
        let sampled =
            self.check_all || crate::parameters::mix(self.check_key ^ due.number) < self.check_below;
        let slot = self.slots.get(place);
        (slot.epoch, slot.refusals) = match due.again {
            None => (self.recorder.sent(due.operation, due.intended), 0),
            Some(Again { epoch, refusals }) => (epoch, refusals),
        };
        slot.messages = 0;
        slot.intended = due.intended;
        slot.sent = now;
        slot.number = due.number;
        slot.sequence_begin = due.sequence_begin;
        slot.operation = due.operation;
        slot.step = due.step;
        slot.went_well = false;
        slot.wants_headers = sampled && operation.expectation.checks_headers();
        slot.check = match &operation.constant_body {
            Some(_) => BodyCheck::Compare { equal: 0 },
            None if sampled && operation.judges_body => BodyCheck::Keep,
            None => BodyCheck::Ignore,
        };
        if let Some(kept) = &mut slot.kept {
            kept.body.clear();
            kept.grpc_message.clear();
            kept.headers.clear();
        }
        let call = Call {
            token: Token(place),
            prepared: &operation.request,
            values: self.parameters.values(due.number),
            wants_headers: slot.wants_headers,
        };
        self.slots.activate(place);
        if self.defers && due.again.is_none() {
            self.started.push(place);
        }
        let speaking = self.connections[connection as usize].speaking.as_mut();
        let speaking = speaking.expect("invariant: requests start on open connections");
        let out = if L::IDENTITY {
            &mut self.out
        } else {
            &mut self.unsealed
        };
        speaking.protocol.start(&mut self.shared, &call, out);
    }

    /// Sends what the protocol has written for a connection.
    pub(super) fn flush(&mut self, number: u32, now: u64) {
        if L::IDENTITY {
            return self.send_out(number);
        }
        if self.unsealed.is_empty() {
            return;
        }
        let sealed = match &mut self.connections[number as usize].speaking {
            Some(speaking) => speaking.layer.seal(&self.unsealed, &mut self.out),
            None => Ok(()),
        };
        self.unsealed.clear();
        self.send_out(number);
        if let Err(error) = sealed {
            self.layer_failed(number, error, now);
        }
    }

    /// Sends what was written for the wire since the last time.
    pub(super) fn send_out(&mut self, number: u32) {
        let (begin, end) = (self.out_done, self.out.len());
        if begin < end {
            self.actions.push(Action::Send { number, begin, end });
            self.out_done = end;
            self.recorder.sent_bytes(end - begin);
        }
    }

    /// Bytes came.
    pub(super) fn received(&mut self, number: u32, bytes: &[u8], now: u64) {
        self.recorder.received_bytes(bytes.len());
        if L::IDENTITY {
            return self.take_in(number, bytes, now);
        }
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let Some(speaking) = &mut self.connections[number as usize].speaking else {
            return;
        };
        let unsealed = speaking.layer.unseal(bytes, &mut plain, &mut self.out);
        let established = speaking.layer.is_established();
        self.send_out(number);
        if let Err(error) = unsealed {
            self.layer_failed(number, error, now);
        } else {
            if established && self.connections[number as usize].state == State::Shaking {
                self.established(number, now);
            }
            if !plain.is_empty() {
                self.take_in(number, &plain, now);
            }
        }
        self.plain = plain;
    }

    fn layer_failed(&mut self, number: u32, error: crate::layer::LayerError, now: u64) {
        if self.connections[number as usize].state == State::Open {
            self.close(number, Outcome::Reset, now);
            self.after_close(number, now);
        } else {
            let error = std::io::Error::other(error);
            self.connect_failed(number, Outcome::Refused, &error, now);
        }
    }

    /// Gives plain bytes to the protocol.
    fn take_in(&mut self, number: u32, bytes: &[u8], now: u64) {
        let connection = &mut self.connections[number as usize];
        let Some(speaking) = connection.speaking.as_mut() else {
            return;
        };
        let mut sink = Sink {
            slots: &mut self.slots,
            operations: &self.workload.operations,
            parameters: &self.parameters,
            recorder: &mut self.recorder,
            sample: &mut self.totals.sample,
            memories: &mut self.memories,
            finished: &mut self.finished,
            seen: now,
        };
        let out = if L::IDENTITY {
            &mut self.out
        } else {
            &mut self.unsealed
        };
        let result = speaking.protocol.receive(&mut self.shared, bytes, out, &mut sink);
        if connection.state == State::Greeting {
            return match result {
                Ok(()) if speaking.protocol.is_ready() => self.opened(number, now),
                Ok(()) => self.flush(number, now),
                Err(error) => {
                    self.flush(number, now);
                    self.connect_failed(number, Outcome::Refused, &std::io::Error::other(error), now);
                }
            };
        }
        if let Err(error) = &result {
            self.totals.violation.get_or_insert(error.0);
        }
        let over = result.is_err() || speaking.protocol.is_spent();
        connection.answered |= !self.finished.is_empty();
        if over {
            self.totals.closed_by_server += u64::from(result.is_ok());
            self.settle(number, now);
            self.flush(number, now);
            self.close(number, Outcome::Reset, now);
            self.after_close(number, now);
        } else {
            self.make_use_of(number, now);
        }
    }

    /// The peer closed its side: a reply may end with it.
    pub(super) fn deliver_end(&mut self, number: u32, now: u64) {
        let connection = &mut self.connections[number as usize];
        let Some(speaking) = connection.speaking.as_mut() else {
            return;
        };
        let mut sink = Sink {
            slots: &mut self.slots,
            operations: &self.workload.operations,
            parameters: &self.parameters,
            recorder: &mut self.recorder,
            sample: &mut self.totals.sample,
            memories: &mut self.memories,
            finished: &mut self.finished,
            seen: now,
        };
        speaking.protocol.end_of_stream(&mut self.shared, &mut sink);
        if !self.finished.is_empty() {
            connection.answered = true;
            self.totals.closed_by_server += 1;
        }
        self.settle(number, now);
    }

    /// The next step of the sequence in a place whose request has its outcome, where there is one.
    fn next_step(&mut self, place: u32, now: u64) -> Option<Due> {
        if !self.chooser.is_sequence() {
            return None;
        }
        let slot = self.slots.get(place);
        if !slot.went_well {
            return None;
        }
        let (step, number, begin) = (slot.step + 1, slot.number, slot.sequence_begin);
        match self.chooser.step(step) {
            Some(operation) if self.may_continue() => Some(Due {
                operation,
                step,
                number,
                intended: now,
                sequence_begin: begin,
                again: None,
            }),
            Some(_) => None,
            None => {
                self.recorder.sequence(begin, now);
                None
            }
        }
    }

    /// Frees the places of requests that have their outcome, on a connection that takes no more.
    fn settle(&mut self, number: u32, now: u64) {
        while let Some(place) = self.finished.pop() {
            let again = self.slots.get(place).send_again.then(|| self.unprocessed(place));
            let next = self.next_step(place, now);
            self.slots.give_back(place);
            match (again, self.mode.is_users()) {
                (Some(due), true) => self.user_tries_again(number, due),
                (Some(due), false) => self.queue_again(due),
                (None, true) => self.user_answered(number, next, now),
                (None, false) => {}
            }
        }
    }

    /// Sends all that can go on a connection now: first the next steps of its sequences, then what the load wants.
    pub(super) fn make_use_of(&mut self, number: u32, now: u64) {
        if self.mode.is_users() {
            self.settle(number, now);
            self.user_goes_on(number, now);
            return self.flush(number, now);
        }
        for index in 0..self.finished.len() {
            let place = self.finished[index];
            if self.slots.get(place).send_again {
                let due = self.unprocessed(place);
                self.queue_again(due);
            }
            match self.next_step(place, now) {
                Some(due) if self.places(number) > 0 => self.start(number, place, due, now),
                _ => self.slots.give_back(place),
            }
        }
        self.finished.clear();
        match &self.mode {
            Mode::Closed => {
                while (self.is_loading() || !self.again.is_empty())
                    && self.places(number) > 0
                    && let Some(place) = self.slots.take(number)
                {
                    let due = match self.again.pop_front() {
                        Some(due) => due,
                        None => self.arrival(now),
                    };
                    self.start(number, place, due, now);
                }
            }
            Mode::Open(_) => self.queue_idle(number),
            Mode::Users(_) => {}
        }
        self.flush(number, now);
        if matches!(self.mode, Mode::Open(_)) {
            self.send_waiting(now);
        }
    }

    fn places(&self, number: u32) -> u32 {
        let connection = &self.connections[number as usize];
        match &connection.speaking {
            Some(speaking) if connection.state == State::Open => speaking.protocol.places(),
            _ => 0,
        }
    }

    fn queue_idle(&mut self, number: u32) {
        if self.places(number) > 0 && self.slots.has_free(number) {
            let connection = &mut self.connections[number as usize];
            if !connection.queued {
                connection.queued = true;
                self.idle.push_back(number);
            }
        }
    }

    /// Open load: sends what waits on the connections that have a place, the one that has rested longest first.
    pub(super) fn send_waiting(&mut self, now: u64) {
        loop {
            let Mode::Open(pacer) = &mut self.mode else { return };
            if !pacer.is_waiting() && self.again.is_empty() {
                return;
            }
            let Some(number) = self.idle.pop_front() else {
                return;
            };
            self.connections[number as usize].queued = false;
            if self.places(number) == 0 {
                continue;
            }
            let Some(place) = self.slots.take(number) else {
                continue;
            };
            let Mode::Open(pacer) = &mut self.mode else { return };
            let due = if let Some(due) = self.again.pop_front() {
                due
            } else {
                let intended = pacer.take().expect("invariant: an arrival waits");
                self.recorder.started();
                self.arrival(intended)
            };
            self.start(number, place, due, now);
            self.queue_idle(number);
            self.flush(number, now);
        }
    }
}
