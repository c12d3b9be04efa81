//! Checks a running service against its contract: before a trial, and once after it.
//!
//! [`check`] runs every case of the contract. [`recheck`] runs a selection with different random values, to catch a service
//! that replies incorrectly after a load. Replies are parsed by the state machines that the generator uses
//! ([`prony_protocols::client`]), so a reply cannot pass the check and fail the load, or the other way round.

mod call;
mod case_client;
mod clients;
mod judge;
mod report;
mod runner;
mod tally;
mod tls;
mod websocket;

pub use call::{CallReply, call};
pub use clients::BackingTargets;
pub use report::{CaseReport, CheckReport, CheckedOperation, Failure, protocol_word};
pub use runner::BackingControl;
use runner::CpuTimeFn;

use prony_config::contract::{Case, Contract};
use prony_config::{Channel, TlsProtocol};
use prony_load::{Protocol, Target};
use prony_records::{Warning, WarningKind};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// A service, and the contract that it is checked against.
#[derive(Debug, Clone, Copy)]
pub struct CheckRequest<'a> {
    pub contract: &'a Contract,
    /// Where the service listens, and whether it speaks TLS.
    pub target: &'a Target,
    pub protocol: Protocol,
    /// The TLS of a service that prony gave a certificate; `None`: the certificate is unknown, or there is no TLS.
    pub tls: Option<DeclaredTls<'a>>,
    /// Seed of the random values in the cases.
    pub seed: u64,
    /// Whether to run slow cases too.
    pub thorough: bool,
    /// Whether to run cases with requests that may change data. A server that prony did not start may hold data that somebody needs.
    pub allow_writes: bool,
    /// The backing services that prony started; cases that ask others are skipped.
    pub backing: &'a BackingTargets,
}

/// What a service must do on its TLS port.
#[derive(Debug, Clone, Copy)]
pub struct DeclaredTls<'a> {
    /// The protocols that it declares.
    pub protocols: &'a [TlsProtocol],
    /// The certificates that it got, as in its file: the leaf first, PEM.
    pub certificates: &'a str,
}

impl CheckRequest<'_> {
    /// The channel that is checked. A server that prony did not start is named by its protocol, with and without TLS.
    fn channel(&self) -> Channel {
        let over_tls = self.tls.and_then(|_| Channel::over_tls(self.protocol));
        over_tls.unwrap_or_else(|| self.protocol.into())
    }

    /// Every case whose requests may be sent.
    pub fn cases(&self, seed: u64) -> Vec<Case> {
        if self.allow_writes {
            self.contract.cases(self.protocol, seed)
        } else {
            self.contract.safe_cases(self.protocol, seed)
        }
    }

    /// The operations and cases that are left out because they may change data: operations by their names, then cases.
    fn skipped(&self) -> Vec<String> {
        if self.allow_writes {
            return Vec::new();
        }
        let sent: BTreeSet<String> = self.cases(self.seed).into_iter().map(|case| case.name).collect();
        let cases = self.contract.cases(self.protocol, self.seed).into_iter();
        let cases = cases
            .filter(|case| self.thorough || !case.thorough)
            .map(|case| case.name)
            .filter(|name| !sent.contains(name));
        let mut skipped = self.contract.unsafe_operations(self.protocol);
        skipped.extend(cases);
        skipped
    }
}

/// Maximum number of exchanges of a case in a recheck.
const RECHECKED: usize = 20;

/// What a check needs from the host that the service runs on. `E` is the error of that host.
pub struct CheckedService<'a, E> {
    /// Stops and starts the backing services of the service.
    pub backing: &'a mut dyn BackingControl<E>,
    /// Measures the CPU time that the service uses in a window of this length, starting now; `None` if it is unknown.
    pub cpu_time: &'a mut dyn FnMut(Duration) -> Option<Duration>,
}

/// Runs every case that needs only the service. Blocks until it is done.
pub fn check(request: &CheckRequest<'_>) -> CheckReport {
    let (cases, disruptive) = cases(request);
    let mut report = check_cases(request, cases);
    report.run_tls_cases(request);
    for case in &disruptive {
        let name = &case.name;
        let restart = case.restart.as_ref().map(|restart| &restart.backing_service);
        let change = case.file_change().map(|change| &change.backing_service);
        let unknown = case
            .backing_services()
            .find(|name| !request.backing.contains_key(*name));
        if let Some(missing) = restart.or(change).map(String::as_str).or(unknown) {
            report.warnings.push(not_started(name, missing));
        } else {
            report.run_disconnect_case(request, case, &mut |_| None);
        }
    }
    report
}

