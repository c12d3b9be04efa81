//! Fills the placeholders of a call.

use crate::format::suggestion::known;
use crate::contract::template::{Bindings, fill};
use prony_load::{Parameter, Template};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// The values of the placeholders of a call.
pub(crate) struct PlaceholderValues<'a> {
    pub(crate) bindings: &'a Bindings,
    pub(crate) parameters: &'a [Parameter],
    /// Whether replies are verified under load: then everything possible is precomputed.
    pub(crate) for_load: bool,
    /// Slots of the values that a sequence captures, by name.
    slots: &'a [String],
    used: RefCell<BTreeSet<String>>,
}

impl<'a> PlaceholderValues<'a> {
    /// For a case: every placeholder has a text.
    pub(crate) fn for_case(bindings: &'a Bindings) -> Self {
        Self {
            bindings,
            parameters: &[],
            for_load: false,
            slots: &[],
            used: RefCell::default(),
        }
    }

    /// The same, where the calls of a case capture values of these names.
    pub(crate) fn with_slots(self, slots: &'a [String]) -> Self {
        Self { slots, ..self }
    }

    /// For a workload: placeholders may have parameters.
    pub(crate) fn for_load(bindings: &'a Bindings, parameters: &'a [Parameter], slots: &'a [String]) -> Self {
        Self {
            bindings,
            parameters,
            for_load: true,
            slots,
            used: RefCell::default(),
        }
    }

    /// The slot of a captured value. Without a sequence, captured values are unused, and any slot will do.
    pub(super) fn slot(&self, name: &str) -> usize {
        self.slots
            .iter()
            .position(|known| known == name)
            .unwrap_or_default()
    }

    /// The names that the calls have used.
    pub(crate) fn used(self) -> BTreeSet<String> {
        self.used.into_inner()
    }

    pub(super) fn fill(&self, text: &str, escape: impl Fn(&str) -> String) -> Result<Template, String> {
        fill(text, self.bindings, &mut self.used.borrow_mut(), escape).map_err(|name| {
            let allowed = known(self.bindings.keys().map(String::as_str));
            format!("`{{{name}}}` has no value: give `with = {{ {name} = … }}`; {allowed}")
        })
    }
}
