//! What the sequences under way have taken from replies.

use prony_load::Bag;
use std::collections::HashMap;

/// The values of each place's sequence. Empty where no sequence takes anything.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) bags: Vec<Bag>,
    /// Of the sequences that no place holds now, by their number.
    left: HashMap<u64, Bag>,
}

impl Taken {
    pub(super) fn new(places: usize) -> Self {
        Self {
            bags: vec![Bag::default(); places],
            left: HashMap::new(),
        }
    }

    /// A sequence begins in a place.
    pub(super) fn begin(&mut self, place: u32) {
        if let Some(bag) = self.bags.get_mut(place as usize) {
            bag.clear();
        }
    }

    /// The sequences in two places change places.
    pub(super) fn swap(&mut self, one: u32, other: u32) {
        if !self.bags.is_empty() {
            self.bags.swap(one as usize, other as usize);
        }
    }

    /// Puts by what the sequence in a place has taken, until another place goes on with it.
    pub(super) fn leave(&mut self, place: u32, number: u64) {
        if let Some(bag) = self.bags.get_mut(place as usize) {
            self.left.insert(number, std::mem::take(bag));
        }
    }

    /// Fetches what a sequence has taken into the place that goes on with it.
    pub(super) fn fetch(&mut self, place: u32, number: u64) {
        if let Some(bag) = self.left.remove(&number) {
            self.bags[place as usize] = bag;
        }
    }
}
