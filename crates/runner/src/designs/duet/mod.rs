//! Two services at once under the same load, compared window by window.

mod against;
mod placement;
mod player;
mod round;
mod stage;
mod verdict;

pub use against::{Against, AtOnce, compare_at_once};
pub use round::Round;
pub use verdict::{compared, ratio, sample, verdict};

use crate::clock::now;
use crate::error::Told as _;
use crate::project::{Chosen, common, find};
use crate::{AllBuilt, BenchError, Checkout, Pair, Session, Workbench};
use crate::{Builder, Built, Folders, Progress, prepare};
use prony_config::contract::Contract;
use prony_config::{Catalogue, Plan, Service, WarmUpChoice};
use prony_load::{Load, Protocol};
use prony_records::{Quantile, RunRecord, ServiceId, Warning, WarningKind};
use prony_statistics::{Duet, DuetRound, duet};
use prony_store::Store;
use serde::Serialize;
use stage::Stage;
use std::time::{Duration, Instant};

/// What stands for the suite of a duet in the store.
pub const SUITE: &str = "duet";
/// Rounds from which metrics that have one value a round have an interval.
pub const ROUNDS_FOR_TIMES: u32 = 6;

/// What no interval of a duet holds.
const BIAS: &str = "both services shared their CPUs: between services of different kinds (an interpreter beside compiled code) the ratio may \
     be off by up to a third; between two versions of one service this cancels";

/// What the variant of a service that plays against itself ends with.
const AGAIN: &str = "+again";

/// Who hears how it goes.
pub type Tell<'a> = &'a (dyn Fn(&str) + Sync);

/// What is to be played.
#[derive(Debug, Clone)]
pub struct Wish<'a> {
    /// The two; their rounds are an even number.
    pub pair: Pair<'a>,
    /// Load before the measurement.
    pub warm_up: Duration,
    /// What each of the two is loaded with.
    pub load: Load,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Differences below this count as none.
    pub tie: f64,
    /// When no further two rounds begin that would not be over by then; two are played in any case.
    pub until: Option<Instant>,
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

/// Plays a duet and keeps it as a run, round by round.
pub fn play(
    wish: &Wish<'_>,
    store: &Store,
    workbench: &Workbench,
    tell: Tell<'_>,
) -> Result<Outcome, BenchError> {
    let checkout = Checkout::find()?;
    let mut catalogue = checkout.catalogue()?;
    let (first, second) = both(wish, &checkout, &mut catalogue)?;
    let (contract, protocol) = common(&catalogue, &first, &second, wish.pair.contract)?;
    let services = [&first, &second].map(|chosen| find(&catalogue, chosen));
    checkout.has_room(services.map(|service| service.name.as_str()))?;
    workbench.hold(&|text| tell(text))?;
    let links = workbench.links()?;
    let built = build(services, &catalogue, &checkout, workbench, tell)?;
    let contract = catalogue.contract(&contract)?;
    let plan = plan(wish, contract, services, protocol)?;
    let places = placement::places(&workbench.testbed, !contract.backing_services().is_empty());
    let bench = workbench.bench(&catalogue);
    let given = prepare(&bench, contract, plan.seed);
    let given = given.map_err(|failure| BenchError::Failed(failure.reason))?;
    let stage = Stage {
        bench,
        wish,
        plan: &plan,
        contract: &given,
        services,
        built: &built,
        places,
        links,
    };
    let session = Session {
        checkout: &checkout,
        catalogue: &catalogue,
        store,
        workbench,
    };
    perform(&stage, &session, tell)
}

/// The two, different in name: one service against itself is there twice.
fn both(
    wish: &Wish<'_>,
    checkout: &Checkout,
    catalogue: &mut Catalogue,
) -> Result<(Chosen, Chosen), BenchError> {
    let [first, second] = wish.pair.choose(checkout, catalogue)?;
    if first.id != second.id {
        return Ok((first, second));
    }
    let mut again = find(catalogue, &second).clone();
    again.variant.push_str(AGAIN);
    again.default = false;
    let id = id_of(&again);
    catalogue.services.push(again);
    Ok((first, Chosen { id }))
}

/// The plan that is stored with what was played.
fn plan(
    wish: &Wish<'_>,
    contract: &Contract,
    services: [&Service; 2],
    protocol: Protocol,
) -> Result<Plan, BenchError> {
    let warm_up = WarmUpChoice::FixedNs(wish.warm_up.as_nanos() as u64);
    let group = wish.pair.group(contract, Some(&wish.load), warm_up)?;
    let [first, second] = services.map(Service::label);
    Ok(Plan {
        title: format!("{first} and {second} at once"),
        confidence: wish.confidence,
        tie: Some(wish.tie),
        ..Plan::of_group(SUITE, wish.pair.rounds, group, &services, protocol)
    })
}

