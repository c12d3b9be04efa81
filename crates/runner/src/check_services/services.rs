//! Services that are built and started to be checked.

use super::{Outcome, Row, not_built};
use crate::{
    BuildOutput, Builder, Folders, Progress, RunContext, ServiceRequest, builds_at_once, check_service,
};
use crate::{Checkout, CommandError, LocalTestbed};
use prony_config::contract::Contract;
use prony_config::{Catalogue, Service};
use prony_load::Protocol;
use prony_records::ServiceId;
use std::collections::BTreeMap;

/// What is to be checked.
#[derive(Debug, Clone, Copy)]
pub struct CheckScope<'a> {
    /// A service or several, or a contract: then every service that lists it; every one in every variant where absent.
    pub first: Option<&'a str>,
    /// A contract; every one that the service lists where absent.
    pub second: Option<&'a str>,
    /// What is spoken; all that the service lists where absent.
    pub protocol: Option<Protocol>,
    /// Decides the random values of the cases.
    pub seed: u64,
    /// Whether cases that take long are tried too.
    pub thorough: bool,
}

/// What is checked: contracts and protocols of a service.
struct CacheKey<'a> {
    service: &'a Service,
    contracts: Vec<(&'a Contract, Protocol)>,
}

/// Builds, starts and checks the services in scope. `tell` receives progress messages.
pub fn check_services(
    asked: &CheckScope<'_>,
    checkout: &Checkout,
    workbench: &LocalTestbed,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Row>, CommandError> {
    let catalogue = checkout.catalogue()?;
    let wanted = wanted(asked, &catalogue)?;
    let cancel = &workbench.cancel;
    let folders = Folders::of(&checkout.root, &checkout.state());
    let builder = Builder::new(&workbench.testbed, &catalogue.toolchains, folders, cancel);
    let services: Vec<&Service> = wanted.iter().map(|wanted| wanted.service).collect();
    checkout.has_room(services.iter().map(|service| service.name.as_str()))?;
    let at_once = builds_at_once(workbench.host().memory_available_bytes());
    let built = builder.build_all(&services, at_once, &|progress| {
        if let Some(text) = progress.waits() {
            tell(&text);
        } else if let Progress::Building(service) = progress {
            tell(&format!("building {service}"));
        }
    });
    let mut rows = Vec::new();
    for wanted in &wanted {
        let id = id_of(wanted.service);
        if cancel.is_asked() {
            return Err(ended());
        }
        tell(&format!("checking {id}"));
        let of_service = match &built[&id] {
            Ok(built) => started(
                &workbench.bench(&catalogue),
                wanted,
                built,
                (asked.seed, asked.thorough),
            ),
            Err(excluded) => wanted.rows(|_| not_built(wanted.service, excluded)),
        };
        // What fails while the user ends it has not failed by itself.
        let failed = |row: &Row| matches!(row.outcome, Outcome::Failed(_));
        if cancel.is_asked() && of_service.iter().any(failed) {
            return Err(ended());
        }
        rows.extend(of_service);
    }
    Ok(rows)
}

fn ended() -> CommandError {
    CommandError::Interrupted("ended by the user before every service was checked".to_owned())
}

fn id_of(service: &Service) -> ServiceId {
    ServiceId {
        service: service.name.clone(),
        variant: service.variant.clone(),
    }
}

impl CacheKey<'_> {
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

/// Uses one start for all contracts without backing services, and one for each of the others.
fn started(
    bench: &RunContext<'_>,
    wanted: &CacheKey<'_>,
    built: &BuildOutput,
    (seed, thorough): (u64, bool),
) -> Vec<Row> {
    let mut starts: BTreeMap<Option<&str>, Vec<(&Contract, Protocol)>> = BTreeMap::new();
    for &(contract, protocol) in &wanted.contracts {
        let alone = (!contract.backing_services().is_empty()).then_some(contract.name.as_str());
        starts.entry(alone).or_default().push((contract, protocol));
    }
    let mut rows = Vec::new();
    for contracts in starts.into_values() {
        let part = CacheKey {
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
fn wanted<'a>(asked: &CheckScope<'_>, catalogue: &'a Catalogue) -> Result<Vec<CacheKey<'a>>, CommandError> {
    let (pattern, only) = match (asked.first, asked.second) {
        (Some(first), None) if catalogue.contracts.contains_key(first) => (Some("*"), Some(first)),
        (Some(first), second) => (Some(first), second),
        (None, _) => (None, None),
    };
    if let Some(name) = only {
        catalogue.contract(name)?;
    }
    let mut wanted = Vec::new();
    // All of them are more than a pattern finds: the reference services too.
    let services = match pattern {
        Some(pattern) => catalogue.select(pattern)?,
        None => catalogue.services.iter().collect(),
    };
    for service in services {
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
            .filter(|(_, protocol)| asked.protocol.is_none_or(|asked| asked == *protocol))
            .collect();
        if !contracts.is_empty() {
            wanted.push(CacheKey { service, contracts });
        }
    }
    if wanted.is_empty() {
        let what = only.map_or_else(|| "a contract".to_owned(), |name| format!("contract `{name}`"));
        let pattern = pattern.unwrap_or("*/*");
        return Err(CommandError::Input(format!(
            "no service that `{pattern}` names lists {what} over this protocol"
        )));
    }
    Ok(wanted)
}
