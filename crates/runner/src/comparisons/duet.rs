//! A duet: two services at once under the same load, compared window by window.

use super::{ProgressFn, ProgressLines};
use crate::designs::{Duet as DuetDesign, is_reversed};
use crate::error::ErrorContext as _;
use crate::project::{SelectedService, common, find};
use crate::start_time::now;
use crate::trial::service_id;
use crate::{Checkout, CommandError, ComparisonPair, LocalTestbed, RunEnd, Session};
use prony_config::contract::Contract;
use prony_config::{Catalogue, Design, Plan, Service};
use prony_load::{Load, Protocol};
use prony_records::{
    Bottleneck, Measurement, Quantile, Recording, ResponseTimes, RunRecord, TrialRecord, Warning,
    WarningKind, that_count,
};
use prony_statistics::{Duet, DuetRound, DuetSample, Estimate, duet, synchronous};
use prony_store::Store;
use serde::Serialize;

/// Name of the suite in the store.
pub const SUITE: &str = "duet";
/// Minimum number of rounds for an interval of metrics with one value per round.
pub const ROUNDS_FOR_TIMES: u32 = 6;

/// The bias that no interval of a duet includes.
const BIAS: &str = "both services shared their CPUs: between services of different kinds (an interpreter and compiled code) the ratio may \
     be off by up to a third; between two versions of one service this cancels";

/// Options of a duet.
#[derive(Debug, Clone)]
pub struct DuetOptions<'a> {
    /// The two services; their number of rounds is even.
    pub pair: ComparisonPair<'a>,
    /// The load of each service.
    pub load: Load,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Smaller differences count as a tie.
    pub tie: f64,
}

/// The result of a duet.
#[derive(Debug, Serialize)]
pub struct Outcome {
    schema: u32,
    /// Name of the stored run.
    pub run: String,
    /// The first service.
    pub first: String,
    /// The second service.
    pub second: String,
    /// The contract.
    pub contract: String,
    /// The workload.
    pub workload: String,
    /// The load of each service.
    pub load: Load,
    /// Connections to each service.
    pub connections: u32,
    /// How the two shared the machine: `shared`, both services on the same CPUs. Older records may have `sides`.
    pub placement: &'static str,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Smaller differences count as a tie.
    pub tie_band: f64,
    /// Ratio of first to second: goodput.
    pub goodput: Duet,
    /// Ratio of the median response times, one value per round; `None` with too few rounds.
    pub response_time_ns_p50: Option<Duet>,
    /// Ratio of the 99th percentiles of the response time, one value per round; `None` with too few rounds.
    pub response_time_ns_p99: Option<Duet>,
    /// Ratio of the CPU time per reply, service only, one value per round; `None` if unknown.
    pub cpu_per_request: Option<Duet>,
    /// Results of each round.
    pub rounds: Vec<Round>,
    /// The bias that the interval does not include.
    pub bias: &'static str,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Whether it was cancelled before its last round; then there is no verdict.
    pub interrupted: bool,
}

/// Measures a duet and stores it as a run, round by round.
pub fn run(
    options: &DuetOptions<'_>,
    store: &Store,
    workbench: &LocalTestbed,
    tell: ProgressFn<'_>,
) -> Result<Outcome, CommandError> {
    let checkout = Checkout::find()?;
    let mut catalogue = checkout.catalogue()?;
    let (first, second) = choose_services(options, &checkout, &mut catalogue)?;
    let (contract, protocol) = common(&catalogue, &first, &second, options.pair.contract)?;
    let services = [&first, &second].map(|chosen| find(&catalogue, chosen));
    let mut plan = plan(options, catalogue.contract(&contract)?, services, protocol)?;
    let resumed = options.pair.resumed(store, &mut plan)?;
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
    let (record, end) = session.measure_by(&design, &plan, resumed, &mut ProgressLines::new(&plan, tell))?;
    if let RunEnd::HostLost(_) = end {
        super::check_complete(&end, &record.id)?;
    }
    let trials = store.trials(&record.id)?;
    let outcome = outcome_of(options, (&plan, &record), (&trials, &end));
    // A run that the user stopped has not ended: it can be continued.
    if end != RunEnd::Interrupted {
        let ending = match &outcome {
            Ok(outcome) => Ok(sentence(outcome)),
            Err(error) => Err(error.to_string()),
        };
        finish(store, &record, ending)?;
    }
    outcome
}

