//! Closed loads over plain HTTP/1.1, on both transports.

use crate::toy::{self, HELLO, MS, Server, answer_all, job, ok, operation, run};
use prony_load::{
    Body, BodyRule, Capture, Encoding, HeaderRule, HeaderValue, Load, Order, Parameter, Part, Source, Step,
    Template, TransportChoice, WarmUp, Workload,
};
use prony_records::{Command, Event, Phase, WarningKind};
use std::collections::BTreeSet;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

on_both_transports!(
    every_reply_is_counted_and_checked,
    pipelined_requests_keep_their_order,
    several_threads_share_the_connections,
    bodies_of_any_size_and_form_are_read,
    a_counter_never_repeats_and_the_reply_is_judged_by_it,
    a_mix_follows_its_weights,
    a_sequence_is_timed_as_a_whole,
    a_head_request_has_no_body,
    an_ipv6_address_is_reached,
    the_caller_ends_the_warm_up_and_the_measurement,
    a_warm_up_that_was_ended_before_it_began_is_left_out,
    the_warm_up_is_not_recorded,
    replies_of_the_whole_load_are_counted,
    a_request_that_asks_to_close_is_the_last_on_its_connection,
    connections_are_made_again_after_so_many_requests,
    a_counted_load_sends_so_many_requests,
    places_pause_between_requests,
    connections_come_one_after_the_other,
    a_sequence_goes_on_over_connections,
    a_reply_that_gives_a_value_is_judged_with_its_headers,
);

fn every_reply_is_counted_and_checked(transport: TransportChoice) {
    let server = Server::answering(HELLO);
    let recording = run(&job(server.address, transport));
    assert!(recording.requests.valid > 50, "{recording:#?}");
    assert_eq!(recording.outcomes.errors(), 0);
    assert_eq!(recording.connections.established, 4);
    assert_eq!(recording.status_codes.keys().collect::<Vec<_>>(), ["200"]);
    let name = if transport == TransportChoice::Epoll {
        "epoll"
    } else {
        "io_uring"
    };
    assert_eq!(recording.generator.transport, name);
    assert_eq!(recording.intervals.len(), 3);
    assert!(
        (recording.duration_s - 0.3).abs() < 1e-9,
        "{}",
        recording.duration_s
    );
    assert!(recording.connect_time_ns.is_some() && recording.first_byte_ns.is_some());
    assert!(recording.schedule_lag_ns.is_none() && recording.tls_time_ns.is_none());
    // The requests have 37 to 41 bytes with these addresses, the replies 69.
    let in_time: u64 = recording.intervals.iter().map(|one| one.completed).sum();
    assert!(recording.bytes.received.abs_diff(in_time * HELLO.len() as u64) < 5 * HELLO.len() as u64);
}

fn pipelined_requests_keep_their_order(transport: TransportChoice) {
    let server =
        Server::new(|stream, _| answer_all(stream, |got| ok(got.line.split(' ').nth(1).expect("a path"))));
    let mut job = job(server.address, transport);
    job.load = Load::closed(3, 16);
    job.workload = Workload {
        parameters: vec![counter()],
        ..Workload::of(operation("echo", Template::literal("/"), ""))
    };
    let path = Template(vec![Part::Literal("/".into()), Part::Value(0)]);
    job.workload.operations[0].request.path = path.clone();
    job.workload.operations[0].expect.body = vec![BodyRule::Exact(path)];
    let recording = run(&job);
    assert!(recording.requests.valid > 100, "{recording:#?}");
    assert_eq!(
        recording.outcomes.errors(),
        0,
        "{:?}",
        recording.unexpected_replies
    );
}

fn several_threads_share_the_connections(transport: TransportChoice) {
    let server = Server::answering(HELLO);
    let mut job = job(server.address, transport);
    job.threads = 3;
    job.load = Load::closed(7, 1);
    let recording = run(&job);
    assert_eq!(recording.connections.established, 7);
    assert_eq!(recording.generator.threads, 3);
    assert_eq!(recording.outcomes.errors(), 0);
    // One more connection probes the server before the load.
    assert_eq!(server.accepted.load(std::sync::atomic::Ordering::SeqCst), 8);
}

