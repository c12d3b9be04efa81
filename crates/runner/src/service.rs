//! Starts a service outside of a run, to check or use it.

use crate::start::{self, start_service, wait_until_ready};
use crate::{BackingProcesses, prepare};
use crate::{BuildOutput, Failure, RunContext, Start, StartedService, TrialPlacement};
use prony_check::{CheckReport, CheckRequest, check_beside};
use prony_config::contract::Contract;
use prony_config::{Address, Limits, Service};
use prony_load::Protocol;
use prony_records::{Exclusion, TrialStage};

/// A service and the contracts to check in one start.
#[derive(Debug, Clone, Copy)]
pub struct ServiceRequest<'a> {
    /// The service.
    pub service: &'a Service,
    /// Its build.
    pub built: &'a BuildOutput,
    /// Contracts with protocols. All need the same backing services, or none.
    pub contracts: &'a [(&'a Contract, Protocol)],
    /// Seed of the random values of the cases.
    pub seed: u64,
    /// Whether slow cases are included.
    pub thorough: bool,
}

/// Log lines that are stored with a failure.
const LOG_LINES: usize = 20;

/// Starts a service with the backing services that its contracts need, checks it and stops it. Returns a report for each contract, in
/// order; the error says why it could not be checked.
pub fn check_service(
    bench: &RunContext<'_>,
    request: &ServiceRequest<'_>,
) -> Result<Vec<CheckReport>, Exclusion> {
    if request.contracts.is_empty() {
        return Ok(Vec::new());
    }
    with_service(bench, request, |requests, subject| {
        requests
            .iter()
            .map(|request| {
                if bench.cancel.is_asked() {
                    return Err(Failure::interrupted(TrialStage::Check));
                }
                let checked = prony_check::CheckedService {
                    backing: &mut subject.backing_services,
                    cpu_time: &mut |window| start::cpu_time(&mut *subject.service, window),
                };
                check_beside(request, Some(checked))
            })
            .collect()
    })
}

/// Starts a service with the backing services that its contracts need, waits until it is ready, and stops it after `use_it`, which
/// gets a request for each contract, and the service with its backing services. The error says why it could not be used.
///
/// # Panics
///
/// If the request has no contract: the contract determines the backing services.
pub fn with_service<T>(
    bench: &RunContext<'_>,
    request: &ServiceRequest<'_>,
    use_it: impl FnOnce(&[CheckRequest<'_>], &mut StartedService) -> Result<T, Failure>,
) -> Result<T, Exclusion> {
    let without_log = |failure: Failure| failure.with_log(Vec::new());
    let (contract, _) = request.contracts[0];
    let mut contracts = Vec::new();
    for (contract, _) in request.contracts {
        contracts.push(prepare(bench, contract, request.seed).map_err(without_log)?);
    }
    let start = Start {
        service: request.service,
        built: request.built,
        contract,
        address: &Address::default(),
        limits: Limits::default(),
        network: None,
    };
    let placement = TrialPlacement::alone(bench.testbed, contract, None);
    let backing_services =
        BackingProcesses::start(bench, contract, request.seed, &placement).map_err(without_log)?;
    let mut subject = start_service(bench, &start, &placement, backing_services).map_err(without_log)?;
    let (target, backing) = (subject.target.clone(), subject.backing_targets.clone());
    let requests: Vec<CheckRequest<'_>> = request
        .contracts
        .iter()
        .zip(&contracts)
        .map(|(&(_, protocol), contract)| CheckRequest {
            contract,
            target: &target,
            protocol,
            seed: request.seed,
            thorough: request.thorough,
            allow_writes: request.service.allows_writes(),
            backing: &backing,
        })
        .collect();
    let limit = request.service.start_timeout;
    let ready = wait_until_ready(&mut *subject.service, &requests[0], limit, bench);
    let used = ready.and_then(|_| use_it(&requests, &mut subject));
    let fault = subject.backing_services.fault();
    // A service that does not stop is killed; its replies were judged before.
    if let Ok(ending) = subject.service.stop() {
        subject.build.changed_by_service(&ending);
    }
    used.map_err(|failure| {
        let failure = failure.with_backing_services(fault, subject.backing_services.blames());
        failure.with_log(subject.service.log_tail(LOG_LINES))
    })
}
