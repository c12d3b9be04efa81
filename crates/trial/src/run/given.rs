//! Contracts whose companions have data of the run's own.

use super::{Run, Watcher};
use crate::trial::prepare;
use crate::{Failure, Progress};
use prony_contract::Contract;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Contracts with companions as they are checked and loaded, or why they cannot be, by name.
pub(super) type Given<'a> = BTreeMap<String, Result<Cow<'a, Contract>, Failure>>;

/// Makes the data of companions before the first trial.
pub(super) fn given<'a>(run: &Run<'a>, watcher: &mut dyn Watcher) -> Given<'a> {
    let names: BTreeSet<&str> = run
        .plan
        .groups
        .iter()
        .map(|group| group.contract.as_str())
        .collect();
    let contracts = names
        .into_iter()
        .filter_map(|name| run.catalogue.contracts.get(name));
    let beside = contracts.filter(|contract| !contract.companions().is_empty());
    beside
        .map(|contract| {
            watcher.saw(Progress::Seeds(contract.name.clone()));
            let prepared = prepare(&run.bench, contract, run.plan.seed);
            (contract.name.clone(), prepared)
        })
        .collect()
}
