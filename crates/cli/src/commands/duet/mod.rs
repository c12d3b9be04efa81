//! `prony duet`: two services at once under the same load, compared window by window.

mod player;
mod sides;
mod stage;
mod text;

use crate::checkout::{Checkout, StoreArgs};
use crate::commands::run::{AllBuilt, Session, listen};
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::shares::share;
use crate::subject::{self, Chosen, Subject};
use anyhow::{Context as _, anyhow};
use prony_host::{Host as _, Isolation, Local};
use prony_load::{Arrival, Load, Profile, Rate, Spacing, WrittenDuration};
use prony_measurement::{RunRecord, ServiceId, Warning, WarningKind};
use prony_plan::{Catalogue, Plan, Service};
use prony_statistics::{Duet, DuetRound, duet};
use prony_store::Store;
use prony_trial::{Builder, Built, Cancel, Folders};
use serde::Serialize;
use sides::Placement;
use stage::{Round, Stage};
use std::ffi::OsString;
use std::time::SystemTime;

/// What stands for the suite of a duet in the store.
pub(crate) const SUITE: &str = "duet";
/// Rounds from which metrics that have one value a round have an interval.
const ROUNDS_FOR_TIMES: u32 = 6;
/// Requests that may be due and not sent, under an open load.
const BACKLOG: u64 = 1_000_000;

/// Load two services at the same time and give the ratio of their throughputs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  prony duet go-gorilla go-nethttp
  prony duet node-http/cluster node-http/single --rounds 8 -d 10s
  prony duet go-gorilla@HEAD~1 go-gorilla
  prony duet go-gorilla go-nethttp --rate 5000

What disturbs the machine disturbs both alike, so the ratio is far tighter than that of two runs. Places and order are
swapped from round to round. The load is a closed loop, compared by goodput; with --rate requests arrive on their own, and
response times are compared. A duet is stored as a run.")]
pub(crate) struct Args {
    /// One service: NAME[/VARIANT][@REVISION]
    #[arg(value_name = "A")]
    first: String,
    /// The other
    #[arg(value_name = "B")]
    second: String,
    /// Rounds, an even number: each in fresh processes
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = even)]
    rounds: u32,
    /// Length of each measurement
    #[arg(long, short, value_name = "TIME", default_value = "10s")]
    duration: WrittenDuration,
    /// Load before the measurement that is not part of the result
    #[arg(long, value_name = "TIME", default_value = "2s")]
    warmup: WrittenDuration,
    /// Connections to each service
    #[arg(long, short, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    /// Requests per second to each service, at equal distances, instead of a closed loop
    #[arg(long, value_name = "PER_S", value_parser = rate)]
    rate: Option<Rate>,
    /// How the two share the machine
    #[arg(long, value_enum, default_value = "shared")]
    placement: Placement,
    /// The contract [default: the first that both fulfil]
    #[arg(long, value_name = "NAME")]
    contract: Option<String>,
    /// The workload of the contract [default: its first]
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// Confidence of the interval: `95%`
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "95%")]
    confidence: f64,
    /// Differences below this count as none: `1%`
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "1%")]
    tie: f64,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// What a duet gave.
