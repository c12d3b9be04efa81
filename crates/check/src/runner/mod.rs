//! Runs cases: side by side where their order is free, those that disturb others alone.

mod client_disconnect;
mod restart;

pub(super) use client_disconnect::{CpuTimeFn, left};
pub use restart::BackingControl;
pub(super) use restart::restarted;

use super::case_client::CaseClient;
use super::case_result::Tally;
use super::reply_traits::ReplyTraits;
use super::report::CaseReport;
use prony_config::contract::Case;
use prony_load::{Protocol, Target};
use prony_protocols::client::Client;
use prony_records::Warning;
use std::sync::Mutex;
use std::thread;

/// Cases under way at once.
const SIDE_BY_SIDE: usize = 8;
/// Tries of a case that is alone.
const TRIES: u32 = 3;
/// The case with more headers than some servers take.
const MANY_HEADERS: &str = "100 headers";

pub(super) fn run(target: &Target, protocol: Protocol, cases: Vec<Case>) -> (Vec<CaseReport>, Vec<Warning>) {
    // Connections of one client share what is remembered of TLS.
    let client = Client::new(target, protocol);
    let reports: Vec<Mutex<Tally>> = cases.iter().map(|_| Mutex::default()).collect();
    let waiting = Mutex::new(cases.iter().zip(&reports).filter(|(case, _)| !case.alone));
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                // The lock is for the choice alone.
                let next = || waiting.lock().expect(NO_PANIC).next();
                while let Some((case, report)) = next() {
                    *report.lock().expect(NO_PANIC) = CaseClient::of(&client, case).case(case);
                }
            });
        }
    });
    for (case, report) in cases.iter().zip(&reports).filter(|(case, _)| case.alone) {
        *report.lock().expect(NO_PANIC) = alone(&CaseClient::of(&client, case), case);
    }
    let reports = reports
        .into_iter()
        .map(|report| report.into_inner().expect(NO_PANIC));
    let mut seen = ReplyTraits::default();
    let mut done = Vec::new();
    for (case, mut tally) in cases.into_iter().zip(reports) {
        if case.name == MANY_HEADERS {
            tally.forgive_refused_headers();
        }
        seen.merge(&tally.traits);
        done.push(CaseReport {
            name: case.name,
            exchanges: tally.sent,
            failed: tally.failed,
            failures: tally.failures,
        });
    }
    (done, seen.warnings())
}

const NO_PANIC: &str = "invariant: a case does not panic";

/// What disturbs others happens at a time of its own, which a machine that stumbles can miss: it is tried again.
fn alone(client: &CaseClient<'_>, case: &Case) -> Tally {
    let mut tries = 1;
    loop {
        let tally = client.case(case);
        if tally.failed == 0 || tries == TRIES {
            return tally;
        }
        tries += 1;
    }
}
