//! Loads in virtual time, on servers with known delays, losses and freezes: every percentile is compared with the one
//! that follows from its definition. The core is the real one; only sockets and clock are simulated.

use super::core::{Action, Core};
use crate::clock::now_ns;
use crate::workload::PreparedWorkload;
use prony_load::{
    Arrival, Body, Check, ConnectOptions, Expectation, Job, Limits, Load, Operation, PhaseDurations, Profile,
    Protocol, Rate, Request, Spacing, Target, Template, TransportChoice, WarmUp, Workload,
};
use prony_merge::{Part, Tally, TallyLayout, ThreadPart, assemble};
use prony_protocols::http1::Http1;
use prony_protocols::layer::PlainTcp;
use prony_records::Quantile::{AtLeast, Exact, Unbounded};
use prony_records::{Outcomes, Phase, Quantile, Recording, Responses};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;

const MS: u64 = 1_000_000;
/// Virtual time before the measurement.
const WARM_UP: u64 = 1_000 * MS;
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";

/// The fate of a request.
#[derive(Clone, Copy)]
enum Reply {
    /// A reply at this time.
    At(i64, &'static [u8]),
    Never,
}

/// A server: times are in ns since the start of the measurement.
struct Server<'a> {
    /// The reply to the request that arrives at this time; the number counts requests.
    answers: &'a mut dyn FnMut(i64, u64) -> Reply,
    /// Whether it accepts a connection; the number counts attempts.
    accepts: &'a mut dyn FnMut(u64) -> bool,
}

fn job(load: Load, window: u64, timeout: u64) -> Job {
    let request = Request {
        method: "GET".into(),
        path: Template::literal("/"),
        headers: Vec::new(),
        body: Body::None,
    };
    Job {
        target: Target {
            url: "http://a/".into(),
            host: "a".into(),
            port: 80,
            authority: "a".into(),
            tls: None,
            connect: ConnectOptions {
                connect_timeout_ns: Some(3_600_000 * MS),
                ..ConnectOptions::default()
            },
            credentials: None,
        },
        protocol: Protocol::Http1,
        load,
        workload: Workload::of(Operation {
            name: "a".into(),
            request,
            expect: Expectation::default(),
        }),
        phases: PhaseDurations {
            warm_up: WarmUp::FixedNs(WARM_UP),
            measurement_ns: window,
            drain_ns: timeout,
        },
        timeout_ns: timeout,
        check: Check { share: 1.0, keep: 1 },
        threads: 1,
        cpus: Vec::new(),
        transport: TransportChoice::Auto,
        interval_ns: 100 * MS,
        seed: 1,
        limits: Limits::default(),
        log: None,
        share: None,
        count_replies: false,
    }
}

fn evenly(rate: f64) -> Arrival {
    Arrival {
        profile: Profile::Constant {
            rate: Rate::per_second(rate).expect("a rate"),
        },
        spacing: Spacing::Even,
    }
}

fn open(rate: f64, connections: u32) -> Load {
    Load::Open {
        arrival: evenly(rate),
        connections,
        in_flight: 1,
        backlog: 1_000_000,
        members: None,
    }
}

/// An event on a connection, with the number of times it was established before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Connected(u32),
    Refused(u32),
    Replied(u32, u32, &'static [u8]),
}

struct SimulatedServer<'a> {
    core: Core<Http1, PlainTcp>,
    /// Start of the measurement.
    origin: u64,
    now: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    happened: u64,
    made: Vec<u32>,
    requests: u64,
    attempts: u64,
    server: Server<'a>,
}

