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
    heard: VecDeque<RoomMessage>,
    /// Position of the first of them in the order.
    first: u64,
    /// Messages that were sent but that no member has received yet, the oldest first.
    unheard: VecDeque<RoomMessage>,
    /// Bytes of the messages in `heard`.
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
    by: usize,
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

fn has(seats: &SeatSet, seat: usize) -> bool {
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
    pub(super) fn enter(&mut self, connection: u32, greeting: Vec<u8>) -> RoomPosition {
        let place = RoomPosition {
            room: (connection / self.members) as usize,
            seat: (connection % self.members) as usize,
        };
        if self.all.len() <= place.room {
            self.all.resize_with(place.room + 1, Room::default);
        }
        let seats = &mut self.all[place.room].seats;
        seats.resize(self.members as usize, RoomSeat::default());
        seats[place.seat] = RoomSeat {
            greeting,
            ..RoomSeat::default()
        };
        place
    }

    pub(super) fn greeting(&self, place: RoomPosition) -> &[u8] {
        &self.all[place.room].seats[place.seat].greeting
    }

    /// A member sends the message that `write` appends.
    pub(super) fn say(
        &mut self,
        place: RoomPosition,
        (token, kind): (Token, Kind),
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let mut payload = self.spare.pop().unwrap_or_default();
        payload.clear();
        write(&mut payload);
        let room = &mut self.all[place.room];
        let mut missing: SeatSet = smallvec![0; room.seats.len().div_ceil(64)];
        let there = room.seats.iter().enumerate().filter(|(_, seat)| seat.is_in);
        let mut expected = 0;
        for (seat, _) in there {
            flip(&mut missing, seat);
            expected += 1;
        }
        room.unheard.push_back(RoomMessage {
            by: place.seat,
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
    pub(super) fn hear<S: ReplySink>(
        &mut self,
        place: RoomPosition,
        (kind, payload): (Kind, &[u8]),
        sink: &mut S,
    ) -> Result<bool, Fault> {
        let room = &mut self.all[place.room];
        let Some(at) = room.place_of(place.seat, payload) else {
            if let Some(greeted) = room.seats.iter().position(|seat| seat.is_greeted_by(payload)) {
                let is_own = greeted == place.seat;
                room.seats[place.seat].is_in |= is_own;
                return Ok(is_own);
            }
            let elsewhere = self.all.iter().any(|room| room.knows(payload));
            return Err(policy(if elsewhere {
                "a message from another room"
            } else {
                "a message that no member of this room sent"
            }));
        };
        let step = room.step(place.seat, at, sink);
        let said = &mut room.heard[(at - room.first) as usize];
        let is_due = has(&said.missing, place.seat);
        if kind != said.kind {
            said.fault.get_or_insert(match said.kind {
                Kind::Text => "a text message was sent, but a binary one was received",
                Kind::Binary => "a binary message was sent, but a text one was received",
            });
        }
        sink.delivered(said.token, step);
        if is_due {
            flip(&mut said.missing, place.seat);
            if let Some(token) = said.token {
                if said.reached == 0 {
                    sink.first_byte(token);
                }
                said.reached += 1;
            }
        }
        match step {
            IdStep::Late => {
                said.fault.get_or_insert(ANOTHER_ORDER);
            }
            IdStep::Again => {
                said.fault.get_or_insert("a message was delivered twice");
                return Err(policy("a message was delivered twice"));
            }
            _ if is_due => {
                said.open -= 1;
                said.settle(sink);
            }
            _ => {}
        }
        room.forget(&mut self.spare);
        Ok(false)
    }

    /// The sender no longer waits for a message.
    pub(super) fn give_up<S: ReplySink>(&mut self, place: RoomPosition, token: Token, sink: &mut S) {
        let room = &mut self.all[place.room];
        let mut all = room.heard.iter_mut().chain(&mut room.unheard);
        if let Some(said) = all.find(|said| said.token == Some(token)) {
            said.token = None;
            sink.reached(token, said.expected, said.reached);
        }
    }

    /// A member leaves: its messages are no longer waited for, and it receives no more.
    pub(super) fn leave<S: ReplySink>(&mut self, place: RoomPosition, sink: &mut S) {
        let room = &mut self.all[place.room];
        let seat = std::mem::take(&mut room.seats[place.seat]);
        let from = seat.next.unwrap_or(room.first);
        let skipped = from.saturating_sub(room.first) as usize;
        for said in room.heard.iter_mut().chain(&mut room.unheard) {
            if said.by == place.seat
                && let Some(token) = said.token.take()
            {
                sink.reached(token, said.expected, said.reached);
            }
        }
        // Messages that it skipped earlier were already subtracted from `open`. A successor at its position is not
        // waited for.
        for (at, said) in room.heard.iter_mut().chain(&mut room.unheard).enumerate() {
            if !has(&said.missing, place.seat) {
                continue;
            }
            flip(&mut said.missing, place.seat);
            if at >= skipped {
                said.open -= 1;
                said.fault
                    .get_or_insert("a member's connection ended before it received the message");
                said.settle(sink);
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
        if let Some(said) = index.and_then(|index| self.heard.get(index))
            && said.payload == payload
        {
            return Some(next);
        }
        if let Some(index) = self.unheard.iter().position(|said| said.payload == payload) {
            let said = self.unheard.remove(index)?;
            self.bytes += said.payload.len();
            self.heard.push_back(said);
            return Some(self.first + self.heard.len() as u64 - 1);
        }
        let index = self.heard.iter().rposition(|said| said.payload == payload)?;
        Some(self.first + index as u64)
    }

    fn knows(&self, payload: &[u8]) -> bool {
        let mut all = self.heard.iter().chain(&self.unheard);
        all.any(|said| said.payload == payload) || self.seats.iter().any(|seat| seat.is_greeted_by(payload))
    }

    /// A member receives the message at position `at`. Returns whether that is in order. Skipped messages are no longer
    /// waited for.
    fn step<S: ReplySink>(&mut self, seat: usize, at: u64, sink: &mut S) -> IdStep {
        let next = self.seats[seat].next.unwrap_or(0).max(self.first);
        self.seats[seat].next = Some(next.max(at + 1));
        if at < next {
            let said = &self.heard[(at - self.first) as usize];
            return if has(&said.missing, seat) {
                IdStep::Late
            } else {
                IdStep::Again
            };
        }
        let mut left_out = 0;
        let (from, to) = ((next - self.first) as usize, (at - self.first) as usize);
        for said in self.heard.range_mut(from..to) {
            if has(&said.missing, seat) {
                left_out += 1;
                said.open -= 1;
                said.fault.get_or_insert(ANOTHER_ORDER);
                said.settle(sink);
            }
        }
        if left_out > 0 {
            IdStep::Skipped(left_out)
        } else {
            IdStep::Next
        }
    }

    /// Forgets messages that are done, except the most recent ones.
    fn forget(&mut self, spare: &mut Vec<Vec<u8>>) {
        while (self.heard.len() > REMEMBERED || self.bytes > REMEMBERED_BYTES)
            && self.heard.front().is_some_and(|said| said.token.is_none())
            && let Some(said) = self.heard.pop_front()
        {
            self.first += 1;
            self.bytes -= said.payload.len();
            if spare.len() < REMEMBERED {
                spare.push(said.payload);
            }
        }
        // Messages that were given up may never be received by any member.
        while self.unheard.len() > REMEMBERED && self.unheard.front().is_some_and(|said| said.token.is_none())
        {
            self.unheard.pop_front();
        }
    }
}

impl RoomMessage {
    /// Reports the outcome of the message, once no member may receive it any more.
    fn settle<S: ReplySink>(&mut self, sink: &mut S) {
        if self.open > 0 {
            return;
        }
        let Some(token) = self.token.take() else { return };
        sink.reached(token, self.expected, self.reached);
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
