//! Two services, or git revisions of one, and what both are measured under; a comparison measures them side by side in the
//! same rounds.

use crate::RunEnd;
use crate::error::Told as _;
use crate::project::{Chosen, Named, choose, common, find};
use crate::{BenchError, Checkout, Session, Shows, Workbench};
use prony_config::contract::Contract;
use prony_config::{Catalogue, GroupPlan, Plan, WarmUpChoice};
use prony_load::Load;
use prony_statistics::{ChangeOptions, RunChange, compare_in_run};
use prony_store::Store;
use std::time::Duration;

/// Warm-up of each trial of a comparison.
const WARM_UP: WarmUpChoice = WarmUpChoice::Steady {
    least_ns: 1_000_000_000,
    most_ns: 10_000_000_000,
};
/// A request without a complete reply after this long has failed.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Who is measured against whom, and under what.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// One of them; in a comparison what to compare with.
    pub first: &'a Named,
    /// The other; in a comparison what to judge.
    pub second: &'a Named,
    /// Rounds.
    pub rounds: u32,
    /// Length of each measurement.
    pub duration: Duration,
    /// The contract; the first that both fulfil where absent.
    pub contract: Option<&'a str>,
    /// The workload of the contract; its first where absent.
    pub workload: Option<&'a str>,
}

impl Pair<'_> {
    /// Both of them in the catalogue, which takes a revision in.
    pub(crate) fn choose(
        &self,
        checkout: &Checkout,
        catalogue: &mut Catalogue,
    ) -> Result<[Chosen; 2], BenchError> {
        let first = choose(self.first, checkout, catalogue)?;
        let second = choose(self.second, checkout, catalogue)?;
        Ok([first, second])
    }

    /// What both are measured under: this load, or the workload's own.
    pub(crate) fn group(
        &self,
        contract: &Contract,
        load: Option<&Load>,
        warm_up: WarmUpChoice,
    ) -> Result<GroupPlan, BenchError> {
        let (workload, own) = contract.load_of(self.workload).input()?;
        Ok(GroupPlan {
            contract: contract.name.clone(),
            workload,
            load: load.cloned().unwrap_or(own),
            warm_up,
            duration_ns: self.duration.as_nanos() as u64,
            timeout_ns: TIMEOUT.as_nanos() as u64,
            search: None,
            rank_by: None,
        })
    }
}

/// Measures both in the same rounds, stores the run, and compares; gives the run's name as well.
pub fn compare_side_by_side(
    pair: &Pair<'_>,
    store: &Store,
    workbench: &Workbench,
    options: &ChangeOptions,
    shows: &mut dyn FnMut(&Plan) -> Box<dyn Shows>,
) -> Result<(RunChange, String), BenchError> {
    let checkout = Checkout::find()?;
    let mut catalogue = checkout.catalogue()?;
    let [base, new] = pair.choose(&checkout, &mut catalogue)?;
    if base.id == new.id {
        return Err(BenchError::Input(format!(
            "both are {}: name another variant or revision",
            base.id
        )));
    }
    let plan = plan(&catalogue, &base, &new, pair, options)?;
    let session = Session {
        checkout: &checkout,
        catalogue: &catalogue,
        store,
        workbench,
    };
    let (record, end) = session.measure(&plan, None, &mut *shows(&plan))?;
    if end == RunEnd::Interrupted {
        return Err(BenchError::Interrupted(format!(
            "ended early, so nothing is compared: `prony report {}` shows what was measured",
            record.id
        )));
    }
    if let RunEnd::HostLost(reason) = end {
        return Err(BenchError::Failed(format!(
            "a host is lost, so nothing is compared: {reason}; `prony report {}` shows what was measured",
            record.id
        )));
    }
    let trials = store.trials(&record.id)?;
    let change = compare_in_run(&trials, &base.id, &new.id, options)?;
    Ok((change, record.id))
}

fn plan(
    catalogue: &Catalogue,
    base: &Chosen,
    new: &Chosen,
    pair: &Pair<'_>,
    options: &ChangeOptions,
) -> Result<Plan, BenchError> {
    let (contract, protocol) = common(catalogue, base, new, pair.contract)?;
    let group = pair.group(catalogue.contract(&contract)?, None, WARM_UP)?;
    let services = [base, new].map(|chosen| find(catalogue, chosen));
    Ok(Plan {
        title: format!("{} against {}", new.id, base.id),
        confidence: options.confidence,
        tie: Some(options.tie_band),
        ..Plan::of_group("compare", pair.rounds, group, &services, protocol)
    })
}