/// Finds both services. A service that is compared with itself gets a second name.
fn choose_services(
    options: &DuetOptions<'_>,
    checkout: &Checkout,
    catalogue: &mut Catalogue,
) -> Result<(SelectedService, SelectedService), CommandError> {
    let [first, second] = options.pair.choose(checkout, catalogue)?;
    if first.id != second.id {
        return Ok((first, second));
    }
    let copy = super::add_copy(catalogue, &second);
    Ok((first, copy))
}

/// The plan of a duet.
fn plan(
    options: &DuetOptions<'_>,
    contract: &Contract,
    services: [&Service; 2],
    protocol: Protocol,
) -> Result<Plan, CommandError> {
    let group = options.pair.group(contract, Some(&options.load))?;
    let [first, second] = services.map(Service::label);
    Ok(Plan {
        title: format!("{first} and {second} at once"),
        confidence: options.confidence,
        tie: Some(options.tie),
        design: Design::Duet,
        ..Plan::of_group(SUITE, options.pair.rounds, group, &services, protocol)
    })
}

/// Adds notes about the duet and its ending to the run.
fn finish(store: &Store, record: &RunRecord, ending: Result<String, String>) -> Result<(), CommandError> {
    let note = format!("Measured at the same time: read ratios, not values. Bias: {BIAS}.");
    let ended = match ending {
        Ok(result) => Warning::new(WarningKind::Note, result),
        Err(reason) => Warning::new(WarningKind::Interrupted, format!("Ended early: {reason}.")),
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

/// A warning if the network was the limit, with the number of rounds.
fn network_warning(rounds: &[Round]) -> Option<String> {
    let full: Vec<&String> = rounds
        .iter()
        .filter_map(|round| round.network_limit.as_ref())
        .collect();
    let text = full.first()?;
    Some(format!("{} of {} rounds: {text}", full.len(), rounds.len()))
}

/// A warning if rounds have no result, with the last failure.
fn missing_rounds(measured: usize, plan: &Plan, trials: &[TrialRecord]) -> Option<String> {
    let missing = (plan.rounds as usize)
        .checked_sub(measured)
        .filter(|count| *count > 0)?;
    let mut failed = that_count(trials).into_iter().rev();
    let last = failed.find_map(|trial| Some((trial, trial.result.as_ref().err()?)));
    let why = last.map(|(trial, excluded)| format!(": {}", super::failure_text(trial, excluded)));
    Some(format!(
        "{missing} of {} rounds have no result{}",
        plan.rounds,
        why.unwrap_or_default()
    ))
}

fn outcome_of(
    options: &DuetOptions<'_>,
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
                Some((trial, excluded)) => CommandError::Failed(super::failure_text(trial, excluded)),
                None => CommandError::Failed("no round was measured".to_owned()),
            },
        );
    }
    let missing = (!interrupted)
        .then(|| missing_rounds(rounds.len(), plan, trials))
        .flatten();
    let windows: Vec<DuetRound> = rounds.iter().map(Round::windows).collect();
    let goodput = duet(&windows, options.confidence)
        .failed(|| "too little was measured for a ratio: use longer or more rounds".to_owned())?;
    let times = |of: fn(&Round) -> [Option<Quantile>; 2]| {
        let enough = rounds.len() >= ROUNDS_FOR_TIMES as usize;
        let ratio = |round: &Round| {
            // There is no ratio if a quantile is not exact.
            let [first, second] = of(round).map(|time| time?.exact());
            Some(first? as f64 / second.filter(|ns| *ns > 0)? as f64)
        };
        enough
            .then(|| by_rounds(&rounds, ratio, options.confidence))
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
        load: options.load.clone(),
        connections: options.load.connections(),
        placement: "shared",
        confidence: options.confidence,
        tie_band: options.tie,
        goodput,
        response_time_ns_p50: times(|round| round.response_time_ns_p50),
        response_time_ns_p99: times(|round| round.response_time_ns_p99),
        cpu_per_request: by_rounds(&rounds, |round| round.cpu_ratio, options.confidence),
        bias: BIAS,
        warnings: [network_warning(&rounds), missing]
            .into_iter()
            .flatten()
            .collect(),
        interrupted,
        rounds,
    })
}

