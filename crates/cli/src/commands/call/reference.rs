//! Builds and starts a reference service, calls it once and stops it.

use super::CallResponder;
use crate::checkout::Checkout;
use crate::signals;
use anyhow::anyhow;
use prony_check::call;
use prony_config::contract::{Contract, SingleCall};
use prony_config::{Catalogue, Service};
use prony_load::Protocol;
use prony_records::TrialStage;
use prony_runner::LocalTestbed;
use prony_runner::{BuildOutput, Builder, Failure, Folders, Progress, ServiceRequest, with_service};

/// Services that implement every contract, in the order in which they are tried.
const REFERENCES: [&str; 2] = ["rust-reference", "go-reference"];

pub(super) fn call_one(
    contract: &Contract,
    protocol: Protocol,
    single: &SingleCall,
) -> anyhow::Result<CallResponder> {
    let checkout = Checkout::find()?;
    let catalogue = checkout.catalogue()?;
    let workbench = LocalTestbed::of(&checkout, &signals::listen()?)?;
    let folders = Folders::of(&checkout.root, &checkout.state());
    let builder = Builder::new(
        &workbench.testbed,
        &catalogue.toolchains,
        folders,
        &workbench.cancel,
    );
    let (service, built) = first_built(&catalogue, &builder, (contract, protocol))?;
    let request = ServiceRequest {
        service,
        built: &built,
        contracts: &[(contract, protocol.into())],
        seed: 1,
        thorough: false,
    };
    let reply = with_service(&workbench.bench(&catalogue), &request, |ready, _| {
        let target = ready[0].target.clone();
        let reply =
            call(&target, protocol, single).map_err(|fault| Failure::new(TrialStage::Check, fault))?;
        Ok(CallResponder {
            service: Some(service.label()),
            target,
            reply,
        })
    });
    reply.map_err(|excluded| anyhow!("{}: {}", service.label(), excluded.reason))
}

/// The first reference service that implements the contract and can be built here.
fn first_built<'a>(
    catalogue: &'a Catalogue,
    builder: &Builder<'_>,
    (contract, protocol): (&Contract, Protocol),
) -> anyhow::Result<(&'a Service, BuildOutput)> {
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
            if let Some(text) = progress.waits() {
                eprintln!("{text}");
            } else if let Progress::Building(service) = progress {
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
        "none implements it".to_owned()
    } else {
        reasons.join("; ")
    };
    Err(anyhow!(
        "no reference service for contract `{}` ({why}) → Name a running service with --url, or with --host and --port.",
        contract.name
    ))
}
