//! A reference service that is built, started, called once and stopped.

use super::Told;
use crate::checkout::Checkout;
use crate::exit::bad_input;
use anyhow::{Context as _, anyhow};
use prony_contract::{Contract, SingleCall};
use prony_host::{Isolation, Local};
use prony_load::Protocol;
use prony_measurement::Stage;
use prony_plan::{Catalogue, Service};
use prony_trial::check::{ServiceRequest, call, with_service};
use prony_trial::{Bench, Builder, Built, Cancel, Failure, Folders, Options, ProcessGenerator, Progress};
use std::ffi::OsString;

/// The services that fulfil every contract, in the order in which they are tried.
const REFERENCES: [&str; 2] = ["rust-reference", "go-reference"];

pub(super) fn call_one(contract: &Contract, protocol: Protocol, single: &SingleCall) -> anyhow::Result<Told> {
    let checkout = Checkout::find()?;
    let catalogue = Catalogue::read(&checkout.root).map_err(bad_input)?;
    let cancel = Cancel::new();
    crate::commands::run::listen(&cancel)?;
    let executable = std::env::current_exe().context("cannot tell where this binary lies")?;
    let program = executable
        .to_str()
        .context("the path of this binary is not UTF-8: move it elsewhere")?
        .to_owned();
    let host = Local::new(vec![executable.into_os_string(), OsString::from("supervise")]);
    let folders = Folders::of(&checkout.root, &checkout.state());
    let logs = folders.logs.clone();
    std::fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    let builder = Builder::new(&host, &catalogue.toolchains, folders, &cancel);
    let (service, built) = first_built(&catalogue, &builder, (contract, protocol))?;
    // A call starts no load; the bench only asks for something that could.
    let generator = ProcessGenerator::new(vec![program.clone(), "load".to_owned()], checkout.root.clone());
    let options = Options {
        logs,
        isolation: Isolation::WherePossible,
        backend: vec![program, "backend".to_owned()],
        noise: None,
    };
    let bench = Bench {
        host: &host,
        generator: &generator,
        options: &options,
        cancel: &cancel,
    };
    let request = ServiceRequest {
        service,
        built: &built,
        contracts: &[(contract, protocol)],
        seed: 1,
        thorough: false,
    };
    let told = with_service(&bench, &request, |ready| {
        let target = ready[0].target.clone();
        let reply = call(&target, protocol, single).map_err(|fault| Failure::new(Stage::Check, fault))?;
        Ok(Told {
            service: Some(service.label()),
            target,
            reply,
        })
    });
    told.map_err(|excluded| anyhow!("{}: {}", service.label(), excluded.reason))
}

/// The first reference service that offers the contract and can be built here.
fn first_built<'a>(
    catalogue: &'a Catalogue,
    builder: &Builder<'_>,
    (contract, protocol): (&Contract, Protocol),
) -> anyhow::Result<(&'a Service, Built)> {
    let mut reasons = Vec::new();
    for name in REFERENCES {
        let service = catalogue
            .services
            .iter()
            .find(|service| service.name == name && service.default);
        let Some(service) = service.filter(|service| service.offers(&contract.name, protocol)) else {
            continue;
        };
        let mut built = builder.build_all(&[service], 1, &|progress| {
            if let Progress::Building(service) = progress {
                eprintln!("building {service}");
            }
        });
        match built.pop_first() {
            Some((_, Ok(built))) => return Ok((service, built)),
            Some((id, Err(excluded))) => reasons.push(format!("{id}: {}", excluded.reason)),
            None => {}
        }
    }
    let why = if reasons.is_empty() {
        "none offers it".to_owned()
    } else {
        reasons.join("; ")
    };
    Err(anyhow!(
        "no reference service for contract `{}` ({why}): name one that runs with --url, or --host and --port",
        contract.name
    ))
}
