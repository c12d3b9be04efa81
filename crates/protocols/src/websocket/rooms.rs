//! Rooms: a message that one member sends must be delivered to its whole room, in the same order for all members.
//!
//! The first member that receives a message decides its position in the order. Each member has a cursor to the position
//! that it must receive next. A member has joined once it has received its own greeting, so that nothing is expected of
//! a service that answers the handshake before it counts the member in.

use super::Fault;
use super::frame::{Kind, code};
use crate::protocol::{End, Failure, ReplySink, Token};
use prony_load::events::IdStep;
use smallvec::{SmallVec, smallvec};
use std::collections::VecDeque;

/// Number of completely delivered messages (and of their bytes) that are remembered, so that a duplicate is recognised.
const REMEMBERED: usize = 64;
const REMEMBERED_BYTES: usize = 1 << 20;

/// The rooms of one worker.
#[derive(Debug)]
pub(super) struct Rooms {
    members: u32,
    all: Vec<Room>,
    /// Buffers of messages that are done, for reuse.
    spare: Vec<Vec<u8>>,
}

/// Position of a connection: its room and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RoomPosition {
    room: usize,
    seat: usize,
}

#[derive(Debug, Default)]
struct Room {
    seats: Vec<RoomSeat>,
    /// Messages that at least one member has received, in the common order; those that are done are in front.
    ordered: VecDeque<RoomMessage>,
    /// Position of the first of them in the order.
    first: u64,
    /// Messages that were sent but that no member has received yet, the oldest first.
    pending: VecDeque<RoomMessage>,
    /// Bytes of the messages in `ordered`.
    bytes: usize,
}

#[derive(Debug, Default, Clone)]
struct RoomSeat {
    is_in: bool,
    /// Position of the message that it must receive next; `None`: any.
    next: Option<u64>,
    greeting: Vec<u8>,
}

/// A message that a member sent.
#[derive(Debug)]
struct RoomMessage {
    sender: usize,
    /// The request, while its sender waits for it.
    token: Option<Token>,
    kind: Kind,
    payload: Vec<u8>,
    /// Members that have not received it.
    missing: SeatSet,
    /// Number of members that may still receive it.
    open: u32,
    expected: u32,
    reached: u32,
    fault: Option<&'static str>,
}

/// A set of members of a room.
type SeatSet = SmallVec<[u64; 2]>;

fn contains(seats: &SeatSet, seat: usize) -> bool {
    seats
        .get(seat / 64)
        .is_some_and(|word| word >> (seat % 64) & 1 == 1)
}

fn flip(seats: &mut SeatSet, seat: usize) {
    seats[seat / 64] ^= 1 << (seat % 64);
}

fn policy(reason: &'static str) -> Fault {
    Fault {
        code: code::POLICY,
        reason,
    }
}