fn bodies_of_any_size_and_form_are_read(transport: TransportChoice) {
    for size in [0, 1, 1000, 70_000, 1_700_000] {
        let body: String = "0123456789".chars().cycle().take(size).collect();
        for chunked in [false, true] {
            let (expected, reply) = (body.clone(), if chunked { chunks(&body) } else { ok(&body) });
            let server = Server::new(move |stream, _| answer_all(stream, |_| reply.clone()));
            let mut job = job(server.address, transport);
            job.workload = Workload::of(operation("body", Template::literal("/"), &expected));
            let recording = run(&job);
            assert!(recording.requests.valid > 0, "{size} {chunked}");
            assert_eq!(
                recording.outcomes.errors(),
                0,
                "{size} {chunked}: {:?}",
                recording.outcomes
            );
        }
    }
}

fn chunks(body: &str) -> String {
    let mut coded = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned();
    for piece in body.as_bytes().chunks(10_007) {
        let text = std::str::from_utf8(piece).expect("digits");
        coded.extend([format!("{:x}\r\n", piece.len()), format!("{text}\r\n")]);
    }
    coded + "0\r\n\r\n"
}

fn counter() -> Parameter {
    Parameter {
        name: "n".into(),
        source: Source::Counter { start: 0 },
    }
}

fn a_counter_never_repeats_and_the_reply_is_judged_by_it(transport: TransportChoice) {
    let seen = Arc::new(Mutex::new((BTreeSet::new(), 0_u64)));
    let noted = Arc::clone(&seen);
    let server = Server::new(move |stream, _| {
        answer_all(stream, |got| {
            let number: u64 = got.body.parse().expect("a number in the body");
            let mut seen = noted.lock().expect("no panic");
            seen.0.insert(number);
            seen.1 += 1;
            // Every eleventh reply belongs to a different request. Thread 0 has the even numbers: an even
            // divisor would depend on how they share the CPUs.
            ok(&(number + u64::from(number.is_multiple_of(11))).to_string())
        });
    });
    let mut job = job(server.address, transport);
    job.threads = 2;
    let value = Template(vec![Part::Value(0)]);
    let mut one = operation("echo", Template::literal("/"), "");
    one.request.method = "POST".into();
    one.request.body = Body::Bytes(value.clone());
    one.expect.body = vec![BodyRule::Exact(value)];
    job.workload = Workload {
        parameters: vec![counter()],
        ..Workload::of(one)
    };
    let recording = run(&job);
    let (numbers, requests) = seen.lock().expect("no panic").clone();
    assert_eq!(numbers.len() as u64, requests, "a number came twice");
    let share = recording.outcomes.unexpected as f64 / recording.requests.completed as f64;
    assert!((share - 1.0 / 11.0).abs() < 0.02, "{:?}", recording.outcomes);
    assert_eq!(recording.unexpected_replies.len(), 3);
    for wrong in &recording.unexpected_replies {
        let [expected, got] =
            [&wrong.expected, &wrong.got].map(|text| text.parse::<u64>().expect("a number"));
        assert_eq!((expected % 11, got), (0, expected + 1), "{wrong:?}");
    }
}

fn a_mix_follows_its_weights(transport: TransportChoice) {
    let server = Server::new(|stream, _| {
        answer_all(stream, |got| ok(if got.line.contains("/a") { "a" } else { "b" }));
    });
    let mut job = job(server.address, transport);
    let step = |operation, weight| Step { operation, weight };
    job.workload = Workload {
        name: "mix".into(),
        parameters: vec![],
        operations: vec![
            operation("a", Template::literal("/a"), "a"),
            operation("b", Template::literal("/b"), "b"),
            operation("never", Template::literal("/c"), "c"),
        ],
        order: Order::Mix(vec![step(0, 3), step(1, 1), step(2, 0)]),
    };
    let recording = run(&job);
    assert_eq!(recording.outcomes.errors(), 0);
    let [a, b, never] = &recording.operations[..] else {
        panic!("three operations")
    };
    assert_eq!(never.requests.offered, 0);
    let (a, b) = (a.requests.valid as f64, b.requests.valid as f64);
    // Five standard errors of a share of 3/4.
    let tolerance = 5.0 * (0.75 * 0.25 / (a + b)).sqrt();
    assert!((a / (a + b) - 0.75).abs() < tolerance, "{a} {b}");
}

