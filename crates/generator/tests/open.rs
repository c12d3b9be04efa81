//! Open loads and arriving users, on both transports: every due request is sent or reported, and time counts from
//! when it was due.

use crate::toy::{self, HELLO, MS, Server, answer_all, arrivals, job, ok, operation, run};
use prony_load::{Arrival, Load, Profile, Rate, Spacing, Template, TransportChoice, WarmUp, Workload};
use prony_records::Quantile;
use std::io::Read as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

on_both_transports!(
    what_waits_goes_to_whichever_thread_has_a_place,
    every_arrival_is_sent_once,
    a_ramp_and_its_hold_offer_what_the_profile_holds,
    poisson_arrivals_come_in_the_number_of_their_mean,
    threads_share_the_arrivals,
    a_slow_server_makes_requests_wait_and_the_wait_counts,
    what_does_not_fit_the_backlog_is_not_sent,
    what_is_left_when_the_drain_ends_has_an_outcome,
    users_come_send_their_requests_and_leave,
    users_think,
    users_beyond_the_limit_are_turned_away,
    a_user_goes_on_after_a_timeout_as_if_it_had_been_a_reply,
    each_request_of_users_has_its_own_number,
    waiting_for_the_service_is_no_lag_of_the_generator,
    connecting_is_no_lag_of_the_generator,
    a_counted_open_load_ends_with_its_last_request,
    stages_follow_each_other,
);

fn per_second(rate: f64) -> Rate {
    Rate::per_second(rate).expect("a rate")
}

fn open(arrival: Arrival, connections: u32) -> Load {
    Load::Open {
        arrival,
        connections,
        in_flight: 1,
        backlog: 1_000_000,
        members: None,
    }
}

fn every_arrival_is_sent_once(transport: TransportChoice) {
    let server = Server::answering(HELLO);
    for rate in [10.0, 333.0, 2_000.0] {
        let mut job = job(server.address, transport);
        job.load = open(arrivals(rate, Spacing::Even), 8);
        job.phases.warm_up = WarmUp::FixedNs(100 * MS);
        job.phases.measurement_ns = 500 * MS;
        let recording = run(&job);
        let due = (rate * 0.5).ceil() as u64;
        assert_eq!(recording.requests.offered, due, "{rate}");
        assert_eq!(recording.requests.valid, due);
        assert!(recording.schedule_lag_ns.is_some());
        let (response, service) = (
            recording.valid_time_ns.expect("replies"),
            recording.service_time_ns.expect("replies"),
        );
        assert!(response.mean >= service.mean * 0.999 && response.max >= service.min);
    }
}

fn a_ramp_and_its_hold_offer_what_the_profile_holds(transport: TransportChoice) {
    let server = Server::answering(HELLO);
    let mut job = job(server.address, transport);
    let profile = Profile::Ramp {
        from: per_second(100.0).into(),
        to: per_second(1_000.0).into(),
        over_ns: 400 * MS,
    };
    let arrival = Arrival {
        profile: profile.clone(),
        spacing: Spacing::Even,
    };
    job.load = open(arrival, 8);
    job.phases.measurement_ns = 600 * MS;
    let recording = run(&job);
    assert_eq!(
        recording.requests.offered,
        profile.events_within(0.6).ceil() as u64
    );
}

fn poisson_arrivals_come_in_the_number_of_their_mean(transport: TransportChoice) {
    let server = Server::answering(HELLO);
    let mut job = job(server.address, transport);
    let arrival = Arrival {
        spacing: Spacing::Poisson,
        ..arrivals(2_000.0, Spacing::Even)
    };
    job.load = open(arrival, 16);
    job.phases.measurement_ns = 500 * MS;
    let first = run(&job);
    // Six standard deviations of a Poisson count with mean 1,000.
    assert!(
        first.requests.offered.abs_diff(1_000) < 190,
        "{}",
        first.requests.offered
    );
    assert_eq!(
        run(&job).requests.offered,
        first.requests.offered,
        "the seed determines the arrivals"
    );
    job.seed = 2;
    assert_ne!(run(&job).requests.offered, first.requests.offered);
}

fn threads_share_the_arrivals(transport: TransportChoice) {
    let server = Server::answering(HELLO);
    let mut job = job(server.address, transport);
    job.threads = 3;
    job.load = open(arrivals(1_000.0, Spacing::Even), 9);
    let recording = run(&job);
    assert_eq!(recording.requests.offered, 300);
    assert_eq!(recording.requests.valid, 300);
}

