//! Runs cases: in parallel where possible, and those that disturb others one at a time.

mod client_disconnect;
mod restart;

pub(super) use client_disconnect::{CpuTimeFn, run_disconnect_case};
pub use restart::BackingControl;
pub(super) use restart::{run_change_case, run_restart_case};

use super::CheckRequest;
use super::case_client::CaseClient;
use super::clients::Clients;
use super::report::CaseReport;
use super::tally::{ReplyTraits, Tally};
use prony_config::contract::Case;
use prony_records::Warning;
use std::sync::Mutex;
use std::thread;

/// Number of cases that run at once.
const PARALLEL_CASES: usize = 8;
/// Attempts at a case that runs alone.
const ATTEMPTS: u32 = 3;
/// The case with more headers than some servers accept.
const MANY_HEADERS: &str = "100 headers";

pub(super) fn run(request: &CheckRequest<'_>, cases: Vec<Case>) -> (Vec<CaseReport>, Vec<Warning>) {
    let clients = Clients::of(request);
    let reports: Vec<Mutex<Tally>> = cases.iter().map(|_| Mutex::default()).collect();
    let waiting = Mutex::new(cases.iter().zip(&reports).filter(|(case, _)| !case.alone));
    thread::scope(|scope| {
        for _ in 0..PARALLEL_CASES {
            scope.spawn(|| {
                // The lock is held only while the next case is taken.
                let next = || waiting.lock().expect(NO_PANIC).next();
                while let Some((case, report)) = next() {
                    *report.lock().expect(NO_PANIC) = CaseClient::for_case(&clients, case).run_case(case);
                }
            });
        }
    });
    for (case, report) in cases.iter().zip(&reports).filter(|(case, _)| case.alone) {
        *report.lock().expect(NO_PANIC) = run_alone(&CaseClient::for_case(&clients, case), case);
    }
    let reports = reports
        .into_iter()
        .map(|report| report.into_inner().expect(NO_PANIC));
    let mut traits = ReplyTraits::default();
    let mut done = Vec::new();
    for (case, mut tally) in cases.into_iter().zip(reports) {
        if case.name == MANY_HEADERS {
            tally.forgive_refused_headers();
        }
        traits.merge(&tally.traits);
        done.push(tally.into_report(&case));
    }
    (done, traits.warnings())
}

const NO_PANIC: &str = "invariant: a case does not panic";

/// Repeats a case that fails: such cases depend on timing, and a pause of the machine can make them fail.
fn run_alone(client: &CaseClient<'_>, case: &Case) -> Tally {
    let mut attempts = 1;
    loop {
        let tally = client.run_case(case);
        if tally.failed == 0 || attempts == ATTEMPTS {
            return tally;
        }
        attempts += 1;
    }
}
