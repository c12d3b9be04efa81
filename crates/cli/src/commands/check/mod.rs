//! `prony check`: does a service do what its contracts say?

mod services;
mod view;

use crate::checkout::{Checkout, StoreArgs};
use crate::commands::load::target;
use crate::exit::{Exit, bad_input};
use crate::output::print;
use anyhow::{Context as _, anyhow};
use prony_contract::Contract;
use prony_load::Protocol;
use prony_measurement::{CaseFailure, CheckMatrix, Exclusion, SCHEMA, ServiceCheck, ServiceId, Stage};
use prony_plan::Service;
use prony_trial::check::{CheckReport, CheckRequest, check, protocol_word};
use std::path::{Path, PathBuf};

/// Check services against their contracts, case by case
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "prony check [OPTIONS] [SERVICE] [CONTRACT]\n       prony check [OPTIONS] --url URL CONTRACT"
)]
pub(crate) struct Args {
    /// A service (`go-gorilla`, `go-gorilla/era`, `java-*`), or a contract: then every service that lists it
    #[arg(value_name = "SERVICE", required_unless_present = "all")]
    first: Option<String>,
    /// A contract, or with `--url` a folder with a contract.toml too [default: every one that the service lists]
    #[arg(value_name = "CONTRACT", conflicts_with = "url")]
    second: Option<String>,
    /// Check every service in every variant
    #[arg(long, conflicts_with_all = ["first", "second", "url"])]
    all: bool,
    /// Check a server that is already running; `prony backend` is what a relay needs behind it
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// What to speak [default: all that the service lists; http with `--url`]
    #[arg(long, value_enum, value_name = "PROTOCOL")]
    protocol: Option<Spoken>,
    /// Decides the random values of the cases [default: a new one, which is printed]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Try cases that take longer than ten seconds too
    #[arg(long)]
    thorough: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write `JUnit` XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Spoken {
    /// HTTP/1.1
    Http,
    /// HTTP/2 by prior knowledge
    Http2,
    /// gRPC
    Grpc,
}

impl From<Spoken> for Protocol {
    fn from(spoken: Spoken) -> Self {
        match spoken {
            Spoken::Http => Self::Http1,
            Spoken::Http2 => Self::Http2,
            Spoken::Grpc => Self::Grpc,
        }
    }
}

/// A service checked against a contract, or why it was not.
struct Row {
    id: ServiceId,
    contract: String,
    protocol: Protocol,
    outcome: Outcome,
}

enum Outcome {
    Checked(CheckReport),
    /// It could not be started, or its build is broken.
    Failed(Exclusion),
    /// The machine lacks something that it needs.
    Unavailable(String),
}

impl Row {
    fn passed(&self) -> bool {
        matches!(&self.outcome, Outcome::Checked(report) if report.passed())
    }

    fn failed(&self) -> bool {
        !self.passed() && !matches!(self.outcome, Outcome::Unavailable(_))
    }