fn a_slow_server_makes_requests_wait_and_the_wait_counts(transport: TransportChoice) {
    // One connection, 10 ms per reply, 200 requests per second: the last one of the 60 requests waits for about 300
    // ms.
    let server = Server::new(|stream, _| {
        answer_all(stream, |_| {
            std::thread::sleep(Duration::from_millis(10));
            HELLO.to_owned()
        });
    });
    let mut job = job(server.address, transport);
    job.load = open(arrivals(200.0, Spacing::Even), 1);
    let recording = run(&job);
    assert_eq!((recording.requests.offered, recording.requests.valid), (60, 60));
    let (response, service) = (
        recording.valid_time_ns.expect("replies"),
        recording.service_time_ns.expect("replies"),
    );
    assert!(service.min >= 10 * MS);
    assert!(response.max >= 295 * MS, "{response:?}");
    assert!(response.p50 >= 145 * MS, "{response:?}");
    assert!(
        recording.throughput_per_s < 110.0,
        "only replies within the measurement count as throughput"
    );
}

fn what_does_not_fit_the_backlog_is_not_sent(transport: TransportChoice) {
    let server = Server::new(|mut stream, _| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let mut job = job(server.address, transport);
    job.timeout_ns = 400 * MS;
    job.phases.drain_ns = 2_000 * MS;
    job.load = Load::Open {
        arrival: arrivals(1_000.0, Spacing::Even),
        connections: 2,
        in_flight: 1,
        backlog: 10,
        members: None,
    };
    let recording = run(&job);
    assert_eq!(recording.requests.offered, 300);
    // Two are in flight and ten wait; all others find the backlog full. If the machine stalls at the start, the ten
    // wait before the first two are sent.
    let dropped = recording.outcomes.dropped;
    assert!((288..=290).contains(&dropped), "{:?}", recording.outcomes);
    assert_eq!(recording.outcomes.timeout, 300 - dropped);
}

fn what_is_left_when_the_drain_ends_has_an_outcome(transport: TransportChoice) {
    let server = Server::new(|mut stream, _| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let mut job = job(server.address, transport);
    job.phases.drain_ns = 100 * MS;
    job.timeout_ns = 60_000 * MS;
    job.load = open(arrivals(1_000.0, Spacing::Even), 2);
    let recording = run(&job);
    assert_eq!(recording.requests.offered, 300);
    assert_eq!(
        (recording.outcomes.timeout, recording.outcomes.dropped),
        (2, 298),
        "{:?}",
        recording.outcomes
    );
    // None had timed out: each is known to take longer than its age, which is at least the length of the drain.
    let measured = recording.response_time_ns.expect("requests were due");
    let Quantile::AtLeast(shortest) = measured.min else {
        panic!("{measured:?}");
    };
    assert!(
        shortest >= 100 * MS && matches!(measured.max, Quantile::AtLeast(ns) if ns >= 395 * MS),
        "{measured:?}"
    );
}

fn users(rate: f64, requests_per_user: u32, think_ns: u64, max_users: u32) -> Load {
    Load::Users {
        arrival: arrivals(rate, Spacing::Even),
        requests_per_user,
        think_ns,
        max_users,
    }
}

fn users_come_send_their_requests_and_leave(transport: TransportChoice) {
    let visits = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&visits);
    let server = Server::new(move |stream, _| {
        let mut requests = 0;
        answer_all(stream, |_| {
            requests += 1;
            HELLO.to_owned()
        });
        noted.lock().expect("no panic").push(requests);
    });
    let mut job = job(server.address, transport);
    job.load = users(100.0, 5, 0, 50);
    let recording = run(&job);
    assert_eq!(recording.outcomes.errors(), 0, "{:?}", recording.outcomes);
    // 30 users arrive; those of the last moments send what they can before the end.
    assert!(
        recording.requests.valid >= 30 && recording.requests.valid <= 150,
        "{:?}",
        recording.requests
    );
    assert!(recording.requests.valid > 100, "{:?}", recording.requests);
    let deadline = Instant::now() + Duration::from_secs(10);
    // The thirty visits, and the probe before the load.
    while visits.lock().expect("no panic").len() < 31 && Instant::now() < deadline {
        std::thread::yield_now();
    }
    let visits = visits.lock().expect("no panic");
    assert_eq!(visits.len(), 31, "a user did not leave");
    assert!(visits.iter().all(|&requests| requests <= 5), "{visits:?}");
}

fn users_think(transport: TransportChoice) {
    let shortest = Arc::new(AtomicU64::new(u64::MAX));
    let noted = Arc::clone(&shortest);
    let server = Server::new(move |stream, _| {
        let mut last: Option<Instant> = None;
        answer_all(stream, |_| {
            let now = Instant::now();
            if let Some(last) = last {
                noted.fetch_min((now - last).as_millis() as u64, Ordering::SeqCst);
            }
            last = Some(now);
            HELLO.to_owned()
        });
    });
    let mut job = job(server.address, transport);
    job.load = users(50.0, 3, 50 * MS, 50);
    let recording = run(&job);
    assert!(recording.requests.valid > 20, "{:?}", recording.requests);
    let shortest = shortest.load(Ordering::SeqCst);
    assert!(
        (50..10_000).contains(&shortest),
        "{shortest} ms between two requests of a user"
    );
    assert!(
        recording.valid_time_ns.expect("replies").p50 < 50 * MS,
        "think time is not response time"
    );
}

fn users_beyond_the_limit_are_turned_away(transport: TransportChoice) {
    let server = Server::new(|stream, _| {
        answer_all(stream, |_| {
            std::thread::sleep(Duration::from_millis(400));
            HELLO.to_owned()
        });
    });
    let mut job = job(server.address, transport);
    job.load = users(100.0, 2, 0, 3);
    let recording = run(&job);
    // Three are admitted; the other 27 would have sent two requests each.
    assert_eq!(recording.outcomes.dropped, 54, "{:?}", recording.outcomes);
    assert_eq!(recording.outcomes.valid, 3, "{:?}", recording.outcomes);
}

#[test]
fn an_arrival_of_a_sequence_is_the_whole_of_it() {
    let server = Server::new(|stream, _| {
        answer_all(stream, |got| ok(if got.line.contains("/a") { "a" } else { "b" }));
    });
    let mut job = job(server.address, TransportChoice::Auto);
    job.load = open(arrivals(100.0, Spacing::Even), 4);
    let steps = [0, 1].map(|operation| prony_load::Step { operation, weight: 1 });
    job.workload = Workload {
        name: "both".into(),
        parameters: vec![],
        operations: vec![
            operation("a", Template::literal("/a"), "a"),
            operation("b", Template::literal("/b"), "b"),
        ],
        order: prony_load::Order::Sequence(steps.to_vec()),
    };
    let recording = run(&job);
    assert_eq!(recording.requests.valid, 60, "{recording:#?}");
    assert!(recording.sequence_time_ns.is_some());
}

fn kinds(recording: &prony_records::Recording) -> Vec<prony_records::WarningKind> {
    recording.warnings.iter().map(|warning| warning.kind).collect()
}

/// An immediate reply is not recorded as late because the previous request got no reply.
fn a_user_goes_on_after_a_timeout_as_if_it_had_been_a_reply(transport: TransportChoice) {
    let requests = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&requests);
    let server = Server::new(move |stream, _| {
        let mut writer = stream.try_clone().expect("a second handle");
        let mut reader = std::io::BufReader::new(stream);
        while toy::read_request(&mut reader).is_some() {
            // Every fifth request gets no reply.
            if counting.fetch_add(1, Ordering::SeqCst) % 5 == 4 {
                continue;
            }
            if std::io::Write::write_all(&mut writer, HELLO.as_bytes()).is_err() {
                return;
            }
        }
    });
    let mut job = job(server.address, transport);
    // Far above the time that a busy machine takes for a reply.
    job.timeout_ns = 4_000 * MS;
    job.load = users(20.0, 4, 0, 100);
    job.phases.measurement_ns = 5_000 * MS;
    let recording = run(&job);
    assert!(recording.outcomes.timeout > 5, "{:?}", recording.outcomes);
    let longest = recording.valid_time_ns.expect("replies").max;
    assert!(longest < 3_500 * MS, "{longest} ns for an immediate reply");
}