impl SimulatedServer<'_> {
    fn plan(&mut self, at: u64, event: Event) {
        self.happened += 1;
        self.events.push(Reverse((at, self.happened, event)));
    }

    /// Executes the actions of the core.
    fn act(&mut self) {
        let mut index = 0;
        while let Some(&action) = self.core.output.actions.get(index) {
            index += 1;
            match action {
                Action::Connect(number) => {
                    self.attempts += 1;
                    let event = if (self.server.accepts)(self.attempts) {
                        Event::Connected(number)
                    } else {
                        Event::Refused(number)
                    };
                    self.plan(self.now, event);
                }
                Action::Close(number) => self.made[number as usize] += 1,
                Action::Send { number, .. } => {
                    self.requests += 1;
                    let at = self.now as i64 - self.origin as i64;
                    if let Reply::At(when, bytes) = (self.server.answers)(at, self.requests) {
                        let event = Event::Replied(number, self.made[number as usize], bytes);
                        self.plan((self.origin as i64 + when) as u64, event);
                    }
                }
            }
        }
        self.core.output.clear();
    }

    /// Handles everything that is due by now.
    fn step(&mut self) {
        self.core.handle_timers(self.now);
        self.settle();
        if self.core.policy.next_due() <= self.now {
            self.core.take_arrivals(self.now);
            self.core.send_waiting(self.now);
            self.core.admit_users(self.now);
            self.settle();
        }
        while let Some(&Reverse((at, _, event))) = self.events.peek()
            && at <= self.now
        {
            self.events.pop();
            let now = self.now;
            match event {
                Event::Connected(number) => self.core.connected(number, now),
                Event::Refused(number) => {
                    let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
                    self.core.connect_failed(number, &refused, now);
                }
                Event::Replied(number, made, bytes) if made == self.made[number as usize] => {
                    self.core.received(number, bytes, now);
                }
                Event::Replied(..) => {}
            }
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.core.connect_some();
        self.act();
    }

    /// Advances to the next event, but not beyond `until`.
    fn go_on(&mut self, until: u64) {
        let event = self.events.peek().map_or(u64::MAX, |&Reverse((at, ..))| at);
        let next = event
            .min(self.core.timers.next_due())
            .min(self.core.policy.next_due());
        self.now = next.clamp(self.now, until);
        self.step();
    }

    fn go_on_until(&mut self, until: u64) {
        while self.now < until {
            // Events at exactly `until` belong to the time after it.
            let event = self.events.peek().map_or(u64::MAX, |&Reverse((at, ..))| at);
            let timers = self.core.timers.next_due().min(self.core.policy.next_due());
            if event.min(timers) >= until {
                self.now = until;
                return;
            }
            self.go_on(until);
        }
    }
}

/// Runs a load on a server, from warm-up to drain.
fn simulate(job: &Job, server: Server<'_>) -> Recording {
    let workload = Arc::new(PreparedWorkload::<Http1>::new(job).expect("a good workload"));
    let core = Core::new(job, job.partition(0), workload, (), false);
    let begin = now_ns();
    let origin = begin + WARM_UP;
    let end = origin + job.phases.measurement_ns;
    let over = end + job.phases.drain_ns;
    let made = vec![0; core.connections() as usize];
    let mut world = SimulatedServer {
        core,
        origin,
        now: begin,
        events: BinaryHeap::new(),
        happened: 0,
        made,
        requests: 0,
        attempts: 0,
        server,
    };
    world.step();
    world.core.begin_phase(Phase::WarmUp, (begin, u64::MAX), None);
    for number in 0..world.core.connections() {
        world.core.use_connection(number, begin);
        world.act();
    }
    world.step();
    world.go_on_until(origin);
    world.core.begin_phase(Phase::Measurement, (origin, end), None);
    let empty = || Box::new(Tally::new(TallyLayout::of(job)));
    world.core.ledger.recorder.swap(empty());
    world.go_on_until(end);
    world.core.begin_drain(end, end);
    let (connected_ns, paused_ns) = {
        let recorder = &world.core.ledger.recorder;
        (recorder.connections.sum(), recorder.pauses.sum())
    };
    world.step();
    while !world.core.is_quiet() && world.now < over {
        world.go_on(over);
    }
    world.core.abandon(world.now);
    let mut part = Part::new(job);
    part.tally = *world.core.ledger.recorder.swap(empty());
    let noted = ThreadPart {
        open_at_begin: world.core.open,
        length_ns: end - origin,
        span_ns: end - origin,
        connected_ns,
        paused_ns,
        ..ThreadPart::default()
    };
    part.threads.insert(0, noted);
    assemble(job, &part, None)
}

