//! `prony check`: checks services against their contracts.

mod view;

use crate::checkout::{Checkout, StoreArgs, TestbedArgs};
use crate::commands::load::{TrustArgs, server};
use crate::exit::{Exit, bad_input};
use crate::output::print;
use crate::{reporting, signals, text};
use anyhow::anyhow;
use prony_check::{BackingTargets, CheckRequest, check, protocol_word};
use prony_config::Channel;
use prony_config::contract::Contract;
use prony_config::project::contract_places;
use prony_load::Protocol;
use prony_records::{CheckMatrix, SCHEMA, ServiceId};
use prony_report::CheckRun;
use prony_runner::check_services::{CheckScope, Outcome, Row, check_services};
use prony_runner::{LocalTestbed, secrets, shipped_contracts};
use prony_store::Store;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::SystemTime;
use view::CheckVerdict;

/// Check a server or service against a contract
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "prony check [OPTIONS] [SERVICE] [CONTRACT]\n       prony check [OPTIONS] --url URL CONTRACT"
)]
pub(crate) struct Args {
    /// Service, e.g. go-gorilla or 'java-*'; or a contract, for its services [default: the only service]
    #[arg(value_name = "SERVICE")]
    first: Option<String>,
    /// Contract, or with --url a folder with one [default: all of the service]
    #[arg(value_name = "CONTRACT", conflicts_with = "url")]
    second: Option<String>,
    /// Every variant of every service
    #[arg(long, conflicts_with_all = ["first", "second", "url"])]
    all: bool,
    /// Check a running server, safe methods only
    #[arg(long, value_name = "URL", requires = "first")]
    url: Option<String>,
    /// With --url: also send requests that may change data
    #[arg(long, requires = "url")]
    allow_writes: bool,
    #[command(flatten)]
    trust: TrustArgs,
    /// Protocol [default: all of the service]
    #[arg(long, value_enum, value_name = "PROTOCOL")]
    protocol: Option<ProtocolArg>,
    /// Seed for random choices [default: a new one]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Include cases longer than ten seconds
    #[arg(long)]
    thorough: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Write a JUnit XML file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    testbed: TestbedArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ProtocolArg {
    /// HTTP/1.1
    Http,
    /// HTTP/2: with prior knowledge, or over TLS as negotiated in the handshake (ALPN)
    Http2,
    /// HTTP/1.1 over TLS, of a service that prony starts
    Https1,
    /// HTTP/2 over TLS, of a service that prony starts
    Https2,
    /// gRPC
    Grpc,
    /// WebSocket
    Websocket,
}

impl From<ProtocolArg> for Channel {
    fn from(spoken: ProtocolArg) -> Self {
        match spoken {
            ProtocolArg::Http => Self::Http1,
            ProtocolArg::Http2 => Self::Http2,
            ProtocolArg::Https1 => Self::Https1,
            ProtocolArg::Https2 => Self::Https2,
            ProtocolArg::Grpc => Self::Grpc,
            ProtocolArg::Websocket => Self::WebSocket,
        }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let seed = args.seed.unwrap_or_else(|| rand::random::<u32>().into());
    eprintln!("seed {seed}");
    let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let (rows, store) = if let Some(url) = &args.url {
        (vec![running(args, url, seed)?], None)
    } else {
        args.trust.without_url("--url")?;
        let (rows, store) = check_selected(args, seed)?;
        (rows, Some(store))
    };
    let mut matrix = CheckMatrix {
        schema: SCHEMA,
        services: rows.iter().map(Row::record).collect(),
    };
    secrets::mask_matrix(&mut matrix);
    if let Some(file) = &args.junit {
        let file = reporting::file(file, "checks.junit.xml");
        let host = prony_host::hostname();
        let run = CheckRun {
            run: None,
            started_at: &started_at,
            host: host.as_deref().unwrap_or("localhost"),
        };
        reporting::write(&file, &prony_report::junit(&matrix, run))?;
    }
    let verdict = CheckVerdict::of(&rows);
    let exit = verdict.exit();
    if args.json {
        let mut json = serde_json::to_value(&matrix)?;
        json["verdict"] = verdict.key().into();
        json["headline"] = view::headline(&rows).into();
        json["exit"] = exit.code().into();
        print(&json.to_string())?;
    } else {
        text::show(view::text(&rows, text::columns()).trim_end())?;
    }
    if let Some(store) = store {
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        store.append_check_matrix(None, &now, &matrix)?;
    }
    Ok(exit)
}

/// Starts services and checks them. Also returns the store that is to keep the results.
fn check_selected(args: &Args, seed: u64) -> anyhow::Result<(Vec<Row>, Store)> {
    let checkout = Checkout::find()?;
    let first = match &args.first {
        None if !args.all => Some(only_service(&checkout)?),
        named => named.clone(),
    };
    let asked = CheckScope {
        first: first.as_deref(),
        second: args.second.as_deref(),
        channel: args.protocol.map(Channel::from),
        seed,
        thorough: args.thorough,
    };
    let testbed = args.testbed.read(Some(&checkout))?;
    let workbench = LocalTestbed::of(&checkout, &signals::listen()?)?
        .in_testbed(testbed.as_ref(), &|text| eprintln!("{text}"))?;
    let store = args.store.open()?;
    let rows = check_services(&asked, &checkout, &workbench, &|text| {
        eprintln!("{text}");
    })?;
    Ok((rows, store))
}

/// The name of the service of a project that has no other.
fn only_service(checkout: &Checkout) -> anyhow::Result<String> {
    let catalogue = checkout.catalogue()?;
    match catalogue.select("*")?.as_slice() {
        [only] => Ok(only.name.clone()),
        several => Err(bad_input(anyhow!(
            "{} services are here: name one, such as `prony check {}`, or check all with --all",
            several.len(),
            several[0].name
        ))),
    }
}

/// Checks a server that is already running.
fn running(args: &Args, url: &str, seed: u64) -> anyhow::Result<Row> {
    if args.testbed.is_given() {
        return Err(bad_input(anyhow!(
            "--testbed says where services are started, but --url names a server that is already running and that this machine \
             calls: remove --testbed, or run the check on a machine that reaches the server"
        )));
    }
    let (target, path) = server(url, &args.trust)?;
    if path != "/" {
        return Err(bad_input(anyhow!(
            "`{url}`: the contract defines the paths → Remove `{path}` from the URL."
        )));
    }
    let contract = contract_named(args.first.as_deref().expect("invariant: --url requires it"))?;
    let protocol = spoken_of(&contract, args.protocol)?;
    if !args.allow_writes {
        eprintln!("sending only GET, HEAD, OPTIONS and operations that are `safe` in the contract");
    }
    let report = check(&CheckRequest {
        contract: &contract,
        target: &target,
        protocol,
        tls: None,
        seed,
        thorough: args.thorough,
        allow_writes: args.allow_writes,
        backing: &BackingTargets::new(),
    });
    Ok(Row {
        id: ServiceId {
            service: target.url.clone(),
            variant: "running".to_owned(),
        },
        contract: contract.name.clone(),
        channel: protocol.into(),
        outcome: Outcome::Checked(report),
    })
}

fn spoken_of(contract: &Contract, asked: Option<ProtocolArg>) -> anyhow::Result<Protocol> {
    let known = contract.protocols();
    // The URL says whether there is TLS.
    let asked = asked.map(|asked| Channel::from(asked).protocol());
    let wanted = asked.or_else(|| known.first().copied());
    wanted.filter(|protocol| known.contains(protocol)).ok_or_else(|| {
        let words: Vec<&str> = known
            .iter()
            .map(|protocol| protocol_word((*protocol).into()))
            .collect();
        bad_input(anyhow!(
            "contract `{}` does not support this --protocol: it supports {}",
            contract.name,
            words.join(", ")
        ))
    })
}

/// Loads a contract by folder path or by name. The project's own contracts take precedence over those that prony ships.
pub(crate) fn contract_named(name: &str) -> anyhow::Result<Contract> {
    let is_contract = |folder: &PathBuf| folder.join("contract.toml").is_file();
    let direct = PathBuf::from(name);
    if is_contract(&direct) {
        return Contract::load(&direct).map_err(bad_input);
    }
    let own = Checkout::find()
        .ok()
        .map(|project| contract_places(&project.root));
    let own = own.into_iter().flat_map(|places| places.into_iter().rev());
    let places: Vec<PathBuf> = own.chain([shipped_contracts()?]).collect();
    if let Some(folder) = places.iter().map(|place| place.join(name)).find(is_contract) {
        return Contract::load(&folder).map_err(bad_input);
    }
    let folders = places
        .iter()
        .filter_map(|place| std::fs::read_dir(place).ok())
        .flatten()
        .flatten();
    let known: BTreeSet<String> = folders
        .filter(|entry| is_contract(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let known: Vec<String> = known.into_iter().collect();
    Err(bad_input(anyhow!(
        "no contract `{name}`: known contracts are {}",
        known.join(", ")
    )))
}