#[derive(Debug, Serialize)]
struct Outcome {
    schema: u32,
    /// The run that it is stored as.
    run: String,
    first: String,
    second: String,
    contract: String,
    workload: String,
    load: Load,
    connections: u32,
    placement: Placement,
    confidence: f64,
    tie_band: f64,
    /// First over second, valid replies per second.
    goodput: Duet,
    /// First over second, median response time, a value for each round; `None` with too few rounds.
    response_time_ns_p50: Option<Duet>,
    /// First over second, 99th percentile of the response time, a value for each round; `None` with too few rounds.
    response_time_ns_p99: Option<Duet>,
    /// First over second, CPU time per reply of the service alone, a value for each round; `None` where it is not known.
    cpu_per_request: Option<Duet>,
    /// What each round gave.
    rounds: Vec<Round>,
    warnings: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.rate.is_some() && args.rounds < ROUNDS_FOR_TIMES {
        return Err(bad_input(anyhow!(
            "with --rate response times are compared, round by round: give --rounds {ROUNDS_FOR_TIMES} or more"
        )));
    }
    let checkout = Checkout::find()?;
    let mut catalogue = Catalogue::read(&checkout.root).map_err(bad_input)?;
    let (first, second) = both(args, &checkout, &mut catalogue)?;
    let (contract, protocol) = subject::common(&catalogue, &first, &second, args.contract.as_deref())?;
    let cancel = Cancel::new();
    listen(&cancel)?;
    let executable = std::env::current_exe().context("cannot tell where this binary lies")?;
    let host = Local::new(vec![
        executable.clone().into_os_string(),
        OsString::from("supervise"),
    ]);
    let services = [&first, &second].map(|chosen| subject::find(&catalogue, chosen));
    let built = build(services, &host, &catalogue, &checkout, &cancel)?;
    let found = catalogue.contract(&contract).map_err(bad_input)?;
    let (workload, _) = found.load_of(args.workload.as_deref()).map_err(bad_input)?;
    let stage = Stage {
        host: &host,
        contract: found,
        workload,
        protocol,
        load: args.load(),
        warm_up: args.warmup.0,
        duration: args.duration.0,
        services,
        built: &built,
        places: sides::places(host.topology(), args.placement)?,
        logs: checkout.state().join("log"),
        program: executable
            .to_str()
            .context("the path of this binary is not UTF-8: move it elsewhere")?
            .to_owned(),
        cancel: &cancel,
    };
    let store = Store::open(&args.store.path()?)?;
    let session = Session {
        checkout: &checkout,
        catalogue: &catalogue,
        store: &store,
        isolation: Isolation::WherePossible,
        repeat_disturbed: false,
    };
    let outcome = perform(args, &stage, &session)?;
    print(&if args.json {
        serde_json::to_string_pretty(&outcome)?
    } else {
        text::show(&outcome)
    })?;
    Ok(Exit::Fine)
}

/// The two, different in name: one service against itself is there twice.
fn both(args: &Args, checkout: &Checkout, catalogue: &mut Catalogue) -> anyhow::Result<(Chosen, Chosen)> {
    let first = chosen(&args.first, checkout, catalogue)?;
    let second = chosen(&args.second, checkout, catalogue)?;
    if first.id != second.id {
        return Ok((first, second));
    }
    let mut again = subject::find(catalogue, &second).clone();
    again.variant.push_str("+again");
    again.default = false;
    let id = ServiceId {
        service: again.name.clone(),
        variant: again.variant.clone(),
    };
    catalogue.services.push(again);
    Ok((first, Chosen { id }))
}

/// Plays the duet and keeps it as a run, round by round.
fn perform(args: &Args, stage: &Stage<'_>, session: &Session<'_>) -> anyhow::Result<Outcome> {
    let plan = Plan {
        confidence: args.confidence,
        tie: Some(args.tie),
        ..stage.plan(args.rounds)
    };
    let ids = stage.services.map(|service| ServiceId {
        service: service.name.clone(),
        variant: service.variant.clone(),
    });
    let built: AllBuilt = ids
        .iter()
        .cloned()
        .zip(stage.built.iter().cloned().map(Ok))
        .collect();
    let record = session.begin(&plan, stage.host, &built)?;
    let played = stage.play(&plan, &mut |round| {
        for trial in &round.trials {
            session.store.append_trial(&record.id, trial)?;
        }
        Ok(())
    });
    let outcome = played.and_then(|rounds| outcome_of(args, stage, &record, rounds));
    let told = outcome
        .as_ref()
        .map(text::sentence)
        .map_err(|error| format!("{error:#}"));
    finish(session.store, &record, told)?;
    outcome
}