/// A server that takes `delay` for a reply, and handles requests of a freeze once it is over.
fn frozen(delay: i64, (from, until): (i64, i64)) -> impl FnMut(i64, u64) -> Reply {
    move |at, _| {
        let begins = if (from..until).contains(&at) { until } else { at };
        Reply::At(begins + delay, OK)
    }
}

/// A server that replies after a millisecond, except to one request in `every`.
fn losing_each(every: u64) -> impl FnMut(i64, u64) -> Reply {
    move |at, number| {
        if number.is_multiple_of(every) {
            Reply::Never
        } else {
            Reply::At(at + MS as i64, OK)
        }
    }
}

fn always(_: u64) -> bool {
    true
}

/// Compares each percentile with that of the sorted list of true results.
#[track_caller]
fn assert_is(recording: &Recording, mut truth: Vec<Quantile>) {
    truth.sort();
    let count = truth.len();
    assert_eq!(
        recording.requests.offered, count as u64,
        "{:?}",
        recording.outcomes
    );
    assert_eq!(recording.outcomes.total(), count as u64);
    let measured = recording.response_time_ns.expect("requests were due");
    let at = |share: f64| truth[((share * count as f64 - 1e-6).ceil() as usize).clamp(1, count) - 1];
    for (name, found, wanted) in [
        ("min", measured.min, truth[0]),
        ("p50", measured.p50, at(0.5)),
        ("p75", measured.p75, at(0.75)),
        ("p90", measured.p90, at(0.9)),
        ("p95", measured.p95, at(0.95)),
        ("p99", measured.p99, at(0.99)),
        ("p99.9", measured.p99_9, at(0.999)),
        ("p99.99", measured.p99_99, at(0.9999)),
        ("max", measured.max, truth[count - 1]),
    ] {
        assert!(
            is_near(found, wanted),
            "{name} is {found:?}, not {wanted:?}: {measured:?}"
        );
    }
}

/// Histograms have a resolution of three digits.
fn is_near(found: Quantile, wanted: Quantile) -> bool {
    match (found, wanted) {
        (Exact(found), Exact(wanted)) | (AtLeast(found), AtLeast(wanted)) => {
            found.abs_diff(wanted) as f64 <= 1e-3 * wanted as f64
        }
        (found, wanted) => found == wanted,
    }
}

fn ms(count: u64) -> Quantile {
    Exact(count * MS)
}

/// 1,000 requests per second; requests due during a freeze wait until its end.
fn of_open(window_ms: u64, (from, until): (u64, u64)) -> Vec<Quantile> {
    (0..window_ms)
        .map(|due| {
            ms(1 + if (from..until).contains(&due) {
                until - due
            } else {
                0
            })
        })
        .collect()
}

fn open_with_freeze(window_ms: u64, (from, until): (u64, u64)) -> Recording {
    let job = job(open(1_000.0, 2_000), window_ms * MS, 10_000 * MS);
    let mut answers = frozen(MS as i64, ((from * MS) as i64, (until * MS) as i64));
    let server = Server {
        answers: &mut answers,
        accepts: &mut always,
    };
    simulate(&job, server)
}

#[test]
fn an_open_load_tells_a_freeze_as_it_was() {
    for window in [200, 1_000] {
        // In the middle, to the end, beyond the end (replies arrive in the drain), and all of it.
        for freeze in [(50, 90), (150, window), (100, 400), (0, window + 50)] {
            let recording = open_with_freeze(window, freeze);
            assert_is(&recording, of_open(window, freeze));
            assert_eq!(recording.outcomes.valid, window);
            assert_eq!(recording.offered_per_s, Some(1_000.0));
        }
    }
}

