//! Checks whether services fulfil their contracts.

use crate::build::id_of;
use crate::withheld::withheld_variables;
use crate::{
    BuildOutput, Builder, Checkout, CommandError, Folders, LocalTestbed, Progress, RunContext,
    ServiceRequest, builds_at_once, check_service,
};
use prony_check::{CheckReport, protocol_word};
use prony_config::contract::Contract;
use prony_config::project::is_pattern;
use prony_config::{Catalogue, Channel, Service};
use prony_records::{CaseFailure, Exclusion, ServiceCheck, ServiceId, TrialStage};
use std::collections::BTreeMap;

/// The result of one service, contract and protocol.
pub struct Row {
    pub id: ServiceId,
    pub contract: String,
    pub channel: Channel,
    pub outcome: Outcome,
}

pub enum Outcome {
    /// The check ran; its cases may have failed.
    Checked(CheckReport),
    /// The service could not be started, or its build failed.
    Failed(Exclusion),
    /// The machine lacks a requirement of the service.
    Unavailable(String),
}

impl Row {
    /// Whether every case passed.
    pub fn passed(&self) -> bool {
        matches!(&self.outcome, Outcome::Checked(report) if report.passed())
    }

    /// Whether the service is at fault.
    pub fn failed(&self) -> bool {
        !self.passed() && !matches!(self.outcome, Outcome::Unavailable(_))
    }

