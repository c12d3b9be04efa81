//! Runs cases: side by side where their order is free, those that disturb others alone.

mod client_disconnect;
mod restart;

pub(super) use client_disconnect::{Spent, left};
pub use restart::BackingControl;
pub(super) use restart::restarted;

use super::case_result::Tally;
use super::client::Client;
use super::reply_traits::Traits;
use super::report::CaseReport;
use super::stream::Endpoint;
use prony_config::contract::Case;
use prony_load::{Protocol, Target};
use prony_records::Warning;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Cases under way at once.
const SIDE_BY_SIDE: usize = 8;
/// Tries of a case that is alone.
const TRIES: u32 = 3;
/// The case with more headers than some servers take.
const MANY_HEADERS: &str = "100 headers";

pub(super) async fn run(
    target: &Target,
    protocol: Protocol,
    cases: Vec<Case>,
) -> (Vec<CaseReport>, Vec<Warning>) {
    // Connections of one endpoint share what is remembered of TLS.
    let endpoint = Endpoint::new(target, protocol);
    let places = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    let mut reports: Vec<Option<Tally>> = cases.iter().map(|_| None).collect();
    let mut side_by_side = JoinSet::new();
    for (index, case) in cases.iter().enumerate().filter(|(_, case)| !case.alone) {
        let (case, places) = (case.clone(), Arc::clone(&places));
        let client = Client::of(&endpoint, protocol, &case);
        side_by_side.spawn(async move {
            let _place = places.acquire_owned().await;
            (index, client.case(case).await)
        });
    }
    while let Some(done) = side_by_side.join_next().await {
        let (index, tally) = done.expect("invariant: a case does not panic");
        reports[index] = Some(tally);
    }
    for (index, case) in cases.iter().enumerate().filter(|(_, case)| case.alone) {
        reports[index] = Some(alone(&endpoint, protocol, case).await);
    }
    let mut seen = Traits::default();
    let mut done = Vec::new();
    for (case, mut tally) in cases.into_iter().zip(reports.into_iter().flatten()) {
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

/// What disturbs others happens at a time of its own, which a machine that stumbles can miss: it is tried again.
async fn alone(endpoint: &Endpoint, protocol: Protocol, case: &Case) -> Tally {
    let mut tries = 1;
    loop {
        let tally = Client::of(endpoint, protocol, case).case(case.clone()).await;
        if tally.failed == 0 || tries == TRIES {
            return tally;
        }
        tries += 1;
    }
}
