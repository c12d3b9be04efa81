//! Places for requests under way. All are made before the run; each connection owns a fixed range of them.

use crate::kept::{Excess, Kept};
use crate::recorder::{Ending, Epoch, Finished, Recorder};
use crate::workload::PreparedOperation;
use prony_load::events::EventStream;
use prony_protocols::protocol::Protocol;
use prony_records::Outcome;
use std::collections::VecDeque;

/// A request that is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Due {
    pub(crate) operation: u16,
    /// Step of its sequence.
    pub(super) step: u16,
    /// Number that decides the values of its parameters.
    pub(super) number: u64,
    pub(crate) intended: u64,
    /// How much later than that this thread noticed it: the generator's own delay.
    pub(super) late: u64,
    /// When the first request of its sequence was due.
    pub(super) sequence_begin: u64,
    /// Whether it is the first request of an arrival.
    pub(super) opens: bool,
    /// Where it was sent before and left unprocessed.
    pub(crate) again: Option<Again>,
}

/// What a request keeps when it is sent again: it is counted as sent once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Again {
    pub(crate) epoch: Epoch,
    pub(super) refusals: u8,
    pub(super) retried: bool,
}

/// Why a request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resend {
    /// The peer says that it has not begun with it.
    Unprocessed,
    /// Its connection ended as it came.
    Retry,
}

/// The oldest comes first: else the same ones might stand at the end of one connection after the other, and be left
/// unprocessed each time.
pub(super) fn insert_by_age(queue: &mut VecDeque<Due>, due: Due) {
    let age = |due: &Due| (due.intended, due.number);
    let place = queue.partition_point(|other| age(other) <= age(&due));
    queue.insert(place, due);
}

/// One place for a request under way.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// When it was due; in a closed load when it was sent.
    pub(super) intended: u64,
    pub(super) sent: u64,
    /// From when on nothing but the generator kept it from being sent, less what had been lost before.
    pub(super) ready: u64,
    pub(super) first_byte: u64,
    /// Number of the request: decides the values of its parameters.
    pub(super) number: u64,
    /// When the first request of its sequence was due.
    pub(super) sequence_begin: u64,
    pub(super) epoch: Epoch,
    /// When the first and the last message of a reply that is a stream were complete.
    pub(super) first_message: u64,
    pub(super) last_message: u64,
    pub(super) messages: u32,
    pub(super) operation: u16,
    /// Step of its sequence.
    pub(super) step: u16,
    pub(super) status: u16,
    /// Of the reply's body so far.
    pub(super) bytes: u64,
    /// How often the peer left it unprocessed so far.
    pub(super) refusals: u8,
    /// Whether it was sent again because its connection had ended as it came.
    pub(super) retried: bool,
    /// Why it is to be sent again, where it was left without an outcome just now.
    pub(super) resend: Option<Resend>,
    pub(super) active: bool,
    /// Whether it pauses before its next request.
    pub(super) asleep: bool,
    /// Whether that is the next step of its sequence.
    pub(super) goes_on: bool,
    /// Whether the last request in this place had a valid reply, so that its sequence goes on.
    pub(super) went_well: bool,
    pub(super) wants_headers: bool,
    pub(super) check: BodyCheck,
    /// The reply as far as it has to be kept.
    pub(super) kept: Option<Box<Kept>>,
    /// The stream of events, where the reply is one.
    pub(super) live: Option<Box<Live>>,
    /// The next free place of the connection.
    next_free: Option<u32>,
}

/// What is done with the body of a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum BodyCheck {
    /// Nothing.
    #[default]
    Ignore,
    /// It is compared with the only right one: so many bytes of its begin were equal. Those behind the begin are kept.
    Compare { equal: usize },
    /// It is kept to be judged.
    Keep,
    /// Rules for JSON read it as it arrives; its begin is kept to be shown.
    Walk,
    /// It is not the only right one; its begin is kept to be shown.
    Wrong,
    /// It needs more memory than it may have, and is not kept.
    Excess(Excess),
    /// It should be a stream; the head says whether it is.
    AwaitsEvents,
    /// It is read as a stream.
    Events,
}

impl BodyCheck {
    /// What is done with the reply to an operation, which is judged if it is `sampled`.
    pub(super) fn of<P: Protocol>(
        operation: &PreparedOperation<P>,
        sampled: bool,
        wants_headers: bool,
    ) -> Self {
        match operation.expectation.exact_body() {
            Some(exact) if exact.is_constant() || (sampled && !wants_headers) => Self::Compare { equal: 0 },
            // With headers that are checked, too, all of it is judged at once.
            Some(_) if sampled => Self::Keep,
            None if sampled && operation.judges_json_alone => Self::Walk,
            None if operation.takes.body || (sampled && operation.judges_body) => Self::Keep,
            None if operation.is_stream => Self::AwaitsEvents,
            _ => Self::Ignore,
        }
    }
}

/// A stream of events in a place. Its memory is used again for the next one.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) stream: EventStream,
    pub(super) standing: Standing,
    /// When bytes of it were seen last.
    pub(super) heard: u64,
}

/// Whether more of a stream is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Open,
    /// The number of messages that is its bound has come.
    AtBound,
    /// Something in it is wrong, and was shown.
    Wrong,
}

