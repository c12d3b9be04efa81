//! A sample of wrong replies, to show the user what came instead.

use crate::parameters::mix;
use prony_load::Mismatch;

/// Keeps the `room` entries with the smallest of seeded random keys: a uniform sample, whatever the number of offers, and
/// one that merges by the same rule.
#[derive(Debug)]
pub(crate) struct Sample {
    room: usize,
    key: u64,
    kept: Vec<(u64, u16, Mismatch)>,
}

impl Sample {
    pub(crate) fn new(room: u32, seed: u64, thread: u32) -> Self {
        Self {
            room: room as usize,
            key: mix(seed ^ u64::from(thread).rotate_left(32)),
            kept: Vec::new(),
        }
    }

    /// The key of the next wrong reply, where it would be kept: then it is worth describing.
    pub(crate) fn draw(&mut self) -> Option<u64> {
        self.key = mix(self.key);
        let fits =
            self.kept.len() < self.room || self.kept.last().is_some_and(|(worst, ..)| self.key < *worst);
        (self.room > 0 && fits).then_some(self.key)
    }

    /// Keeps a wrong reply under the key that [`Sample::draw`] gave.
    pub(crate) fn keep(&mut self, key: u64, operation: u16, mismatch: Mismatch) {
        let place = self.kept.partition_point(|(other, ..)| *other <= key);
        self.kept.insert(place, (key, operation, mismatch));
        self.kept.truncate(self.room);
    }

    /// Adds another thread's sample.
    pub(crate) fn merge(&mut self, other: Self) {
        for (key, operation, mismatch) in other.kept {
            self.keep(key, operation, mismatch);
        }
    }

    /// The operations and what was wrong, in a random but seeded order.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = (u16, Mismatch)> {
        self.kept
            .into_iter()
            .map(|(_, operation, mismatch)| (operation, mismatch))
    }

    /// Forgets what was kept.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
    }
}
