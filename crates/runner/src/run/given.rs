//! Contracts whose backing services have data of the run's own.

use super::{Run, Watcher};
use crate::prepare;
use crate::{Failure, Progress};
use prony_config::Catalogue;
use prony_config::contract::Contract;
use prony_records::Exclusion;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Contracts with backing services as they are checked and loaded, or why they cannot be, by name.
pub(super) type Given<'a> = BTreeMap<String, Result<Cow<'a, Contract>, Failure>>;

/// Makes the data of backing services before the first trial. `None`: the user asked to stop now.
pub(super) fn given<'a>(run: &Run<'a>, watcher: &mut dyn Watcher) -> Option<Given<'a>> {
    let names: BTreeSet<&str> = run
        .plan
        .groups
        .iter()
        .map(|group| group.contract.as_str())
        .collect();
    let contracts = names
        .into_iter()
        .filter_map(|name| run.catalogue.contracts.get(name));
    let beside = contracts.filter(|contract| !contract.backing_services().is_empty());
    let given: Given<'a> = beside
        .map(|contract| {
            watcher.saw(Progress::Seeds(contract.name.clone()));
            let prepared = prepare(&run.bench, contract, run.plan.seed);
            (contract.name.clone(), prepared)
        })
        .collect();
    let interrupted = |one: &Result<_, Failure>| one.as_ref().is_err_and(|failed| failed.interrupted);
    (!given.values().any(interrupted)).then_some(given)
}

/// A contract as it is checked and loaded, or why it cannot be; `None`: there is no such contract.
pub(super) fn contract<'a>(
    given: &'a Given<'a>,
    catalogue: &'a Catalogue,
    name: &str,
) -> Option<Result<&'a Contract, Exclusion>> {
    match given.get(name) {
        Some(Ok(given)) => Some(Ok(given)),
        Some(Err(failed)) => Some(Err(failed.clone().with_log(Vec::new()))),
        None => catalogue.contracts.get(name).map(Ok),
    }
}
