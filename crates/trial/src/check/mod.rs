//! Checks a running service against its contract: before a trial, and once after it.
//!
//! [`check`] tries every case of the contract; [`recheck`] tries a part of them with values of its own, so that a service
//! that answers wrongly after it was under load is caught. The client speaks HTTP/1.1 byte by byte itself, because the
//! cases need what no well-behaved client does; HTTP/2 and gRPC are spoken by a library.

mod call;
mod client;
mod exchange;
mod http1;
mod http2;
mod report;
mod runner;
mod stream;
mod tally;
mod traits;

pub use call::{CallReply, call};
pub use report::{CaseReport, CheckReport, Failure, protocol_word};
pub(crate) use runner::Beside;

use prony_contract::{Case, Contract};
use prony_load::{Protocol, Target};
use prony_measurement::{Warning, WarningKind};
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

/// Tries every case that needs the service alone. Blocks until it is done; may be called from any thread, inside an asynchronous
/// runtime too.
pub fn check(request: &CheckRequest<'_>) -> CheckReport {
    let (cases, restarts) = cases(request);
    let mut report = run(request, cases);
    let untried = restarts.iter().filter_map(|case| {
        let companion = &case.restart.as_ref()?.companion;
        let name = &case.name;
        let text = format!(
            "`{name}` was not tried: companion `{companion}` was not started here, so it cannot be restarted"
        );
        Some(Warning::new(WarningKind::Note, text))
    });
    report.warnings.extend(untried);
    report
}

/// The same of a service whose companions are at hand: after all others, the cases in which one of them goes away are tried;
/// without companions they are left out. The error says what failed other than the service.
pub(crate) fn check_beside(
    request: &CheckRequest<'_>,
    beside: Option<&mut dyn Beside>,
) -> Result<CheckReport, crate::Failure> {
    let started = Instant::now();
    let (cases, restarts) = cases(request);
    let mut report = run(request, cases);
    if let Some(beside) = beside {
        for case in &restarts {
            report.cases.push(runner::restarted(request, case, beside)?);
        }
        report.took = started.elapsed();
    }
    Ok(report)
}

/// Those that are sent as they are, and those in which a companion goes away.
fn cases(request: &CheckRequest<'_>) -> (Vec<Case>, Vec<Case>) {
    let cases = request.contract.cases(request.protocol, request.seed).into_iter();
    cases
        .filter(|case| request.thorough || !case.thorough)
        .partition(|case| case.restart.is_none())
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
    run(&CheckRequest { seed, ..*request }, cases)
}

pub(crate) fn run(request: &CheckRequest<'_>, mut cases: Vec<Case>) -> CheckReport {
    cases.retain(|case| request.thorough || !case.thorough);
    let started = Instant::now();
    let (cases, warnings) = block_on(runner::run(request.target, request.protocol, cases));
    CheckReport {
        contract: request.contract.name.clone(),
        protocol: request.protocol,
        seed: request.seed,
        cases,
        warnings,
        took: started.elapsed(),
    }
}

/// Waits for the checking client in a thread of its own: the caller may be inside an asynchronous runtime.
fn block_on<T: Send>(work: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("invariant: a runtime needs a few file descriptors only");
            runtime.block_on(work)
        });
        thread
            .join()
            .expect("invariant: the checking client does not panic")
    })
}

/// A request without a complete reply after this long has failed.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same for a case that takes long by its nature.
const THOROUGH_PATIENCE: Duration = Duration::from_secs(20);
