//! The decoder's dynamic table (RFC 7541, section 2.3.2): a queue of entries whose bytes share one buffer.

use super::ENTRY_OVERHEAD;
use std::collections::VecDeque;

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: u32,
    name: u32,
    value: u32,
}

impl Entry {
    const fn size(self) -> usize {
        (self.name + self.value) as usize + ENTRY_OVERHEAD
    }
}

/// Entries, the newest first. Allocates nothing until the first entry is added.
#[derive(Debug)]
pub(super) struct DynamicTable {
    entries: VecDeque<Entry>,
    bytes: Vec<u8>,
    size: usize,
    limit: usize,
    changes: u64,
}

impl DynamicTable {
    pub(super) const fn new(limit: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: Vec::new(),
            size: 0,
            limit,
            changes: 0,
        }
    }

    /// Version of the table: every change increases it.
    pub(super) const fn changes(&self) -> u64 {
        self.changes
    }

    #[cfg(test)]
    pub(super) const fn size(&self) -> usize {
        self.size
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Entry number `place`; 0 is the newest.
    pub(super) fn get(&self, place: usize) -> Option<(&[u8], &[u8])> {
        let entry = self.entries.get(place)?;
        let value = (entry.start + entry.name) as usize;
        Some((
            &self.bytes[entry.start as usize..value],
            &self.bytes[value..value + entry.value as usize],
        ))
    }

    /// Changes the limit and evicts the oldest entries that no longer fit.
    pub(super) fn resize(&mut self, limit: usize) {
        self.changes += 1;
        self.limit = limit;
        self.evict(limit);
    }

    /// Adds an entry. An entry larger than the whole table empties it (RFC 7541, section 4.4).
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        self.changes += 1;
        let entry = Entry {
            start: 0,
            name: name.len() as u32,
            value: value.len() as u32,
        };
        if entry.size() > self.limit {
            self.evict(0);
            return;
        }
        self.evict(self.limit - entry.size());
        self.make_room(name.len() + value.len());
        self.entries.push_front(Entry {
            start: self.bytes.len() as u32,
            ..entry
        });
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.size += entry.size();
    }

    fn evict(&mut self, limit: usize) {
        while self.size > limit {
            let oldest = self.entries.pop_back().expect("a size above 0 has an entry");
            self.size -= oldest.size();
        }
    }

    /// Entries are stored in order of arrival: evicted bytes are at the front of the buffer. Once they take up a full
    /// table's size, the remaining entries move to the front.
    fn make_room(&mut self, more: usize) {
        let live = self
            .entries
            .back()
            .map_or(self.bytes.len(), |oldest| oldest.start as usize);
        if live == 0 || (live < self.limit && self.bytes.len() + more <= self.bytes.capacity()) {
            return;
        }
        self.bytes.drain(..live);
        for entry in &mut self.entries {
            entry.start -= live as u32;
        }
    }
}