/// Requests that were due before the measurement and are still open at its end belong to it; those that ended in it
/// do not.
#[test]
fn what_was_due_earlier_and_is_still_open_at_the_end_counts() {
    let job = job(open(1_000.0, 2_000), 200 * MS, 10_000 * MS);
    // From 30 ms before the start to 100 ms after the end.
    let mut answers = frozen(MS as i64, (-30 * MS as i64, 300 * MS as i64));
    let server = Server {
        answers: &mut answers,
        accepts: &mut always,
    };
    let recording = simulate(&job, server);
    let truth = (0..230).map(|due| ms(331 - due)).collect();
    assert_is(&recording, truth);
    assert_eq!(
        recording.offered_per_s,
        Some(1_000.0),
        "thirty of them were due before"
    );
    let mut answers = frozen(MS as i64, (-30 * MS as i64, 100 * MS as i64));
    let server = Server {
        answers: &mut answers,
        accepts: &mut always,
    };
    assert_is(&simulate(&job, server), of_open(200, (0, 100)));
}

#[test]
fn a_closed_load_tells_a_freeze_as_it_was() {
    for window in [200_u64, 1_000] {
        let job = job(Load::closed(64, 1), window * MS, 10_000 * MS);
        let run = |from: i64, until: i64| {
            let mut answers = frozen(MS as i64, (from * MS as i64, until * MS as i64));
            let server = Server {
                answers: &mut answers,
                accepts: &mut always,
            };
            simulate(&job, server)
        };
        // Each slot sends at each millisecond except for the fifty of the freeze.
        let recording = run(100, 150);
        let mut truth = vec![ms(1); 64 * (window as usize - 51)];
        truth.extend([ms(51); 64]);
        assert_is(&recording, truth);
        assert_eq!(recording.contradictions(), None);
        // All slots wait from before the start to after the end: each has one request.
        let recording = run(-50, window as i64 + 100);
        assert_is(&recording, vec![ms(window + 151); 64]);
        assert_eq!((recording.replies(), recording.requests.offered), (0, 64));
        assert_eq!(recording.contradictions(), None);
        // A freeze that ended early leaves only the requests after it.
        let recording = run(-50, 20);
        assert_is(&recording, vec![ms(1); 64 * (window as usize - 21)]);
    }
}

/// Every tenth request gets no reply, or an immediate 503.
#[test]
fn losses_have_no_bound_and_errors_are_no_answers() {
    for (bytes, name) in [(None, "lost"), (Some(BUSY), "503")] {
        for window in [200_u64, 1_000] {
            let job = job(open(1_000.0, 200), window * MS, 150 * MS);
            let mut answers = |at: i64, number: u64| match bytes {
                None if number.is_multiple_of(10) => Reply::Never,
                Some(busy) if number.is_multiple_of(10) => Reply::At(at, busy),
                _ => Reply::At(at + 2 * MS as i64, OK),
            };
            let server = Server {
                answers: &mut answers,
                accepts: &mut always,
            };
            let recording = simulate(&job, server);
            let truth = (0..window).map(|number| if number % 10 == 9 { Unbounded } else { ms(2) });
            assert_is(&recording, truth.collect());
            let measured = recording.response_time_ns.expect("requests");
            assert!(
                measured.p90.exact().is_some() && measured.p95 == Unbounded,
                "{name}: {measured:?}"
            );
            let valid = recording.valid_time_ns.expect("valid replies");
            assert!(valid.max <= 2 * MS + MS / 100, "{name}: {valid:?}");
        }
    }
}

#[test]
fn a_closed_load_with_losses_is_accounted_for() {
    let job = job(Load::closed(10, 1), 1_000 * MS, 100 * MS);
    let mut answers = losing_each(40);
    let server = Server {
        answers: &mut answers,
        accepts: &mut always,
    };
    let recording = simulate(&job, server);
    let measured = recording.response_time_ns.expect("requests");
    assert!(
        is_near(measured.p95, ms(1)) && measured.p99 == Unbounded,
        "{measured:?}"
    );
    assert_eq!(
        recording.contradictions(),
        None,
        "timeouts took the rest of the time"
    );
    let time = recording.occupancy.expect("of a closed load");
    assert!((time.accounted_s() / time.slots_s - 1.0).abs() < 0.01, "{time:?}");
}

