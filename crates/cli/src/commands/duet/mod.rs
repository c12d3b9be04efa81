//! `prony duet`: two services at once under the same load, compared window by window.

mod sides;
mod stage;
mod text;

use crate::checkout::Checkout;
use crate::commands::run::listen;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::shares::share;
use crate::subject::{self, Chosen, Subject};
use anyhow::{Context as _, anyhow};
use prony_host::{Host as _, Local};
use prony_load::{Load, WrittenDuration};
use prony_plan::{Catalogue, Service};
use prony_statistics::{Duet, DuetRound, duet};
use prony_trial::{Builder, Built, Cancel, Folders};
use serde::Serialize;
use sides::Placement;
use stage::{Round, Stage};
use std::ffi::OsString;

/// Load two services at the same time and give the ratio of their throughputs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  prony duet go-gorilla go-nethttp
  prony duet node-http/cluster node-http/single --rounds 8 -d 10s
  prony duet go-gorilla@HEAD~1 go-gorilla

What disturbs the machine disturbs both alike, so the ratio is far tighter than that of two runs. Places and order are
swapped from round to round. The load is a closed loop.")]
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
}

/// What a duet gave.
#[derive(Debug, Serialize)]
struct Outcome {
    schema: u32,
    first: String,
    second: String,
    contract: String,
    workload: String,
    connections: u32,
    placement: Placement,
    confidence: f64,
    tie_band: f64,
    /// First over second, valid replies per second.
    goodput: Duet,
    /// First over second, CPU time per reply of the service alone, a value for each round; `None` where it is not known.
    cpu_per_request: Option<Duet>,
    /// What the goodput was in each round.
    rounds: Vec<Round>,
    warnings: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let checkout = Checkout::find()?;
    let mut catalogue = Catalogue::read(&checkout.root).map_err(bad_input)?;
    let [first, second] = [&args.first, &args.second].map(|text| chosen(text, &checkout, &mut catalogue));
    let (first, second) = (first?, second?);
    let (contract, protocol) = subject::common(&catalogue, &first, &second, args.contract.as_deref())?;
    let cancel = Cancel::new();
    listen(&cancel)?;
    let executable = std::env::current_exe().context("cannot tell where this binary lies")?;
    let host = Local::new(vec![
        executable.clone().into_os_string(),
        OsString::from("supervise"),
    ]);
    let services = [&first, &second].map(|chosen| find(&catalogue, chosen));
    let built = build(services, &host, &catalogue, &checkout, &cancel)?;
    let found = catalogue.contract(&contract).map_err(bad_input)?;
    let (workload, _) = found.load_of(args.workload.as_deref()).map_err(bad_input)?;
    let stage = Stage {
        host: &host,
        contract: found,
        workload: workload.clone(),
        protocol,
        load: Load::Closed {
            connections: args.connections,
            in_flight: 1,
        },
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
    let rounds = stage.play(args.rounds)?;
    let outcome = Outcome {
        schema: 1,
        first: first.id.to_string(),
        second: second.id.to_string(),
        contract,
        workload,
        connections: args.connections,
        placement: args.placement,
        confidence: args.confidence,
        tie_band: args.tie,
        goodput: duet(
            &rounds
                .iter()
                .map(|round| round.duet(Round::windows))
                .collect::<Vec<_>>(),
            args.confidence,
        )?,
        cpu_per_request: cpu(&rounds, args.confidence),
        warnings: stage.warnings(),
        rounds,
    };
    print(&if args.json {
        serde_json::to_string_pretty(&outcome)?
    } else {
        text::show(&outcome)
    })?;
    Ok(Exit::Fine)
}

fn cpu(rounds: &[Round], confidence: f64) -> Option<Duet> {
    let known = rounds.iter().all(|round| round.cpu_ratio.is_some());
    let each: Vec<DuetRound> = rounds
        .iter()
        .map(|round| round.duet(|round| round.cpu_ratio.into_iter().collect()))
        .collect();
    known.then(|| duet(&each, confidence).ok()).flatten()
}

fn chosen(text: &str, checkout: &Checkout, catalogue: &mut Catalogue) -> anyhow::Result<Chosen> {
    subject::choose(&Subject::parse(text), checkout, catalogue)
}

fn find<'a>(catalogue: &'a Catalogue, chosen: &Chosen) -> &'a Service {
    let same = |service: &&Service| service.name == chosen.id.service && service.variant == chosen.id.variant;
    catalogue
        .services
        .iter()
        .find(same)
        .expect("invariant: chosen services are in the catalogue")
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
