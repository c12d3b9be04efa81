//! A server that stands still for 200 ms in each second, offered 2,000 requests a second on 50 connections: a fifth of
//! the requests are due while it stands still, so the waits of that fifth are spread evenly over 0 to 200 ms, and p90, p99
//! and p99.9 are 100, 190 and 199 ms. A generator that waits for replies before it sends sees almost none of it.
//!
//! What is asserted cannot be broken by a busy machine: the engine may never tell less than what the server did, and the
//! server writes down when it stood still. What it may tell too much is bounded loosely; `docs/ENGINE.md` has figures of a
//! quiet machine.

mod toy;

use prony_load::{Arrival, Load, Profile, Rate, Spacing, TransportChoice};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use toy::{HELLO, MS, job, run};

on_both_transports!(
    a_server_that_stands_still_is_told_as_such,
    with_poisson_arrivals_too
);

/// One thread for all connections, which sleeps for 200 ms at the begin of each second of its life.
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
    // From the first moment on, so that every stretch of whole seconds holds its full share.
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
        arrival: Arrival {
            profile: Profile::Constant {
                rate: Rate::per_second(2_000.0).expect("a rate"),
            },
            spacing,
        },
        connections: 50,
        in_flight: 1,
        backlog: 1_000_000,
    };
    job.phases.measurement_ns = 5_000 * MS;
    let recording = run(&job);
    assert_eq!(recording.outcomes.errors(), 0, "{:?}", recording.outcomes);
    if spacing == Spacing::Even {
        assert_eq!(recording.requests.offered, 10_000);
    }
    let told = recording.response_time_ns.expect("replies");
    // In 5 s the server stands still for five times 200 ms, wherever the measurement begins. Poisson arrivals put more or
    // fewer requests into that time: four standard deviations of their number are 7 % of the share of 20 %.
    let slack = if spacing == Spacing::Even { 0.99 } else { 0.9 };
    for (name, told, truth_ms) in [
        ("p90", told.p90, 100),
        ("p99", told.p99, 190),
        ("p99.9", told.p99_9, 199),
    ] {
        let truth = (truth_ms * MS) as f64;
        println!("{name}: told {:.2} ms, truth {truth_ms} ms", told as f64 / 1e6);
        assert!(
            told as f64 >= truth * slack,
            "{name} is {told} ns: time in which the server stood still is missing"
        );
        assert!(
            (told as f64) < truth + 1e9,
            "{name} is {told} ns: more than the server can have taken"
        );
    }
    let service = recording.service_time_ns.expect("replies");
    assert!(
        service.p90 < told.p90,
        "fifty connections cannot all wait: most of the wait is before the send"
    );
}

fn a_server_that_stands_still_is_told_as_such(transport: TransportChoice) {
    stands_still(transport, Spacing::Even);
}

fn with_poisson_arrivals_too(transport: TransportChoice) {
    stands_still(transport, Spacing::Poisson);
}
