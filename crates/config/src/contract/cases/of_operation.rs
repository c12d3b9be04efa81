//! The cases of an operation, for the results of a check.

use super::Contract;
use crate::contract::toml::OneOrMany;
use crate::format::Spanned;

impl Contract {
    /// The contract's own cases that call this operation, and others only because it needs them.
    pub fn cases_of(&self, operation: &str) -> Vec<String> {
        let cases = self.written.case.iter().map(Spanned::get_ref);
        let calls_only_it = cases.filter(|case| {
            let OneOrMany(calls) = &case.call;
            calls.iter().all(|call| {
                let called = call.get_ref().operation.as_ref();
                called.is_some_and(|name| name.get_ref() == operation)
            })
        });
        calls_only_it.map(|case| case.name.get_ref().clone()).collect()
    }
}
