//! Slots for requests in flight. All are allocated before the run; each connection owns a fixed range of them.

use crate::partial_reply::{BodyLimit, PartialReply};
use crate::recorder::{CompletedRequest, Epoch, Recorder, StreamEnd};
use crate::redirect::RedirectMethod;
use crate::workload::PreparedOperation;
use prony_load::events::EventStream;
use prony_protocols::protocol::Protocol;
use prony_records::Outcome;
use std::collections::VecDeque;

/// A request that is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DueRequest {
    pub(crate) operation: u16,
    /// Index of the step in its sequence.
    pub(super) step: u16,
    /// Number of the request; it determines the values of its parameters.
    pub(super) number: u64,
    pub(crate) intended: u64,
    /// How much later this thread noticed it: the generator's own delay.
    pub(super) late: u64,
    /// When the first request of its sequence was due.
    pub(super) sequence_begin: u64,
    /// Whether it is the first request of an arrival.
    pub(super) starts_arrival: bool,
    /// Set if it was sent before.
    pub(crate) resend_state: Option<ResendState>,
}

/// The state of a request that is sent again: it counts as sent once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResendState {
    pub(crate) epoch: Epoch,
    pub(super) refusals: u8,
    pub(super) retried: bool,
    pub(super) hop: Option<Hop>,
}

/// A request that follows a redirect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hop {
    pub(super) method: RedirectMethod,
    /// How many redirects were followed.
    pub(super) count: u8,
    /// When the first request was sent, and from when on only the generator delayed it.
    pub(super) sent: u64,
    pub(super) ready: u64,
}

/// Why a request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resend {
    /// The peer reported that it has not processed it.
    Unprocessed,
    /// Its connection ended while it was on its way.
    Retry,
    /// It was redirected.
    Redirect,
}

/// Inserts a request so that the oldest comes first. Otherwise the same requests might end up last on one connection
/// after the other, and be left unprocessed each time.
pub(super) fn insert_by_age(queue: &mut VecDeque<DueRequest>, due: DueRequest) {
    let age = |due: &DueRequest| (due.intended, due.number);
    let place = queue.partition_point(|other| age(other) <= age(&due));
    queue.insert(place, due);
}

/// A slot for one request in flight.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// When it was due; in a closed load, when it was sent.
    pub(super) intended: u64,
    pub(super) sent: u64,
    /// From when on only the generator delayed it, minus delays of the generator before that. In a free slot: when it became
    /// free.
    pub(super) ready: u64,
    pub(super) first_byte: u64,
    /// Number of the request; it determines the values of its parameters.
    pub(super) number: u64,
    /// When the first request of its sequence was due.
    pub(super) sequence_begin: u64,
    pub(super) epoch: Epoch,
    /// When the first and the last message of a streamed reply were complete.
    pub(super) first_message: u64,
    pub(super) last_message: u64,
    pub(super) messages: u32,
    pub(super) operation: u16,
    /// Index of the step in its sequence.
    pub(super) step: u16,
    pub(super) status: u16,
    /// Length of the reply's body so far.
    pub(super) bytes: u64,
    /// How often the peer left it unprocessed so far.
    pub(super) refusals: u8,
    /// Whether it was sent again because its connection ended while it was on its way.
    pub(super) retried: bool,
    /// Set if it follows a redirect.
    pub(super) hop: Option<Hop>,
    /// Where its reply redirects it, if it is followed or should be.
    pub(super) redirect: Option<Redirection>,
    /// Why it is to be sent again, if it was just left without an outcome.
    pub(super) resend: Option<Resend>,
    pub(super) active: bool,
    /// Whether the slot pauses before its next request.
    pub(super) paused: bool,
    /// Whether that request is the next step of its sequence.
    pub(super) continues_sequence: bool,
    /// Whether the last request in this slot had a valid reply, so that its sequence continues.
    pub(super) had_valid_reply: bool,
    pub(super) wants_headers: bool,
    pub(super) check: BodyCheck,
    /// The parts of the reply that have to be kept.
    pub(super) partial: Option<Box<PartialReply>>,
    /// The stream of events, if the reply is one.
    pub(super) live: Option<Box<OpenStream>>,
    /// The next free slot of the connection.
    next_free: Option<u32>,
}

impl Slot {
    /// A request starts in the slot.
    #[inline]
    pub(super) fn begin(&mut self, due: &DueRequest, resend: &ResendState, now: u64) {
        (self.epoch, self.refusals, self.retried) = (resend.epoch, resend.refusals, resend.retried);
        (self.hop, self.redirect) = (resend.hop, None);
        (self.messages, self.bytes) = (0, 0);
        self.intended = due.intended;
        (self.sent, self.ready) = match resend.hop {
            None => (now, now.saturating_sub(due.late)),
            Some(hop) => (hop.sent, hop.ready),
        };
        self.number = due.number;
        self.sequence_begin = due.sequence_begin;
        self.operation = due.operation;
        self.step = due.step;
        self.had_valid_reply = false;
    }
}