fn perform(stage: &Stage<'_>, session: &Session<'_>, tell: Tell<'_>) -> Result<Outcome, BenchError> {
    let built: AllBuilt = stage
        .services
        .iter()
        .map(|service| id_of(service))
        .zip(stage.built.iter().cloned().map(Ok))
        .collect();
    let (record, _lock) = session.begin(stage.plan, &built)?;
    let played = stage.play(tell, &mut |round| {
        for trial in &round.trials {
            session.store.append_trial(&record.id, trial)?;
        }
        Ok(())
    });
    let outcome = played.and_then(|rounds| outcome_of(stage, &record, rounds));
    let told = match &outcome {
        Ok(outcome) if !outcome.interrupted => Ok(verdict::sentence(outcome)),
        Ok(outcome) => Err(format!("after {} rounds", outcome.rounds.len())),
        Err(error) => Err(error.to_string()),
    };
    let cut = outcome.as_ref().ok().filter(|outcome| !outcome.interrupted);
    let cut = cut
        .map(|outcome| outcome.rounds.len() as u32)
        .filter(|played| *played < stage.plan.rounds);
    finish(session.store, &record, told, cut)?;
    outcome
}

/// Says in the run what it was and how it ended.
fn finish(
    store: &Store,
    record: &RunRecord,
    told: Result<String, String>,
    cut: Option<u32>,
) -> Result<(), BenchError> {
    let mut warnings = vec![Warning::new(
        WarningKind::Note,
        format!(
            "a duet: both services ran at the same time, so that their ratio counts, not their values; {BIAS}"
        ),
    )];
    warnings.push(match told {
        Ok(result) => Warning::new(WarningKind::Note, result),
        Err(reason) => Warning::new(WarningKind::Interrupted, format!("it ended early: {reason}")),
    });
    if let Some(rounds) = cut {
        store.extend_run(&record.id, 2 * rounds, &now())?;
        warnings.push(Warning::new(
            WarningKind::BudgetSpent,
            format!("the budget of time was spent after {rounds} rounds"),
        ));
    }
    Ok(store.finish_run(&record.id, &now(), &warnings)?)
}

fn outcome_of(stage: &Stage<'_>, record: &RunRecord, rounds: Vec<Round>) -> Result<Outcome, BenchError> {
    let wish = stage.wish;
    let interrupted = stage.bench.cancel.is_asked() && rounds.len() < wish.pair.rounds as usize;
    if interrupted && rounds.is_empty() {
        return Err(BenchError::Interrupted(
            "ended before the first round was over".to_owned(),
        ));
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
    let [first, second] = stage.services.map(Service::label);
    Ok(Outcome {
        schema: 1,
        run: record.id.clone(),
        first,
        second,
        contract: stage.contract.name.clone(),
        workload: stage.plan.groups[0].workload.clone(),
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
        warnings: stage.warnings(&rounds),
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

fn build(
    services: [&Service; 2],
    catalogue: &Catalogue,
    checkout: &Checkout,
    workbench: &Workbench,
    tell: Tell<'_>,
) -> Result<Vec<Built>, BenchError> {
    let folders = Folders::of(&checkout.root, &checkout.state());
    let builder = Builder::new(
        &workbench.testbed,
        &catalogue.toolchains,
        folders,
        &workbench.cancel,
    );
    let one = |service: &Service| {
        tell(&format!("building {}", service.label()));
        let waits = |progress: Progress| {
            if let Some(text) = progress.waits() {
                tell(&text);
            }
        };
        builder.build_watched(service, &waits).map_err(|excluded| {
            let log = excluded.log_tail.join("\n    ");
            BenchError::Failed(format!(
                "{} cannot be built: {}\n    {log}",
                service.label(),
                excluded.reason
            ))
        })
    };
    let [first, second] = services;
    let built = one(first)?;
    // Where it is built nobody knows that it is there twice.
    if second.label().strip_suffix(AGAIN) == Some(&first.label()) {
        return Ok(vec![built.clone(), built]);
    }
    Ok(vec![built, one(second)?])
}

fn id_of(service: &Service) -> ServiceId {
    ServiceId {
        service: service.name.clone(),
        variant: service.variant.clone(),
    }
}