fn a_sequence_is_timed_as_a_whole(transport: TransportChoice) {
    let server = Server::new(|stream, _| {
        answer_all(stream, |got| ok(if got.line.contains("/a") { "a" } else { "b" }));
    });
    let mut job = job(server.address, transport);
    let steps = [0, 1, 1].map(|operation| Step { operation, weight: 1 });
    job.workload = Workload {
        name: "sequence".into(),
        parameters: vec![],
        operations: vec![
            operation("a", Template::literal("/a"), "a"),
            operation("b", Template::literal("/b"), "b"),
        ],
        order: Order::Sequence(steps.to_vec()),
    };
    let recording = run(&job);
    let [a, b] = &recording.operations[..] else {
        panic!("two operations")
    };
    assert!(
        b.requests.sent.abs_diff(2 * a.requests.sent) <= 8,
        "{:?} {:?}",
        a.requests,
        b.requests
    );
    let whole = recording.sequence_time_ns.expect("whole sequences");
    assert!(whole.mean > recording.valid_time_ns.expect("replies").mean * 2.0);
    let rate = recording.sequences_per_s.expect("whole sequences");
    assert!(
        (rate * 3.0 / recording.throughput_per_s - 1.0).abs() < 0.2,
        "{rate} {}",
        recording.throughput_per_s
    );
}

fn a_head_request_has_no_body(transport: TransportChoice) {
    let server = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    let mut job = job(server.address, transport);
    job.workload.operations[0].request.method = "HEAD".into();
    job.workload.operations[0].expect.body.clear();
    let recording = run(&job);
    assert!(recording.requests.valid > 50);
    assert_eq!(recording.outcomes.errors(), 0);
}

fn an_ipv6_address_is_reached(transport: TransportChoice) {
    let server = Server::on("[::1]:0", |stream, _| answer_all(stream, |_| HELLO.to_owned()));
    let mut job = job(server.address, transport);
    job.target.host = "::1".into();
    assert!(run(&job).requests.valid > 50);
}

fn the_caller_ends_the_warm_up_and_the_measurement(transport: TransportChoice) {
    let server = Server::answering(HELLO);
    let mut job = job(server.address, transport);
    job.phases.warm_up = WarmUp::UntilTold {
        limit_ns: 60_000 * MS,
    };
    job.phases.measurement_ns = 60_000 * MS;
    let (sender, commands) = mpsc::channel();
    let mut phases = Vec::new();
    let mut intervals = 0;
    let recording = prony_generator::run(
        &job,
        &mut |event| match event {
            Event::Phase { phase, established } => {
                assert_eq!(established, 4);
                phases.push(phase);
                intervals = 0;
            }
            Event::Interval { phase, .. } => {
                assert_eq!(Some(&phase), phases.last());
                intervals += 1;
                if intervals == 2 {
                    let command = if phase == Phase::WarmUp {
                        Command::Measure
                    } else {
                        Command::Stop
                    };
                    sender.send(command).expect("the generator listens");
                }
            }
            _ => panic!("an event that the caller should make"),
        },
        &commands,
    )
    .expect("a recording");
    toy::check_sums(&recording);
    assert_eq!(phases, [Phase::WarmUp, Phase::Measurement, Phase::Drain]);
    assert!(
        recording.duration_s > 0.19 && recording.duration_s < 30.0,
        "{}",
        recording.duration_s
    );
}

fn a_warm_up_that_was_ended_before_it_began_is_left_out(transport: TransportChoice) {
    let server = Server::answering(HELLO);
    let mut job = job(server.address, transport);
    job.phases.warm_up = WarmUp::UntilTold {
        limit_ns: 60_000 * MS,
    };
    let (sender, commands) = mpsc::channel();
    sender.send(Command::Measure).expect("the generator will listen");
    let mut phases = Vec::new();
    let recording = prony_generator::run(
        &job,
        &mut |event| {
            if let Event::Phase { phase, .. } = event {
                phases.push(phase);
            }
        },
        &commands,
    )
    .expect("a recording");
    toy::check_sums(&recording);
    assert!(recording.requests.valid > 0);
    assert_eq!(phases, [Phase::Measurement, Phase::Drain]);
}

