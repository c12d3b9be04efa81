//! Checks the generator against streams with known values.

use super::instrument::{Instrument, PERIOD_S, STALL_S, STALLED, TIMEOUT, ToyLoad, evenly};
use crate::CommandError;
use prony_host::Placement;
use prony_load::events::Events;
use prony_load::{Body, Expectation, Load, Operation, Request, Template, Workload};
use prony_records::Messages;
use prony_statistics::{TruthCheck, stalled_gap_quantile, stalled_quantile};
use std::time::Duration;

const ALLOWED: f64 = 0.01;
/// Streams with one event that begin per second, for the time to the first event.
const FIRSTS_PER_S: f64 = 200.0;
/// More connections than the streams that begin in one freeze.
const FIRSTS_CONNECTIONS: u32 = 256;
/// Streams that stay open, for their gaps. A gap must be much longer than the resolution of a timer, 1 ms.
const STAYING: u32 = 100;
const GAP_S: f64 = 0.05;
/// Streams that send as fast as possible, for missing events.
const BUSY: u32 = 4;
const EVENTS_OF_BUSY: u32 = 10_000;
const LOSE_EVERY: u32 = 1_000;
const LENGTH: Duration = Duration::from_secs(8);
const SHORT_LENGTH: Duration = Duration::from_secs(3);
const BUSY_LENGTH: Duration = Duration::from_secs(2);

/// Compares the time to the first event, the gaps and the missing events with their known values.
pub(super) fn check_streams(
    instrument: &Instrument<'_>,
    placement: &Placement,
) -> Result<Vec<TruthCheck>, CommandError> {
    (instrument.tell)("streams of a server that freezes and loses one event in a thousand …");
    let lose_every = LOSE_EVERY.to_string();
    let toy = instrument.toy(
        placement,
        &[&STALLED[..], &["--lose-every", &lose_every]].concat(),
    )?;
    let length = if instrument.short { SHORT_LENGTH } else { LENGTH };
    let messages = |load, workload, length, drain| {
        let toy_load = ToyLoad {
            port: toy.port,
            load,
            workload,
            length,
            drain,
        };
        let recording = instrument.load(placement, toy_load)?;
        recording.messages.ok_or_else(no_events)
    };
    // With one more stream in the whole length, no two begin at the same point of a period.
    let rate = FIRSTS_PER_S + 1.0 / length.as_secs_f64();
    let load = evenly(rate, FIRSTS_CONNECTIONS)?;
    let firsts = messages(load, streams(1, 0.0, None), length, TIMEOUT)?;
    // The streams outlast the load and are cut at its end.
    let stay = Some(2 * length.as_nanos() as u64);
    let workload = streams(u32::MAX, GAP_S, stay);
    let staying = messages(Load::closed(STAYING, 1), workload, length, Duration::ZERO)?;
    let workload = streams(EVENTS_OF_BUSY, 0.0, None);
    let busy = messages(Load::closed(BUSY, 1), workload, BUSY_LENGTH, Duration::ZERO)?;
    Ok([
        check_first_events(&firsts)?,
        check_gaps(&staying)?,
        check_lost_events(&busy)?,
    ]
    .concat())
}

fn no_events() -> CommandError {
    CommandError::Failed("no event came from the server that freezes".to_owned())
}

/// Streams of `count` events, which end by themselves or are closed by the client after `for_ns`.
fn streams(count: u32, gap_s: f64, for_ns: Option<u64>) -> Workload {
    let path = format!("/events?count={count}&gap_us={:.0}", gap_s * 1e6);
    Workload::of(Operation {
        name: "events".to_owned(),
        request: Request {
            method: "GET".to_owned(),
            path: Template::literal(path.as_str()),
            headers: Vec::new(),
            body: Body::None,
        },
        expect: Expectation {
            events: Some(Events {
                for_ns,
                ..Events::default()
            }),
            ..Expectation::default()
        },
    })
}

/// A stream that begins in a freeze waits for its end, like a request.
fn check_first_events(messages: &Messages) -> Result<Vec<TruthCheck>, CommandError> {
    let times = messages.first_ns.ok_or_else(no_events)?;
    let checks = [("p95", 0.95, times.p95), ("p99", 0.99, times.p99)].map(|(name, quantile, ns)| {
        let truth = stalled_quantile(STALL_S, PERIOD_S, quantile);
        check(format!("first event, {name}"), truth, ns)
    });
    Ok(checks.to_vec())
}

/// A lost event turns two gaps into one of at most 2 × 50 ms, once in a thousand events: no quantile moves by 0.1 %.
fn check_gaps(messages: &Messages) -> Result<Vec<TruthCheck>, CommandError> {
    let gaps = messages.gap_ns.ok_or_else(no_events)?;
    let quantiles = [
        ("p50", 0.5, gaps.p50),
        ("p99", 0.99, gaps.p99),
        ("p99.9", 0.999, gaps.p99_9),
    ];
    let checks = quantiles.map(|(name, quantile, ns)| {
        let truth = stalled_gap_quantile(GAP_S, STALL_S, PERIOD_S, quantile);
        check(format!("gaps of events, {name}"), truth, ns)
    });
    Ok(checks.to_vec())
}

fn check(what: String, truth_s: f64, ns: u64) -> TruthCheck {
    TruthCheck::new(what, "ms", 1000.0 * truth_s, ns as f64 / 1e6, ALLOWED)
}

fn check_lost_events(messages: &Messages) -> Result<Vec<TruthCheck>, CommandError> {
    let ids = messages.ids.filter(|ids| ids.counted > 0).ok_or_else(no_events)?;
    let per_thousand = 1000.0 * ids.missing as f64 / (ids.counted + ids.missing) as f64;
    let truth = 1000.0 / f64::from(LOSE_EVERY);
    Ok(vec![TruthCheck::new(
        "events lost",
        "‰",
        truth,
        per_thousand,
        ALLOWED,
    )])
}
