//! A sample of unexpected replies, to show the user what was received.

use serde::{Deserialize, Serialize};

/// Keeps the `room` entries with the smallest random keys, which are seeded. This is a uniform sample whatever the number of
/// entries, and samples merge by the same rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongSample {
    /// Maximum number of entries.
    pub room: u32,
    kept: Vec<SampleEntry>,
}

/// An unexpected reply.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SampleEntry {
    /// Random key that decides whether it is kept.
    pub key: u64,
    /// Index of the operation in the workload.
    pub operation: u16,
    /// The part of the reply that was checked.
    pub what: String,
    /// The expected value.
    pub expected: String,
    /// The received value.
    pub got: String,
}

impl WrongSample {
    pub const fn new(room: u32) -> Self {
        Self {
            room,
            kept: Vec::new(),
        }
    }

    /// Whether an entry with this key would be kept, so that it is worth describing.
    pub fn wants(&self, key: u64) -> bool {
        let is_full = self.kept.len() >= self.room as usize;
        self.room > 0 && (!is_full || self.kept.last().is_some_and(|worst| key < worst.key))
    }

    /// Inserts an entry, which is kept if its key is small enough.
    pub fn keep(&mut self, entry: SampleEntry) {
        let place = self.kept.partition_point(|other| *other <= entry);
        self.kept.insert(place, entry);
        self.kept.truncate(self.room as usize);
    }

    pub fn merge(&mut self, other: &Self) {
        for entry in &other.kept {
            self.keep(entry.clone());
        }
    }

    /// The entries, in a random but seeded order.
    pub fn entries(&self) -> &[SampleEntry] {
        &self.kept
    }

    pub fn clear(&mut self) {
        self.kept.clear();
    }
}