fn each_request_of_users_has_its_own_number(transport: TransportChoice) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let server = Server::new(move |stream, _| {
        answer_all(stream, |got| {
            let path = got.line.split(' ').nth(1).expect("a path");
            noted.lock().expect("no panic").push(path.to_owned());
            HELLO.to_owned()
        });
    });
    let mut job = job(server.address, transport);
    job.load = users(100.0, 1, 0, 50);
    job.workload.parameters = vec![prony_load::Parameter {
        name: "n".into(),
        source: prony_load::Source::Range { low: 1, high: 2 },
    }];
    job.workload.operations[0].request.path = Template(vec![
        prony_load::Part::Literal("/".into()),
        prony_load::Part::Value(0),
    ]);
    let recording = run(&job);
    assert_eq!(recording.outcomes.errors(), 0);
    let seen = seen.lock().expect("no panic");
    let ones = seen.iter().filter(|path| *path == "/1").count();
    assert!(
        seen.len() >= 29 && ones.abs_diff(seen.len() - ones) <= 1,
        "{seen:?}"
    );
}

fn waiting_for_the_service_is_no_lag_of_the_generator(transport: TransportChoice) {
    let server = Server::new(|stream, _| {
        answer_all(stream, |_| {
            std::thread::sleep(Duration::from_millis(700));
            HELLO.to_owned()
        });
    });
    let mut job = job(server.address, transport);
    job.timeout_ns = 20_000 * MS;
    job.phases.drain_ns = 20_000 * MS;
    job.load = open(arrivals(40.0, Spacing::Even), 4);
    let recording = run(&job);
    let lag = recording.schedule_lag_ns.expect("an open load");
    assert!(lag.max > 700 * MS, "the requests waited: {lag:?}");
    assert!(!kinds(&recording).contains(&prony_records::WarningKind::ScheduleLag));
}

