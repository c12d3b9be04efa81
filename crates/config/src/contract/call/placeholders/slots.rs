//! The slots of captured values.

use prony_load::Encoding;
use std::cell::RefCell;

/// The slots of captured values: one for each value and encoding that a request or expectation uses.
#[derive(Debug, Default)]
pub(crate) struct Slots(RefCell<Vec<(String, Encoding)>>);

impl Slots {
    /// The slot of a value in an encoding.
    pub(crate) fn slot(&self, name: &str, encoding: Encoding) -> usize {
        let mut all = self.0.borrow_mut();
        let found = all
            .iter()
            .position(|(known, as_known)| known == name && *as_known == encoding);
        found.unwrap_or_else(|| {
            all.push((name.to_owned(), encoding));
            all.len() - 1
        })
    }

    /// The slots of a value, with their encodings. A value that nothing uses is still captured once, since a reply without it is
    /// wrong.
    pub(crate) fn of(&self, name: &str) -> Vec<(usize, Encoding)> {
        let found: Vec<_> = self
            .0
            .borrow()
            .iter()
            .enumerate()
            .filter(|(_, (known, _))| known == name)
            .map(|(slot, (_, encoding))| (slot, *encoding))
            .collect();
        if found.is_empty() {
            return vec![(self.slot(name, Encoding::Body), Encoding::Body)];
        }
        found
    }

    /// The name of the value in a slot.
    pub(crate) fn name(&self, slot: usize) -> String {
        let all = self.0.borrow();
        all.get(slot).map(|(name, _)| name.clone()).unwrap_or_default()
    }
}
