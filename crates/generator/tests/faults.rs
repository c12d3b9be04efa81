//! Servers that fail in all possible ways, on both transports: each request gets the right outcome, and nothing
//! hangs.

use crate::ports;
use crate::toy::{HELLO, MS, Server, answer_all, fails, job, ok, read_request, run};
use prony_generator::EngineError;
use prony_load::formula::{Formula, Operator};
use prony_load::{
    Body, Capture, Encoding, GeneratedBody, Load, Origin, Parameter, Part, Source, Template, TransportChoice,
};
use prony_records::Quantile::Unbounded;
use prony_records::{Recording, WarningKind};
use std::io::{BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::Ordering;

on_both_transports!(
    a_wrong_body_is_a_wrong_reply,
    an_unexpected_status_is_reported_with_its_body,
    malformed_replies_are_wrong_replies,
    more_than_was_asked_for_is_a_wrong_reply,
    silence_is_a_timeout,
    a_reply_that_stops_in_the_middle_is_a_timeout,
    a_connection_that_closes_in_the_middle_is_a_reset,
    a_connection_that_is_reset_is_a_reset,
    a_server_that_closes_after_each_reply_costs_reconnects,
    a_body_until_the_end_of_the_connection_is_complete,
    a_server_that_waits_for_delayed_acknowledgements_is_noted,
    a_server_that_dies_refuses,
    a_server_that_closes_at_once_resets,
    an_unreachable_server_is_an_error,
    a_server_that_serves_one_at_a_time_is_loaded,
    a_wrong_body_without_end_does_not_fill_the_memory,
);

fn kinds(recording: &Recording) -> Vec<WarningKind> {
    recording.warnings.iter().map(|warning| warning.kind).collect()
}

fn a_wrong_body_is_a_wrong_reply(transport: TransportChoice) {
    let server = Server::new(|stream, _| answer_all(stream, |_| ok("hellO")));
    let recording = run(&job(server.address, transport));
    assert!(recording.outcomes.unexpected > 50);
    assert_eq!(recording.outcomes.unexpected, recording.requests.completed);
    assert_eq!(recording.outcomes.valid, 0);
    let reply = &recording.unexpected_replies[0];
    assert_eq!((reply.expected.as_str(), reply.got.as_str()), ("hello", "hellO"));
    assert!(kinds(&recording).contains(&WarningKind::Errors));
}

fn an_unexpected_status_is_reported_with_its_body(transport: TransportChoice) {
    let reply = "HTTP/1.1 503 Busy\r\nContent-Length: 8\r\n\r\ntoo much";
    let server = Server::answering(reply);
    let recording = run(&job(server.address, transport));
    assert_eq!(recording.outcomes.status, recording.requests.completed);
    assert_eq!(recording.status_codes.keys().collect::<Vec<_>>(), ["503"]);
    assert!(
        recording.unexpected_replies[0].got.contains("too much"),
        "{:?}",
        recording.unexpected_replies
    );
}

fn malformed_replies_are_wrong_replies(transport: TransportChoice) {
    for reply in [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello",
        "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
        "220 smtp.example.com ESMTP\r\n",
    ] {
        let server = Server::answering(reply);
        let mut job = job(server.address, transport);
        job.phases.measurement_ns = 100 * MS;
        let recording = run(&job);
        assert!(recording.outcomes.unexpected > 0, "{reply}");
        assert_eq!(recording.requests.completed, 0, "{reply}");
        assert_eq!(recording.unexpected_replies[0].what, "reply");
        assert!(recording.connections.reconnects > 0);
    }
}

fn more_than_was_asked_for_is_a_wrong_reply(transport: TransportChoice) {
    let server = Server::new(|stream, _| answer_all(stream, |_| format!("{HELLO}{HELLO}")));
    let recording = run(&job(server.address, transport));
    assert!(recording.outcomes.unexpected > 0, "{:?}", recording.outcomes);
    assert_eq!(recording.outcomes.valid, 0);
}

fn silence_is_a_timeout(transport: TransportChoice) {
    let server = Server::new(|mut stream, _| {
        let mut nothing = Vec::new();
        let _ = stream.read_to_end(&mut nothing);
    });
    let mut job = job(server.address, transport);
    job.timeout_ns = 100 * MS;
    job.target.connect.connect_timeout_ns = Some(10_000 * MS);
    let recording = run(&job);
    assert!(recording.outcomes.timeout >= 8, "{:?}", recording.outcomes);
    assert_eq!(recording.outcomes.timeout, recording.requests.offered);
    assert_eq!(recording.valid_time_ns, None);
    let measured = recording.response_time_ns.expect("requests were due");
    assert_eq!(
        (measured.min, measured.p50, measured.max),
        (Unbounded, Unbounded, Unbounded)
    );
}

fn a_reply_that_stops_in_the_middle_is_a_timeout(transport: TransportChoice) {
    let server = Server::new(|stream, _| answer_all(stream, |_| HELLO[..HELLO.len() - 1].to_owned()));
    let mut job = job(server.address, transport);
    job.timeout_ns = 100 * MS;
    job.target.connect.connect_timeout_ns = Some(10_000 * MS);
    let recording = run(&job);
    assert!(recording.outcomes.timeout >= 8, "{:?}", recording.outcomes);
    assert_eq!(recording.requests.completed, 0);
}

fn a_connection_that_closes_in_the_middle_is_a_reset(transport: TransportChoice) {
    let server = Server::new(|stream, _| {
        let mut writer = stream.try_clone().expect("a second handle");
        if read_request(&mut BufReader::new(stream)).is_some() {
            let _ = writer.write_all(&HELLO.as_bytes()[..20]);
        }
    });
    let recording = run(&job(server.address, transport));
    assert!(recording.outcomes.reset > 0, "{:?}", recording.outcomes);
    assert_eq!(recording.requests.completed, 0);
}

fn a_connection_that_is_reset_is_a_reset(transport: TransportChoice) {
    let server = Server::new(|stream, _| {
        let handle = stream.try_clone().expect("a second handle");
        if read_request(&mut BufReader::new(handle)).is_some() {
            reset(stream);
        }
    });
    let recording = run(&job(server.address, transport));
    assert!(recording.outcomes.reset > 0, "{:?}", recording.outcomes);
    assert_eq!(recording.outcomes.reset, recording.requests.offered);
}

/// Closes with RST instead of FIN.
fn reset(stream: TcpStream) {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // SAFETY: the option is one `linger`.
    let result = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        )
    };
    assert_eq!(result, 0);
    drop(stream);
}

