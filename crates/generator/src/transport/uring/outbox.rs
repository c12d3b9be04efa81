//! Bytes to send with the next wait. Small pieces of all connections share one buffer, large ones stay in the buffer
//! in which they were written. All buffers are reused.

/// Most bytes of each of the two kinds of buffers that are kept for the next batch.
const KEPT: usize = 4 << 20;
/// From this size on, bytes, a buffer is taken over instead of copied.
const LARGE: usize = 2048;

/// Marks the absence of a parcel.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Bytes for one connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueuedWrite {
    pub(super) connection: u32,
    /// Index in `Outbox::buffers`; `None`: the bytes are in the common buffer.
    buffer: Option<u32>,
    begin: usize,
    end: usize,
}

/// The parcels of a batch, one for each connection that sends.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    parcels: Vec<QueuedWrite>,
    /// Buffers that were taken over, followed by empty buffers returned from an earlier batch.
    buffers: Vec<Vec<u8>>,
    /// Number of these buffers in use.
    in_use: usize,
    /// Total capacity of these buffers, bytes.
    room: usize,
}

impl Outbox {
    /// Appends bytes to the parcel of a connection, which is at index `place` or does not exist yet; returns its index.
    pub(super) fn add(&mut self, connection: u32, place: u32, bytes: &[u8]) -> u32 {
        let begin = self.bytes.len();
        let Some(parcel) = self.parcels.get_mut(place as usize) else {
            self.bytes.extend_from_slice(bytes);
            let end = self.bytes.len();
            return self.push(QueuedWrite {
                connection,
                buffer: None,
                begin,
                end,
            });
        };
        if let Some(buffer) = parcel.buffer {
            let memory = &mut self.buffers[buffer as usize];
            self.room -= memory.capacity();
            memory.extend_from_slice(bytes);
            self.room += memory.capacity();
            parcel.end = memory.len();
            return place;
        }
        if parcel.end != begin {
            // Other parcels follow it: it moves to the end.
            self.bytes.extend_from_within(parcel.begin..parcel.end);
            parcel.begin = begin;
        }
        self.bytes.extend_from_slice(bytes);
        parcel.end = self.bytes.len();
        place
    }

    /// Appends all that `bytes` holds, and leaves it empty. A large buffer is taken over and replaced by another one.
    pub(super) fn add_all(&mut self, connection: u32, place: u32, bytes: &mut Vec<u8>) -> u32 {
        let given = self.buffers.get(self.in_use).map_or(0, Vec::capacity);
        let room = self.room - given + bytes.capacity();
        if place != NOWHERE || bytes.len() < LARGE || room > KEPT {
            let place = self.add(connection, place, bytes);
            bytes.clear();
            return place;
        }
        if given == 0 {
            self.buffers.push(Vec::with_capacity(bytes.capacity()));
        }
        self.room = room;
        let memory = &mut self.buffers[self.in_use];
        std::mem::swap(memory, bytes);
        let end = memory.len();
        let buffer = Some(self.in_use as u32);
        self.in_use += 1;
        self.push(QueuedWrite {
            connection,
            buffer,
            begin: 0,
            end,
        })
    }

    fn push(&mut self, parcel: QueuedWrite) -> u32 {
        self.parcels.push(parcel);
        self.parcels.len() as u32 - 1
    }

    pub(super) const fn len(&self) -> usize {
        self.parcels.len()
    }

    pub(super) fn parcel(&self, place: usize) -> QueuedWrite {
        self.parcels[place]
    }

    pub(super) fn bytes(&self, parcel: QueuedWrite) -> &[u8] {
        let memory = match parcel.buffer {
            Some(buffer) => &self.buffers[buffer as usize],
            None => &self.bytes,
        };
        &memory[parcel.begin..parcel.end]
    }

    /// Empties a parcel: none of its bytes are sent.
    pub(super) fn empty(&mut self, place: u32) {
        let parcel = &mut self.parcels[place as usize];
        parcel.end = parcel.begin;
    }

    /// Removes all parcels.
    pub(super) fn clear(&mut self) {
        self.parcels.clear();
        self.bytes.clear();
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
        self.buffers[..self.in_use].iter_mut().for_each(Vec::clear);
        self.in_use = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_has_one_parcel_however_its_bytes_come() {
        let mut outbox = Outbox::default();
        let first = outbox.add(7, NOWHERE, b"one ");
        assert_eq!(outbox.add(7, first, b"two "), first);
        let second = outbox.add(8, NOWHERE, b"other");
        assert_eq!(outbox.add(7, first, b"three"), first);
        assert_eq!(outbox.len(), 2);
        assert_eq!(outbox.bytes(outbox.parcel(first as usize)), b"one two three");
        assert_eq!(outbox.bytes(outbox.parcel(second as usize)), b"other");
        assert_eq!(outbox.parcel(1).connection, 8);
        outbox.empty(second);
        assert_eq!(outbox.bytes(outbox.parcel(1)), b"");
        outbox.clear();
        assert_eq!(outbox.len(), 0);
    }

    #[test]
    fn much_is_taken_over_and_goes_on_where_it_is() {
        let mut outbox = Outbox::default();
        for _ in 0..3 {
            let mut small = b"small".to_vec();
            let first = outbox.add_all(1, NOWHERE, &mut small);
            let mut large = vec![b'a'; LARGE];
            let memory = large.as_ptr();
            let second = outbox.add_all(2, NOWHERE, &mut large);
            assert!(small.is_empty() && large.is_empty());
            assert_eq!(outbox.bytes(outbox.parcel(second as usize)).as_ptr(), memory);
            assert_eq!(outbox.add(2, second, b"bc"), second);
            let mut again = vec![b'd'; LARGE];
            assert_eq!(outbox.add_all(2, second, &mut again), second);
            assert_eq!(outbox.bytes(outbox.parcel(first as usize)), b"small");
            let whole = [vec![b'a'; LARGE], b"bc".to_vec(), vec![b'd'; LARGE]].concat();
            assert_eq!(outbox.bytes(outbox.parcel(second as usize)), whole);
            outbox.empty(second);
            assert_eq!(outbox.bytes(outbox.parcel(second as usize)), b"");
            outbox.clear();
        }
        assert_eq!(outbox.buffers.len(), 1);
    }

    #[test]
    fn no_more_memory_is_taken_over_than_is_kept() {
        let mut outbox = Outbox::default();
        let pieces = 2 * KEPT / LARGE;
        for number in 0..pieces as u32 {
            outbox.add_all(number, NOWHERE, &mut vec![number as u8; LARGE]);
        }
        assert!(outbox.room <= KEPT);
        for place in 0..pieces {
            assert_eq!(outbox.bytes(outbox.parcel(place)), vec![place as u8; LARGE]);
        }
    }
}
