//! Connections that end in all possible ways, without sockets: events go in, and sent and recorded data is checked.

use super::*;
use crate::clock::now_ns;
use crate::run::tests::job;
use prony_load::{Arrival, Profile, Rate, Spacing, TransportChoice};
use prony_merge::{Tally, TallyLayout};
use prony_protocols::http1::Http1;
use prony_protocols::http2::Http2;
use prony_protocols::http2::frame;
use prony_protocols::layer::PlainTcp;
use prony_records::{Histogram, Outcomes};
use std::io;

const MS: u64 = 1_000_000;
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";

/// A worker whose measurement begins now, and its start.
fn worker<P: Protocol>(load: Load, change: impl FnOnce(&mut Job)) -> (Core<P, PlainTcp>, Job, u64) {
    let mut job = job(TransportChoice::Epoll, 1, 1);
    (job.load, job.timeout_ns) = (load, 1_000_000 * MS);
    change(&mut job);
    let workload = Arc::new(PreparedWorkload::<P>::new(&job).expect("a good workload"));
    let mut core = Core::new(&job, job.partition(0), workload, (), false);
    let begin = now_ns();
    core.begin_phase(Phase::Measurement, (begin, u64::MAX), None);
    (core, job, begin)
}

/// Users who arrive at one per second.
fn users(requests_per_user: u32, think_ns: u64) -> Load {
    Load::Users {
        arrival: Arrival {
            profile: Profile::Constant {
                rate: Rate::per_second(1.0).expect("a rate"),
            },
            spacing: Spacing::Even,
        },
        requests_per_user,
        think_ns,
        max_users: 2,
    }
}

/// Does the work of the worker's loop; returns the actions for its sockets.
fn step<P: Protocol>(core: &mut Core<P, PlainTcp>, now: u64) -> Vec<Action> {
    core.handle_timers(now);
    core.take_arrivals(now);
    core.send_waiting(now);
    core.admit_users(now);
    core.connect_some();
    let actions = core.output.actions.clone();
    core.output.clear();
    actions
}

fn sends(actions: &[Action]) -> Vec<u32> {
    let sent = actions.iter().filter_map(|action| match action {
        Action::Send { number, .. } => Some(*number),
        _ => None,
    });
    sent.collect()
}

fn outcomes<P: Protocol>(core: &mut Core<P, PlainTcp>, job: &Job) -> (Outcomes, u64) {
    let tally = core
        .ledger
        .recorder
        .swap(Box::new(Tally::new(TallyLayout::of(job))));
    (tally.operations[0].outcomes, tally.retried)
}

fn refused() -> io::Error {
    io::Error::from_raw_os_error(libc::ECONNREFUSED)
}

fn reset() -> io::Error {
    io::Error::from_raw_os_error(libc::ECONNRESET)
}

#[test]
fn a_pause_ends_with_its_user() {
    let (mut core, job, begin) = worker::<Http1>(users(2, 3_000 * MS), |_| {});
    assert_eq!(step(&mut core, begin), [Action::Connect(0)]);
    core.connected(0, begin + MS);
    assert_eq!(sends(&step(&mut core, begin + MS)), [0]);
    // The user pauses, and is not admitted again.
    core.received(0, LAST, begin + 2 * MS);
    assert!(step(&mut core, begin + 2 * MS).contains(&Action::Connect(0)));
    core.connect_failed(0, &refused(), begin + 3 * MS);
    step(&mut core, begin + 3 * MS);
    // The next user has the same number, and does not wait for the pause of the first.
    let second = begin + 1_000 * MS;
    assert_eq!(step(&mut core, second), [Action::Connect(0)]);
    core.connected(0, second + MS);
    assert_eq!(sends(&step(&mut core, second + MS)), [0]);
    core.received(0, OK, second + 2 * MS);
    let (outcomes, _) = outcomes(&mut core, &job);
    assert_eq!(
        (outcomes.valid, outcomes.connect_error, outcomes.total()),
        (2, 1, 3)
    );
}