fn a_server_that_closes_after_each_reply_costs_reconnects(transport: TransportChoice) {
    let server = Server::new(|stream, _| {
        let mut writer = stream.try_clone().expect("a second handle");
        if read_request(&mut BufReader::new(stream)).is_some() {
            let reply = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
            let _ = writer.write_all(reply.as_bytes());
        }
    });
    let recording = run(&job(server.address, transport));
    assert!(recording.requests.valid > 4, "{recording:#?}");
    assert_eq!(recording.outcomes.errors(), 0, "{:?}", recording.outcomes);
    assert!(recording.connections.reconnects > 0);
    assert!(kinds(&recording).contains(&WarningKind::ConnectionClosed));
}

fn a_body_until_the_end_of_the_connection_is_complete(transport: TransportChoice) {
    let server = Server::new(|stream, _| {
        let mut writer = stream.try_clone().expect("a second handle");
        if read_request(&mut BufReader::new(stream)).is_some() {
            let _ = writer.write_all(b"HTTP/1.0 200 OK\r\n\r\nhel");
            let _ = writer.write_all(b"lo");
        }
    });
    let recording = run(&job(server.address, transport));
    assert!(recording.requests.valid > 4, "{recording:#?}");
    assert_eq!(recording.outcomes.errors(), 0, "{:?}", recording.outcomes);
}

fn a_server_that_waits_for_delayed_acknowledgements_is_noted(transport: TransportChoice) {
    let noted = |nodelay: bool| {
        let server = Server::new(move |stream, _| {
            stream.set_nodelay(nodelay).expect("a TCP socket");
            let mut writer = stream.try_clone().expect("a second handle");
            let mut reader = BufReader::new(stream);
            while read_request(&mut reader).is_some() {
                let (head, body) = HELLO.split_at(HELLO.len() - 5);
                let written = writer.write_all(head.as_bytes());
                if written.and_then(|()| writer.write_all(body.as_bytes())).is_err() {
                    return;
                }
            }
        });
        let recording = run(&job(server.address, transport));
        assert_eq!(recording.outcomes.errors(), 0, "{:?}", recording.outcomes);
        kinds(&recording).contains(&WarningKind::DelayedAck)
    };
    assert!(noted(false));
    assert!(!noted(true));
}

fn a_server_that_dies_refuses(transport: TransportChoice) {
    let mut server = Server::new(|stream, _| {
        let mut left = 50;
        let mut writer = stream.try_clone().expect("a second handle");
        let mut reader = BufReader::new(stream);
        while left > 0 && read_request(&mut reader).is_some() {
            left -= 1;
            let _ = writer.write_all(HELLO.as_bytes());
        }
    });
    let mut job = job(server.address, transport);
    job.phases.measurement_ns = 1_500 * MS;
    let runner = std::thread::spawn(move || run(&job));
    while server.accepted.load(Ordering::SeqCst) < 5 {
        std::thread::yield_now();
    }
    server.stop();
    let recording = runner.join().expect("a recording");
    assert!(recording.requests.valid >= 50, "{:?}", recording.outcomes);
    assert!(recording.outcomes.connect_error > 0, "{:?}", recording.outcomes);
}

fn a_server_that_closes_at_once_resets(transport: TransportChoice) {
    let server = Server::new(|_, _| {});
    let recording = run(&job(server.address, transport));
    assert!(
        recording.outcomes.reset + recording.outcomes.connect_error > 0,
        "{:?}",
        recording.outcomes
    );
    assert_eq!(recording.requests.completed, 0);
}