/// Says in the run what it was and how it ended.
fn finish(store: &Store, record: &RunRecord, told: Result<String, String>) -> anyhow::Result<()> {
    let mut warnings = vec![Warning::new(
        WarningKind::Note,
        "a duet: both services ran at the same time and shared the machine, so that their ratio counts, not their values",
    )];
    warnings.push(match told {
        Ok(result) => Warning::new(WarningKind::Note, result),
        Err(reason) => Warning::new(WarningKind::Interrupted, format!("it ended early: {reason}")),
    });
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    Ok(store.finish_run(&record.id, &now, &warnings)?)
}

fn outcome_of(
    args: &Args,
    stage: &Stage<'_>,
    record: &RunRecord,
    rounds: Vec<Round>,
) -> anyhow::Result<Outcome> {
    let windows: Vec<DuetRound> = rounds.iter().map(Round::windows).collect();
    let goodput = duet(&windows, args.confidence)
        .context("too little was measured for a ratio: give longer or more rounds")?;
    let times = |of: fn(&Round) -> [Option<u64>; 2]| {
        let enough = rounds.len() >= ROUNDS_FOR_TIMES as usize;
        let ratio = |round: &Round| {
            let [first, second] = of(round);
            Some(first? as f64 / second.filter(|ns| *ns > 0)? as f64)
        };
        enough
            .then(|| by_rounds(&rounds, ratio, args.confidence))
            .flatten()
    };
    let [first, second] = stage.services.map(Service::label);
    Ok(Outcome {
        schema: 1,
        run: record.id.clone(),
        first,
        second,
        contract: stage.contract.name.clone(),
        workload: stage.workload.clone(),
        load: stage.load.clone(),
        connections: args.connections,
        placement: args.placement,
        confidence: args.confidence,
        tie_band: args.tie,
        goodput,
        response_time_ns_p50: times(|round| round.response_time_ns_p50),
        response_time_ns_p99: times(|round| round.response_time_ns_p99),
        cpu_per_request: by_rounds(&rounds, |round| round.cpu_ratio, args.confidence),
        warnings: stage.warnings(),
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

impl Args {
    fn load(&self) -> Load {
        let connections = self.connections;
        match self.rate {
            None => Load::Closed {
                connections,
                in_flight: 1,
            },
            Some(rate) => Load::Open {
                arrival: Arrival {
                    profile: Profile::Constant { rate },
                    spacing: Spacing::Even,
                },
                connections,
                in_flight: 1,
                backlog: BACKLOG,
            },
        }
    }
}

fn chosen(text: &str, checkout: &Checkout, catalogue: &mut Catalogue) -> anyhow::Result<Chosen> {
    subject::choose(&Subject::parse(text), checkout, catalogue)
}

fn build(
    services: [&Service; 2],
    host: &Local,
    catalogue: &Catalogue,
    checkout: &Checkout,
    cancel: &Cancel,
) -> anyhow::Result<Vec<Built>> {
    let builder = Builder::new(
        host,
        &catalogue.toolchains,
        Folders::of(&checkout.root, &checkout.state()),
        cancel,
    );
    let one = |service: &Service| {
        eprintln!("building {}", service.label());
        builder.build(service).map_err(|excluded| {
            let log = excluded.log_tail.join("\n    ");
            anyhow!(
                "{} cannot be built: {}\n    {log}",
                service.label(),
                excluded.reason
            )
        })
    };
    services.into_iter().map(one).collect()
}

fn even(text: &str) -> Result<u32, String> {
    let rounds = text
        .parse::<u32>()
        .ok()
        .filter(|rounds| *rounds >= 2 && rounds.is_multiple_of(2));
    rounds.ok_or_else(|| {
        "give an even number from 2 on: each round is followed by one with places swapped".to_owned()
    })
}

fn rate(text: &str) -> Result<Rate, String> {
    let number = text.trim().parse::<f64>();
    let number = number.map_err(|_| format!("`{text}` is no number of requests per second"))?;
    Rate::per_second(number).map_err(|error| error.to_string())
}