/// Checks a service that was started here. After all other cases, this runs those in which a backing service restarts, a file
/// changes or many clients disconnect; without a subject they are skipped. The error reports a failure of the host, not of the service.
pub fn check_beside<E>(
    request: &CheckRequest<'_>,
    subject: Option<CheckedService<'_, E>>,
) -> Result<CheckReport, E> {
    let started = Instant::now();
    let (cases, disruptive) = cases(request);
    let mut report = check_cases(request, cases);
    report.run_tls_cases(request);
    if let Some(CheckedService { backing, cpu_time }) = subject {
        for case in &disruptive {
            if case.restart.is_some() {
                report
                    .cases
                    .push(runner::run_restart_case(request, case, backing)?);
            } else if case.file_change().is_some() {
                report
                    .cases
                    .push(runner::run_change_case(request, case, backing)?);
            } else {
                report.run_disconnect_case(request, case, cpu_time);
            }
        }
        report.took = started.elapsed();
    }
    Ok(report)
}

/// The note that a case was skipped.
fn not_started(case: &str, backing_service: &str) -> Warning {
    note(format!(
        "`{case}` skipped: prony did not start {backing_service}."
    ))
}

fn note(text: String) -> Warning {
    Warning::new(WarningKind::Note, text)
}

impl CheckReport {
    /// Runs the common cases of TLS, if it has TLS.
    fn run_tls_cases(&mut self, request: &CheckRequest<'_>) {
        if let Some(declared) = request.tls {
            self.cases.extend(tls::cases(request, declared));
            self.traits.extend(tls::traits(request));
        }
    }

    /// Runs a case in which clients disconnect.
    fn run_disconnect_case(&mut self, request: &CheckRequest<'_>, case: &Case, cpu_time: &mut CpuTimeFn<'_>) {
        let (report, cpu_time_is_known) = runner::run_disconnect_case(request, case, cpu_time);
        if report.passed() && !cpu_time_is_known {
            self.warnings.push(note(format!(
                "`{}`: work after a disconnect was not checked; CPU time is unknown.",
                case.name
            )));
        }
        self.cases.push(report);
    }
}

/// The ordinary cases, and the disruptive ones that run after them.
fn cases(request: &CheckRequest<'_>) -> (Vec<Case>, Vec<Case>) {
    let cases = request.cases(request.seed).into_iter();
    cases
        .filter(|case| request.thorough || !case.thorough)
        .partition(|case| !case.is_disruptive())
}

/// Runs a selection of the cases that disturb nothing, with other random values than the check of the same seed.
pub fn recheck(request: &CheckRequest<'_>) -> CheckReport {
    let seed = !request.seed;
    let mut cases = request.cases(seed);
    cases.retain(|case| !case.alone && !case.thorough && case.shows.is_none() && !case.is_disruptive());
    for case in &mut cases {
        let step = case.exchanges.len().div_ceil(RECHECKED).max(1);
        // A long case whose calls capture nothing is a list of values, of which a sample is enough. Any other case needs all calls.
        let is_list = case
            .exchanges
            .iter()
            .all(|exchange| exchange.expect.take.is_empty());
        if is_list && case.exchanges.len() > RECHECKED {
            case.exchanges = std::mem::take(&mut case.exchanges)
                .into_iter()
                .step_by(step)
                .collect();
        }
    }
    check_cases(&CheckRequest { seed, ..*request }, cases)
}

/// Runs these cases; slow ones only if the request is thorough.
pub fn check_cases(request: &CheckRequest<'_>, mut cases: Vec<Case>) -> CheckReport {
    cases.retain(|case| request.thorough || !case.thorough);
    let started = Instant::now();
    let is_known = |case: &Case| {
        case.backing_services()
            .all(|name| request.backing.contains_key(name))
    };
    let skipped: Vec<Warning> = cases
        .iter()
        .filter(|case| !is_known(case))
        .map(|case| not_started(&case.name, case.backing_services().next().unwrap_or_default()))
        .collect();
    cases.retain(is_known);
    let (shown, cases): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(|case| case.shows.is_some());
    let (cases, mut warnings) = runner::run(request, cases);
    warnings.extend(skipped);
    CheckReport {
        traits: traits(request, shown),
        contract: request.contract.name.clone(),
        channel: request.channel(),
        seed: request.seed,
        cases,
        skipped: request.skipped(),
        operations: CheckedOperation::all(request.contract, request.protocol),
        warnings,
        took: started.elapsed(),
    }
}

/// Tries the cases that show traits. What is unusual about their replies is no remark about the service.
fn traits(request: &CheckRequest<'_>, cases: Vec<Case>) -> BTreeMap<String, bool> {
    let names: Vec<String> = cases.iter().filter_map(|case| case.shows.clone()).collect();
    let (reports, _) = runner::run(request, cases);
    let mut traits = BTreeMap::new();
    for (name, report) in names.into_iter().zip(reports) {
        *traits.entry(name).or_insert(true) &= report.passed();
    }
    traits
}

/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of a request of a slow case.
const SLOW_TIMEOUT: Duration = Duration::from_secs(20);