/// All places of a worker.
#[derive(Debug)]
pub(super) struct Slots {
    all: Vec<Slot>,
    depth: u32,
    /// First free place of each connection.
    free: Vec<Option<u32>>,
    /// Requests under way on each connection, and on all.
    active_on: Vec<u32>,
    active: u32,
    /// Places of each connection that pause.
    asleep_on: Vec<u32>,
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
            asleep_on: vec![0; connections as usize],
            active: 0,
        };
        for connection in 0..connections {
            for slot in slots.of(connection).rev() {
                slots.give_back(slot);
            }
        }
        slots
    }

    /// The places of a connection.
    pub(super) const fn of(&self, connection: u32) -> std::ops::Range<u32> {
        connection * self.depth..(connection + 1) * self.depth
    }

    /// The connection that a place belongs to.
    pub(super) const fn connection_of(&self, place: u32) -> u32 {
        place / self.depth
    }

    /// How many places there are.
    pub(super) const fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn has_free(&self, connection: u32) -> bool {
        self.free[connection as usize].is_some()
    }

    /// Takes a free place of a connection.
    pub(super) fn take(&mut self, connection: u32) -> Option<u32> {
        let slot = self.free[connection as usize]?;
        self.free[connection as usize] = self.all[slot as usize].next_free.take();
        Some(slot)
    }

    /// Gives a place back that was taken and is not active.
    pub(super) fn give_back(&mut self, slot: u32) {
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

    /// A place pauses.
    pub(super) fn lay_down(&mut self, slot: u32) {
        self.all[slot as usize].asleep = true;
        self.asleep_on[(slot / self.depth) as usize] += 1;
    }

    /// Ends the pause of a place. Gives whether there was one.
    pub(super) fn wake(&mut self, slot: u32) -> bool {
        let was_asleep = std::mem::take(&mut self.all[slot as usize].asleep);
        self.asleep_on[(slot / self.depth) as usize] -= u32::from(was_asleep);
        was_asleep
    }

    /// What pauses in one place pauses in another one from now on, which was taken.
    pub(super) fn move_sleeper(&mut self, from: u32, to: u32) {
        self.wake(from);
        self.all.swap(from as usize, to as usize);
        self.lay_down(to);
    }

    /// Places of a connection that pause.
    pub(super) fn asleep_on(&self, connection: u32) -> u32 {
        self.asleep_on[connection as usize]
    }

    /// Requests under way on a connection, and places that pause.
    pub(super) fn busy_on(&self, connection: u32) -> u32 {
        self.active_on[connection as usize] + self.asleep_on[connection as usize]
    }

    /// Requests under way on a connection.
    pub(super) fn active_on(&self, connection: u32) -> u32 {
        self.active_on[connection as usize]
    }

    /// Requests under way.
    pub(super) const fn active(&self) -> u32 {
        self.active
    }
}

/// The places and what becomes of the requests in them.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) slots: Slots,
    pub(super) recorder: Recorder,
    /// Places whose request has ended and that were not given to another one yet.
    pub(super) ended: VecDeque<u32>,
    /// Places whose stream of events is to be given up, by its bound or because it is wrong.
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

    /// A request that was sent has its outcome. `complete`: a whole reply came. Every request ends here, and once.
    #[inline]
    pub(super) fn end(&mut self, place: u32, outcome: Outcome, complete: bool, now: u64) {
        if !complete && outcome == Outcome::Reset && self.streams_well(place) {
            self.note_ending(place, Ending::Early);
        }
        let slot = self.slots.get(place);
        slot.went_well = outcome == Outcome::Valid;
        let request = Finished {
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
    pub(super) fn note_ending(&mut self, place: u32, ending: Ending) {
        let slot = self.slots.get(place);
        let last = (slot.messages > 0).then(|| slot.last_message.saturating_sub(slot.sent));
        self.recorder.stream(slot.epoch, ending, last);
    }

    /// Whether a stream of events is under way in a place, and nothing wrong in it.
    pub(super) fn streams_well(&mut self, place: u32) -> bool {
        let slot = self.slots.get(place);
        let is_wrong = |live: &Live| live.standing == Standing::Wrong;
        slot.active && slot.check == BodyCheck::Events && !slot.live.as_deref().is_some_and(is_wrong)
    }

    /// A request is to be sent again: it has no outcome yet.
    pub(super) fn leave_to_resend(&mut self, place: u32, why: Resend, now: u64) {
        let slot = self.slots.get(place);
        match why {
            Resend::Unprocessed => slot.refusals += 1,
            Resend::Retry => {
                slot.retried = true;
                self.recorder.retried(slot.epoch);
            }
        }
        slot.resend = Some(why);
        slot.went_well = false;
        self.leave(place, now);
    }

    fn leave(&mut self, place: u32, now: u64) {
        self.slots.deactivate(place);
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
            let due = Due {
                operation: 0,
                step: 0,
                number,
                intended,
                late: 0,
                sequence_begin: intended,
                opens: false,
                again: None,
            };
            insert_by_age(&mut queue, due);
        }
        let order: Vec<u64> = queue.iter().map(|due| due.number).collect();
        assert_eq!(order, [1, 2, 9, 3, 4]);
    }
}