    /// The result as a row of the matrix.
    pub fn record(&self) -> ServiceCheck {
        let empty = ServiceCheck {
            service: self.id.service.clone(),
            variant: self.id.variant.clone(),
            contract: self.contract.clone(),
            protocol: Some(protocol_word(self.channel).to_owned()),
            passed: false,
            cases: Vec::new(),
            operations: BTreeMap::new(),
            traits: BTreeMap::new(),
            failures: Vec::new(),
            warnings: Vec::new(),
            skipped: Vec::new(),
            unavailable: None,
            took_ms: None,
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

/// The row of a service that could not be checked. `service` is its definition in the catalogue.
pub(crate) fn unchecked(
    id: &ServiceId,
    (contract, channel): (&str, Channel),
    excluded: &Exclusion,
    service: Option<&Service>,
) -> ServiceCheck {
    let outcome = match (service, excluded.stage) {
        (Some(service), TrialStage::Toolchain | TrialStage::Build) => not_built(service, excluded),
        _ => Outcome::Failed(excluded.clone()),
    };
    let row = Row {
        id: id.clone(),
        contract: contract.to_owned(),
        channel,
        outcome,
    };
    row.record()
}

/// A requirement that the machine lacks is not the fault of the service, nor is a build that cannot download its dependencies
/// here if the service declares this.
fn not_built(service: &Service, excluded: &Exclusion) -> Outcome {
    match (&service.unavailable_hint, excluded.stage) {
        (Some(hint), _) => Outcome::Unavailable(format!("{hint} ({})", excluded.reason)),
        (None, TrialStage::Toolchain) => Outcome::Unavailable(excluded.reason.clone()),
        (None, _) => Outcome::Failed(excluded.clone()),
    }
}

/// The services, contracts and protocols to check.
#[derive(Debug, Clone, Copy)]
pub struct CheckScope<'a> {
    /// A pattern of services, or a contract and with it every service that lists it; `None`: all services in all variants.
    pub first: Option<&'a str>,
    /// A contract; `None`: every contract that the service lists.
    pub second: Option<&'a str>,
    /// A channel; `None`: every channel that the service offers.
    pub channel: Option<Channel>,
    /// Seed of the random values of the cases.
    pub seed: u64,
    /// Whether slow cases are included.
    pub thorough: bool,
}

/// A service with the contracts and protocols to check.
struct ServiceContracts<'a> {
    service: &'a Service,
    contracts: Vec<(&'a Contract, Channel)>,
}

/// Builds, starts and checks the services in scope. `tell` receives progress messages.
pub fn check_services(
    scope: &CheckScope<'_>,
    checkout: &Checkout,
    workbench: &LocalTestbed,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Row>, CommandError> {
    let catalogue = checkout.catalogue()?;
    let selected = select(scope, &catalogue)?;
    let cancel = &workbench.cancel;
    let folders = Folders::of(&checkout.root, &checkout.state());
    let builder = Builder::new(&workbench.testbed, &catalogue.toolchains, folders, cancel);
    let services: Vec<&Service> = selected.iter().map(|one| one.service).collect();
    checkout.has_room(services.iter().map(|service| service.name.as_str()))?;
    if let Some(note) = withheld_variables(&workbench.environment().variables, &services) {
        tell(&note);
    }
    let at_once = builds_at_once(workbench.host().memory_available_bytes());
    let built = builder.build_all(&services, at_once, &|progress| {
        if let Some(text) = progress.waits() {
            tell(&text);
        } else if let Progress::Building(service) = progress {
            tell(&format!("building {service}"));
        }
    });
    let mut rows = Vec::new();
    for selected in &selected {
        let id = id_of(selected.service);
        if cancel.is_asked() {
            return Err(cancelled());
        }
        tell(&format!("checking {id}"));
        let of_service = match &built[&id] {
            Ok(built) => check_in_starts(
                &workbench.bench(&catalogue),
                selected,
                built,
                (scope.seed, scope.thorough),
            ),
            Err(excluded) => selected.rows(|_| not_built(selected.service, excluded)),
        };
        // A failure during cancellation may be caused by it.
        let failed = |row: &Row| matches!(row.outcome, Outcome::Failed(_));
        if cancel.is_asked() && of_service.iter().any(failed) {
            return Err(cancelled());
        }
        rows.extend(of_service);
    }
    Ok(rows)
}

fn cancelled() -> CommandError {
    CommandError::Interrupted("ended by the user before every service was checked".to_owned())
}

impl ServiceContracts<'_> {
    fn rows(&self, outcome: impl Fn(usize) -> Outcome) -> Vec<Row> {
        self.contracts
            .iter()
            .enumerate()
            .map(|(index, (contract, channel))| Row {
                id: id_of(self.service),
                contract: contract.name.clone(),
                channel: *channel,
                outcome: outcome(index),
            })
            .collect()
    }
}

/// Uses one start for all contracts without backing services, and one for each of the others.
fn check_in_starts(
    bench: &RunContext<'_>,
    selected: &ServiceContracts<'_>,
    built: &BuildOutput,
    (seed, thorough): (u64, bool),
) -> Vec<Row> {
    let mut starts: BTreeMap<Option<&str>, Vec<(&Contract, Channel)>> = BTreeMap::new();
    for &(contract, channel) in &selected.contracts {
        let alone = (!contract.backing_services().is_empty()).then_some(contract.name.as_str());
        starts.entry(alone).or_default().push((contract, channel));
    }
    let mut rows = Vec::new();
    for contracts in starts.into_values() {
        let part = ServiceContracts {
            service: selected.service,
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
            Ok(reports) => rows.extend(part.rows(|index| Outcome::Checked(reports[index].clone()))),
            Err(excluded) => rows.extend(part.rows(|_| Outcome::Failed(excluded.clone()))),
        }
    }
    rows
}

/// The services in scope, each with its contracts in scope.
fn select<'a>(
    scope: &CheckScope<'_>,
    catalogue: &'a Catalogue,
) -> Result<Vec<ServiceContracts<'a>>, CommandError> {
    let (pattern, only) = match (scope.first, scope.second) {
        (Some(first), None) if catalogue.has_contract(first) => (Some("*"), Some(first)),
        (Some(first), second) => (Some(first), second),
        (None, _) => (None, None),
    };
    if let Some(name) = only {
        catalogue.contract(name)?;
    }
    let mut selected = Vec::new();
    // Without a pattern, reference services are included; no pattern matches them.
    let services = match pattern {
        Some(pattern) => catalogue.select(pattern)?,
        None => catalogue.services.iter().collect(),
    };
    let is_named = pattern.is_some_and(|pattern| !is_pattern(pattern));
    for service in services {
        // A broken contract is skipped, unless the service is named and all of its contracts are checked.
        if is_named && only.is_none() {
            catalogue.contracts_of(service)?;
        }
        let contracts: Vec<(&Contract, Channel)> = catalogue
            .contracts
            .values()
            .filter(|contract| only.is_none_or(|name| contract.name == name))
            .flat_map(|contract| {
                let protocols = contract.protocols();
                let channels = Channel::ALL.into_iter();
                channels
                    .filter(move |channel| protocols.contains(&channel.protocol()))
                    .map(move |channel| (contract, channel))
            })
            .filter(|(contract, channel)| service.offers(&contract.name, *channel))
            .filter(|(_, channel)| scope.channel.is_none_or(|only| only == *channel))
            .collect();
        if !contracts.is_empty() {
            selected.push(ServiceContracts { service, contracts });
        }
    }
    if selected.is_empty() {
        let what = only.map_or_else(|| "a contract".to_owned(), |name| format!("contract `{name}`"));
        let pattern = pattern.unwrap_or("*/*");
        return Err(CommandError::Input(format!(
            "no service that `{pattern}` names lists {what} over this protocol"
        )));
    }
    Ok(selected)
}