/// A metric with one ratio per round; `None` if a round has none, or there are too few.
fn by_rounds(rounds: &[Round], ratio: impl Fn(&Round) -> Option<f64>, confidence: f64) -> Option<Duet> {
    let each: Vec<DuetRound> = rounds
        .iter()
        .map(|round| ratio(round).map(|ratio| round.single(ratio)))
        .collect::<Option<_>>()?;
    duet(&each, confidence).ok()
}

/// The results of a round.
#[derive(Debug, Clone, Serialize)]
pub struct Round {
    /// Whether order and placement of the two were exchanged.
    pub swapped: bool,
    /// Goodput of both.
    pub goodput_per_s: [f64; 2],
    /// Ratio of first to second in each synchronous window.
    pub ratios: Vec<f64>,
    /// Ratio over all windows.
    pub whole: Option<f64>,
    /// Median response time of both, ns.
    pub response_time_ns_p50: [Option<Quantile>; 2],
    /// 99th percentile of the response time of both, ns.
    pub response_time_ns_p99: [Option<Quantile>; 2],
    /// Ratio of the CPU time per reply.
    pub cpu_ratio: Option<f64>,
    /// The warning that the network was the limit, if there is one.
    #[serde(skip)]
    pub network_limit: Option<String>,
}

impl Round {
    /// A round of two simultaneous measurements.
    fn of(swapped: bool, both: [&Measurement; 2]) -> Self {
        let [one, other] = both.map(|measurement| &measurement.recording);
        let [first_cpu, second_cpu] = both.map(|measurement| {
            let replies = measurement.recording.replies();
            let ns = measurement.service.cpu_ns.filter(|_| replies > 0);
            ns.map(|ns| ns as f64 / replies as f64)
        });
        let cpu_ratio = first_cpu.zip(second_cpu).map(|(one, other)| one / other);
        let windows = synchronous(&one.intervals, &other.intervals);
        let times = |of: fn(&ResponseTimes) -> Quantile| {
            [one, other].map(|recording: &Recording| recording.response_time_ns.as_ref().map(of))
        };
        Self {
            swapped,
            goodput_per_s: [one.goodput_per_s, other.goodput_per_s],
            ratios: windows.ratios,
            whole: windows.whole,
            response_time_ns_p50: times(|latency| latency.p50),
            response_time_ns_p99: times(|latency| latency.p99),
            cpu_ratio: cpu_ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0),
            network_limit: network_limit(&both),
        }
    }

    /// The goodput ratios by window.
    fn windows(&self) -> DuetRound {
        DuetRound {
            swapped: self.swapped,
            ratios: self.ratios.clone(),
            whole: self.whole,
        }
    }

    /// A metric with one ratio per round.
    fn single(&self, ratio: f64) -> DuetRound {
        DuetRound {
            swapped: self.swapped,
            ratios: vec![ratio],
            whole: None,
        }
    }
}

fn network_limit(both: &[&Measurement]) -> Option<String> {
    let mut warnings = both.iter().flat_map(|measurement| &measurement.warnings);
    let found = warnings.find(|warning| warning.kind.facts().bottleneck == Some(Bottleneck::Network));
    found.map(|warning| warning.text.clone())
}

/// A ratio with its interval.
pub fn ratio(estimate: &Estimate) -> String {
    format!(
        "{:.4} ({:.4} to {:.4})",
        estimate.point, estimate.low, estimate.high
    )
}

