//! The values that running sequences have captured from replies.

use prony_load::CapturedValues;
use std::collections::HashMap;

/// The values of each slot's sequence. Empty if no sequence captures anything.
#[derive(Debug, Default)]
pub(super) struct SequenceCaptures {
    pub(super) bags: Vec<CapturedValues>,
    /// The values of sequences without a slot, by their number.
    left: HashMap<u64, CapturedValues>,
}

impl SequenceCaptures {
    pub(super) fn new(places: usize) -> Self {
        Self {
            bags: vec![CapturedValues::default(); places],
            left: HashMap::new(),
        }
    }

    /// A sequence starts in a slot.
    pub(super) fn begin(&mut self, place: u32) {
        if let Some(bag) = self.bags.get_mut(place as usize) {
            bag.clear();
        }
    }

    /// Swaps the sequences of two slots.
    pub(super) fn swap(&mut self, one: u32, other: u32) {
        if !self.bags.is_empty() {
            self.bags.swap(one as usize, other as usize);
        }
    }

    /// Stores the values of a slot's sequence until another slot continues it.
    pub(super) fn leave(&mut self, place: u32, number: u64) {
        if let Some(bag) = self.bags.get_mut(place as usize) {
            self.left.insert(number, std::mem::take(bag));
        }
    }

    /// Moves the stored values of a sequence into the slot that continues it.
    pub(super) fn fetch(&mut self, place: u32, number: u64) {
        if let Some(bag) = self.left.remove(&number) {
            self.bags[place as usize] = bag;
        }
    }
}