#[test]
fn throughput_times_response_time_is_the_requests_in_flight() {
    let mut answers = losing_each(u64::MAX);
    let server = Server {
        answers: &mut answers,
        accepts: &mut always,
    };
    let recording = simulate(&job(Load::closed(10, 1), 500 * MS, 100 * MS), server);
    let mean_ns = recording.response_time_ns.and_then(|times| times.mean.exact());
    let product = recording.throughput_per_s * mean_ns.expect("replies") as f64 / 1e9;
    let in_flight = recording.in_flight().expect("of a closed load");
    assert!((product / in_flight - 1.0).abs() < 0.01, "{product}, {in_flight}");
}

#[test]
fn pauses_and_reconnects_take_up_the_time_of_slots() {
    let load = Load::Closed {
        connections: 8,
        in_flight: 1,
        think_ns: 3 * MS,
        growth: None,
        members: None,
    };
    let job = job(load, 500 * MS, 100 * MS);
    let mut answers = losing_each(7);
    let server = Server {
        answers: &mut answers,
        accepts: &mut |attempt| attempt <= 8 || attempt % 3 == 0,
    };
    let recording = simulate(&job, server);
    let time = recording.occupancy.expect("of a closed load");
    assert!(time.pauses_s > 0.1 && time.connects_s > 0.0, "{time:?}");
    assert!(time.unsent_s < 0.01, "{time:?}");
    assert!((time.accounted_s() / time.slots_s - 1.0).abs() < 0.01, "{time:?}");
}

#[test]
fn connections_that_pause_do_not_send_in_step() {
    for in_flight in [1, 2] {
        let load = Load::Closed {
            connections: 10,
            in_flight,
            think_ns: 100 * MS,
            growth: None,
            members: None,
        };
        let job = job(load, 1_000 * MS, 500 * MS);
        let mut sent: Vec<i64> = Vec::new();
        let mut answers = |at: i64, _: u64| {
            sent.push(at);
            Reply::At(at + 1, OK)
        };
        let server = Server {
            answers: &mut answers,
            accepts: &mut always,
        };
        let recording = simulate(&job, server);
        sent.sort_unstable();
        let gap = 100 * MS as i64 / (10 * i64::from(in_flight));
        let nearest = sent.windows(2).map(|pair| pair[1] - pair[0]).min();
        assert!(nearest.is_some_and(|ns| ns > gap / 2), "{nearest:?} of {gap}");
        let planned = 100.0 * f64::from(in_flight);
        let goodput = recording.goodput_per_s;
        assert!((goodput / planned - 1.0).abs() < 0.05, "{goodput}");
    }
}

/// One connection and a server that takes 200 ms, with one request due every 190 or 100 ms, and a timeout of 500 ms.
#[test]
fn the_timeout_counts_from_when_a_request_was_due() {
    for spacing in [190_i64, 100] {
        let job = job(open(1_000.0 / spacing as f64, 1), 3_000 * MS, 500 * MS);
        let mut answers = |at: i64, _: u64| Reply::At(at + 200 * MS as i64, OK);
        let server = Server {
            answers: &mut answers,
            accepts: &mut always,
        };
        let recording = simulate(&job, server);
        // The warm-up, starting at -1 s, fills the queue in the same way. A connection that times out reconnects at
        // once, or after a millisecond if it had no reply.
        let (mut free, mut truth, mut sent, mut answered) = (-1_000_i64, Vec::new(), 0, false);
        let all = (-1_000..0)
            .step_by(spacing as usize)
            .chain((0..3_000).step_by(spacing as usize));
        for due in all {
            let start = free.max(due);
            let ends = (start + 200).min(due + 500);
            let came = start < due + 500 && start + 200 < due + 500;
            if start < due + 500 {
                free = ends + i64::from(!came && !answered);
                answered = came;
                sent += u64::from((0..3_000).contains(&start));
            }
            if due >= 0 {
                truth.push(if came { ms((ends - due) as u64) } else { Unbounded });
            }
        }
        let count = truth.len() as f64;
        assert_is(&recording, truth);
        assert_eq!(recording.outcomes.dropped, 0, "{:?}", recording.outcomes);
        assert_eq!(recording.offered_per_s, Some(count / 3.0));
        assert_eq!(recording.sent_per_s, Some(sent as f64 / 3.0));
        // Serving the oldest first, it meets the timeout for a while at 5.3 requests per second, and never at ten.
        let valid = recording.valid_time_ns.map(|times| times.max);
        assert!(
            valid.is_some_and(|ns| ns < 500 * MS) == (spacing == 190),
            "{valid:?}"
        );
    }
}

