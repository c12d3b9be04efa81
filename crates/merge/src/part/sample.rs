//! A sample of wrong replies, to show the user what came instead.

use serde::{Deserialize, Serialize};

/// Keeps the `room` entries with the smallest of seeded random keys: a uniform sample, whatever the number of offers, and
/// one that merges by the same rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongSample {
    /// How many entries are kept.
    pub room: u32,
    kept: Vec<SampleEntry>,
}

/// A wrong reply.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SampleEntry {
    /// Its random key.
    pub key: u64,
    /// The operation, by its place in the workload.
    pub operation: u16,
    /// What was looked at.
    pub what: String,
    /// What should have come.
    pub expected: String,
    /// What came.
    pub got: String,
}

impl WrongSample {
    /// An empty sample.
    pub const fn new(room: u32) -> Self {
        Self {
            room,
            kept: Vec::new(),
        }
    }

    /// Whether an entry under this key would be kept: then it is worth describing.
    pub fn wants(&self, key: u64) -> bool {
        let is_full = self.kept.len() >= self.room as usize;
        self.room > 0 && (!is_full || self.kept.last().is_some_and(|worst| key < worst.key))
    }

    /// Keeps an entry, if it is among the first.
    pub fn keep(&mut self, entry: SampleEntry) {
        let place = self.kept.partition_point(|other| *other <= entry);
        self.kept.insert(place, entry);
        self.kept.truncate(self.room as usize);
    }

    /// Adds another sample.
    pub fn merge(&mut self, other: &Self) {
        for entry in &other.kept {
            self.keep(entry.clone());
        }
    }

    /// The entries, in a random but seeded order.
    pub fn entries(&self) -> &[SampleEntry] {
        &self.kept
    }

    /// Forgets what was kept.
    pub fn clear(&mut self) {
        self.kept.clear();
    }
}