/// Where a reply redirects its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Redirection {
    /// To the captured path.
    Path(RedirectMethod),
    /// To another origin, which is not followed.
    Elsewhere,
}

/// How the body of a reply is handled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum BodyCheck {
    /// It is ignored.
    #[default]
    Ignore,
    /// It is compared with the only valid one: `equal` bytes of its constant start have matched. Bytes after the
    /// constant start are kept.
    Compare { equal: usize },
    /// It is kept for judging.
    Keep,
    /// JSON rules read it as it arrives; its start is kept for display.
    Walk,
    /// It differs from the only valid one; its start is kept for display.
    Wrong,
    /// It exceeds a memory limit, and is not kept.
    Excess(BodyLimit),
    /// It should be a stream; the head of the reply shows whether it is.
    AwaitsEvents,
    /// It is read as a stream.
    Events,
}

impl BodyCheck {
    /// How the reply to an operation is handled; it is judged if it is `sampled`.
    pub(super) fn of<P: Protocol>(
        operation: &PreparedOperation<P>,
        sampled: bool,
        wants_headers: bool,
    ) -> Self {
        match operation.expectation.exact_body() {
            Some(exact) if exact.is_constant() || (sampled && !wants_headers) => Self::Compare { equal: 0 },
            // If headers are checked, too, everything is judged together.
            Some(_) if sampled => Self::Keep,
            None if sampled && operation.judges_json_alone => Self::Walk,
            None if operation.takes.body || (sampled && operation.judges_body) => Self::Keep,
            None if operation.is_stream => Self::AwaitsEvents,
            _ => Self::Ignore,
        }
    }
}

/// A stream of events in a slot. Its memory is reused for the next one.
#[derive(Debug)]
pub(super) struct OpenStream {
    pub(super) stream: EventStream,
    pub(super) decision: StreamDecision,
    /// When its last bytes were seen.
    pub(super) last_data: u64,
}

/// Whether more of a stream is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamDecision {
    Open,
    /// It has reached its number of messages.
    AtBound,
    /// It is invalid, and that was recorded for display.
    Wrong,
}

/// All slots of a worker.
#[derive(Debug)]
pub(super) struct Slots {
    all: Vec<Slot>,
    depth: u32,
    /// First free slot of each connection.
    free: Vec<Option<u32>>,
    /// Requests in flight on each connection, and in total.
    active_on: Vec<u32>,
    active: u32,
    /// Number of pausing slots of each connection.
    paused_on: Vec<u32>,
}

impl Slots {
    pub(super) fn new(connections: u32, depth: u32) -> Self {
        let mut slots = Self {
            all: (0..u64::from(connections) * u64::from(depth))
                .map(|_| Slot::default())
                .collect(),
            depth,
            free: vec![None; connections as usize],
            active_on: vec![0; connections as usize],
            paused_on: vec![0; connections as usize],
            active: 0,
        };
        for connection in 0..connections {
            for slot in slots.of(connection).rev() {
                slots.release(slot);
            }
        }
        slots
    }

    /// The slots of a connection.
    pub(super) const fn of(&self, connection: u32) -> std::ops::Range<u32> {
        connection * self.depth..(connection + 1) * self.depth
    }

    /// The connection that a slot belongs to.
    pub(super) const fn connection_of(&self, place: u32) -> u32 {
        place / self.depth
    }

    /// Number of slots.
    pub(super) const fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn has_free(&self, connection: u32) -> bool {
        self.free[connection as usize].is_some()
    }

    /// Takes a free slot of a connection.
    pub(super) fn take(&mut self, connection: u32) -> Option<u32> {
        let slot = self.free[connection as usize]?;
        self.free[connection as usize] = self.all[slot as usize].next_free.take();
        Some(slot)
    }

    /// Returns a slot that was taken and is not active.
    pub(super) fn release(&mut self, slot: u32) {
        let connection = (slot / self.depth) as usize;
        self.all[slot as usize].next_free = self.free[connection];
        self.free[connection] = Some(slot);
    }

    pub(super) fn get(&mut self, slot: u32) -> &mut Slot {
        &mut self.all[slot as usize]
    }

    pub(super) fn activate(&mut self, slot: u32) {
        self.all[slot as usize].active = true;
        self.active_on[(slot / self.depth) as usize] += 1;
        self.active += 1;
    }

    fn deactivate(&mut self, slot: u32) {
        debug_assert!(self.all[slot as usize].active);
        self.all[slot as usize].active = false;
        self.active_on[(slot / self.depth) as usize] -= 1;
        self.active -= 1;
    }

    /// Starts the pause of a slot.
    pub(super) fn lay_down(&mut self, slot: u32) {
        self.all[slot as usize].paused = true;
        self.paused_on[(slot / self.depth) as usize] += 1;
    }

    /// Ends the pause of a slot. Returns whether there was one.
    pub(super) fn wake(&mut self, slot: u32) -> bool {
        let was_asleep = std::mem::take(&mut self.all[slot as usize].paused);
        self.paused_on[(slot / self.depth) as usize] -= u32::from(was_asleep);
        was_asleep
    }

