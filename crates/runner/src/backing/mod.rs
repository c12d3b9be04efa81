//! The backing services of a service while it is checked and loaded: databases, caches, slow backends.
//!
//! A backing service is started for each start of a service, on a copy of data that is made once for its files and the run's seed.
//! All that touches its host goes through [`prony_host::Host`], as scripts and processes, so that it may be any host of a testbed.
//! What fails here is the bench's fault, never the service's.

mod invariants;
mod process;
mod query;
mod recipe;
mod seed;
mod seeded_contracts;
mod usage;

use crate::Failure;
use crate::{RunContext, TrialPlacement};
use prony_config::contract::{Contract, RowTable};
use prony_records::TrialStage;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

pub(crate) use invariants::{Invariants, judge_during};
pub use process::{BackingProcess, BackingProcesses};
pub(crate) use seeded_contracts::SeededContracts;

/// Time for a query of prony's own.
const ANSWER: std::time::Duration = std::time::Duration::from_secs(20);

/// Makes the data that a contract's backing services begin with, where it is not there yet. Gives the contract with the rows that
/// stand in it, where it asks for some.
pub fn prepare<'c>(
    bench: &RunContext<'_>,
    contract: &'c Contract,
    seed: u64,
) -> Result<Cow<'c, Contract>, Failure> {
    let seat = TrialPlacement::alone(bench.testbed, contract, None);
    for wanted in contract.backing_services() {
        seed::make(bench, contract, wanted, seed, &seat)?;
    }
    if contract.rows().is_empty() {
        return Ok(Cow::Borrowed(contract));
    }
    let mut backing_services = BackingProcesses::start(bench, contract, seed, &seat)?;
    let mut tables = BTreeMap::new();
    for rows in contract.rows() {
        let table = backing_services.ask(rows.backing_service(), rows.query());
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
    let given = contract.clone().give_rows(tables);
    given
        .map(Cow::Owned)
        .map_err(|error| Failure::infrastructure(TrialStage::Build, error.to_string()))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