/// The metric that decides: goodput of a closed load, response time of an open one.
pub fn compared(outcome: &Outcome) -> Duet {
    match (&outcome.load, outcome.response_time_ns_p99) {
        (Load::Open { .. }, Some(times)) => times,
        _ => outcome.goodput,
    }
}

/// The result in a sentence, for the store.
fn sentence(outcome: &Outcome) -> String {
    let (metric, found) = match (&outcome.load, outcome.response_time_ns_p99) {
        (Load::Open { .. }, Some(times)) => ("99th percentile of the response time", times),
        _ => ("goodput", outcome.goodput),
    };
    format!(
        "duet: {metric} of {} over {}: {}, {}. {}",
        outcome.first,
        outcome.second,
        ratio(&found.ratio),
        sample(&found),
        verdict(outcome)
    )
}

/// Which of the two is faster, in a sentence.
pub fn verdict(outcome: &Outcome) -> String {
    if outcome.interrupted {
        return format!(
            "Stopped after {} rounds: no verdict. Repeat the command with `--resume {}` to continue.",
            outcome.rounds.len(),
            outcome.run
        );
    }
    if matches!(outcome.load, Load::Open { .. }) && outcome.response_time_ns_p99.is_none() {
        return without_bound(outcome)
            .unwrap_or_else(|| "Too few rounds to compare response times.".to_owned());
    }
    let Estimate { low, high, .. } = match &outcome.load {
        // A shorter response time is the better one.
        Load::Open { .. } => compared(outcome).ratio.reversed(),
        _ => outcome.goodput.ratio,
    };
    let band = 1.0 + outcome.tie_band;
    if low >= 1.0 / band && high <= band {
        return format!("They are the same within {:.1} %.", 100.0 * outcome.tie_band);
    }
    let faster = |name: &str, low: f64, high: f64| {
        format!(
            "{name} is {:.1} to {:.1} % faster.",
            100.0 * (low - 1.0),
            100.0 * (high - 1.0)
        )
    };
    if low > 1.0 {
        faster(&outcome.first, low, high)
    } else if high < 1.0 {
        faster(&outcome.second, 1.0 / high, 1.0 / low)
    } else {
        "Cannot tell which is faster.".to_owned()
    }
}

/// Which of the two is faster if the 99th percentile of one is unbounded: more than 1 % of its requests had no valid reply.
fn without_bound(outcome: &Outcome) -> Option<String> {
    let rounds = |side: usize| {
        let p99 = outcome
            .rounds
            .iter()
            .map(move |round| round.response_time_ns_p99[side]);
        let bounded = p99
            .clone()
            .filter(|time| time.is_some_and(|time| time.exact().is_some()));
        (bounded.count(), p99.count())
    };
    let text = |(bounded, all): (usize, usize), name: &str| {
        (bounded < all).then(|| {
            format!(
                "The 99th percentile of {name} has no bound in {} of {all} rounds",
                all - bounded
            )
        })
    };
    let (first, second) = (rounds(0), rounds(1));
    let finding = text(first, &outcome.first).or_else(|| text(second, &outcome.second))?;
    let never = |(bounded, all): (usize, usize)| bounded == 0 && all > 1;
    let always = |(bounded, all): (usize, usize)| bounded == all;
    Some(if never(first) && always(second) {
        format!("{finding}: {} is faster.", outcome.second)
    } else if never(second) && always(first) {
        format!("{finding}: {} is faster.", outcome.first)
    } else {
        format!("{finding}: cannot tell which is faster.")
    })
}

/// Describes the sample of a ratio.
pub fn sample(duet: &Duet) -> String {
    match duet.sample {
        DuetSample::Rounds => format!(
            "from {} rounds of fresh starts ({} windows)",
            duet.rounds, duet.windows
        ),
        DuetSample::Windows => format!(
            "from {} windows of {} rounds: it holds for these starts alone; six rounds or more make it hold for any",
            duet.windows, duet.rounds
        ),
    }
}
