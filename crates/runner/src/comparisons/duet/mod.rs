//! Two services at once under the same load, compared window by window.

mod round;
mod verdict;

pub use round::Round;
pub use verdict::{compared, ratio, sample, verdict};

use super::lines::{ProgressFn, ProgressLines};
use crate::clock::now;
use crate::designs::{Duet as DuetDesign, is_reversed};
use crate::error::ErrorContext as _;
use crate::project::{SelectedService, common, find};
use crate::trial::service_id;
use crate::{Checkout, CommandError, ComparisonPair, LocalTestbed, RunEnd, Session};
use prony_config::contract::Contract;
use prony_config::{Catalogue, Design, Plan, Service, WarmUpChoice};
use prony_load::{Load, Protocol};
use prony_records::{Quantile, RunRecord, TrialRecord, Warning, WarningKind, that_count};
use prony_statistics::{Duet, DuetRound, duet};
use prony_store::Store;
use serde::Serialize;
use std::time::Duration;

/// What stands for the suite of a duet in the store.
pub const SUITE: &str = "duet";
/// Rounds from which metrics that have one value a round have an interval.
pub const ROUNDS_FOR_TIMES: u32 = 6;

/// What no interval of a duet holds.
const BIAS: &str = "both services shared their CPUs: between services of different kinds (an interpreter and compiled code) the ratio may \
     be off by up to a third; between two versions of one service this cancels";

/// What is to be played.
#[derive(Debug, Clone)]
pub struct CleanOptions<'a> {
    /// The two; their rounds are an even number.
    pub pair: ComparisonPair<'a>,
    /// Load before the measurement.
    pub warm_up: Duration,
    /// What each of the two is loaded with.
    pub load: Load,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Differences below this count as none.
    pub tie: f64,
}

/// What a duet gave.
#[derive(Debug, Serialize)]
pub struct Outcome {
    schema: u32,
    /// The run that it is stored as.
    pub run: String,
    /// One service.
    pub first: String,
    /// The other.
    pub second: String,
    /// The contract.
    pub contract: String,
    /// The workload.
    pub workload: String,
    /// What each was loaded with.
    pub load: Load,
    /// Connections to each.
    pub connections: u32,
    /// How the two shared the machine: `shared`, both services on the same CPUs. Older records know `sides` as well.
    pub placement: &'static str,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Differences below this count as none.
    pub tie_band: f64,
    /// First over second, valid replies per second.
    pub goodput: Duet,
    /// First over second, median response time, a value for each round; `None` with too few rounds.
    pub response_time_ns_p50: Option<Duet>,
    /// First over second, 99th percentile of the response time, a value for each round; `None` with too few rounds.
    pub response_time_ns_p99: Option<Duet>,
    /// First over second, CPU time per reply of the service alone, a value for each round; `None` where it is not known.
    pub cpu_per_request: Option<Duet>,
    /// What each round gave.
    pub rounds: Vec<Round>,
    /// By what the ratio may be wrong though its interval is narrow.
    pub bias: &'static str,
    /// What is not as it should be.
    pub warnings: Vec<String>,
    /// Whether it was ended before its last round: then nothing is judged.
    pub interrupted: bool,
}

/// Measures a duet and keeps it as a run, round by round.
pub fn play(
    wish: &CleanOptions<'_>,
    store: &Store,
    workbench: &LocalTestbed,
    tell: ProgressFn<'_>,
) -> Result<Outcome, CommandError> {
    let checkout = Checkout::find()?;
    let mut catalogue = checkout.catalogue()?;
    let (first, second) = both(wish, &checkout, &mut catalogue)?;
    let (contract, protocol) = common(&catalogue, &first, &second, wish.pair.contract)?;
    let services = [&first, &second].map(|chosen| find(&catalogue, chosen));
    let plan = plan(wish, catalogue.contract(&contract)?, services, protocol)?;
    let session = Session {
        checkout: &checkout,
        catalogue: &catalogue,
        store,
        workbench,
    };
    let design = DuetDesign {
        plan: &plan,
        budget: None,
    };
    let (record, end) = session.measure_by(&design, &plan, None, &mut ProgressLines::new(&plan, tell))?;
    let trials = store.trials(&record.id)?;
    let outcome = outcome_of(wish, (&plan, &record), (&trials, &end));
    let told = match &outcome {
        Ok(outcome) if !outcome.interrupted => Ok(verdict::sentence(outcome)),
        Ok(outcome) => Err(format!("after {} rounds", outcome.rounds.len())),
        Err(error) => Err(error.to_string()),
    };
    finish(store, &record, told)?;
    outcome
}

/// The two, different in name: one service against itself is there twice.
fn both(
    wish: &CleanOptions<'_>,
    checkout: &Checkout,
    catalogue: &mut Catalogue,
) -> Result<(SelectedService, SelectedService), CommandError> {
    let [first, second] = wish.pair.choose(checkout, catalogue)?;
    if first.id != second.id {
        return Ok((first, second));
    }
    let again = super::again(catalogue, &second);
    Ok((first, again))
}