impl Rooms {
    pub(super) const fn new(members: u32) -> Self {
        Self {
            members,
            all: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// The position of a worker's connection, which has this greeting.
    pub(super) fn add_member(&mut self, connection: u32, greeting: Vec<u8>) -> RoomPosition {
        let position = RoomPosition {
            room: (connection / self.members) as usize,
            seat: (connection % self.members) as usize,
        };
        if self.all.len() <= position.room {
            self.all.resize_with(position.room + 1, Room::default);
        }
        let seats = &mut self.all[position.room].seats;
        seats.resize(self.members as usize, RoomSeat::default());
        seats[position.seat] = RoomSeat {
            greeting,
            ..RoomSeat::default()
        };
        position
    }

    pub(super) fn greeting(&self, position: RoomPosition) -> &[u8] {
        &self.all[position.room].seats[position.seat].greeting
    }

    /// A member sends the message that `write` appends.
    pub(super) fn send(
        &mut self,
        position: RoomPosition,
        (token, kind): (Token, Kind),
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let mut payload = self.spare.pop().unwrap_or_default();
        payload.clear();
        write(&mut payload);
        let room = &mut self.all[position.room];
        let mut missing: SeatSet = smallvec![0; room.seats.len().div_ceil(64)];
        let members = room.seats.iter().enumerate().filter(|(_, seat)| seat.is_in);
        let mut expected = 0;
        for (seat, _) in members {
            flip(&mut missing, seat);
            expected += 1;
        }
        room.pending.push_back(RoomMessage {
            sender: position.seat,
            token: Some(token),
            kind,
            payload,
            missing,
            open: expected,
            expected,
            reached: 0,
            fault: None,
        });
    }

    /// A member receives a message. Returns whether it is the member's own greeting.
    pub(super) fn receive<S: ReplySink>(
        &mut self,
        position: RoomPosition,
        (kind, payload): (Kind, &[u8]),
        sink: &mut S,
    ) -> Result<bool, Fault> {
        let room = &mut self.all[position.room];
        let Some(at) = room.place_of(position.seat, payload) else {
            if let Some(greeted) = room.seats.iter().position(|seat| seat.is_greeted_by(payload)) {
                let is_own = greeted == position.seat;
                room.seats[position.seat].is_in |= is_own;
                return Ok(is_own);
            }
            let is_foreign = self.all.iter().any(|room| room.recognises(payload));
            return Err(policy(if is_foreign {
                "a message from another room"
            } else {
                "a message that no member of this room sent"
            }));
        };
        let step = room.step(position.seat, at, sink);
        let message = &mut room.ordered[(at - room.first) as usize];
        let is_due = contains(&message.missing, position.seat);
        if kind != message.kind {
            message.fault.get_or_insert(match message.kind {
                Kind::Text => "a text message was sent, but a binary one was received",
                Kind::Binary => "a binary message was sent, but a text one was received",
            });
        }
        sink.delivery(message.token, step);
        if is_due {
            flip(&mut message.missing, position.seat);
            if let Some(token) = message.token {
                if message.reached == 0 {
                    sink.first_byte(token);
                }
                message.reached += 1;
            }
        }
        match step {
            IdStep::Late => {
                message.fault.get_or_insert(ANOTHER_ORDER);
            }
            IdStep::Again => {
                message.fault.get_or_insert("a message was delivered twice");
                return Err(policy("a message was delivered twice"));
            }
            _ if is_due => {
                message.open -= 1;
                message.report_outcome(sink);
            }
            _ => {}
        }
        room.evict(&mut self.spare);
        Ok(false)
    }

    /// The sender no longer waits for a message.
    pub(super) fn abandon<S: ReplySink>(&mut self, position: RoomPosition, token: Token, sink: &mut S) {
        let room = &mut self.all[position.room];
        let mut all = room.ordered.iter_mut().chain(&mut room.pending);
        if let Some(message) = all.find(|message| message.token == Some(token)) {
            message.token = None;
            sink.coverage(token, message.expected, message.reached);
        }
    }

    /// A member leaves: its messages are no longer waited for, and it receives no more.
    pub(super) fn remove_member<S: ReplySink>(&mut self, position: RoomPosition, sink: &mut S) {
        let room = &mut self.all[position.room];
        let seat = std::mem::take(&mut room.seats[position.seat]);
        let from = seat.next.unwrap_or(room.first);
        let skipped = from.saturating_sub(room.first) as usize;
        for message in room.ordered.iter_mut().chain(&mut room.pending) {
            if message.sender == position.seat
                && let Some(token) = message.token.take()
            {
                sink.coverage(token, message.expected, message.reached);
            }
        }
        // Messages that it skipped earlier were already subtracted from `open`. A successor at its position is not
        // waited for.
        for (at, message) in room.ordered.iter_mut().chain(&mut room.pending).enumerate() {
            if !contains(&message.missing, position.seat) {
                continue;
            }
            flip(&mut message.missing, position.seat);
            if at >= skipped {
                message.open -= 1;
                message
                    .fault
                    .get_or_insert("a member's connection ended before it received the message");
                message.report_outcome(sink);
            }
        }
    }
}

const ANOTHER_ORDER: &str = "a message was delivered to a member out of order, or not at all";

impl RoomSeat {
    fn is_greeted_by(&self, payload: &[u8]) -> bool {
        !payload.is_empty() && self.greeting == payload
    }
}

impl Room {
    /// Position in the order of a message that a member receives; assigns one if the message has none.
    fn place_of(&mut self, seat: usize, payload: &[u8]) -> Option<u64> {
        let next = self.seats[seat].next.unwrap_or(self.first);
        let index = next.checked_sub(self.first).map(|index| index as usize);
        if let Some(message) = index.and_then(|index| self.ordered.get(index))
            && message.payload == payload
        {
            return Some(next);
        }
        if let Some(index) = self.pending.iter().position(|message| message.payload == payload) {
            let message = self.pending.remove(index)?;
            self.bytes += message.payload.len();
            self.ordered.push_back(message);
            return Some(self.first + self.ordered.len() as u64 - 1);
        }
        let index = self
            .ordered
            .iter()
            .rposition(|message| message.payload == payload)?;
        Some(self.first + index as u64)
    }

    fn recognises(&self, payload: &[u8]) -> bool {
        let mut all = self.ordered.iter().chain(&self.pending);
        all.any(|message| message.payload == payload)
            || self.seats.iter().any(|seat| seat.is_greeted_by(payload))
    }

    /// A member receives the message at position `at`. Returns whether that is in order. Skipped messages are no longer
    /// waited for.
    fn step<S: ReplySink>(&mut self, seat: usize, at: u64, sink: &mut S) -> IdStep {
        let next = self.seats[seat].next.unwrap_or(0).max(self.first);
        self.seats[seat].next = Some(next.max(at + 1));
        if at < next {
            let message = &self.ordered[(at - self.first) as usize];
            return if contains(&message.missing, seat) {
                IdStep::Late
            } else {
                IdStep::Again
            };
        }
        let mut skipped = 0;
        let (from, to) = ((next - self.first) as usize, (at - self.first) as usize);
        for message in self.ordered.range_mut(from..to) {
            if contains(&message.missing, seat) {
                skipped += 1;
                message.open -= 1;
                message.fault.get_or_insert(ANOTHER_ORDER);
                message.report_outcome(sink);
            }
        }
        if skipped > 0 {
            IdStep::Skipped(skipped)
        } else {
            IdStep::Next
        }
    }

    /// Forgets messages that are done, except the most recent ones.
    fn evict(&mut self, spare: &mut Vec<Vec<u8>>) {
        while (self.ordered.len() > REMEMBERED || self.bytes > REMEMBERED_BYTES)
            && self
                .ordered
                .front()
                .is_some_and(|message| message.token.is_none())
            && let Some(message) = self.ordered.pop_front()
        {
            self.first += 1;
            self.bytes -= message.payload.len();
            if spare.len() < REMEMBERED {
                spare.push(message.payload);
            }
        }
        // Messages that were given up may never be received by any member.
        while self.pending.len() > REMEMBERED
            && self
                .pending
                .front()
                .is_some_and(|message| message.token.is_none())
        {
            self.pending.pop_front();
        }
    }
}

impl RoomMessage {
    /// Reports the outcome of the message, once no member may receive it any more.
    fn report_outcome<S: ReplySink>(&mut self, sink: &mut S) {
        if self.open > 0 {
            return;
        }
        let Some(token) = self.token.take() else { return };
        sink.coverage(token, self.expected, self.reached);
        if let Some(reason) = self.fault {
            return sink.failed(token, Failure::Malformed(reason));
        }
        sink.head(token, super::SWITCHED_HEAD);
        if !self.payload.is_empty() {
            sink.data(token, &self.payload);
        }
        sink.end(token, End { grpc_status: None });
    }
}