/// The server waits for the request of its first connection before it accepts another, and has a short accept queue.
fn a_server_that_serves_one_at_a_time_is_loaded(transport: TransportChoice) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    // SAFETY: the socket is open, and listening again only changes the length of its queue.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 4) }, 0);
    let address = listener.local_addr().expect("an address");
    // The thread ends with the test process: only a new connection would wake it.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            if read_request(&mut reader).is_some() {
                let reply = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
                let _ = reader.get_mut().write_all(reply.as_bytes());
            }
        }
    });
    let mut job = job(address, transport);
    job.load = Load::closed(64, 1);
    job.timeout_ns = 60_000 * MS;
    job.phases.drain_ns = 100 * MS;
    let recording = run(&job);
    assert!(recording.outcomes.valid > 5, "{:?}", recording.outcomes);
}

fn an_unreachable_server_is_an_error(transport: TransportChoice) {
    let address = SocketAddr::from(([127, 0, 0, 1], ports::reserved()));
    let error = fails(&job(address, transport));
    assert!(matches!(error, EngineError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

#[test]
fn invalid_jobs_are_reported() {
    let server = Server::answering(HELLO);
    let good = || job(server.address, TransportChoice::Auto);
    let mut unresolvable = good();
    unresolvable.target.host = "no such host".into();
    assert!(matches!(fails(&unresolvable), EngineError::Resolve { .. }));
    let mut empty = good();
    empty.load = Load::closed(0, 1);
    assert!(fails(&empty).is_bad_input());
    let mut crowded = good();
    crowded.threads = 5;
    assert!(fails(&crowded).to_string().contains("5 threads"));
    let mut no_operation = good();
    no_operation.workload.operations.clear();
    assert!(matches!(fails(&no_operation), EngineError::Workload(_)));
    let mut far = good();
    far.cpus = vec![900];
    assert!(fails(&far).to_string().contains("CPU 900"));
}

#[test]
fn requests_that_cannot_be_filled_are_reported() {
    let server = Server::answering(HELLO);
    let words = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Part::Formula(Formula::Word(words, Box::new(Formula::Number(0))))
    };
    let captured = Capture {
        name: "v".into(),
        slot: 0,
        from: Origin::Header("x".into()),
        encoding: Encoding::Body,
    };
    let path = |part: Part| Template(vec![Part::Literal("/".into()), part]);
    let end = |part: Part| GeneratedBody {
        bytes: 1,
        chunk: None,
        end: Template(vec![part]),
    };
    let sum = Formula::Of(Box::new((Formula::Number(1), Formula::Value(7))), Operator::Plus);
    for (path, body, told) in [
        (path(Part::Value(7)), Body::None, "uses parameter 7 of 1"),
        (
            path(Part::Formula(sum.clone())),
            Body::None,
            "uses parameter 7 of 1",
        ),
        (
            path(words(&["a"])),
            Body::Bytes(Template(vec![Part::Formula(sum)])),
            "uses parameter 7 of 1",
        ),
        (path(words(&["a", "b c"])), Body::None, "a word of a formula"),
        (path(Part::Value(0)), Body::None, "captured for a body"),
        (
            Template::literal("/"),
            Body::Generated(end(Part::Formula(Formula::Number(1)))),
            "has no formula",
        ),
    ] {
        let mut job = job(server.address, TransportChoice::Auto);
        job.workload.parameters = vec![Parameter {
            name: "v".into(),
            source: Source::Taken(0),
        }];
        let operation = &mut job.workload.operations[0];
        operation.expect.take = vec![captured.clone()];
        operation.request.path = path;
        operation.request.body = body;
        let error = fails(&job).to_string();
        assert!(error.contains(told), "{told}: {error}");
    }
}

/// Peak memory of this process so far, KiB.
fn peak_kib() -> i64 {
    // SAFETY: all-zero is a valid `rusage`, and the kernel writes one.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage.ru_maxrss
    }
}

fn a_wrong_body_without_end_does_not_fill_the_memory(transport: TransportChoice) {
    let server = Server::new(|stream, _| {
        let mut writer = stream.try_clone().expect("a second handle");
        if read_request(&mut BufReader::new(stream)).is_some() {
            let piece = vec![b'x'; 65_536];
            let _ = writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 268435456\r\n\r\n");
            (0..4096).all(|_| writer.write_all(&piece).is_ok());
        }
    });
    let mut job = job(server.address, transport);
    job.load = Load::closed(1, 1);
    job.limits.requests = Some(1);
    job.timeout_ns = 60_000 * MS;
    job.phases.measurement_ns = 60_000 * MS;
    let before = peak_kib();
    let recording = run(&job);
    assert_eq!(recording.outcomes.unexpected, 1, "{recording:#?}");
    assert!(
        recording.unexpected_replies[0].got.contains("xxx"),
        "{:?}",
        recording.unexpected_replies
    );
    let grown = peak_kib() - before;
    assert!(grown < 128 * 1024, "{grown} KiB for a body of 256 MiB");
}
