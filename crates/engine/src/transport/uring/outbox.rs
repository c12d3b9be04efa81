//! What is to be sent with the next wait: the bytes of all connections in one piece of memory, which is used again.

/// Bytes of memory that are kept for the next batch.
const KEPT: usize = 4 << 20;

/// No parcel.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Bytes for one connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parcel {
    pub(super) connection: u32,
    begin: usize,
    end: usize,
}

/// The parcels of a batch, one for each connection that sends.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    parcels: Vec<Parcel>,
}

impl Outbox {
    /// Adds bytes to the parcel of a connection, which stands at `place` or nowhere yet; gives its place.
    pub(super) fn add(&mut self, connection: u32, place: u32, bytes: &[u8]) -> u32 {
        let begin = self.bytes.len();
        let Some(parcel) = self.parcels.get_mut(place as usize) else {
            self.bytes.extend_from_slice(bytes);
            let end = self.bytes.len();
            self.parcels.push(Parcel {
                connection,
                begin,
                end,
            });
            return self.parcels.len() as u32 - 1;
        };
        if parcel.end != begin {
            // Others lie behind it: it moves to the end.
            self.bytes.extend_from_within(parcel.begin..parcel.end);
            parcel.begin = begin;
        }
        self.bytes.extend_from_slice(bytes);
        parcel.end = self.bytes.len();
        place
    }

    pub(super) const fn len(&self) -> usize {
        self.parcels.len()
    }

    pub(super) fn parcel(&self, place: usize) -> Parcel {
        self.parcels[place]
    }

    pub(super) fn bytes(&self, parcel: Parcel) -> &[u8] {
        &self.bytes[parcel.begin..parcel.end]
    }

    /// Takes a parcel back: nothing of it is sent.
    pub(super) fn empty(&mut self, place: u32) {
        let parcel = &mut self.parcels[place as usize];
        parcel.end = parcel.begin;
    }

    /// Forgets all parcels.
    pub(super) fn clear(&mut self) {
        self.parcels.clear();
        self.bytes.clear();
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
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
}
