//! Two versions loaded at the same time, and a verdict: the gate of a pull request.

use super::lines::{ProgressFn, ProgressLines};
use crate::designs::{Judgement, Regression};
use crate::error::ErrorContext as _;
use crate::project::{choose, common, find};
use crate::{Checkout, CommandError, ComparisonPair, LocalTestbed, RunEnd, Session};
use prony_config::{Design, Plan, WarmUpChoice};
use prony_load::Load;
use prony_records::TrialRecord;
use prony_statistics::{ChangeOptions, DetectableChange, RunChange};
use prony_store::Store;
use std::collections::BTreeSet;
use std::time::Duration;

/// The suite of such a run in the store.
pub const SUITE: &str = "compare-at-once";

/// Under what, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct RegressionOptions<'a> {
    /// Load before each measurement.
    pub warm_up: Duration,
    /// Connections of a closed load to each; `None`: the workload's own load.
    pub connections: Option<u32>,
    /// The time that all of it may take.
    pub budget: Option<Duration>,
    /// How to judge.
    pub options: &'a ChangeOptions,
}

/// The result of a regression test.
#[derive(Debug)]
pub struct RegressionResult {
    /// What changed.
    pub change: RunChange,
    /// The difference of the base from itself, in the same way on the same machine.
    pub itself: RunChange,
    /// The smallest change that this comparison could have found.
    pub smallest: Vec<DetectableChange>,
    /// Rounds of the comparison.
    pub rounds: u32,
    /// How many of them came from further looks, which only the suspicious get.
    pub again: u32,
    /// The run that it is stored as.
    pub run: String,
}

/// Loads both at the same time, round by round; then the base against itself; then both again, look by look, as long as the new
/// seems slower and that is not proven.
pub fn compare_at_once(
    pair: &ComparisonPair<'_>,
    how: RegressionOptions<'_>,
    store: &Store,
    workbench: &LocalTestbed,
    tell: ProgressFn<'_>,
) -> Result<RegressionResult, CommandError> {
    let checkout = Checkout::find()?;
    let mut catalogue = checkout.catalogue()?;
    let base = choose(pair.first, &checkout, &mut catalogue)?;
    let new = choose(pair.second, &checkout, &mut catalogue)?;
    if base.id == new.id {
        return Err(CommandError::Input(format!(
            "both are {}: name another variant or revision",
            base.id
        )));
    }
    let again = super::again(&mut catalogue, &base);
    let (contract, protocol) = common(&catalogue, &base, &new, pair.contract)?;
    let contract = catalogue.contract(&contract)?;
    let (_, own) = contract.load_of(pair.workload).input()?;
    let load = how
        .connections
        .map_or(own, |connections| Load::closed(connections, 1));
    let warm_up = WarmUpChoice::FixedNs(how.warm_up.as_nanos() as u64);
    let group = pair.group(contract, Some(&load), warm_up)?;
    let services = [&base, &new, &again].map(|chosen| find(&catalogue, chosen));
    let mut plan = Plan {
        title: format!("{} against {} at once", new.id, base.id),
        confidence: how.options.confidence,
        tie: Some(how.options.tie_band),
        design: Design::Regression,
        ..Plan::of_group(SUITE, Regression::rounds(pair.rounds), group, &services, protocol)
    };
    let resumed = pair.resumed(store, &mut plan)?;
    let design = Regression::new(&plan, how.options, how.budget);
    let session = Session {
        checkout: &checkout,
        catalogue: &catalogue,
        store,
        workbench,
    };
    let (record, end) = session.measure_by(&design, &plan, resumed, &mut ProgressLines::new(&plan, tell))?;
    is_complete(&end, &record.id)?;
    let trials = store.trials(&record.id)?;
    judged(&design, &trials, record.id)
}

fn is_complete(end: &RunEnd, run: &str) -> Result<(), CommandError> {
    match end {
        RunEnd::Interrupted => Err(CommandError::Interrupted(format!(
            "stopped early, so nothing is compared: repeat the command with `--resume {run}` to continue"
        ))),
        RunEnd::HostLost(reason) => Err(CommandError::Failed(format!(
            "a host is lost, so nothing is compared: {reason}; repeat the command with `--resume {run}` to continue"
        ))),
        RunEnd::Complete | RunEnd::Precise | RunEnd::BudgetSpent => Ok(()),
    }
}

fn judged(
    design: &Regression<'_>,
    trials: &[TrialRecord],
    run: String,
) -> Result<RegressionResult, CommandError> {
    if trials.iter().all(|trial| trial.result.is_err()) {
        let first = trials
            .iter()
            .find_map(|trial| Some((trial, trial.result.as_ref().err()?)));
        return Err(CommandError::Failed(first.map_or_else(
            || "no round was measured".to_owned(),
            |(trial, excluded)| super::failure(trial, excluded),
        )));
    }
    let Judgement {
        change,
        itself,
        options,
        further,
    } = design.judge(trials, design.further_looks(trials))?;
    let rounds = |looks: &dyn Fn(u32) -> bool| {
        let measured = trials.iter().filter(|trial| trial.result.is_ok());
        let rounds = measured
            .map(|trial| trial.round)
            .filter(|&round| looks(design.look_of(round)));
        rounds.collect::<BTreeSet<u32>>().len() as u32
    };
    let all = rounds(&|look| look != 1);
    Ok(RegressionResult {
        smallest: change.smallest_differences(all, options.confidence),
        change,
        itself,
        rounds: all,
        again: if further > 0 { rounds(&|look| look > 1) } else { 0 },
        run,
    })
}