fn the_warm_up_is_not_recorded(transport: TransportChoice) {
    let answered = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counting = Arc::clone(&answered);
    // The first replies are unexpected, but they belong to the warm-up.
    let server = Server::new(move |stream, _| {
        let begin = std::time::Instant::now();
        answer_all(stream, |_| {
            counting.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            if begin.elapsed().as_millis() < 100 {
                ok("warm")
            } else {
                ok("hello")
            }
        });
    });
    let mut job = job(server.address, transport);
    job.phases.warm_up = WarmUp::FixedNs(1_000 * MS);
    let recording = run(&job);
    assert_eq!(recording.outcomes.errors(), 0);
    assert!(answered.load(std::sync::atomic::Ordering::SeqCst) > recording.requests.sent);
    assert!(
        !recording
            .warnings
            .iter()
            .any(|warning| warning.kind == WarningKind::Errors)
    );
    assert_eq!(recording.intervals.len(), 3);
}

/// Closes after each reply to a request with `Connection: close`, as RFC 9112 requires.
fn obedient(most: &Arc<std::sync::atomic::AtomicU64>) -> Server {
    let most = Arc::clone(most);
    Server::new(move |stream, _| {
        use std::io::Write as _;
        let mut writer = stream.try_clone().expect("a second handle");
        let mut reader = std::io::BufReader::new(stream);
        let mut served = 0;
        while let Some(got) = toy::read_request(&mut reader) {
            served += 1;
            most.fetch_max(served, std::sync::atomic::Ordering::SeqCst);
            if writer.write_all(HELLO.as_bytes()).is_err() || got.head.contains("Connection: close\r\n") {
                return;
            }
        }
    })
}

fn a_request_that_asks_to_close_is_the_last_on_its_connection(transport: TransportChoice) {
    let most = Arc::default();
    let server = obedient(&most);
    let mut job = job(server.address, transport);
    job.phases.measurement_ns = 1_000 * MS;
    job.workload.operations[0].request.headers = vec![prony_load::Header {
        name: "Connection".into(),
        value: Template::literal("close"),
    }];
    let recording = run(&job);
    assert!(recording.requests.valid > 10, "{recording:#?}");
    assert_eq!(recording.outcomes.errors(), 0, "{:?}", recording.outcomes);
    assert_eq!(most.load(std::sync::atomic::Ordering::SeqCst), 1);
    // Slots are idle while connections are replaced; Little's law is not checked either, because that needs a
    // thousand replies.
    let blames = [WarningKind::ConnectionClosed, WarningKind::LittlesLaw];
    assert!(
        !recording
            .warnings
            .iter()
            .any(|warning| blames.contains(&warning.kind)),
        "the server did what was requested: {:?}",
        recording.warnings
    );
}

fn connections_are_made_again_after_so_many_requests(transport: TransportChoice) {
    for (each, depth) in [(1, 1), (3, 1), (5, 4)] {
        let most = Arc::default();
        let server = obedient(&most);
        let mut job = job(server.address, transport);
        job.load = Load::closed(4, depth);
        job.limits.requests_per_connection = Some(each);
        let recording = run(&job);
        assert!(recording.requests.valid > 10, "{recording:#?}");
        assert_eq!(
            recording.outcomes.errors(),
            0,
            "{each} {depth}: {:?}",
            recording.outcomes
        );
        assert_eq!(most.load(std::sync::atomic::Ordering::SeqCst), u64::from(each));
        assert!(recording.connections.reconnects > 0);
    }
}