/// The plan that is stored with what was measured.
fn plan(
    wish: &CleanOptions<'_>,
    contract: &Contract,
    services: [&Service; 2],
    protocol: Protocol,
) -> Result<Plan, CommandError> {
    let warm_up = WarmUpChoice::FixedNs(wish.warm_up.as_nanos() as u64);
    let group = wish.pair.group(contract, Some(&wish.load), warm_up)?;
    let [first, second] = services.map(Service::label);
    Ok(Plan {
        title: format!("{first} and {second} at once"),
        confidence: wish.confidence,
        tie: Some(wish.tie),
        design: Design::Duet,
        ..Plan::of_group(SUITE, wish.pair.rounds, group, &services, protocol)
    })
}

/// Says in the run what it was and how it ended.
fn finish(store: &Store, record: &RunRecord, told: Result<String, String>) -> Result<(), CommandError> {
    let note = format!(
        "a duet: both services ran at the same time, so that their ratio counts, not their values; {BIAS}"
    );
    let ended = match told {
        Ok(result) => Warning::new(WarningKind::Note, result),
        Err(reason) => Warning::new(WarningKind::Interrupted, format!("it ended early: {reason}")),
    };
    let warnings = [Warning::new(WarningKind::Note, note), ended];
    Ok(store.finish_run(&record.id, &now(), &warnings)?)
}

/// The rounds in which both were measured.
fn rounds_of(plan: &Plan, trials: &[TrialRecord]) -> Vec<Round> {
    let counting = that_count(trials);
    let of = |round: u32, entry: usize| {
        let id = service_id(&plan.entries[entry]);
        let mut own = counting
            .iter()
            .filter(|trial| trial.round == round && trial.service == id);
        own.find_map(|trial| trial.result.as_ref().ok())
    };
    let both = |round| Some((round, of(round, 0)?, of(round, 1)?));
    let measured = (0..plan.rounds).filter_map(both);
    measured
        .map(|(round, first, second)| Round::of(is_reversed(round), [first, second]))
        .collect()
}

/// That the network was the limit, with the number of rounds in which it was.
fn full_network(rounds: &[Round]) -> Option<String> {
    let full: Vec<&String> = rounds
        .iter()
        .filter_map(|round| round.network_limit.as_ref())
        .collect();
    let text = full.first()?;
    Some(format!("in {} of {} rounds {text}", full.len(), rounds.len()))
}

fn outcome_of(
    wish: &CleanOptions<'_>,
    (plan, record): (&Plan, &RunRecord),
    (trials, end): (&[TrialRecord], &RunEnd),
) -> Result<Outcome, CommandError> {
    let rounds = rounds_of(plan, trials);
    let interrupted = *end == RunEnd::Interrupted;
    if rounds.is_empty() {
        return Err(
            match trials
                .iter()
                .find_map(|trial| Some((trial, trial.result.as_ref().err()?)))
            {
                _ if interrupted => {
                    CommandError::Interrupted("ended before the first round was over".to_owned())
                }
                Some((trial, excluded)) => CommandError::Failed(super::failure(trial, excluded)),
                None => CommandError::Failed("no round was measured".to_owned()),
            },
        );
    }
    let windows: Vec<DuetRound> = rounds.iter().map(Round::windows).collect();
    let goodput = duet(&windows, wish.confidence)
        .failed(|| "too little was measured for a ratio: give longer or more rounds".to_owned())?;
    let times = |of: fn(&Round) -> [Option<Quantile>; 2]| {
        let enough = rounds.len() >= ROUNDS_FOR_TIMES as usize;
        let ratio = |round: &Round| {
            // Without a bound there is no ratio.
            let [first, second] = of(round).map(|time| time?.exact());
            Some(first? as f64 / second.filter(|ns| *ns > 0)? as f64)
        };
        enough
            .then(|| by_rounds(&rounds, ratio, wish.confidence))
            .flatten()
    };
    let [first, second] = [0, 1].map(|entry| service_id(&plan.entries[entry]).to_string());
    Ok(Outcome {
        schema: 1,
        run: record.id.clone(),
        first,
        second,
        contract: plan.groups[0].contract.clone(),
        workload: plan.groups[0].workload.clone(),
        load: wish.load.clone(),
        connections: wish.load.connections(),
        placement: "shared",
        confidence: wish.confidence,
        tie_band: wish.tie,
        goodput,
        response_time_ns_p50: times(|round| round.response_time_ns_p50),
        response_time_ns_p99: times(|round| round.response_time_ns_p99),
        cpu_per_request: by_rounds(&rounds, |round| round.cpu_ratio, wish.confidence),
        bias: BIAS,
        warnings: full_network(&rounds).into_iter().collect(),
        interrupted,
        rounds,
    })
}

/// A metric that has one ratio for a round; `None` where some round has none, or there are too few.
fn by_rounds(rounds: &[Round], ratio: impl Fn(&Round) -> Option<f64>, confidence: f64) -> Option<Duet> {
    let each: Vec<DuetRound> = rounds
        .iter()
        .map(|round| ratio(round).map(|ratio| round.single(ratio)))
        .collect::<Option<_>>()?;
    duet(&each, confidence).ok()
}
