//! Checks a running service against its contract: before a trial, and once after it.
//!
//! [`check`] tries every case of the contract; [`recheck`] tries a part of them with values of its own, so that a service
//! that answers wrongly after it was under load is caught. What comes is read by the state machines that the generator uses
//! ([`prony_protocols::client`]), so that a reply cannot pass the check and fail the load, or the other way round.

mod call;
mod case_client;
mod case_result;
mod judge;
mod reply_traits;
mod report;
mod runner;
mod websocket;

pub use call::{CallReply, call};
pub use report::{CaseReport, CheckReport, Failure, protocol_word};
pub use runner::BackingControl;
use runner::CpuTimeFn;

use prony_config::contract::{Case, Contract};
use prony_load::{Protocol, Target};
use prony_records::{Warning, WarningKind};
use std::time::{Duration, Instant};

/// What is to be checked.
#[derive(Debug, Clone, Copy)]
pub struct CheckRequest<'a> {
    /// The contract.
    pub contract: &'a Contract,
    /// Where the service listens, and whether it speaks TLS.
    pub target: &'a Target,
    /// What is spoken.
    pub protocol: Protocol,
    /// Decides the random values of the cases.
    pub seed: u64,
    /// Whether cases that take long are tried too.
    pub thorough: bool,
}

/// Exchanges of a case that a recheck tries, at most.
const RECHECKED: usize = 20;

/// What a check needs of the host that the service runs on. `E` is what may fail there other than the service.
pub struct CheckedService<'a, E> {
    /// Stops and starts the backing services of the service.
    pub backing: &'a mut dyn BackingControl<E>,
    /// Measures the CPU time that the service uses in a window of this length, starting now; `None` where it is unknown.
    pub cpu_time: &'a mut dyn FnMut(Duration) -> Option<Duration>,
}

/// Tries every case that needs the service alone. Blocks until it is done.
pub fn check(request: &CheckRequest<'_>) -> CheckReport {
    let (cases, later) = cases(request);
    let mut report = check_cases(request, cases);
    for case in &later {
        let name = &case.name;
        if let Some(restart) = &case.restart {
            let backing_service = &restart.backing_service;
            report.warnings.push(note(format!(
                "`{name}` was not tried: backing service `{backing_service}` was not started here, so it cannot be restarted"
            )));
        } else {
            report.add_left(request, case, &mut |_| None);
        }
    }
    report
}

/// The same of a service that was started here: after all others, the cases are tried in which one of its backing services goes away,
/// or many of its clients; without a subject they are left out. The error says what failed other than the service.
pub fn check_beside<E>(
    request: &CheckRequest<'_>,
    subject: Option<CheckedService<'_, E>>,
) -> Result<CheckReport, E> {
    let started = Instant::now();
    let (cases, later) = cases(request);
    let mut report = check_cases(request, cases);
    if let Some(CheckedService { backing, cpu_time }) = subject {
        for case in &later {
            if case.restart.is_some() {
                report.cases.push(runner::restarted(request, case, backing)?);
            } else {
                report.add_left(request, case, cpu_time);
            }
        }
        report.took = started.elapsed();
    }
    Ok(report)
}

fn note(text: String) -> Warning {
    Warning::new(WarningKind::Note, text)
}

impl CheckReport {
    /// Tries a case in which clients leave.
    fn add_left(&mut self, request: &CheckRequest<'_>, case: &Case, spent: &mut CpuTimeFn<'_>) {
        let (tried, seen) = runner::left(request, case, spent);
        if tried.passed() && !seen {
            self.warnings.push(note(format!(
                "`{}`: the CPU time of the service is not known here, so what goes on in it without its connections was not seen",
                case.name
            )));
        }
        self.cases.push(tried);
    }
}

/// Those that are sent as they are, and those that come after them: a backing service or many clients go away.
fn cases(request: &CheckRequest<'_>) -> (Vec<Case>, Vec<Case>) {
    let cases = request.contract.cases(request.protocol, request.seed).into_iter();
    cases
        .filter(|case| request.thorough || !case.thorough)
        .partition(|case| case.restart.is_none() && case.leave.is_none())
}

/// Tries a part of the cases, those that disturb nothing, with other random values than the check of the same seed.
pub fn recheck(request: &CheckRequest<'_>) -> CheckReport {
    let seed = !request.seed;
    let mut cases = request.contract.cases(request.protocol, seed);
    cases.retain(|case| !case.alone && !case.thorough);
    for case in &mut cases {
        let step = case.exchanges.len().div_ceil(RECHECKED).max(1);
        // A case of a few exchanges is a whole, and so is one whose calls need what others gave; one of many is a list of values.
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

/// Tries these cases, less those that take long unless the request is thorough.
pub fn check_cases(request: &CheckRequest<'_>, mut cases: Vec<Case>) -> CheckReport {
    cases.retain(|case| request.thorough || !case.thorough);
    let started = Instant::now();
    let (cases, warnings) = runner::run(request.target, request.protocol, cases);
    CheckReport {
        contract: request.contract.name.clone(),
        protocol: request.protocol,
        seed: request.seed,
        cases,
        warnings,
        took: started.elapsed(),
    }
}

/// A request without a complete reply after this long has failed.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same for a case that takes long by its nature.
const THOROUGH_PATIENCE: Duration = Duration::from_secs(20);
