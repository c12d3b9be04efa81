//! Services and git revisions of them, measured side by side.

use super::Measuring;
use crate::checkout::{Checkout, StoreArgs};
use crate::commands::run::Session;
use crate::exit::bad_input;
use crate::subject::{self, Chosen};
use anyhow::anyhow;
use prony_host::Isolation;
use prony_plan::{Catalogue, GroupPlan, Plan, WarmUpChoice};
use prony_statistics::{ChangeOptions, RunChange, compare_in_run};
use prony_store::Store;

pub(super) use crate::subject::Subject;

/// Warm-up of each trial.
const WARM_UP: WarmUpChoice = WarmUpChoice::Steady {
    least_ns: 1_000_000_000,
    most_ns: 10_000_000_000,
};
const TIMEOUT_NS: u64 = 10_000_000_000;

/// Measures both in the same rounds, stores the run, and compares; gives the run's name as well.
pub(super) fn compare(
    base: &Subject,
    new: &Subject,
    measuring: &Measuring,
    store: &StoreArgs,
    options: &ChangeOptions,
) -> anyhow::Result<(RunChange, String)> {
    let checkout = Checkout::find()?;
    let mut catalogue = Catalogue::read(&checkout.root).map_err(bad_input)?;
    let base = subject::choose(base, &checkout, &mut catalogue)?;
    let new = subject::choose(new, &checkout, &mut catalogue)?;
    if base.id == new.id {
        return Err(bad_input(anyhow!(
            "both are {}: name another variant or revision",
            base.id
        )));
    }
    let plan = plan(&catalogue, &base, &new, measuring, options)?;
    let store = Store::open(&store.path()?)?;
    let session = Session {
        checkout: &checkout,
        catalogue: &catalogue,
        store: &store,
        isolation: Isolation::WherePossible,
        repeat_disturbed: true,
    };
    let record = session.carry_out(&plan)?;
    let trials = store.trials(&record.id)?;
    let change = compare_in_run(&trials, &base.id, &new.id, options)?;
    Ok((change, record.id))
}

fn plan(
    catalogue: &Catalogue,
    base: &Chosen,
    new: &Chosen,
    measuring: &Measuring,
    options: &ChangeOptions,
) -> anyhow::Result<Plan> {
    let (contract, protocol) = subject::common(catalogue, base, new, measuring.contract.as_deref())?;
    let (workload, load) = catalogue
        .contract(&contract)
        .map_err(bad_input)?
        .load_of(measuring.workload.as_deref())
        .map_err(bad_input)?;
    let group = GroupPlan {
        contract,
        workload,
        load,
        warm_up: WARM_UP,
        duration_ns: measuring.duration.0.as_nanos() as u64,
        timeout_ns: TIMEOUT_NS,
        search: None,
    };
    let services = [base, new].map(|chosen| subject::find(catalogue, chosen));
    Ok(Plan {
        title: format!("{} against {}", new.id, base.id),
        confidence: options.confidence,
        tie: Some(options.tie_band),
        ..Plan::of_group("compare", measuring.rounds, group, &services, protocol)
    })
}
