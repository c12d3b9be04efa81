//! Streams of events as replies, valid and invalid, on both transports: each gets the right outcome, memory is
//! bounded, and nothing hangs.

use crate::toy::{HELLO, MS, STREAM_HEAD, Server, arrivals, chunk, event, job, read_request, run};
use crate::wire;
use crate::wire::peer::{
    DATA, END_HEADERS, END_STREAM, HEADERS, OK, Peer, RST_STREAM, ScriptedServer, literal,
};
use prony_load::events::{Chat, Data, EventRule, Events, ExactStream, MessageRule};
use prony_load::formula::Formula;
use prony_load::{
    Expectation, Job, Load, Parameter, Part, Protocol, Source, Spacing, Template, TransportChoice,
};
use prony_records::{Recording, Streams, Warning};
use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

on_both_transports!(
    streams_end_by_themselves,
    streams_end_by_their_number_of_events,
    streams_end_by_their_time,
    streams_are_cut_by_the_end_of_the_load,
    answers_that_are_cut_are_judged_by_what_came,
    an_open_load_of_streams,
    users_read_streams,
    over_http2_a_bound_costs_no_connection,
    over_http2_streams_end_by_themselves,
    a_thousand_streams_at_once,
    json_lines_are_messages,
    an_end_before_the_bound_is_a_wrong_reply,
    an_end_in_the_middle_of_an_event_is_a_wrong_reply,
    a_connection_that_closes_in_the_middle_is_a_reset,
    what_never_came_is_a_wrong_reply,
    an_event_without_end_is_a_wrong_reply_at_once,
    a_line_that_is_no_json_is_a_wrong_reply,
    a_plain_reply_is_a_wrong_reply,
    another_status_is_reported,
    silence_is_a_timeout,
    a_stream_without_a_bound_names_the_switches,
    streams_whose_every_message_is_known,
);

/// Serves each request with the head of a stream and the output of `serve`, until that returns an error to end the
/// connection.
fn serving(
    head: &'static str,
    serve: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
) -> Server {
    Server::new(move |stream, _| {
        let mut writer = stream.try_clone().expect("a second handle");
        let mut reader = BufReader::new(stream);
        while read_request(&mut reader).is_some() {
            if writer.write_all(head.as_bytes()).is_err() || serve(&mut writer).is_err() {
                return;
            }
        }
    })
}

const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

fn connection_reset() -> std::io::Error {
    std::io::Error::other("the connection is to end")
}

/// `count` ticks, and the end of the reply.
fn ticks(writer: &mut TcpStream, count: u64) -> std::io::Result<()> {
    for n in 1..=count {
        writer.write_all(chunk(&event(Some(n), "tick", "x")).as_bytes())?;
    }
    writer.write_all(LAST_CHUNK)
}