#[test]
fn a_user_who_is_refused_leaves_the_whole_visit_unsent() {
    let (mut core, job, begin) = worker::<Http1>(users(10, 0), |_| {});
    step(&mut core, begin);
    core.connect_failed(0, &refused(), begin + MS);
    step(&mut core, begin + MS);
    assert_eq!(outcomes(&mut core, &job).0.connect_error, 10);
}

/// One connection of a closed load that has had a reply, with the next request in flight.
fn kept_alive(change: impl FnOnce(&mut Job)) -> (Core<Http1, PlainTcp>, Job, u64) {
    let (mut core, job, begin) = worker::<Http1>(Load::closed(1, 1), change);
    assert_eq!(step(&mut core, begin), [Action::Connect(0)]);
    core.connected(0, begin);
    core.received(0, OK, begin + MS);
    assert_eq!(sends(&step(&mut core, begin + MS)), [0, 0]);
    (core, job, begin)
}

#[test]
fn a_request_that_an_idle_connection_loses_goes_once_more() {
    for error in [None, Some(reset())] {
        let (mut core, job, begin) = kept_alive(|_| {});
        core.ended(0, error.as_ref(), begin + 2 * MS);
        assert!(step(&mut core, begin + 2 * MS).contains(&Action::Connect(0)));
        core.connected(0, begin + 3 * MS);
        assert_eq!(sends(&step(&mut core, begin + 3 * MS)), [0]);
        // The response time counts from the first attempt.
        core.received(0, OK, begin + 10 * MS);
        let tally = core
            .ledger
            .recorder
            .swap(Box::new(Tally::new(TallyLayout::of(&job))));
        assert_eq!((tally.operations[0].outcomes.valid, tally.retried), (2, 1));
        let mut times = Histogram::new();
        tally.operations[0].response.add_to(&mut times);
        let longest = times.summary().expect("two replies").max;
        assert!(longest >= 9 * MS, "{longest}");
    }
}

#[test]
fn no_other_request_goes_once_more() {
    let lost = |mut core: Core<Http1, PlainTcp>, job: &Job, begin: u64| {
        core.ended(0, Some(&reset()), begin + 3 * MS);
        let (outcomes, retried) = outcomes(&mut core, job);
        assert_eq!((outcomes.reset, retried), (1, 0));
    };
    // An unsafe method.
    let (core, job, begin) = kept_alive(|job| job.workload.operations[0].request.method = "POST".into());
    lost(core, &job, begin);
    // Retries are disabled.
    let (core, job, begin) = kept_alive(|job| job.limits.no_retry = true);
    lost(core, &job, begin);
    // The reply had started.
    let (mut core, job, begin) = kept_alive(|_| {});
    core.received(0, b"H", begin + 2 * MS);
    lost(core, &job, begin);
    // The connection never replied: this is how a server refuses.
    let (mut core, job, begin) = worker::<Http1>(Load::closed(1, 1), |_| {});
    step(&mut core, begin);
    core.connected(0, begin);
    step(&mut core, begin);
    lost(core, &job, begin);
    // Only one retry.
    let (mut core, job, begin) = kept_alive(|_| {});
    core.ended(0, None, begin + 2 * MS);
    step(&mut core, begin + 2 * MS);
    core.connected(0, begin + 2 * MS);
    core.received(0, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", begin + 2 * MS);
    let (first, retried) = outcomes(&mut core, &job);
    assert_eq!((first.reset, retried), (0, 1));
    core.ended(0, None, begin + 3 * MS);
    step(&mut core, begin + 3 * MS);
    core.connected(0, begin + 3 * MS);
    core.ended(0, Some(&reset()), begin + 3 * MS);
    let (second, retried) = outcomes(&mut core, &job);
    assert_eq!((second.reset, retried), (1, 1));
}

fn settings() -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write_settings(&[], &mut bytes);
    bytes
}

/// 200 without a body.
fn reply(stream: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(1, 5, stream, &[0x88], &mut bytes);
    bytes
}

fn go_away(last: u32) -> Vec<u8> {
    let (mut bytes, mut payload) = (Vec::new(), last.to_be_bytes().to_vec());
    payload.extend_from_slice(&[0; 4]);
    frame::write(7, 0, 0, &payload, &mut bytes);
    bytes
}

