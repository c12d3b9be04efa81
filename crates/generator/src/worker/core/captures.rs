//! The values that running sequences have captured from replies.

use prony_load::CapturedValues;
use std::collections::HashMap;

/// The values of each slot's sequence. Empty if no sequence captures anything.
#[derive(Debug, Default)]
pub(super) struct SequenceCaptures {
    pub(super) values: Vec<CapturedValues>,
    /// The values of sequences without a slot, by their number.
    waiting: HashMap<u64, CapturedValues>,
}

impl SequenceCaptures {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            values: vec![CapturedValues::default(); slots],
            waiting: HashMap::new(),
        }
    }

    /// A sequence starts in a slot.
    pub(super) fn begin(&mut self, slot: u32) {
        if let Some(captured) = self.values.get_mut(slot as usize) {
            captured.clear();
        }
    }

    /// Swaps the sequences of two slots.
    pub(super) fn swap(&mut self, one: u32, other: u32) {
        if !self.values.is_empty() {
            self.values.swap(one as usize, other as usize);
        }
    }

    /// Stores the values of a slot's sequence until another slot continues it.
    pub(super) fn leave(&mut self, slot: u32, number: u64) {
        if let Some(captured) = self.values.get_mut(slot as usize) {
            self.waiting.insert(number, std::mem::take(captured));
        }
    }

    /// Moves the stored values of a sequence into the slot that continues it.
    pub(super) fn fetch(&mut self, slot: u32, number: u64) {
        if let Some(captured) = self.waiting.remove(&number) {
            self.values[slot as usize] = captured;
        }
    }
}
