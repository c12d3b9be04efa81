//! The backing services of a service while it is checked and loaded: databases, caches, slow backends.
//!
//! A backing service is started for each start of a service, on a copy of data that is made once for its files and the run's seed.
//! Everything on its host is done through [`prony_host::Host`], by scripts and processes, so it may be any host of a testbed. Failures
//! here are infrastructure failures, never those of the service.

mod invariants;
mod process;
mod query;
mod recipe;
mod seed;
mod usage;

use crate::{Failure, Progress, RunContext, TrialPlacement};
pub(crate) use invariants::{Invariants, judge_during};
pub use process::{BackingProcess, BackingProcesses};
use prony_config::contract::{Contract, RowTable};
use prony_config::{Catalogue, Plan, Service};
use prony_records::{Exclusion, TrialStage};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Timeout of prony's own queries.
const ANSWER: std::time::Duration = std::time::Duration::from_secs(20);

/// Generates the initial data of a contract's backing services, unless it exists. Returns the contract with the rows that it reads from
/// that data.
pub fn prepare<'c>(
    bench: &RunContext<'_>,
    contract: &'c Contract,
    seed: u64,
) -> Result<Cow<'c, Contract>, Failure> {
    let placement = TrialPlacement::alone(bench.testbed, contract, None);
    for requirement in contract.backing_services() {
        seed::make(bench, contract, requirement, seed, &placement)?;
    }
    let contract = with_files(contract, seed)?;
    if contract.rows().is_empty() {
        return Ok(contract);
    }
    let contract = &*contract;
    let mut backing_services = BackingProcesses::start(bench, contract, seed, &placement)?;
    let mut tables = BTreeMap::new();
    for rows in contract.rows() {
        let table = backing_services.query(rows.backing_service(), rows.query());
        let failed =
            |reason| Failure::infrastructure(TrialStage::Build, format!("`rows.{}`: {reason}", rows.name()));
        let (columns, values) = table.map_err(failed)?;
        tables.insert(
            rows.name().to_owned(),
            RowTable {
                columns,
                rows: values,
            },
        );
    }
    drop(backing_services);
    let contract_with_rows = contract.clone().give_rows(tables);
    contract_with_rows
        .map(Cow::Owned)
        .map_err(|error| Failure::infrastructure(TrialStage::Build, error.to_string()))
}

/// The contract with the bytes of the files that were written from this seed.
fn with_files(contract: &Contract, seed: u64) -> Result<Cow<'_, Contract>, Failure> {
    if !contract.has_files() {
        return Ok(Cow::Borrowed(contract));
    }
    let given = contract.clone().give_files(recipe::number(seed));
    given
        .map(Cow::Owned)
        .map_err(|error| Failure::infrastructure(TrialStage::Build, error.to_string()))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A contract by the commit of its revision, `None` for the current one, and its name.
type RevisedName<'a> = (Option<&'a str>, &'a str);

fn revised_name<'a>(service: &'a Service, contract: &'a str) -> RevisedName<'a> {
    let commit = service.revision.as_ref().map(|revision| revision.commit.as_str());
    (commit, contract)
}

/// The contracts of a plan, with the rows of their data.
pub(crate) struct SeededContracts<'a> {
    catalogue: &'a Catalogue,
    /// Contracts with backing services, or why they cannot be used, by revision (`None`: the current one) and name.
    seeded: BTreeMap<RevisedName<'a>, Result<Cow<'a, Contract>, Failure>>,
}

impl<'a> SeededContracts<'a> {
    /// Generates the data of backing services before the first trial. `None` if the run was cancelled.
    pub(crate) fn prepare(
        plan: &Plan,
        context: &RunContext<'a>,
        watch: &mut dyn FnMut(Progress),
    ) -> Option<Self> {
        let catalogue = context.catalogue;
        let entries = plan.entries.iter();
        let contracts = entries.filter_map(|entry| {
            let service = catalogue.variant(&entry.service, &entry.variant)?;
            let contract = catalogue.contract_for(service, &plan.group_of(entry).contract)?;
            Some((revised_name(service, &contract.name), contract))
        });
        let with_data = contracts.filter(|(_, contract)| !contract.backing_services().is_empty());
        let distinct: BTreeMap<_, _> = with_data.collect();
        let seeded: BTreeMap<_, _> = distinct
            .into_iter()
            .map(|(name, contract)| {
                watch(Progress::Seeds(contract.name.clone()));
                (name, prepare(context, contract, plan.seed))
            })
            .collect();
        let is_interrupted = |one: &Result<_, Failure>| one.as_ref().is_err_and(Failure::is_interrupted);
        (!seeded.values().any(is_interrupted)).then_some(Self { catalogue, seeded })
    }

    /// The contract of a service, or why it cannot be used; `None` if there is no such contract.
    pub(crate) fn get<'s>(
        &'s self,
        service: &'s Service,
        name: &'s str,
    ) -> Option<Result<&'s Contract, Exclusion>> {
        match self.seeded.get(&revised_name(service, name)) {
            Some(Ok(contract)) => Some(Ok(contract)),
            Some(Err(failed)) => Some(Err(failed.clone().with_log(Vec::new()))),
            None => self.catalogue.contract_for(service, name).map(Ok),
        }
    }
}