fn a_counted_load_sends_so_many_requests(transport: TransportChoice) {
    let server = Server::answering(HELLO);
    for (requests, threads, depth) in [(1, 1, 1), (3, 2, 1), (1_000, 3, 1), (777, 2, 5)] {
        let mut job = job(server.address, transport);
        job.threads = threads;
        job.load = Load::closed(7, depth);
        job.phases.measurement_ns = 60_000 * MS;
        job.phases.warm_up = WarmUp::FixedNs(50 * MS);
        job.interval_ns = 10 * MS;
        job.limits.requests = Some(requests);
        let recording = run(&job);
        assert_eq!(recording.requests.offered, requests);
        assert_eq!(recording.requests.valid, requests);
        assert!(
            recording.duration_s > 0.0 && recording.duration_s < 30.0,
            "{}",
            recording.duration_s
        );
        let in_time = (recording.throughput_per_s * recording.duration_s).round() as u64;
        assert!(
            in_time >= requests,
            "{in_time}: the warm-up's last replies may arrive in the measurement"
        );
    }
}

fn places_pause_between_requests(transport: TransportChoice) {
    let shortest = Arc::new(std::sync::atomic::AtomicU64::new(u64::MAX));
    let noted = Arc::clone(&shortest);
    let server = Server::new(move |stream, _| {
        let mut last: Option<std::time::Instant> = None;
        answer_all(stream, |_| {
            let now = std::time::Instant::now();
            if let Some(last) = last {
                let pause = (now - last).as_millis() as u64;
                noted.fetch_min(pause, std::sync::atomic::Ordering::SeqCst);
            }
            last = Some(now);
            HELLO.to_owned()
        });
    });
    let mut job = job(server.address, transport);
    job.load = Load::Closed {
        connections: 4,
        in_flight: 1,
        think_ns: 30 * MS,
        growth: None,
        members: None,
    };
    let recording = run(&job);
    // At most one request per 30 ms, the first one immediately.
    assert!(
        (8..=44).contains(&recording.requests.valid),
        "{:?}",
        recording.requests
    );
    let shortest = shortest.load(std::sync::atomic::Ordering::SeqCst);
    assert!(
        (29..10_000).contains(&shortest),
        "{shortest} ms between two requests"
    );
    // Connections without keep-alive pause as well.
    job.limits.requests_per_connection = Some(1);
    let recording = run(&job);
    assert!(
        (8..=44).contains(&recording.requests.valid),
        "{:?}",
        recording.requests
    );
    assert_eq!(recording.outcomes.errors(), 0);
}

fn connections_come_one_after_the_other(transport: TransportChoice) {
    let server = Server::answering(HELLO);
    let mut job = job(server.address, transport);
    job.threads = 2;
    job.load = Load::Closed {
        connections: 10,
        in_flight: 1,
        think_ns: 0,
        growth: Some(prony_load::Growth {
            from: 2,
            over_ns: 200 * MS,
        }),
        members: None,
    };
    let mut at_begin = None;
    let (_commands, none) = mpsc::channel();
    let recording = prony_generator::run(
        &job,
        &mut |event| {
            if let Event::Phase {
                phase: Phase::Measurement,
                established,
            } = event
            {
                at_begin = Some(established);
            }
        },
        &none,
    )
    .expect("a recording");
    toy::check_sums(&recording);
    assert_eq!(at_begin, Some(2));
    assert_eq!(recording.connections.established, 10);
    assert_eq!(recording.outcomes.errors(), 0);
    let kinds: Vec<WarningKind> = recording.warnings.iter().map(|warning| warning.kind).collect();
    assert!(
        !kinds.contains(&WarningKind::ConnectionsNotEstablished) && !kinds.contains(&WarningKind::LittlesLaw)
    );
    job.load = Load::Closed {
        connections: 10,
        in_flight: 1,
        think_ns: 0,
        growth: Some(prony_load::Growth { from: 11, over_ns: 1 }),
        members: None,
    };
    assert!(toy::fails(&job).is_bad_input());
}

/// The steps are executed one after the other, even without keep-alive.
fn a_sequence_goes_on_over_connections(transport: TransportChoice) {
    let most = Arc::default();
    let server = obedient(&most);
    let mut job = job(server.address, transport);
    job.workload
        .operations
        .push(operation("second", Template::literal("/second"), "hello"));
    job.workload.order = Order::Sequence([0, 1].map(|operation| Step { operation, weight: 1 }).to_vec());
    job.limits.requests_per_connection = Some(1);
    let recording = run(&job);
    let [first, second] = &recording.operations[..] else {
        panic!("two operations")
    };
    assert!(second.requests.valid > 5, "{recording:#?}");
    assert!(first.requests.valid.abs_diff(second.requests.valid) <= 4);
    assert!(recording.sequences_per_s.is_some_and(|rate| rate > 0.0));
}

