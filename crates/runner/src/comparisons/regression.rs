//! The regression test of a pull request: two versions are loaded at the same time and compared.

use super::code_layout::code_layout;
use super::{ProgressFn, ProgressLines};
use crate::designs::{Judgement, Regression};
use crate::error::ErrorContext as _;
use crate::project::{choose, common, find};
use crate::{Checkout, CommandError, ComparisonPair, LocalTestbed, Session};
use prony_config::{Design, Plan};
use prony_load::Load;
use prony_records::TrialRecord;
use prony_statistics::{ChangeOptions, DetectableChange, RunChange};
use prony_store::Store;
use std::collections::BTreeSet;
use std::time::Duration;

/// Name of the suite in the store.
pub const SUITE: &str = "compare-at-once";

/// Options of a regression test.
#[derive(Debug, Clone, Copy)]
pub struct RegressionOptions<'a> {
    /// Connections of a closed load to each version; `None`: the default load of the workload.
    pub connections: Option<u32>,
    /// Maximum total time.
    pub budget: Option<Duration>,
    /// Options of the statistics.
    pub options: &'a ChangeOptions,
}

/// The result of a regression test.
#[derive(Debug)]
pub struct RegressionResult {
    /// The change between the versions.
    pub change: RunChange,
    /// The A/A result: the base compared with itself.
    pub itself: RunChange,
    /// The share by which both may differ because they are different builds of a compiled service; otherwise `None`.
    pub code_layout: Option<f64>,
    /// The smallest changes that this test could have detected.
    pub smallest: Vec<DetectableChange>,
    /// Number of rounds.
    pub rounds: u32,
    /// Number of those rounds that were added because the first ones indicated a regression.
    pub again: u32,
    /// Name of the stored run.
    pub run: String,
}

/// Loads both versions at the same time, round by round; then the base against itself; then adds rounds as long as the new version
/// seems slower without proof.
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
    super::check_distinct(&base, &new)?;
    let copy = super::add_copy(&mut catalogue, &base);
    let (contract, protocol) = common(&catalogue, &base, &new, pair.contract)?;
    let contract = catalogue.contract(&contract)?;
    let (_, own) = contract.load_of(pair.workload).input()?;
    let load = how
        .connections
        .map_or(own, |connections| Load::closed(connections, 1));
    let group = pair.group(contract, Some(&load))?;
    let services = [&base, &new, &copy].map(|chosen| find(&catalogue, chosen));
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
    super::check_complete(&end, &record.id)?;
    let trials = store.trials(&record.id)?;
    super::check_not_excluded(&trials)?;
    let [base, new, _] = services;
    let code_layout = code_layout(&catalogue, &record, [base, new]);
    result_of(&design, &trials, (record.id, code_layout))
}

fn result_of(
    design: &Regression<'_>,
    trials: &[TrialRecord],
    (run, code_layout): (String, Option<f64>),
) -> Result<RegressionResult, CommandError> {
    if trials.iter().all(|trial| trial.result.is_err()) {
        let first = trials
            .iter()
            .find_map(|trial| Some((trial, trial.result.as_ref().err()?)));
        return Err(CommandError::Failed(first.map_or_else(
            || "no round was measured".to_owned(),
            |(trial, excluded)| super::failure_text(trial, excluded),
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
        code_layout,
        rounds: all,
        again: if further > 0 { rounds(&|look| look > 1) } else { 0 },
        run,
    })
}