    fn record(&self) -> ServiceCheck {
        let empty = ServiceCheck {
            service: self.id.service.clone(),
            variant: self.id.variant.clone(),
            contract: self.contract.clone(),
            protocol: Some(protocol_word(self.protocol).to_owned()),
            passed: false,
            cases: Vec::new(),
            failures: Vec::new(),
            warnings: Vec::new(),
            unavailable: None,
        };
        match &self.outcome {
            Outcome::Checked(report) => report.row(&self.id),
            Outcome::Unavailable(reason) => ServiceCheck {
                unavailable: Some(reason.clone()),
                ..empty
            },
            Outcome::Failed(excluded) => ServiceCheck {
                failures: vec![CaseFailure {
                    case: format!("{:?}", excluded.stage).to_lowercase(),
                    expected: "a service that runs".to_owned(),
                    got: excluded.reason.clone(),
                }],
                ..empty
            },
        }
    }
}

/// The row of a service that could not be checked, for this reason; `service` is what the catalogue says of it.
pub(crate) fn unchecked(
    id: &ServiceId,
    (contract, protocol): (&str, Protocol),
    excluded: &Exclusion,
    service: Option<&Service>,
) -> ServiceCheck {
    let outcome = match (service, excluded.stage) {
        (Some(service), Stage::Toolchain | Stage::Build) => services::not_built(service, excluded),
        _ => Outcome::Failed(excluded.clone()),
    };
    let row = Row {
        id: id.clone(),
        contract: contract.to_owned(),
        protocol,
        outcome,
    };
    row.record()
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let seed = args.seed.unwrap_or_else(|| rand::random::<u32>().into());
    eprintln!("seed {seed}");
    let rows = match &args.url {
        Some(url) => vec![running(args, url, seed)?],
        None => services::check(args, seed)?,
    };
    let matrix = CheckMatrix {
        schema: SCHEMA,
        services: rows.iter().map(Row::record).collect(),
    };
    if let Some(file) = &args.junit {
        std::fs::write(file, prony_report::junit(&matrix))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    if args.json {
        print(&serde_json::to_string(&matrix)?)?;
    } else {
        print(view::text(&rows, crate::reporting::look().colour).trim_end())?;
    }
    if args.url.is_none() {
        let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
        prony_store::Store::open(&args.store.path()?)?.append_check_matrix(None, &now, &matrix)?;
    }
    Ok(if rows.iter().any(Row::failed) {
        Exit::ObjectiveFailed
    } else {
        Exit::Fine
    })
}

/// Checks a server that is already running.
fn running(args: &Args, url: &str, seed: u64) -> anyhow::Result<Row> {
    let (target, path) = target::parse(url, false).map_err(bad_input)?;
    if target.tls.is_some() {
        return Err(bad_input(anyhow!(
            "`{url}`: a check speaks plain http: give an http:// URL"
        )));
    }
    if path != "/" {
        return Err(bad_input(anyhow!(
            "`{url}`: the contract gives the paths: leave `{path}` out"
        )));
    }
    let contract = contract_named(args.first.as_deref().expect("invariant: required without --all"))?;
    let protocol = spoken_of(&contract, args.protocol)?;
    let report = check(&CheckRequest {
        contract: &contract,
        target: &target,
        protocol,
        seed,
        thorough: args.thorough,
    });
    Ok(Row {
        id: ServiceId {
            service: url.to_owned(),
            variant: "running".to_owned(),
        },
        contract: contract.name.clone(),
        protocol,
        outcome: Outcome::Checked(report),
    })
}

fn spoken_of(contract: &Contract, asked: Option<Spoken>) -> anyhow::Result<Protocol> {
    let known = contract.protocols();
    let wanted = asked.map(Protocol::from).or_else(|| known.first().copied());
    wanted.filter(|protocol| known.contains(protocol)).ok_or_else(|| {
        let words: Vec<&str> = known.iter().map(|protocol| protocol_word(*protocol)).collect();
        bad_input(anyhow!(
            "contract `{}` has no such --protocol: known are {}",
            contract.name,
            words.join(", ")
        ))
    })
}

/// A contract of the checkout by name, or of any folder by path.
pub(crate) fn contract_named(name: &str) -> anyhow::Result<Contract> {
    let folder = if Path::new(name).join("contract.toml").is_file() {
        PathBuf::from(name)
    } else {
        Checkout::find()?.root.join("contracts").join(name)
    };
    if !folder.join("contract.toml").is_file() {
        let known = Contract::all(&Checkout::find()?.root.join("contracts")).map_err(bad_input)?;
        let names: Vec<&str> = known.iter().map(|contract| contract.name.as_str()).collect();
        return Err(bad_input(anyhow!(
            "no contract `{name}`: known are {}",
            names.join(", ")
        )));
    }
    Contract::load(&folder).map_err(bad_input)
}