/// The service makes its users wait before it sends its first bytes.
fn connecting_is_no_lag_of_the_generator(transport: TransportChoice) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                use std::io::Write as _;
                let (mut stream, mut bytes) = (stream, [0; 1024]);
                std::thread::sleep(Duration::from_secs(1));
                // SETTINGS and, for each request, a block of `:status 200` that ends its stream.
                let _ = stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
                std::thread::sleep(Duration::from_millis(100));
                while stream.read(&mut bytes).is_ok_and(|count| count > 0) {
                    let _ = stream.write_all(&[0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88]);
                }
            });
        }
    });
    let mut job = job(address, transport);
    job.protocol = prony_load::Protocol::Http2;
    job.workload.operations[0].expect.body.clear();
    job.timeout_ns = 20_000 * MS;
    job.phases.drain_ns = 20_000 * MS;
    job.load = users(50.0, 1, 0, 50);
    let recording = run(&job);
    let lag = recording.schedule_lag_ns.expect("users");
    assert!(
        recording.outcomes.valid > 5 && lag.p50 > 900 * MS,
        "{lag:?} {:?}",
        recording.outcomes
    );
    assert!(!kinds(&recording).contains(&prony_records::WarningKind::ScheduleLag));
}

fn a_counted_open_load_ends_with_its_last_request(transport: TransportChoice) {
    let server = Server::answering(HELLO);
    let mut job = job(server.address, transport);
    job.threads = 3;
    job.load = open(arrivals(1_000.0, Spacing::Even), 7);
    job.phases.measurement_ns = 60_000 * MS;
    job.limits.requests = Some(100);
    let recording = run(&job);
    assert_eq!(recording.requests.valid, 100, "{recording:#?}");
    assert!(
        recording.duration_s >= 0.099 && recording.duration_s < 30.0,
        "{}",
        recording.duration_s
    );
    assert!(!kinds(&recording).contains(&prony_records::WarningKind::RateNotHeld));
}

fn stages_follow_each_other(transport: TransportChoice) {
    let server = Server::answering(HELLO);
    let mut job = job(server.address, transport);
    let stage = |rate: f64, ms: u64| prony_load::ArrivalStage {
        rate: per_second(rate).into(),
        for_ns: ms * MS,
    };
    let profile = Profile::Stages {
        stages: vec![stage(100.0, 100), stage(2_000.0, 100), stage(50.0, 100)],
    };
    let arrival = Arrival {
        profile,
        spacing: Spacing::Even,
    };
    job.load = open(arrival, 8);
    assert_eq!(run(&job).requests.valid, 10 + 200 + 5);
}

/// One connection is held until the other one has replied to all requests that arrived meanwhile, including those of
/// the other thread.
fn what_waits_goes_to_whichever_thread_has_a_place(transport: TransportChoice) {
    let state = Arc::new((Mutex::new((false, 0)), Condvar::new()));
    let shared = Arc::clone(&state);
    let server = Server::new(move |stream, _| {
        let (lock, changed) = &*shared;
        answer_all(stream, |_| {
            let mut state = lock.lock().expect("no panic");
            if state.0 {
                state.1 += 1;
                changed.notify_all();
            } else {
                state.0 = true;
                let limit = Duration::from_secs(20);
                let held = changed.wait_timeout_while(state, limit, |state| state.1 < 59);
                drop(held.expect("no panic"));
            }
            HELLO.to_owned()
        });
    });
    let mut job = job(server.address, transport);
    job.threads = 2;
    job.load = Load::Open {
        arrival: arrivals(200.0, Spacing::Even),
        connections: 2,
        in_flight: 1,
        backlog: 1_000_000,
        members: None,
    };
    job.limits.requests = Some(60);
    (job.phases.measurement_ns, job.timeout_ns) = (40_000 * MS, 10_000 * MS);
    let recording = run(&job);
    assert_eq!(recording.outcomes.valid, 60, "{:?}", recording.outcomes);
    assert_eq!(recording.outcomes.errors(), 0, "{:?}", recording.outcomes);
}
