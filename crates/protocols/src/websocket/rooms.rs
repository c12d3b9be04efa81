//! Rooms: what one member says must come to all of its room, in one order for all.
//!
//! The first member that hears a message decides its place in the order. Each member has a cursor: what it hears next must stand
//! there. A member is in when it has heard its own greeting, so that nothing is expected of a service that answers the handshake
//! before it counts the member in.

use super::Fault;
use super::frame::{Kind, code};
use crate::protocol::{End, Failure, ReplySink, Token};
use prony_load::events::IdStep;
use smallvec::{SmallVec, smallvec};
use std::collections::VecDeque;

/// Messages that everybody has heard and that are remembered, so that one that comes again is known; and their bytes.
const REMEMBERED: usize = 64;
const REMEMBERED_BYTES: usize = 1 << 20;

/// The rooms of one worker.
#[derive(Debug)]
pub(super) struct Rooms {
    members: u32,
    all: Vec<Room>,
    /// Memory of messages that are over.
    spare: Vec<Vec<u8>>,
}

/// A connection's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    room: usize,
    seat: usize,
}

#[derive(Debug, Default)]
struct Room {
    seats: Vec<Seat>,
    /// What was heard, in the order for all; those that are over stand in front.
    heard: VecDeque<Said>,
    /// The place in the order of the first of them.
    first: u64,
    /// What was said and heard by nobody yet, the oldest first.
    unheard: VecDeque<Said>,
    /// Bytes of what was heard.
    bytes: usize,
}

#[derive(Debug, Default, Clone)]
struct Seat {
    is_in: bool,
    /// The place in the order of what it hears next; `None`: whatever comes.
    next: Option<u64>,
    greeting: Vec<u8>,
}

/// A message that was said.
#[derive(Debug)]
struct Said {
    by: usize,
    /// The request, as long as somebody waits for it.
    token: Option<Token>,
    kind: Kind,
    payload: Vec<u8>,
    /// Whom it has not come to.
    missing: Seats,
    /// How many may still get it.
    open: u32,
    expected: u32,
    reached: u32,
    fault: Option<&'static str>,
}

/// A set of seats.
type Seats = SmallVec<[u64; 2]>;

fn has(seats: &Seats, seat: usize) -> bool {
    seats
        .get(seat / 64)
        .is_some_and(|word| word >> (seat % 64) & 1 == 1)
}

fn flip(seats: &mut Seats, seat: usize) {
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

    /// The place of a worker's connection, whose greeting this is.
    pub(super) fn enter(&mut self, connection: u32, greeting: Vec<u8>) -> Place {
        let place = Place {
            room: (connection / self.members) as usize,
            seat: (connection % self.members) as usize,
        };
        if self.all.len() <= place.room {
            self.all.resize_with(place.room + 1, Room::default);
        }
        let seats = &mut self.all[place.room].seats;
        seats.resize(self.members as usize, Seat::default());
        seats[place.seat] = Seat {
            greeting,
            ..Seat::default()
        };
        place
    }

    pub(super) fn greeting(&self, place: Place) -> &[u8] {
        &self.all[place.room].seats[place.seat].greeting
    }

    /// A member says what `write` appends.
    pub(super) fn say(
        &mut self,
        place: Place,
        (token, kind): (Token, Kind),
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let mut payload = self.spare.pop().unwrap_or_default();
        payload.clear();
        write(&mut payload);
        let room = &mut self.all[place.room];
        let mut missing: Seats = smallvec![0; room.seats.len().div_ceil(64)];
        let there = room.seats.iter().enumerate().filter(|(_, seat)| seat.is_in);
        let mut expected = 0;
        for (seat, _) in there {
            flip(&mut missing, seat);
            expected += 1;
        }
        room.unheard.push_back(Said {
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

    /// A member hears something. Gives whether it is its own greeting.
    pub(super) fn hear<S: ReplySink>(
        &mut self,
        place: Place,
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
                "a message of another room"
            } else {
                "a message that nobody said in this room"
            }));
        };
        let step = room.step(place.seat, at, sink);
        let said = &mut room.heard[(at - room.first) as usize];
        let is_due = has(&said.missing, place.seat);
        if kind != said.kind {
            said.fault.get_or_insert(match said.kind {
                Kind::Text => "a text was sent, and a binary message came",
                Kind::Binary => "a binary message was sent, and a text came",
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
                said.fault.get_or_insert("a message came twice");
                return Err(policy("a message came twice"));
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

    /// Nobody waits for a message any more.
    pub(super) fn give_up<S: ReplySink>(&mut self, place: Place, token: Token, sink: &mut S) {
        let room = &mut self.all[place.room];
        let mut all = room.heard.iter_mut().chain(&mut room.unheard);
        if let Some(said) = all.find(|said| said.token == Some(token)) {
            said.token = None;
            sink.reached(token, said.expected, said.reached);
        }
    }

    /// A member is gone: what it said is not waited for, and nothing more comes to it.
    pub(super) fn leave<S: ReplySink>(&mut self, place: Place, sink: &mut S) {
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
        // What it has left out before is not counted as open any more; who takes its seat is not waited for either.
        for (at, said) in room.heard.iter_mut().chain(&mut room.unheard).enumerate() {
            if !has(&said.missing, place.seat) {
                continue;
            }
            flip(&mut said.missing, place.seat);
            if at >= skipped {
                said.open -= 1;
                said.fault
                    .get_or_insert("the connection of a member ended before the message came to it");
                said.settle(sink);
            }
        }
    }
}

const ANOTHER_ORDER: &str = "a message came to a member in another order than to others, or not at all";

impl Seat {
    fn is_greeted_by(&self, payload: &[u8]) -> bool {
        !payload.is_empty() && self.greeting == payload
    }
}

impl Room {
    /// The place in the order of what a member hears; it has one from now on.
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

    /// A member hears what has this place: how that is in order. What it has left out is not waited for.
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

    /// Forgets what is over, but for the last ones.
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
        // What nobody hears any more may be among those that nobody has heard.
        while self.unheard.len() > REMEMBERED && self.unheard.front().is_some_and(|said| said.token.is_none())
        {
            self.unheard.pop_front();
        }
    }
}

impl Said {
    /// Tells what became of it, once nobody may get it any more.
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
