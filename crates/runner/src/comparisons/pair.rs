//! A comparison of two services, or of two git revisions of one, side by side in the same rounds.

use super::code_layout::code_layout;
use crate::error::ErrorContext as _;
use crate::project::{SelectedService, ServiceSelector, choose, common, find};
use crate::{Checkout, CommandError, LocalTestbed, ResumeOptions, ResumedRun, Session, SessionObserver};
use prony_config::contract::Contract;
use prony_config::{Catalogue, GroupPlan, Plan, WarmUpChoice};
use prony_load::Load;
use prony_statistics::{ChangeOptions, RunChange, compare_in_run};
use prony_store::Store;
use std::time::Duration;

/// Timeout of requests.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The two services and the load of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonPair<'a> {
    /// One service; in a comparison the base.
    pub first: &'a ServiceSelector,
    /// The other service; in a comparison the one to judge.
    pub second: &'a ServiceSelector,
    /// Number of rounds.
    pub rounds: u32,
    /// Length of each measurement.
    pub duration: Duration,
    /// The contract; `None`: the first that both implement.
    pub contract: Option<&'a str>,
    /// The workload of the contract; `None`: its first.
    pub workload: Option<&'a str>,
    /// The warm-up of each trial.
    pub warm_up: WarmUpChoice,
    /// The run to continue; `None`: a new run.
    pub resume: Option<ResumeFrom<'a>>,
    /// How it is continued.
    pub resume_options: ResumeOptions,
}

/// A run that is continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeFrom<'a> {
    /// The run of this name, which must have the same services and options.
    Run(&'a str),
    /// The latest run with the same services and options, if there is one. One that ended is not measured again.
    Equal,
}

impl ComparisonPair<'_> {
    /// Finds both in the catalogue, and adds revisions to it.
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
        let name = match self.resume {
            None => return Ok(None),
            Some(ResumeFrom::Equal) => return self.latest_equal(store, plan),
            Some(ResumeFrom::Run(name)) => name,
        };
        let run = store.find_run(name).input()?;
        let resumed = ResumedRun::of(store, &run, self.resume_options)?;
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

    fn latest_equal(&self, store: &Store, plan: &mut Plan) -> Result<Option<ResumedRun>, CommandError> {
        for entry in store
            .runs()?
            .into_iter()
            .filter(|entry| entry.suite == plan.suite)
        {
            // A plan of another version of prony is another one.
            let Ok(stored) = serde_json::from_value::<Plan>(store.run(&entry.id)?.plan) else {
                continue;
            };
            let seed = std::mem::replace(&mut plan.seed, stored.seed);
            if *plan == stored {
                return ResumedRun::of(store, &entry.id, self.resume_options).map(Some);
            }
            plan.seed = seed;
        }
        Ok(None)
    }

    /// The group of both: this load, or the default load of the workload.
    pub(crate) fn group(&self, contract: &Contract, load: Option<&Load>) -> Result<GroupPlan, CommandError> {
        let (workload, own) = contract.load_of(self.workload).input()?;
        Ok(GroupPlan {
            contract: contract.name.clone(),
            workload,
            load: load.cloned().unwrap_or(own),
            warm_up: self.warm_up,
            duration_ns: self.duration.as_nanos() as u64,
            timeout_ns: TIMEOUT.as_nanos() as u64,
            search: None,
            rank_by: None,
            start: None,
            rounds: None,
            over: None,
            requests_per_connection: None,
            resumption: None,
            baselines: [].into(),
        })
    }
}

/// What was found in the same rounds.
#[derive(Debug)]
pub struct PairResult {
    /// The change between both.
    pub change: RunChange,
    /// The share by which both may differ because they are different builds of a compiled service; otherwise `None`.
    pub code_layout: Option<f64>,
    /// Name of the stored run.
    pub run: String,
}

/// Measures both in the same rounds, stores the run and compares them.
pub fn compare_side_by_side(
    pair: &ComparisonPair<'_>,
    store: &Store,
    workbench: &LocalTestbed,
    options: &ChangeOptions,
    observe: &mut dyn FnMut(&Plan) -> Box<dyn SessionObserver>,
) -> Result<PairResult, CommandError> {
    let checkout = Checkout::find()?;
    let mut catalogue = checkout.catalogue()?;
    let [base, new] = pair.choose(&checkout, &mut catalogue)?;
    super::check_distinct(&base, &new)?;
    let mut plan = plan(&catalogue, &base, &new, pair, options)?;
    let resumed = pair.resumed(store, &mut plan)?;
    let session = Session {
        checkout: &checkout,
        catalogue: &catalogue,
        store,
        workbench,
    };
    let (record, end) = session.measure(&plan, resumed, &mut *observe(&plan))?;
    super::check_complete(&end, &record.id)?;
    let trials = store.trials(&record.id)?;
    super::check_not_excluded(&trials)?;
    let change = compare_in_run(&trials, &base.id, &new.id, options)?;
    let sides = [&base, &new].map(|chosen| find(&catalogue, chosen));
    Ok(PairResult {
        change,
        code_layout: code_layout(&catalogue, &record, sides),
        run: record.id,
    })
}

fn plan(
    catalogue: &Catalogue,
    base: &SelectedService,
    new: &SelectedService,
    pair: &ComparisonPair<'_>,
    options: &ChangeOptions,
) -> Result<Plan, CommandError> {
    let (contract, protocol) = common(catalogue, base, new, pair.contract)?;
    let group = pair.group(catalogue.contract(&contract)?, None)?;
    let services = [base, new].map(|chosen| find(catalogue, chosen));
    Ok(Plan {
        title: format!("{} against {}", new.id, base.id),
        confidence: options.confidence,
        tie: Some(options.tie_band),
        ..Plan::of_group("compare", pair.rounds, group, &services, protocol)
    })
}
