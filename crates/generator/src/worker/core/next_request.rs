//! Reuse of slots whose requests have ended: each sends its next request, pauses, or becomes free.

use super::Core;
use super::connection::State;
use crate::worker::load_models::NextUse;
use crate::worker::slots::{DueRequest, Resend, ResendState, insert_by_age};
use prony_protocols::layer::Layer;
use prony_protocols::protocol::Protocol;

impl<P: Protocol, L: Layer> Core<P, L> {
    /// Decides about the slots whose requests have ended: each sends its next request, pauses, or becomes free.
    pub(super) fn settle(&mut self, now: u64) {
        while let Some(place) = self.ledger.ended.pop_front() {
            let number = self.ledger.slots.connection_of(place);
            if self.settings.members.is_some() && !self.woken.contains(&number) {
                self.woken.push(number);
            }
            if let Some(why) = self.ledger.slots.get(place).resend.take() {
                self.totals.sent_again += u64::from(why == Resend::Unprocessed);
                let due = self.resent(place);
                if why == Resend::Redirect {
                    self.go_on(place, due, now);
                    continue;
                }
                if let Some(due) = self.policy.request_again(number, due) {
                    self.captures.leave(place, due.number);
                    insert_by_age(&mut self.left_over, due);
                }
                self.ledger.slots.release(place);
                continue;
            }
            let follow = self.next_step(place, now);
            let valid = self.ledger.slots.get(place).had_valid_reply;
            let NextUse { until, follow, visit } = self.policy.request_ended(number, (follow, valid), now);
            if let Some(arrived) = visit {
                self.ledger.recorder.record_visit(arrived, now);
            }
            if until > now {
                let slot = self.ledger.slots.get(place);
                slot.continues_sequence = follow.is_some();
                self.paused_sequences += u32::from(follow.is_some());
                self.pause(place, (now, until));
            } else if let Some(due) = follow {
                self.go_on(place, due, now);
            } else {
                self.ledger.slots.release(place);
            }
        }
    }

    /// Begins the pause of a slot that was taken.
    pub(super) fn pause(&mut self, place: u32, (now, until): (u64, u64)) {
        let number = self.ledger.slots.connection_of(place);
        self.ledger.slots.lay_down(place);
        if self.connections[number as usize].state == State::Open {
            self.ledger.recorder.pauses.rise(now);
        }
        self.timers.set(place, until);
    }

    /// Sends the next step of a sequence from its slot, or via another connection if its own has ended.
    fn go_on(&mut self, place: u32, due: DueRequest, now: u64) {
        let number = self.ledger.slots.connection_of(place);
        if self.free_slots(number) > 0 {
            self.start(number, place, due, now);
        } else {
            self.captures.leave(place, due.number);
            self.left_over.push_back(due);
            self.ledger.slots.release(place);
        }
    }

    /// Ends the pause of a slot; `late` is how much later than due this was noticed.
    pub(super) fn awake(&mut self, place: u32, late: u64, now: u64) {
        let number = self.ledger.slots.connection_of(place);
        self.ledger.slots.wake(place);
        if self.connections[number as usize].state == State::Open {
            self.ledger.recorder.pauses.fall(now);
        }
        let continues_sequence = std::mem::take(&mut self.ledger.slots.get(place).continues_sequence);
        self.paused_sequences -= u32::from(continues_sequence);
        match continues_sequence.then(|| self.follow(place, now)).flatten() {
            Some(due) => {
                self.go_on(place, due, now);
                self.flush(number, now);
                if let Some(newer) = self.connections[number as usize].replaced_by {
                    self.use_connection(newer, now);
                }
            }
            None if self.connections[number as usize].state == State::Open => {
                self.fill(place, late, now);
                self.flush(number, now);
            }
            None => {
                self.ledger.slots.release(place);
                self.use_connection(number, now);
            }
        }
    }

    /// Ends the pauses of a connection that is closed for good.
    pub(super) fn wake(&mut self, number: u32) {
        for place in self.ledger.slots.of(number) {
            if self.ledger.slots.wake(place) {
                let continues_sequence = std::mem::take(&mut self.ledger.slots.get(place).continues_sequence);
                self.paused_sequences -= u32::from(continues_sequence);
                self.timers.clear(place);
                self.ledger.slots.release(place);
            }
        }
    }

    /// The request in a slot that is to be sent again.
    fn resent(&mut self, place: u32) -> DueRequest {
        let slot = self.ledger.slots.get(place);
        DueRequest {
            operation: slot.operation,
            step: slot.step,
            number: slot.number,
            intended: slot.intended,
            late: 0,
            sequence_begin: slot.sequence_begin,
            starts_arrival: false,
            resend_state: Some(ResendState {
                epoch: slot.epoch,
                refusals: slot.refusals,
                retried: slot.retried,
                hop: slot.hop,
            }),
        }
    }

    /// The next step of the sequence in a slot whose request has its outcome, if there is one.
    fn next_step(&mut self, place: u32, now: u64) -> Option<DueRequest> {
        if !self.source.is_sequence() || !self.ledger.slots.get(place).had_valid_reply {
            return None;
        }
        let slot = self.ledger.slots.get(place);
        if self.source.step(slot.step + 1).is_none() {
            let begin = slot.sequence_begin;
            self.ledger.recorder.sequence(begin, now);
            return None;
        }
        self.follow(place, now)
    }

    /// The step after the one in a slot, if the sequence may continue.
    fn follow(&mut self, place: u32, now: u64) -> Option<DueRequest> {
        let slot = self.ledger.slots.get(place);
        let operation = self.source.step(slot.step + 1)?;
        let due = DueRequest {
            operation,
            step: slot.step + 1,
            number: slot.number,
            intended: now,
            late: 0,
            sequence_begin: slot.sequence_begin,
            starts_arrival: false,
            resend_state: None,
        };
        let may_continue = self.policy.may_continue(self.is_loading());
        (may_continue && self.phase.is_some()).then_some(due)
    }
}
