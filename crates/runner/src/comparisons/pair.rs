//! Two services, or git revisions of one, and what both are measured under; a comparison measures them side by side in the
//! same rounds.

use crate::RunEnd;
use crate::error::ErrorContext as _;
use crate::project::{SelectedService, ServiceSelector, choose, common, find};
use crate::{Checkout, CommandError, LocalTestbed, ResumedRun, Session, SessionObserver};
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
pub struct ComparisonPair<'a> {
    /// One of them; in a comparison what to compare with.
    pub first: &'a ServiceSelector,
    /// The other; in a comparison what to judge.
    pub second: &'a ServiceSelector,
    /// Rounds.
    pub rounds: u32,
    /// Length of each measurement.
    pub duration: Duration,
    /// The contract; the first that both fulfil where absent.
    pub contract: Option<&'a str>,
    /// The workload of the contract; its first where absent.
    pub workload: Option<&'a str>,
    /// The run to continue, which was stopped early; `None`: a new run.
    pub resume: Option<&'a str>,
}

impl ComparisonPair<'_> {
    /// Both of them in the catalogue, which takes a revision in.
    pub(crate) fn choose(
        &self,
        checkout: &Checkout,
        catalogue: &mut Catalogue,
    ) -> Result<[SelectedService; 2], CommandError> {
        let first = choose(self.first, checkout, catalogue)?;
        let second = choose(self.second, checkout, catalogue)?;
        Ok([first, second])
    }

    /// The run to continue. The plan takes its seed, and must be equal otherwise.
    pub(crate) fn resumed(&self, store: &Store, plan: &mut Plan) -> Result<Option<ResumedRun>, CommandError> {
        let Some(name) = self.resume else {
            return Ok(None);
        };
        let run = store.find_run(name).input()?;
        let resumed = ResumedRun::of(store, &run, false)?;
        let stored = resumed.plan()?;
        plan.seed = stored.seed;
        if *plan == stored {
            return Ok(Some(resumed));
        }
        Err(CommandError::Input(format!(
            "the run {run} has other services or options: repeat the command that started it and add `--resume {run}`, or leave \
             out --resume to start a new run"
        )))
    }

    /// What both are measured under: this load, or the workload's own.
    pub(crate) fn group(
        &self,
        contract: &Contract,
        load: Option<&Load>,
        warm_up: WarmUpChoice,
    ) -> Result<GroupPlan, CommandError> {
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
    pair: &ComparisonPair<'_>,
    store: &Store,
    workbench: &LocalTestbed,
    options: &ChangeOptions,
    shows: &mut dyn FnMut(&Plan) -> Box<dyn SessionObserver>,
) -> Result<(RunChange, String), CommandError> {
    let checkout = Checkout::find()?;
    let mut catalogue = checkout.catalogue()?;
    let [base, new] = pair.choose(&checkout, &mut catalogue)?;
    if base.id == new.id {
        return Err(CommandError::Input(format!(
            "both are {}: name another variant or revision",
            base.id
        )));
    }
    let mut plan = plan(&catalogue, &base, &new, pair, options)?;
    let resumed = pair.resumed(store, &mut plan)?;
    let session = Session {
        checkout: &checkout,
        catalogue: &catalogue,
        store,
        workbench,
    };
    let (record, end) = session.measure(&plan, resumed, &mut *shows(&plan))?;
    if end == RunEnd::Interrupted {
        return Err(CommandError::Interrupted(format!(
            "stopped early, so nothing is compared: repeat the command with `--resume {}` to continue",
            record.id
        )));
    }
    if let RunEnd::HostLost(reason) = end {
        return Err(CommandError::Failed(format!(
            "a host is lost, so nothing is compared: {reason}; repeat the command with `--resume {}` to continue",
            record.id
        )));
    }
    let trials = store.trials(&record.id)?;
    let change = compare_in_run(&trials, &base.id, &new.id, options)?;
    Ok((change, record.id))
}

fn plan(
    catalogue: &Catalogue,
    base: &SelectedService,
    new: &SelectedService,
    pair: &ComparisonPair<'_>,
    options: &ChangeOptions,
) -> Result<Plan, CommandError> {
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