/// A hundred users per second with ten requests each; every second user gets a connect error, which counts for ten
/// requests.
#[test]
fn a_user_who_is_refused_counts_all_requests_of_the_plan() {
    for window in [200_u64, 1_000] {
        let load = Load::Users {
            arrival: evenly(100.0),
            requests_per_user: 10,
            think_ns: 0,
            max_users: 50,
        };
        let job = job(load, window * MS, 500 * MS);
        let mut answers = |at: i64, _: u64| Reply::At(at + MS as i64, OK);
        let server = Server {
            answers: &mut answers,
            accepts: &mut |attempt| attempt % 2 == 0,
        };
        let recording = simulate(&job, server);
        let count = window as usize;
        let mut truth = vec![ms(1); count / 2];
        truth.extend(vec![Unbounded; count / 2]);
        assert_is(&recording, truth);
        let outcomes = Outcomes {
            valid: window / 2,
            connect_error: window / 2,
            ..Outcomes::default()
        };
        assert_eq!(recording.outcomes, outcomes);
    }
}

/// A drain shorter than the timeout: requests still open at its end count with their age.
#[test]
fn what_is_open_at_the_end_has_its_age() {
    let mut job = job(open(1_000.0, 500), 200 * MS, 10_000 * MS);
    job.phases.drain_ns = 100 * MS;
    let mut answers = losing_each(10);
    let server = Server {
        answers: &mut answers,
        accepts: &mut always,
    };
    let recording = simulate(&job, server);
    let truth = (0..200).map(|number| {
        if number % 10 == 9 {
            AtLeast((300 - number) * MS)
        } else {
            ms(1)
        }
    });
    // Lost requests of the warm-up are open, too: they are older than all others.
    let earlier = (0..1_000)
        .filter(|number| number % 10 == 9)
        .map(|number| AtLeast((1_300 - number) * MS));
    assert_is(&recording, truth.chain(earlier).collect());
}

/// Five windows of 0.2 s for one service, each a separate load, as in an interleaved run.
#[test]
fn interleaved_windows_are_one_sample() {
    let freezes = [(0, 0), (0, 250), (150, 320), (20, 60), (0, 0)];
    let windows: Vec<Recording> = freezes
        .iter()
        .map(|&freeze| open_with_freeze(200, freeze))
        .collect();
    let joined = Recording::join(&windows)
        .expect("own histograms")
        .expect("windows");
    let truth: Vec<Quantile> = freezes.iter().flat_map(|&freeze| of_open(200, freeze)).collect();
    assert_is(&joined, truth);
    let responses = Responses::of(&joined).expect("own histogram");
    assert_eq!((responses.len(), responses.failed), (1_000, 0));
    // Times other than response times are joined, too: those of one window are its own.
    let alone = Recording::join(&windows[1..2]).expect("own histograms");
    let (alone, window) = (alone.expect("a window"), &windows[1]);
    assert!(window.schedule_lag_ns.is_some() && window.first_byte_ns.is_some());
    assert_eq!(alone.schedule_lag_ns, window.schedule_lag_ns);
    assert_eq!(alone.first_byte_ns, window.first_byte_ns);
    assert_eq!(alone.service_time_ns, window.service_time_ns);
}