#[test]
fn a_connection_that_takes_no_more_is_replaced_while_its_requests_end() {
    let (mut core, job, begin) = worker::<Http2>(Load::closed(1, 4), |_| {});
    assert_eq!(step(&mut core, begin), [Action::Connect(0)]);
    core.connected(0, begin);
    core.received(0, &settings(), begin);
    step(&mut core, begin);
    assert_eq!(core.ledger.slots.active_on(0), 4);
    core.received(0, &go_away(7), begin + MS);
    assert!(step(&mut core, begin + MS).contains(&Action::Connect(1)));
    core.connected(1, begin + 2 * MS);
    core.received(1, &settings(), begin + 2 * MS);
    let under_way =
        |core: &Core<Http2, PlainTcp>| (core.ledger.slots.active_on(0), core.ledger.slots.active_on(1));
    assert_eq!(under_way(&core), (4, 0), "four were configured");
    core.received(0, &reply(3), begin + 3 * MS);
    assert_eq!(under_way(&core), (3, 1));
    step(&mut core, begin + 3 * MS);
    for stream in [1, 5, 7] {
        core.received(0, &reply(stream), begin + 4 * MS);
    }
    assert_eq!(under_way(&core), (0, 4));
    assert!(step(&mut core, begin + 4 * MS).contains(&Action::Close(0)));
    assert_eq!((core.open, core.connecting), (1, 0));
    // And the other way round.
    core.received(1, &go_away(7), begin + 5 * MS);
    assert!(step(&mut core, begin + 5 * MS).contains(&Action::Connect(0)));
    let (outcomes, _) = outcomes(&mut core, &job);
    assert_eq!((outcomes.valid, outcomes.total()), (4, 4));
}

#[test]
fn pauses_go_on_on_the_connection_that_takes_the_place() {
    let load = Load::Closed {
        connections: 1,
        in_flight: 2,
        think_ns: 100 * MS,
        growth: None,
        members: None,
    };
    let (mut core, job, begin) = worker::<Http2>(load, |_| {});
    step(&mut core, begin);
    core.connected(0, begin);
    core.received(0, &settings(), begin);
    core.received(0, &[reply(1), go_away(3)].concat(), begin + MS);
    step(&mut core, begin + MS);
    core.connected(1, begin + 2 * MS);
    core.received(1, &settings(), begin + 2 * MS);
    assert_eq!(
        core.ledger.slots.active_on(1),
        0,
        "one is in flight, and one pauses"
    );
    core.received(0, &reply(3), begin + 3 * MS);
    step(&mut core, begin + 3 * MS);
    assert_eq!(core.ledger.slots.active_on(1), 0, "both pause");
    step(&mut core, begin + 101 * MS);
    assert_eq!(core.ledger.slots.active_on(1), 1);
    step(&mut core, begin + 103 * MS);
    assert_eq!(core.ledger.slots.active_on(1), 2);
    assert_eq!(outcomes(&mut core, &job).0.valid, 2);
}

#[test]
fn goaway_in_the_greeting_is_no_connection() {
    let (mut core, job, begin) = worker::<Http2>(Load::closed(1, 1), |_| {});
    step(&mut core, begin);
    core.connected(0, begin);
    core.received(0, &[settings(), go_away(0)].concat(), begin + MS);
    assert!(step(&mut core, begin + MS).contains(&Action::Close(0)));
    assert_eq!((core.open, core.connecting), (0, 0));
    assert_eq!(outcomes(&mut core, &job).0.connect_error, 1);
    assert!(
        core.totals
            .connect_error
            .as_ref()
            .is_some_and(|error| error.contains("GOAWAY"))
    );
    // It reconnects after a pause.
    assert_eq!(step(&mut core, begin + 10 * MS), [Action::Connect(0)]);
    core.connected(0, begin + 10 * MS);
    core.received(0, &settings(), begin + 10 * MS);
    assert_eq!(core.open, 1);
}