/// Ticks until the client disconnects.
fn endless(writer: &mut TcpStream) -> std::io::Result<()> {
    for n in 1.. {
        writer.write_all(chunk(&event(Some(n), "tick", "x")).as_bytes())?;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn streaming(server: &Server, transport: TransportChoice, events: Events) -> Job {
    let mut job = job(server.address, transport);
    job.workload.operations[0].expect = expecting(events);
    job
}

fn expecting(events: Events) -> Expectation {
    Expectation {
        events: Some(events),
        ..Expectation::default()
    }
}

fn until(count: u32) -> Events {
    Events {
        until: Some(count),
        ..Events::default()
    }
}

/// The job ends when this number of requests have an outcome.
fn with_request_limit(mut job: Job, requests: u64) -> Job {
    job.phases.measurement_ns = 60_000 * MS;
    job.limits.requests = Some(requests);
    job
}

fn ends(recording: &Recording) -> Streams {
    let messages = recording.messages.expect("messages of streams");
    messages.streams.expect("streams of events")
}

fn all_valid(recording: &Recording) {
    assert_eq!(
        (
            recording.outcomes.errors(),
            recording.unexpected_replies.as_slice()
        ),
        (0, &[][..]),
        "{:?}",
        recording.outcomes
    );
    assert!(recording.requests.valid > 0);
}

/// Every request had an unexpected reply, for this reason.
fn all_wrong(recording: &Recording, what: &str) {
    assert!(recording.requests.offered > 0);
    assert_eq!(
        recording.outcomes.unexpected, recording.requests.offered,
        "{:?} {:?}",
        recording.outcomes, recording.unexpected_replies
    );
    for wrong in &recording.unexpected_replies {
        assert!(wrong.what.contains(what), "{wrong:?}");
    }
}

/// As many events as the path says, with an invalid one if it says so: `/events/5`, `/events/5/wrong`.
fn known(stream: TcpStream) {
    let mut writer = stream.try_clone().expect("a second handle");
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader) {
        let path = request.line.split(' ').nth(1).unwrap_or_default().to_owned();
        let count: u64 = path
            .split('/')
            .nth(2)
            .and_then(|n| n.parse().ok())
            .expect("a number");
        let mut reply = STREAM_HEAD.to_owned();
        for n in 1..=count {
            let of = if path.ends_with("wrong") && n == count {
                n + 1
            } else {
                count
            };
            reply += &chunk(&event(Some(n), "tick", &format!("{{\"n\": {n}, \"of\": {of}}}")));
        }
        reply += &chunk(&event(None, "end", "bye"));
        reply += "0\r\n\r\n";
        if writer.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

fn streams_whose_every_message_is_known(transport: TransportChoice) {
    let server = Server::new(|stream, _| known(stream));
    let place = || Part::Value(0);
    let text = |text: &str| Part::Literal(text.into());
    let events = |gap_us: &str| Events {
        whole: Some(ExactStream {
            count: Template(vec![place()]),
            each: MessageRule {
                id: Some(Template(vec![Part::Formula(Formula::Item)])),
                name: Some(Template::literal("tick")),
                data: Some(Data::Json(Template(vec![
                    text(r#"{"n":"#),
                    Part::Formula(Formula::Item),
                    text(r#","of":"#),
                    place(),
                    text("}"),
                ]))),
            },
            last: Some(MessageRule {
                name: Some(Template::literal("end")),
                ..MessageRule::default()
            }),
            gap_us: Some(Template::literal(gap_us)),
            flushed: false,
            first: Vec::new(),
            closing: Vec::new(),
            separate: false,
        }),
        ..Events::default()
    };
    let asking = |behind: &str, gap_us: &str| {
        let mut job = streaming(&server, transport, events(gap_us));
        job.workload.parameters = vec![Parameter {
            name: "count".to_owned(),
            source: Source::Range { low: 1, high: 20 },
        }];
        job.workload.operations[0].request.path = Template(vec![text("/events/"), place(), text(behind)]);
        with_request_limit(job, 40)
    };
    let recording = run(&asking("", "0"));
    all_valid(&recording);
    assert_eq!(ends(&recording).completed, 40);
    // 1 to 20 events, each number twice, and the end of each stream.
    assert_eq!(recording.messages.expect("messages").received, 2 * 210 + 40);
    all_wrong(&run(&asking("/wrong", "0")), "data at of");
    // A single event is never too early, so these streams have at least two.
    let mut soon = asking("", "100000000");
    soon.workload.parameters[0].source = Source::Range { low: 2, high: 20 };
    all_wrong(&run(&soon), "event 2: too soon");
}

fn streams_end_by_themselves(transport: TransportChoice) {
    let server = serving(STREAM_HEAD, |writer| ticks(writer, 7));
    let recording = run(&with_request_limit(
        streaming(&server, transport, Events::default()),
        40,
    ));
    all_valid(&recording);
    let messages = recording.messages.expect("messages");
    assert_eq!(messages.received, 40 * 7);
    assert_eq!(
        ends(&recording),
        Streams {
            completed: 40,
            ..Streams::default()
        }
    );
    // A stream that ends by itself leaves its connection for the next one.
    assert_eq!(recording.connections.reconnects, 0);
    let counts = [messages.first_ns, messages.gap_ns, messages.last_ns].map(|times| times.is_some());
    assert_eq!(counts, [true; 3]);
}

fn streams_end_by_their_number_of_events(transport: TransportChoice) {
    let server = serving(STREAM_HEAD, endless);
    let recording = run(&with_request_limit(streaming(&server, transport, until(5)), 20));
    all_valid(&recording);
    // Events after the last one needed are not counted.
    assert_eq!(recording.messages.expect("messages").received, 20 * 5);
    assert_eq!(
        ends(&recording),
        Streams {
            completed: 20,
            at_bound: 20,
            ..Streams::default()
        }
    );
    // HTTP/1.1 has no other way to cancel a reply.
    assert!(
        recording.connections.reconnects >= 16,
        "{:?}",
        recording.connections
    );
    let ids = recording.messages.and_then(|messages| messages.ids).expect("ids");
    assert_eq!((ids.counted, ids.missing, ids.doubled, ids.late), (100, 0, 0, 0));
}

fn streams_end_by_their_time(transport: TransportChoice) {
    let server = serving(STREAM_HEAD, endless);
    let events = Events {
        for_ns: Some(50 * MS),
        some: vec![EventRule::Name("tick".into())],
        ..Events::default()
    };
    let recording = run(&with_request_limit(streaming(&server, transport, events), 12));
    all_valid(&recording);
    assert_eq!(ends(&recording).at_bound, 12);
    let times = recording.valid_time_ns.expect("times");
    // A bucket of the histogram is 0.1 % wide.
    assert!(times.min >= 49 * MS, "{times:?}");
}

/// Tokens of a language model until the client disconnects.
fn talks_on(writer: &mut TcpStream) -> std::io::Result<()> {
    loop {
        let token = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
        writer.write_all(chunk(token).as_bytes())?;
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn answers_that_are_cut_are_judged_by_what_came(transport: TransportChoice) {
    let server = serving(STREAM_HEAD, talks_on);
    let good = |ttft_below_ns| {
        let chat = Chat {
            ttft_below_ns: Some(ttft_below_ns),
            tpot_below_ns: Some(60_000 * MS),
            e2el_below_ns: Some(60_000 * MS),
        };
        let events = Events {
            chat: Some(chat),
            ..Events::default()
        };
        let mut job = streaming(&server, transport, events);
        job.phases.drain_ns = 100 * MS;
        let recording = run(&job);
        all_valid(&recording);
        assert_eq!(ends(&recording).cut, 4);
        let llm = recording.messages.and_then(|messages| messages.llm);
        let llm = llm.expect("answers of a language model");
        assert!(llm.usage.is_none() && llm.tpot_ns.is_some(), "{llm:?}");
        llm.good.expect("an objective")
    };
    let all = good(60_000 * MS);
    assert_eq!((all.answers, all.due, all.late, all.slow), (4, 4, 0, 0));
    let none = good(1);
    assert_eq!((none.answers, none.due, none.late, none.slow), (0, 4, 4, 0));
}

fn streams_are_cut_by_the_end_of_the_load(transport: TransportChoice) {
    let server = serving(STREAM_HEAD, endless);
    let mut job = streaming(&server, transport, until(1_000_000));
    job.phases.drain_ns = 100 * MS;
    let recording = run(&job);
    all_valid(&recording);
    assert_eq!(
        (recording.requests.offered, ends(&recording)),
        (
            4,
            Streams {
                cut: 4,
                ..Streams::default()
            }
        )
    );
    // Messages count when they arrive, not when their stream ends; those of the drain do not count.
    let messages = recording.messages.expect("messages");
    assert!(messages.received > 4, "{messages:?}");
    let in_time: u64 = recording.intervals.iter().filter_map(|one| one.messages).sum();
    assert_eq!(in_time, messages.received);
    assert_eq!(messages.last_ns, None);
}

fn an_open_load_of_streams(transport: TransportChoice) {
    let server = serving(STREAM_HEAD, endless);
    let mut job = streaming(&server, transport, until(3));
    job.load = Load::Open {
        arrival: arrivals(100.0, Spacing::Even),
        connections: 20,
        in_flight: 1,
        backlog: 1_000,
        members: None,
    };
    let recording = run(&job);
    all_valid(&recording);
    assert_eq!(recording.requests.valid, 30);
    assert_eq!(ends(&recording).at_bound, 30);
}

fn users_read_streams(transport: TransportChoice) {
    let server = serving(STREAM_HEAD, endless);
    let mut job = streaming(&server, transport, until(3));
    job.load = Load::Users {
        arrival: arrivals(50.0, Spacing::Even),
        requests_per_user: 2,
        think_ns: MS,
        max_users: 50,
    };
    let recording = run(&job);
    all_valid(&recording);
    assert_eq!(ends(&recording).at_bound, recording.requests.valid);
    assert!(recording.requests.valid >= 15, "{:?}", recording.requests);
}

/// An HTTP/2 server that replies to each request with `ticks` ticks, and ends the reply if `ends_reply`.
fn http2(ticks: u64, ends_reply: bool) -> ScriptedServer {
    ScriptedServer::start(move |stream, _| {
        let Some(mut peer) = Peer::greet(stream, &[]) else {
            return;
        };
        let head = [OK, &literal("content-type", "text/event-stream")].concat();
        while let Some(frame) = peer.next() {
            let stream = frame.header.stream;
            if frame.ends_stream() {
                peer.write(HEADERS, END_HEADERS, stream, &head);
                for n in 1..=ticks {
                    let flags = if ends_reply && n == ticks { END_STREAM } else { 0 };
                    peer.write(DATA, flags, stream, event(Some(n), "tick", "x").as_bytes());
                }
            } else if frame.header.kind == RST_STREAM && ends_reply {
                return;
            }
            if peer.flush().is_none() {
                return;
            }
        }
    })
}

fn over_http2(server: &ScriptedServer, transport: TransportChoice, events: Events) -> Job {
    let mut operation = wire::get("/events");
    operation.expect = expecting(events);
    let mut job = wire::job(server.port, Protocol::Http2, (2, 4), operation);
    job.transport = transport;
    with_request_limit(job, 100)
}

fn over_http2_a_bound_costs_no_connection(transport: TransportChoice) {
    let server = http2(6, false);
    let recording = run(&over_http2(&server, transport, until(5)));
    all_valid(&recording);
    assert_eq!(recording.requests.valid, 100);
    assert_eq!(recording.messages.expect("messages").received, 500);
    assert_eq!(
        (ends(&recording).at_bound, recording.connections.reconnects),
        (100, 0)
    );
}

fn over_http2_streams_end_by_themselves(transport: TransportChoice) {
    let server = http2(6, true);
    let recording = run(&over_http2(&server, transport, Events::default()));
    all_valid(&recording);
    assert_eq!(recording.messages.expect("messages").received, 600);
    assert_eq!((ends(&recording).completed, ends(&recording).at_bound), (100, 0));
}

/// One event on each of a thousand connections, all of them open at once.
fn a_thousand_streams_at_once(transport: TransportChoice) {
    let server = serving(STREAM_HEAD, |writer| {
        writer.write_all(chunk(&event(Some(1), "tick", "x")).as_bytes())?;
        // Until the client disconnects.
        let _ = writer.read(&mut [0]);
        Err(connection_reset())
    });
    let events = Events {
        for_ns: Some(300 * MS),
        ..Events::default()
    };
    let mut job = with_request_limit(streaming(&server, transport, events), 1_000);
    job.load = Load::closed(1_000, 1);
    job.timeout_ns = 30_000 * MS;
    let recording = run(&job);
    all_valid(&recording);
    assert_eq!(recording.messages.expect("messages").received, 1_000);
    assert_eq!(recording.connections.established, 1_000);
}

fn json_lines_are_messages(transport: TransportChoice) {
    const HEAD: &str =
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n";
    let server = serving(HEAD, |writer| {
        writer.write_all(chunk("{\"n\": 1}\n{\"n\"").as_bytes())?;
        writer.write_all(chunk(": 2}\n\n[3]").as_bytes())?;
        writer.write_all(LAST_CHUNK)
    });
    let events = Events {
        some: vec!["json:/n=2".parse().expect("a rule")],
        ..Events::default()
    };
    let recording = run(&with_request_limit(streaming(&server, transport, events), 10));
    all_valid(&recording);
    let messages = recording.messages.expect("messages");
    assert_eq!((messages.received, messages.ids), (30, None));
}

fn an_end_before_the_bound_is_a_wrong_reply(transport: TransportChoice) {
    let server = serving(STREAM_HEAD, |writer| ticks(writer, 3));
    let recording = run(&with_request_limit(streaming(&server, transport, until(5)), 10));
    all_wrong(&recording, "ended early");
    assert_eq!(ends(&recording).ended_early, 10);
    let wrong = &recording.unexpected_replies[0];
    assert_eq!((wrong.expected.as_str(), wrong.got.as_str()), ("5 events", "3"));
}

fn an_end_in_the_middle_of_an_event_is_a_wrong_reply(transport: TransportChoice) {
    let server = serving(STREAM_HEAD, |writer| {
        writer.write_all(chunk("data: whole\n\ndata: half\n").as_bytes())?;
        writer.write_all(LAST_CHUNK)
    });
    let recording = run(&with_request_limit(
        streaming(&server, transport, Events::default()),
        10,
    ));
    all_wrong(&recording, "in the middle of an event");
    assert_eq!(ends(&recording).ended_early, 10);
    // The same if the end of the connection is the end of the reply.
    let until_close = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let server = serving(until_close, |writer| {
        writer.write_all(b"data: whole\n\ndata: half")?;
        Err(connection_reset())
    });
    let recording = run(&with_request_limit(
        streaming(&server, transport, Events::default()),
        10,
    ));
    all_wrong(&recording, "in the middle of an event");
}

fn a_connection_that_closes_in_the_middle_is_a_reset(transport: TransportChoice) {
    let server = serving(STREAM_HEAD, |writer| {
        writer.write_all(chunk("data: whole\n\ndata: half").as_bytes())?;
        Err(connection_reset())
    });
    let recording = run(&with_request_limit(streaming(&server, transport, until(5)), 10));
    assert_eq!(recording.outcomes.reset, 10, "{:?}", recording.outcomes);
    assert_eq!(ends(&recording).ended_early, 10);
    assert_eq!(recording.messages.expect("messages").received, 10);
}

fn what_never_came_is_a_wrong_reply(transport: TransportChoice) {
    let server = serving(STREAM_HEAD, |writer| ticks(writer, 3));
    let events = Events {
        some: vec![EventRule::Name("tick".into()), EventRule::Name("end".into())],
        ..Events::default()
    };
    let recording = run(&with_request_limit(streaming(&server, transport, events), 10));
    all_wrong(&recording, "events");
    assert!(
        recording.unexpected_replies[0].expected.contains("named `end`"),
        "{:?}",
        recording.unexpected_replies
    );
}

/// An event of 100 MiB is cancelled at the length limit, not read to its end.
fn an_event_without_end_is_a_wrong_reply_at_once(transport: TransportChoice) {
    let server = serving(STREAM_HEAD, |writer| {
        writer.write_all(chunk("data: whole\n\ndata: ").as_bytes())?;
        let piece = chunk(&"x".repeat(1 << 20));
        for _ in 0..100 {
            writer.write_all(piece.as_bytes())?;
        }
        writer.write_all(LAST_CHUNK)
    });
    let recording = run(&with_request_limit(
        streaming(&server, transport, Events::default()),
        3,
    ));
    all_wrong(&recording, "too long");
    assert!(
        recording.unexpected_replies[0].expected.contains("1048576 bytes"),
        "{:?}",
        recording.unexpected_replies
    );
    assert!(recording.bytes.received < 3 * (50 << 20), "{:?}", recording.bytes);
}

fn a_line_that_is_no_json_is_a_wrong_reply(transport: TransportChoice) {
    const HEAD: &str =
        "HTTP/1.1 200 OK\r\nContent-Type: application/jsonl\r\nTransfer-Encoding: chunked\r\n\r\n";
    let server = serving(HEAD, |writer| {
        writer.write_all(chunk("1\n{oops\n2\n").as_bytes())?;
        writer.write_all(LAST_CHUNK)
    });
    let recording = run(&with_request_limit(
        streaming(&server, transport, Events::default()),
        5,
    ));
    all_wrong(&recording, "events");
    assert_eq!(
        recording.unexpected_replies[0].expected,
        "a JSON value in each line"
    );
}

fn a_plain_reply_is_a_wrong_reply(transport: TransportChoice) {
    let server = Server::answering(HELLO);
    let recording = run(&with_request_limit(streaming(&server, transport, until(5)), 10));
    all_wrong(&recording, "content-type");
    let wrong = &recording.unexpected_replies[0];
    assert!(
        wrong.got.contains("text/plain") && wrong.got.contains("hello"),
        "{wrong:?}"
    );
    assert_eq!(recording.messages.expect("messages").received, 0);
}

fn another_status_is_reported(transport: TransportChoice) {
    let server = Server::answering(
        "HTTP/1.1 503 Busy\r\nContent-Type: text/event-stream\r\nContent-Length: 8\r\n\r\ntoo much",
    );
    let recording = run(&with_request_limit(streaming(&server, transport, until(5)), 10));
    assert_eq!(recording.outcomes.status, 10, "{:?}", recording.outcomes);
    assert!(
        recording.unexpected_replies[0].got.contains("too much"),
        "{:?}",
        recording.unexpected_replies
    );
}

/// A stream with an end condition may last longer than the timeout, but not be silent for that time.
fn silence_is_a_timeout(transport: TransportChoice) {
    let server = serving(STREAM_HEAD, |writer| {
        writer.write_all(chunk("data: whole\n\n").as_bytes())?;
        let _ = writer.read(&mut [0]);
        Err(connection_reset())
    });
    let mut job = with_request_limit(streaming(&server, transport, until(5)), 4);
    job.timeout_ns = 100 * MS;
    job.target.connect.connect_timeout_ns = Some(10_000 * MS);
    let recording = run(&job);
    assert_eq!(recording.outcomes.timeout, 4, "{:?}", recording.outcomes);
    let long = serving(STREAM_HEAD, endless);
    let mut job = with_request_limit(streaming(&long, transport, until(400)), 4);
    job.timeout_ns = 350 * MS;
    let recording = run(&job);
    let times = recording.valid_time_ns.expect("a reply");
    assert!(
        recording.outcomes.valid > 0 && times.max > job.timeout_ns,
        "{times:?}"
    );
}

fn a_stream_without_a_bound_names_the_switches(transport: TransportChoice) {
    let server = serving(STREAM_HEAD, endless);
    // As an ordinary reply, and as a stream that only has to contain an event.
    let plain = Expectation::default();
    let events = Events {
        some: vec![EventRule::Name("tick".into())],
        ..Events::default()
    };
    for expect in [plain, expecting(events)] {
        let mut job = with_request_limit(job(server.address, transport), 4);
        job.workload.operations[0].expect = expect;
        job.timeout_ns = 200 * MS;
        job.target.connect.connect_timeout_ns = Some(10_000 * MS);
        let recording = run(&job);
        assert_eq!(recording.outcomes.timeout, 4, "{:?}", recording.outcomes);
        let reported: Vec<String> = recording.warnings.iter().map(Warning::whole).collect();
        assert!(
            reported
                .iter()
                .any(|text| text.contains("--events") && text.contains("--for") && text.contains("hello")),
            "{reported:?}"
        );
    }
}
