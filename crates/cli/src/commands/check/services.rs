//! Services that are built and started to be checked.

use super::{Args, Outcome, Row};
use crate::checkout::Checkout;
use crate::exit::bad_input;
use anyhow::{Context as _, anyhow};
use prony_contract::Contract;
use prony_host::{Isolation, Local};
use prony_load::Protocol;
use prony_measurement::{Exclusion, ServiceId, Stage};
use prony_plan::{Catalogue, Service};
use prony_trial::check::{ServiceRequest, check_service};
use prony_trial::{Bench, Builder, Built, Cancel, Folders, Options, ProcessGenerator, Progress};
use std::ffi::OsString;

/// Builds at once.
const BUILDS_AT_ONCE: usize = 2;

/// What is checked: contracts and protocols of a service.
struct Wanted<'a> {
    service: &'a Service,
    contracts: Vec<(&'a Contract, Protocol)>,
}

pub(super) fn check(args: &Args, seed: u64) -> anyhow::Result<Vec<Row>> {
    let checkout = Checkout::find()?;
    let catalogue = Catalogue::read(&checkout.root).map_err(bad_input)?;
    let wanted = wanted(args, &catalogue)?;
    let cancel = Cancel::new();
    crate::commands::run::listen(&cancel)?;
    let executable = std::env::current_exe().context("cannot tell where this binary lies")?;
    let host = Local::new(vec![
        executable.clone().into_os_string(),
        OsString::from("supervise"),
    ]);
    let folders = Folders::of(&checkout.root, &checkout.state());
    let logs = folders.logs.clone();
    std::fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    let builder = Builder::new(&host, &catalogue.toolchains, folders, &cancel);
    let services: Vec<&Service> = wanted.iter().map(|wanted| wanted.service).collect();
    let built = builder.build_all(&services, BUILDS_AT_ONCE, &|progress| {
        if let Progress::Building(service) = progress {
            eprintln!("building {service}");
        }
    });
    let program = executable
        .to_str()
        .context("the path of this binary is not UTF-8: move it elsewhere")?;
    // A check starts no load; the bench only asks for something that could.
    let generator = ProcessGenerator::new(vec![program.to_owned(), "load".to_owned()], checkout.root.clone());
    let options = Options {
        logs,
        isolation: Isolation::WherePossible,
        backend: vec![program.to_owned(), "backend".to_owned()],
        noise: None,
    };
    let bench = Bench {
        host: &host,
        generator: &generator,
        options: &options,
        cancel: &cancel,
    };
    let mut rows = Vec::new();
    for wanted in &wanted {
        let id = id_of(wanted.service);
        if cancel.is_asked() {
            return Err(anyhow!("ended by the user before every service was checked"));
        }
        eprintln!("checking {id}");
        match &built[&id] {
            Ok(built) => rows.extend(started(&bench, wanted, built, (seed, args.thorough))),
            Err(excluded) => rows.extend(wanted.rows(|_| not_built(wanted.service, excluded))),
        }
    }
    Ok(rows)
}

fn id_of(service: &Service) -> ServiceId {
    ServiceId {
        service: service.name.clone(),
        variant: service.variant.clone(),
    }
}

/// What the machine lacks is no fault of the service, nor is what its build cannot reach from here and says so.
pub(super) fn not_built(service: &Service, excluded: &Exclusion) -> Outcome {
    match (&service.unavailable_hint, excluded.stage) {
        (Some(hint), _) => Outcome::Unavailable(format!("{hint} ({})", excluded.reason)),
        (None, Stage::Toolchain) => Outcome::Unavailable(excluded.reason.clone()),
        (None, _) => Outcome::Failed(excluded.clone()),
    }
}

impl Wanted<'_> {
    fn rows(&self, outcome: impl Fn(usize) -> Outcome) -> Vec<Row> {
        self.contracts
            .iter()
            .enumerate()
            .map(|(place, (contract, protocol))| Row {
                id: id_of(self.service),
                contract: contract.name.clone(),
                protocol: *protocol,
                outcome: outcome(place),
            })
            .collect()
    }
}

/// One start for the contracts that need no backend, one for those that do.
fn started(bench: &Bench<'_>, wanted: &Wanted<'_>, built: &Built, (seed, thorough): (u64, bool)) -> Vec<Row> {
    let (with, without): (Vec<_>, Vec<_>) = wanted
        .contracts
        .iter()
        .partition(|(contract, _)| contract.backend.is_some());
    let mut rows = Vec::new();
    for contracts in [without, with] {
        let part = Wanted {
            service: wanted.service,
            contracts,
        };
        let request = ServiceRequest {
            service: part.service,
            built,
            contracts: &part.contracts,
            seed,
            thorough,
        };
        match check_service(bench, &request) {
            Ok(reports) => rows.extend(part.rows(|place| Outcome::Checked(reports[place].clone()))),
            Err(excluded) => rows.extend(part.rows(|_| Outcome::Failed(excluded.clone()))),
        }
    }
    rows
}

/// The services that the arguments name, each with the contracts that they name.
fn wanted<'a>(args: &Args, catalogue: &'a Catalogue) -> anyhow::Result<Vec<Wanted<'a>>> {
    let (pattern, only) = match (args.first.as_deref(), args.second.as_deref()) {
        (Some(first), None) if catalogue.contracts.contains_key(first) => ("*", Some(first)),
        (Some(first), second) => (first, second),
        (None, _) => ("*/*", None),
    };
    if let Some(name) = only {
        catalogue.contract(name).map_err(bad_input)?;
    }
    let asked = args.protocol.map(Protocol::from);
    let mut wanted = Vec::new();
    for service in catalogue.select(pattern).map_err(bad_input)? {
        let contracts: Vec<(&Contract, Protocol)> = catalogue
            .contracts
            .values()
            .filter(|contract| only.is_none_or(|name| contract.name == name))
            .flat_map(|contract| {
                contract
                    .protocols()
                    .into_iter()
                    .map(move |protocol| (contract, protocol))
            })
            .filter(|(contract, protocol)| service.offers(&contract.name, *protocol))
            .filter(|(_, protocol)| asked.is_none_or(|asked| asked == *protocol))
            .collect();
        if !contracts.is_empty() {
            wanted.push(Wanted { service, contracts });
        }
    }
    if wanted.is_empty() {
        let what = only.map_or_else(|| "a contract".to_owned(), |name| format!("contract `{name}`"));
        return Err(bad_input(anyhow!(
            "no service that `{pattern}` names lists {what} over this protocol"
        )));
    }
    Ok(wanted)
}
