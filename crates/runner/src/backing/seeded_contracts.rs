//! Contracts whose backing services have data of the run's own.

use super::prepare;
use crate::{Failure, Progress, RunContext};
use prony_config::contract::Contract;
use prony_config::{Catalogue, Plan};
use prony_records::Exclusion;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The contracts of a plan as they are checked and loaded.
pub(crate) struct SeededContracts<'a> {
    catalogue: &'a Catalogue,
    /// Those with backing services, or why they cannot be used.
    seeded: BTreeMap<String, Result<Cow<'a, Contract>, Failure>>,
}

impl<'a> SeededContracts<'a> {
    /// Makes the data of backing services before the first trial. `None`: the user asked to stop now.
    pub(crate) fn prepare(
        plan: &Plan,
        context: &RunContext<'a>,
        watch: &mut dyn FnMut(Progress),
    ) -> Option<Self> {
        let catalogue = context.catalogue;
        let names: BTreeSet<&str> = plan.groups.iter().map(|group| group.contract.as_str()).collect();
        let contracts = names.into_iter().filter_map(|name| catalogue.contracts.get(name));
        let with_data = contracts.filter(|contract| !contract.backing_services().is_empty());
        let seeded: BTreeMap<_, _> = with_data
            .map(|contract| {
                watch(Progress::Seeds(contract.name.clone()));
                (contract.name.clone(), prepare(context, contract, plan.seed))
            })
            .collect();
        let is_interrupted = |one: &Result<_, Failure>| one.as_ref().is_err_and(Failure::is_interrupted);
        (!seeded.values().any(is_interrupted)).then_some(Self { catalogue, seeded })
    }

    /// A contract, or why it cannot be used; `None`: there is no such contract.
    pub(crate) fn get(&self, name: &str) -> Option<Result<&Contract, Exclusion>> {
        match self.seeded.get(name) {
            Some(Ok(contract)) => Some(Ok(contract)),
            Some(Err(failed)) => Some(Err(failed.clone().with_log(Vec::new()))),
            None => self.catalogue.contracts.get(name).map(Ok),
        }
    }
}
