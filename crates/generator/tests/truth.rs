//! A server that freezes for 200 ms in each second, offered 2,000 requests per second on 50 connections: a fifth of
//! the requests are due during a freeze, so their waits are spread evenly over 0 to 200 ms, and p90, p99 and p99.9
//! are 100, 190 and 199 ms. A generator that waits for replies before it sends sees almost none of it.
//!
//! The assertions hold on a busy machine, too: the generator must never report less than the server did, and the
//! server records when it froze. Values that are too high are only bounded loosely; `docs/ENGINE.md` has figures of a
//! quiet machine.

use crate::toy::{self, HELLO, MS, STREAM_HEAD, Server, chunk, event, job, read_request, run};
use prony_load::events::Events;
use prony_load::{Expectation, Load, Spacing, TransportChoice};
use std::io::{BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

on_both_transports!(
    events_at_known_times_are_reported_at_them,
    a_stalled_server_is_reported,
    with_poisson_arrivals_too
);

/// One thread for all connections, which sleeps for 200 ms at the start of each second of its life.
struct Frozen {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

const PERIOD: Duration = Duration::from_secs(1);
const FREEZE: Duration = Duration::from_millis(200);

impl Frozen {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let thread = std::thread::spawn(move || serve(&listener, &stopping));
        Self {
            address,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.thread
            .take()
            .expect("one thread")
            .join()
            .expect("the server");
    }
}

fn serve(listener: &TcpListener, stop: &AtomicBool) {
    listener.set_nonblocking(true).expect("non-blocking");
    // The first freeze starts at once, so that every period of whole seconds contains its full share.
    let mut next_freeze = Instant::now();
    let mut open: Vec<TcpStream> = Vec::new();
    let mut buffer = [0; 4096];
    while !stop.load(Ordering::SeqCst) {
        if Instant::now() >= next_freeze {
            std::thread::sleep((next_freeze + FREEZE).saturating_duration_since(Instant::now()));
            next_freeze += PERIOD;
        }
        while let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(true).expect("non-blocking");
            stream.set_nodelay(true).expect("no delay");
            open.push(stream);
        }
        let mut idle = true;
        open.retain_mut(|stream| match stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(_) => {
                idle = false;
                stream.write_all(HELLO.as_bytes()).is_ok()
            }
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        });
        if idle {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

fn stands_still(transport: TransportChoice, spacing: Spacing) {
    let server = Frozen::new();
    let mut job = job(server.address, transport);
    job.load = Load::Open {
        arrival: toy::arrivals(2_000.0, spacing),
        connections: 50,
        in_flight: 1,
        backlog: 1_000_000,
        members: None,
    };
    job.phases.measurement_ns = 5_000 * MS;
    let recording = run(&job);
    assert_eq!(recording.outcomes.errors(), 0, "{:?}", recording.outcomes);
    if spacing == Spacing::Even {
        assert_eq!(recording.requests.offered, 10_000);
    }
    let measured = recording.valid_time_ns.expect("replies");
    // In 5 s, the server freezes five times for 200 ms, whenever the measurement begins. With Poisson arrivals, the
    // number of requests in that time varies: four standard deviations are 7 % of the share of 20 %.
    let slack = if spacing == Spacing::Even { 0.99 } else { 0.9 };
    for (name, measured, truth_ms) in [
        ("p90", measured.p90, 100),
        ("p99", measured.p99, 190),
        ("p99.9", measured.p99_9, 199),
    ] {
        let truth = (truth_ms * MS) as f64;
        println!(
            "{name}: reported {:.2} ms, truth {truth_ms} ms",
            measured as f64 / 1e6
        );
        assert!(
            measured as f64 >= truth * slack,
            "{name} is {measured} ns: time in which the server was frozen is missing"
        );
        assert!(
            (measured as f64) < truth + 1e9,
            "{name} is {measured} ns: more than the server can have taken"
        );
    }
    let service = recording.service_time_ns.expect("replies");
    assert!(
        service.p90 < measured.p90,
        "fifty connections cannot all wait: most of the wait is before the send"
    );
}

fn a_stalled_server_is_reported(transport: TransportChoice) {
    stands_still(transport, Spacing::Even);
}

fn with_poisson_arrivals_too(transport: TransportChoice) {
    stands_still(transport, Spacing::Poisson);
}

/// Events of one stream, in batches that are written at once.
const EVENTS: u64 = 2_000;
const BATCH: u64 = 50;
/// Number of batches between two stops of [`FREEZE`]; before the other batches, the server sleeps for `NAP`.
const STOP_EVERY: u64 = 10;
const NAP: Duration = Duration::from_millis(5);
/// Time until the server sends the first event.
const THINKS: Duration = Duration::from_millis(30);

/// Of a thousand events, one is never sent; of two thousand, one is sent twice.
fn comes(n: u64) -> u64 {
    match n % 1_000 {
        500 => 0,
        _ if n % 2_000 == 700 => 2,
        _ => 1,
    }
}

fn tick(stream: TcpStream) {
    let mut writer = stream.try_clone().expect("a second handle");
    let mut reader = BufReader::new(stream);
    while read_request(&mut reader).is_some() {
        if writer.write_all(STREAM_HEAD.as_bytes()).is_err() {
            return;
        }
        std::thread::sleep(THINKS);
        for batch in 0..EVENTS / BATCH {
            if batch > 0 {
                std::thread::sleep(if batch % STOP_EVERY == 0 { FREEZE } else { NAP });
            }
            let numbers = batch * BATCH + 1..=(batch + 1) * BATCH;
            let events: String = numbers
                .flat_map(|n| (0..comes(n)).map(move |_| event(Some(n), "tick", &format!("{{\"n\": {n}}}"))))
                .collect();
            if writer.write_all(chunk(&events).as_bytes()).is_err() {
                return;
            }
        }
        let _ = writer.write_all(b"0\r\n\r\n");
    }
}

/// The number of events and the missing ones are known exactly, and no time may be shorter than the server slept.
fn events_at_known_times_are_reported_at_them(transport: TransportChoice) {
    let server = Server::new(|stream, _| tick(stream));
    let mut job = job(server.address, transport);
    let streams = 4;
    job.workload.operations[0].expect = Expectation {
        events: Some(Events::default()),
        ..Expectation::default()
    };
    job.phases.measurement_ns = 60_000 * MS;
    job.limits.requests = Some(streams);
    let recording = run(&job);
    assert_eq!(
        recording.outcomes.valid, streams,
        "{:?}",
        recording.unexpected_replies
    );
    let messages = recording.messages.expect("messages");
    let sent: u64 = (1..=EVENTS).map(comes).sum();
    assert_eq!(sent, EVENTS - 2 + 1);
    assert_eq!(messages.received, streams * sent);
    let ids = messages.ids.expect("ids that count");
    assert_eq!(
        (ids.counted, ids.missing, ids.doubled, ids.late),
        (streams * sent, streams * 2, streams, 0)
    );
    let ends = messages.streams.expect("streams");
    assert_eq!(
        (ends.completed, ends.at_bound, ends.ended_early, ends.cut),
        (streams, 0, 0, 0)
    );
    let in_time: u64 = recording.intervals.iter().filter_map(|one| one.messages).sum();
    assert_eq!(in_time, streams * sent);
    assert_eq!(
        (messages.per_s * recording.duration_s).round() as u64,
        streams * sent
    );
    // Three stops and 36 naps are between the first event and the last one.
    let batches = EVENTS / BATCH;
    let stops = (batches - 1) / STOP_EVERY;
    let slept = FREEZE * stops as u32 + NAP * (batches - 1 - stops) as u32;
    let (first, last, gaps) = (
        messages.first_ns.expect("times"),
        messages.last_ns.expect("times"),
        messages.gap_ns.expect("times"),
    );
    assert!(u128::from(first.min) >= THINKS.as_nanos() * 99 / 100, "{first:?}");
    assert!(
        u128::from(last.min) >= (THINKS + slept).as_nanos() * 99 / 100,
        "{last:?}"
    );
    // The time from the request to the last event is the time to the first one plus all gaps.
    let sum = first.mean + gaps.mean * (sent - 1) as f64;
    assert!((sum / last.mean - 1.0).abs() < 0.01, "{sum} {last:?}");
    // Most events arrive together with others; the longest gap is a stop, unless the event before each of them was
    // seen late.
    assert_eq!(gaps.p50, 0, "{gaps:?}");
    assert!(u128::from(gaps.max) >= FREEZE.as_nanos() * 9 / 10, "{gaps:?}");
}