    /// Moves a paused request to another slot, which was taken.
    pub(super) fn move_pause(&mut self, from: u32, to: u32) {
        self.wake(from);
        self.all.swap(from as usize, to as usize);
        self.lay_down(to);
    }

    /// Number of pausing slots of a connection.
    pub(super) fn paused_on(&self, connection: u32) -> u32 {
        self.paused_on[connection as usize]
    }

    /// Number of requests in flight on a connection and of its pausing slots.
    pub(super) fn busy_on(&self, connection: u32) -> u32 {
        self.active_on[connection as usize] + self.paused_on[connection as usize]
    }

    /// Number of requests in flight on a connection.
    pub(super) fn active_on(&self, connection: u32) -> u32 {
        self.active_on[connection as usize]
    }

    /// Number of requests in flight.
    pub(super) const fn active(&self) -> u32 {
        self.active
    }
}

/// The slots and the outcomes of their requests.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) slots: Slots,
    pub(super) recorder: Recorder,
    /// Slots whose request has ended and that were not reused yet.
    pub(super) ended: VecDeque<u32>,
    /// Slots whose stream of events is to be cancelled, because it met its end condition or is invalid.
    pub(super) stopped: Vec<u32>,
    /// When the last request ended.
    pub(super) last_end: u64,
}

impl Ledger {
    pub(super) fn new(slots: Slots, recorder: Recorder) -> Self {
        Self {
            ended: VecDeque::with_capacity(slots.len()),
            stopped: Vec::new(),
            slots,
            recorder,
            last_end: 0,
        }
    }

    /// Records the outcome of a request that was sent. `complete`: a whole reply was received. Every request ends
    /// here exactly once.
    #[inline]
    pub(super) fn end(&mut self, place: u32, outcome: Outcome, complete: bool, now: u64) {
        if !complete && outcome == Outcome::Reset && self.streams_well(place) {
            self.note_ending(place, StreamEnd::Early);
        }
        let slot = self.slots.get(place);
        slot.had_valid_reply = outcome == Outcome::Valid;
        let request = CompletedRequest {
            epoch: slot.epoch,
            operation: slot.operation,
            intended: slot.intended,
            ready: slot.ready,
            sent: slot.sent,
            first_byte: slot.first_byte,
            end: now,
            outcome,
            status: slot.status,
            bytes: slot.bytes,
        };
        self.recorder.finished(&request, complete);
        self.leave(place, now);
    }

    /// Records how a stream of events ended.
    pub(super) fn note_ending(&mut self, place: u32, ending: StreamEnd) {
        let slot = self.slots.get(place);
        let last = (slot.messages > 0).then(|| slot.last_message.saturating_sub(slot.sent));
        self.recorder.stream(slot.epoch, ending, last);
    }

    /// Whether a valid stream of events is in progress in a slot.
    pub(super) fn streams_well(&mut self, place: u32) -> bool {
        let slot = self.slots.get(place);
        let is_wrong = |live: &OpenStream| live.decision == StreamDecision::Wrong;
        slot.active && slot.check == BodyCheck::Events && !slot.live.as_deref().is_some_and(is_wrong)
    }

    /// Frees the slot of a request that is to be sent again and has no outcome yet.
    pub(super) fn leave_to_resend(&mut self, place: u32, why: Resend, now: u64) {
        let slot = self.slots.get(place);
        match why {
            Resend::Unprocessed => slot.refusals += 1,
            Resend::Retry => {
                slot.retried = true;
                self.recorder.record_retry(slot.epoch);
            }
            Resend::Redirect => self.recorder.record_redirect(slot.epoch),
        }
        slot.resend = Some(why);
        slot.had_valid_reply = false;
        self.leave(place, now);
    }

    /// Leaves a request to be sent to where its reply redirects it.
    pub(super) fn leave_to_redirect(&mut self, place: u32, method: RedirectMethod, now: u64) {
        let slot = self.slots.get(place);
        let (count, sent, ready) = slot
            .hop
            .map_or((0, slot.sent, slot.ready), |hop| (hop.count, hop.sent, hop.ready));
        slot.hop = Some(Hop {
            method,
            count: count + 1,
            sent,
            ready,
        });
        self.leave_to_resend(place, Resend::Redirect, now);
    }

    fn leave(&mut self, place: u32, now: u64) {
        self.slots.deactivate(place);
        self.slots.get(place).ready = now;
        self.ended.push_back(place);
        self.last_end = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_sent_first() {
        let mut queue = VecDeque::new();
        for (intended, number) in [(30, 3), (10, 2), (20, 9), (10, 1), (40, 4)] {
            let due = DueRequest {
                operation: 0,
                step: 0,
                number,
                intended,
                late: 0,
                sequence_begin: intended,
                starts_arrival: false,
                resend_state: None,
            };
            insert_by_age(&mut queue, due);
        }
        let order: Vec<u64> = queue.iter().map(|due| due.number).collect();
        assert_eq!(order, [1, 2, 9, 3, 4]);
    }
}
