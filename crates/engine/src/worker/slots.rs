//! Places for requests under way. All are made before the run; each connection owns a fixed range of them.

use crate::recorder::Epoch;

/// One place for a request under way.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// When it was due; in a closed load when it was sent.
    pub(super) intended: u64,
    pub(super) sent: u64,
    pub(super) first_byte: u64,
    /// Number of the request in its thread: decides the values of its parameters.
    pub(super) number: u64,
    /// When the first request of its sequence was due.
    pub(super) sequence_begin: u64,
    pub(super) epoch: Epoch,
    /// When the first and the last message of a gRPC reply were complete.
    pub(super) first_message: u64,
    pub(super) last_message: u64,
    pub(super) messages: u32,
    pub(super) operation: u16,
    /// Step of its sequence.
    pub(super) step: u16,
    pub(super) status: u16,
    /// How often the peer left it unprocessed so far.
    pub(super) refusals: u8,
    /// Whether the peer left it unprocessed just now, so that it is to be sent again.
    pub(super) send_again: bool,
    pub(super) active: bool,
    /// Whether the last request in this place had a valid reply, so that its sequence goes on.
    pub(super) went_well: bool,
    pub(super) wants_headers: bool,
    pub(super) check: BodyCheck,
    /// The reply as far as it has to be kept.
    pub(super) kept: Option<Box<Kept>>,
    /// The next free place of the connection.
    next_free: Option<u32>,
}

/// What is done with the body of a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum BodyCheck {
    /// Nothing.
    #[default]
    Ignore,
    /// It is compared with the only right one; so many bytes were equal.
    Compare { equal: usize },
    /// It is kept to be judged.
    Keep,
}

/// Parts of a reply that are judged when it is complete.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) body: Vec<u8>,
    pub(super) grpc_message: Vec<u8>,
    pub(super) headers: KeptHeaders,
}

/// The headers of a reply in two pieces of memory, which are used again.
#[derive(Debug, Default)]
pub(super) struct KeptHeaders {
    /// Names and values, one after the other.
    text: Vec<u8>,
    /// Lengths of each name and its value.
    lengths: Vec<(usize, usize)>,
}

impl KeptHeaders {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.lengths.clear();
    }

    pub(super) fn push(&mut self, name: &[u8], value: &[u8]) {
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(value);
        self.lengths.push((name.len(), value.len()));
    }

    /// Names with their values, in the order they came.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut rest = self.text.as_slice();
        self.lengths.iter().map(move |&(name, value)| {
            let (header, after) = rest.split_at(name + value);
            rest = after;
            header.split_at(name)
        })
    }
}

/// All places of a worker.
#[derive(Debug)]
pub(super) struct Slots {
    all: Vec<Slot>,
    depth: u32,
    /// First free place of each connection.
    free: Vec<Option<u32>>,
    active: u32,
}

impl Slots {
    pub(super) fn new(connections: u32, depth: u32) -> Self {
        let mut slots = Self {
            all: (0..u64::from(connections) * u64::from(depth))
                .map(|_| Slot::default())
                .collect(),
            depth,
            free: vec![None; connections as usize],
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

    pub(super) fn has_free(&self, connection: u32) -> bool {
        self.free[connection as usize].is_some()
    }

    /// Whether every place of a connection is taken.
    pub(super) fn is_busy(&self, connection: u32) -> bool {
        !self.has_free(connection)
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
        self.active += 1;
    }

    pub(super) fn deactivate(&mut self, slot: u32) {
        debug_assert!(self.all[slot as usize].active);
        self.all[slot as usize].active = false;
        self.active -= 1;
    }

    /// Requests under way.
    pub(super) const fn active(&self) -> u32 {
        self.active
    }
}