/// This must also hold if only few replies are checked.
fn a_reply_that_gives_a_value_is_judged_with_its_headers(transport: TransportChoice) {
    let server = Server::answering(HELLO);
    let mut job = job(server.address, transport);
    job.check.share = 0.0;
    let expect = &mut job.workload.operations[0].expect;
    let body = std::mem::take(&mut expect.body);
    expect.headers = vec![HeaderRule {
        name: "content-type".into(),
        value: HeaderValue::MediaType("text/plain".into()),
    }];
    expect.take = vec![Capture {
        name: "word".into(),
        slot: 0,
        from: "regex:h\\w+".parse().expect("an origin"),
        encoding: Encoding::default(),
    }];
    let mut second = operation(
        "second",
        Template(vec![Part::Literal("/".into()), Part::Value(0)]),
        "",
    );
    second.expect.body = body;
    job.workload.operations.push(second);
    job.workload.order = Order::Sequence([0, 1].map(|operation| Step { operation, weight: 1 }).to_vec());
    job.workload.parameters = vec![Parameter {
        name: "word".into(),
        source: Source::Taken(0),
    }];
    let recording = run(&job);
    assert!(recording.requests.valid > 10, "{recording:#?}");
    assert_eq!(
        recording.outcomes.errors(),
        0,
        "{:?}",
        recording.unexpected_replies
    );
}

/// Several names with values are one operation; requests without a reply are counted separately.
fn replies_of_the_whole_load_are_counted(transport: TransportChoice) {
    let seen = Arc::new(Mutex::new(std::collections::BTreeMap::<String, u64>::new()));
    let counts = Arc::clone(&seen);
    let server = Server::new(move |stream, _| {
        let mut writer = stream.try_clone().expect("a second handle");
        let mut reader = std::io::BufReader::new(stream);
        while let Some(request) = toy::read_request(&mut reader) {
            let path = request.line.split(' ').nth(1).expect("a path").to_owned();
            *counts.lock().expect("no panic").entry(path.clone()).or_default() += 1;
            let reply = match path.as_str() {
                "/made" | "/made-otherwise" => "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
                "/wrong" => "HTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n",
                _ => return,
            };
            if std::io::Write::write_all(&mut writer, reply.as_bytes()).is_err() {
                return;
            }
        }
    });
    let mut job = job(server.address, transport);
    let named = |name: &str, path: &str| operation(name, Template::literal(path), "");
    job.workload.operations = vec![
        named("make", "/made"),
        named("make(kind=2)", "/made-otherwise"),
        named("make(kind=3)", "/wrong"),
        named("lost", "/lost"),
    ];
    let weights = [8, 4, 3, 1];
    let steps = (0..)
        .zip(weights)
        .map(|(operation, weight)| Step { operation, weight });
    job.workload.order = Order::Mix(steps.collect());
    job.phases.warm_up = WarmUp::FixedNs(100 * MS);
    // The server counts the requests that it receives.
    job.limits.no_retry = true;
    assert_eq!(run(&job).answers, None, "not requested");
    seen.lock().expect("no panic").clear();
    job.count_replies = true;
    let recording = run(&job);
    let answers = recording.answers.as_ref().expect("counted");
    let seen = seen.lock().expect("no panic");
    let of = |path: &str| seen[path];
    assert_eq!(answers.replies("make", 201), of("/made") + of("/made-otherwise"));
    assert_eq!(answers.replies("make", 422), of("/wrong"));
    assert_eq!(answers.replies("make", 200), 0);
    assert_eq!(
        (answers.unknown("lost"), answers.unknown("make")),
        (of("/lost"), 0)
    );
    let all: u64 = seen.values().sum();
    assert!(all > recording.requests.sent, "the warm-up counts: {all}");
}
