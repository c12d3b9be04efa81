//! Between warm-up and drain, a worker allocates nothing per request: its allocations are counted while it runs.
//!
//! The remaining allocations belong to intervals (a message to the thread that reports), so the limit does not grow
//! with the number of requests. TLS is not among these loads: rustls allocates memory for each record.

#[path = "../../../tests/ports.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod ports;
mod toy;
mod wire;

use prony_load::events::{Chat, Data, EventRule, Events, ExactStream, MessageRule};
use prony_load::formula::Formula;
use prony_load::grpc::Messages;
use prony_load::known_files::KnownFile;
use prony_load::{
    Body, BodyRule, Capture, Encoding, Expectation, FilePart, Header, HeaderRule, HeaderValue, Job, JsonRule,
    JsonText, List, Load, Operation, Order, Parameter, Part, Pick, Protocol, SchemaPart, Series, Source,
    Spacing, Step, Template, TransportChoice, WarmUp, Workload,
};
use prony_records::{Event, Phase};
use std::alloc::{GlobalAlloc, Layout, System};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use toy::{MS, Server, answer_all, get, read_request};
use wire::peer::{DATA, END_HEADERS, END_STREAM, HEADERS, OK, Peer, ScriptedServer, literal};

/// Counts the allocations of the load's threads; servers and tests run in the same process.
struct CountingAllocator;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// Asks the kernel for the thread's name: the standard library may allocate.
fn is_worker() -> bool {
    let mut name = [0_u8; 16];
    // SAFETY: the kernel writes at most 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name.starts_with(b"load-")
}

fn count() {
    if is_worker() {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call is passed on unchanged to the system allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller upholds the contract.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

/// Only one load at a time, because there is one counter.
static ALONE: Mutex<()> = Mutex::new(());

on_both_transports!(
    constant_replies,
    judged_replies,
    values_that_are_taken,
    replies_in_pieces,
    files_of_known_bytes,
    rules_for_json,
    json_of_fresh_replies,
    streams_of_events,
    streams_of_lines,
    streams_of_known_messages,
    answers_of_a_language_model,
    an_open_load,
    http2,
    bodies_that_windows_keep_back,
    grpc,
    streams_of_grpc,
    web_sockets,
);

/// Allocations per interval: the message, and a histogram that is needed for the first time.
const OF_AN_INTERVAL: u64 = 16;

/// Runs the job and asserts that its allocations do not grow with the number of requests.
fn assert_allocates_nothing(mut job: Job) {
    job.phases.warm_up = WarmUp::FixedNs(200 * MS);
    job.phases.measurement_ns = 800 * MS;
    job.count_replies = true;
    job.interval_ns = 100 * MS;
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Allocations at the end of each interval, and replies in it.
    let mut seen: Vec<(u64, u64)> = Vec::new();
    let (_commands, none) = mpsc::channel();
    let mut take = |event: Event| {
        if let Event::Interval {
            phase: Phase::Measurement,
            interval,
            ..
        } = event
        {
            seen.push((ALLOCATIONS.load(Ordering::Relaxed), interval.completed));
        }
    };
    let recording = prony_generator::run(&job, &mut take, &none).expect("a recording");
    drop(guard);
    assert_eq!(
        recording.outcomes.errors(),
        0,
        "{:?} {:?}",
        recording.outcomes,
        recording.unexpected_replies
    );
    // The first two intervals allocate the memory that later ones reuse.
    let (settled, rest) = seen.split_at(2);
    let allocations = rest.last().expect("intervals").0 - settled[1].0;
    let replies: u64 = rest.iter().map(|(_, completed)| completed).sum();
    println!(
        "{allocations} allocations, {replies} replies, {} intervals",
        rest.len()
    );
    assert!(replies > 100, "too few replies: {replies}");
    assert!(
        allocations <= OF_AN_INTERVAL * rest.len() as u64 + replies / 100,
        "{allocations} allocations for {replies} replies in {} intervals",
        rest.len()
    );
}

/// `/name/` and the value of the parameter.
fn path(name: &str) -> Template {
    Template(vec![
        Part::Literal(format!("/{name}/").as_str().into()),
        Part::Value(0),
    ])
}

/// `before`, the value of the parameter, `after`.
fn around(before: &str, after: &str) -> Template {
    Template(vec![
        Part::Literal(before.into()),
        Part::Value(0),
        Part::Literal(after.into()),
    ])
}

fn operation(name: &str, body: BodyRule) -> Operation {
    let header = |name: &str, value| HeaderRule {
        name: name.into(),
        value,
    };
    Operation {
        name: name.into(),
        request: get(path(name)),
        expect: Expectation {
            headers: vec![
                header("content-type", HeaderValue::MediaType("text/plain".into())),
                header("x-number", HeaderValue::Equals(Template(vec![Part::Value(0)]))),
                header("x-name", HeaderValue::Matches("[a-z]+".into())),
                header("x-none", HeaderValue::Absent),
            ],
            body: vec![body],
            ..Expectation::default()
        },
    }
}

/// One operation for each kind of rule; the service writes its JSON in a different order than the rule.
fn judged_workload() -> Workload {
    let operations = vec![
        operation("exact", BodyRule::Exact(around("<", "> exactly"))),
        operation("json", BodyRule::Json(around(r#"{"id": "#, r#", "of": [1, 2]}"#))),
        operation("matches", BodyRule::Matches("^[0-9] matches$".into())),
        operation("contains", BodyRule::Contains(around("in", "side"))),
        operation("html", BodyRule::HtmlLine(around("a < ", " & b"))),
        operation(
            "integers",
            BodyRule::Series {
                series: Series::Integers,
                n: Template(vec![Part::Value(0)]),
            },
        ),
        operation(
            "fibonacci",
            BodyRule::Series {
                series: Series::Fibonacci,
                n: Template(vec![Part::Value(0)]),
            },
        ),
        operation(
            "table",
            BodyRule::Table {
                parameter: 0,
                low: 1,
                bodies: vec!["one".into(), "two".into(), "three".into(), "four".into()],
            },
        ),
    ];
    let steps = (0..operations.len()).map(|operation| Step { operation, weight: 1 });
    Workload {
        name: "judged".into(),
        order: Order::Mix(steps.collect()),
        operations,
        parameters: vec![Parameter {
            name: "n".into(),
            source: Source::Range { low: 1, high: 4 },
        }],
    }
}

/// The valid body for a path of [`judged`].
fn right(path: &str) -> (String, String, String) {
    let mut parts = path.trim_start_matches('/').split('/');
    let name = parts.next().expect("a name").to_owned();
    let n = parts.next().expect("a number").to_owned();
    let number: usize = n.parse().expect("a number");
    let body = match name.as_str() {
        "exact" => format!("<{n}> exactly"),
        "json" => format!(r#"{{"of":[1,2],"id":{n}}}"#),
        "matches" => format!("{n} matches"),
        "contains" => format!("this is in{n}side it"),
        "html" => format!("first\na &lt; {n} &amp; b\nlast"),
        "integers" => ["1", "1 2", "1 2 3", "1 2 3 4"][number - 1].to_owned(),
        "fibonacci" => ["0 1", "0 1 1", "0 1 1 2", "0 1 1 2 3"][number - 1].to_owned(),
        _ => ["one", "two", "three", "four"][number - 1].to_owned(),
    };
    (name, n, body)
}

fn reply(path: &str) -> String {
    let (name, number, body) = right(path);
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Number: {number}\r\nX-Name: {name}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn path_of(line: &str) -> &str {
    line.split(' ').nth(1).expect("a path")
}

fn constant_replies(transport: TransportChoice) {
    let server = Server::answering(toy::HELLO);
    assert_allocates_nothing(toy::job(server.address, transport));
}

fn judged_replies(transport: TransportChoice) {
    let server = Server::new(|stream, _| answer_all(stream, |got| reply(path_of(&got.line))));
    let mut job = toy::job(server.address, transport);
    job.workload = judged_workload();
    assert_allocates_nothing(job);
}

/// The path and a header of the second request come from the reply to the first.
fn values_that_are_taken(transport: TransportChoice) {
    let server = Server::new(|stream, _| answer_all(stream, |got| reply(path_of(&got.line))));
    let mut job = toy::job(server.address, transport);
    let take = |name: &str, slot, from: &str, encoding| Capture {
        name: name.into(),
        slot,
        from: from.parse().expect("an origin"),
        encoding,
    };
    let mut first = operation("json", BodyRule::Contains(Template::literal("id")));
    first.expect.take = vec![
        take("id", 0, "json:/id", Encoding::Json),
        take("name", 1, "header:x-name", Encoding::Path),
        take("of", 2, "regex:of.:.(1)", Encoding::JsonString),
    ];
    let mut second = operation("exact", BodyRule::Exact(around("<", "> exactly")));
    second.request.path = Template(vec![Part::Literal("/exact/".into()), Part::Value(1)]);
    second.request.headers = vec![Header {
        name: "x-taken".into(),
        value: Template(vec![Part::Value(2), Part::Formula(Formula::Value(3))]),
    }];
    let steps = [0, 1].map(|operation| Step { operation, weight: 1 });
    let counted = judged_workload().parameters;
    let taken = (0..3).map(|slot| Parameter {
        name: slot.to_string(),
        source: Source::Taken(slot),
    });
    job.workload = Workload {
        name: "taken".into(),
        operations: vec![first, second],
        order: Order::Sequence(steps.to_vec()),
        parameters: counted.into_iter().chain(taken).collect(),
    };
    assert_allocates_nothing(job);
}

fn replies_in_pieces(transport: TransportChoice) {
    use std::io::{BufReader, Write as _};
    let server = Server::new(|stream, _| {
        let mut writer = stream.try_clone().expect("a second handle");
        let mut reader = BufReader::new(stream);
        while let Some(request) = read_request(&mut reader) {
            let reply = reply(path_of(&request.line));
            // With TCP_NODELAY, each piece is a packet of its own, though two may be read at once.
            for piece in reply.as_bytes().chunks(20) {
                if writer.write_all(piece).is_err() {
                    return;
                }
            }
        }
    });
    let mut job = toy::job(server.address, transport);
    job.workload = judged_workload();
    assert_allocates_nothing(job);
}

/// Random files, whole and in a coding: every reply is compared.
fn files_of_known_bytes(transport: TransportChoice) {
    use std::io::{BufReader, Write as _};
    let names = ["reset.css", "theme.css", "hero.webp"];
    let server = Server::new(move |stream, _| {
        let mut writer = stream.try_clone().expect("a second handle");
        let mut reader = BufReader::new(stream);
        while let Some(request) = read_request(&mut reader) {
            let file = path_of(&request.line).trim_start_matches('/').to_owned();
            let file = KnownFile::find(&file).expect("a file");
            let body = file.content(3, 1);
            let (coding, body) = if file.is_text {
                ("Content-Encoding: gzip\r\n", gzipped(&body))
            } else {
                ("", body)
            };
            let (kind, length) = (file.media_type, body.len());
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{coding}Content-Length: {length}\r\n\r\n"
            );
            if writer.write_all(&[head.as_bytes(), &body].concat()).is_err() {
                return;
            }
        }
    });
    let column = |name: &str, values: [&str; 3]| Parameter {
        name: name.into(),
        source: Source::Column {
            values: values.map(str::to_owned).to_vec(),
            pick: Pick::Each,
        },
    };
    let mut operation = operation(
        "file",
        BodyRule::FilePart(FilePart {
            seed: 3,
            version: 1,
            file: Template(vec![Part::Value(0)]),
            from: None,
            to: None,
        }),
    );
    operation.request = get(Template(vec![Part::Literal("/".into()), Part::Value(0)]));
    operation.expect.decode = true;
    operation.expect.headers = vec![HeaderRule {
        name: "content-type".into(),
        value: HeaderValue::MediaTypeOf(Template(vec![Part::Value(1)])),
    }];
    let mut job = toy::job(server.address, transport);
    job.workload = Workload {
        name: "files".into(),
        operations: vec![operation],
        order: Order::Mix(vec![Step {
            operation: 0,
            weight: 1,
        }]),
        parameters: vec![
            column("name", names),
            column("type", ["text/css", "text/css", "image/webp"]),
        ],
    };
    assert_allocates_nothing(job);
}

fn gzipped(body: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).expect("memory");
    encoder.finish().expect("memory")
}

/// Rules for single values, including an ID that differs in each request: as JSON in pieces, and as one event in
/// chunks.
fn rules_for_json(transport: TransportChoice) {
    use std::io::{BufReader, Write as _};
    for is_event in [false, true] {
        let server = Server::new(move |stream, _| {
            let mut writer = stream.try_clone().expect("a second handle");
            let mut reader = BufReader::new(stream);
            while let Some(request) = read_request(&mut reader) {
                let id = path_of(&request.line).rsplit('/').next().expect("a number");
                let message = format!(
                    r#"{{"id":{id},"result":{{"content":[{{"type":"text","text":"\u00e9 é"}}],"of":[1, 2.0],"isError":false}}}}"#
                );
                let reply = if is_event {
                    let (front, end) = message.split_at(20);
                    let chunks = [format!(": comment\n\ndata: {front}"), format!("{end}\n\n")];
                    let chunks: String = chunks.iter().map(|chunk| toy::chunk(chunk)).collect();
                    format!("{}{chunks}0\r\n\r\n", toy::STREAM_HEAD)
                } else {
                    let length = message.len();
                    format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{message}"
                    )
                };
                for piece in reply.as_bytes().chunks(11) {
                    if writer.write_all(piece).is_err() {
                        return;
                    }
                }
            }
        });
        let mut job = toy::job(server.address, transport);
        let rule = |text: &str, value: Template| {
            JsonRule::read(text, |_| Ok::<_, Infallible>(value)).expect("a rule")
        };
        let json = vec![
            rule("/id={n}", Template(vec![Part::Value(0)])),
            rule("!/error", Template::literal("")),
            rule("/result/isError!=true", Template::literal("true")),
            rule("/result/content/0/text~é", Template::literal("")),
            rule("/result/of=[1,2]", Template::literal("[1,2]")),
        ];
        job.workload = Workload {
            name: "rules".into(),
            order: Order::Mix(vec![Step {
                operation: 0,
                weight: 1,
            }]),
            operations: vec![Operation {
                name: "call".into(),
                request: get(path("call")),
                expect: Expectation {
                    json,
                    ..Expectation::default()
                },
            }],
            parameters: vec![Parameter {
                name: "n".into(),
                source: Source::Counter { start: 1 },
            }],
        };
        assert_allocates_nothing(job);
    }
}

/// A reply as `json_of_fresh_replies` expects it, with another order of members and further ones.
fn fresh_reply(id: &str) -> String {
    let item = format!(r#"{{\"tags\":[\"a\",\"\\u00e9\"],\"id\":{id}}}"#);
    format!(
        r#"{{"result":{{"kind":"item","ttl":5,"more":{{}},"text":"{item}","list":[{{"n":{id}}}]}},"id":{id}}}"#
    )
}

/// Alternatives, rules for JSON, a list and a schema, which the replies meet.
fn fresh_expectation() -> Expectation {
    let alternative = |status: u16, body: BodyRule| Expectation {
        status: vec![status],
        single_event: true,
        body: vec![body],
        ..Expectation::default()
    };
    let schema = serde_json::json!({
        "required": ["result"],
        "properties": { "result": { "required": ["ttl", "text"], "properties": { "ttl": { "minimum": 0 } } } },
    });
    Expectation {
        status: vec![200, 400],
        single_event: true,
        any: vec![
            alternative(400, BodyRule::JsonPart(around(r#"{"id":"#, r#","error":{}}"#))),
            alternative(
                200,
                BodyRule::JsonPart(around(r#"{"id":"#, r#","result":{"kind":"item"}}"#)),
            ),
        ],
        body: vec![
            BodyRule::JsonPart(around(r#"{"id":"#, r#","error":null,"result":{"ttl":5.0}}"#)),
            BodyRule::JsonNotContains(Template::literal(r#"{"result":{"kind":"error"}}"#)),
            BodyRule::JsonText(JsonText {
                at: "/result/text".into(),
                json: around(r#"{"id":"#, r#","tags":["a","é"]}"#),
            }),
            BodyRule::List(List {
                first: Template(vec![Part::Value(0)]),
                count: Template::literal("1"),
                each: Template(vec![
                    Part::Literal(r#"{"n":"#.into()),
                    Part::Formula(Formula::Item),
                    Part::Literal("}".into()),
                ]),
                at: Some("/result/list".into()),
                only: false,
            }),
            BodyRule::JsonSchema(SchemaPart::whole(schema)),
        ],
        ..Expectation::default()
    }
}

/// JSON that differs in each reply is compared, alternatives and a schema are judged. The replies are JSON, then single
/// events. Every reply is judged, although the share is small.
fn json_of_fresh_replies(transport: TransportChoice) {
    use std::io::{BufReader, Write as _};
    for is_event in [false, true] {
        let server = Server::new(move |stream, _| {
            let mut writer = stream.try_clone().expect("a second handle");
            let mut reader = BufReader::new(stream);
            while let Some(request) = read_request(&mut reader) {
                let id = path_of(&request.line).rsplit('/').next().expect("a number");
                let message = fresh_reply(id);
                let (kind, body) = if is_event {
                    ("text/event-stream", format!(": comment\n\ndata: {message}\n\n"))
                } else {
                    ("application/json", message)
                };
                let length = body.len();
                let head =
                    format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
                if writer.write_all((head + &body).as_bytes()).is_err() {
                    return;
                }
            }
        });
        let mut job = toy::job(server.address, transport);
        job.check.share = 0.05;
        job.workload = Workload {
            name: "fresh".into(),
            order: Order::Mix(vec![Step {
                operation: 0,
                weight: 1,
            }]),
            operations: vec![Operation {
                name: "call".into(),
                request: get(path("call")),
                expect: fresh_expectation(),
            }],
            parameters: vec![Parameter {
                name: "n".into(),
                source: Source::Counter { start: 1000 },
            }],
        };
        assert_allocates_nothing(job);
    }
}

/// Streams with these messages on keep-alive connections.
fn streaming(content_type: &'static str, messages: &[String], events: Events, transport: TransportChoice) {
    let body: String = messages.iter().map(|message| toy::chunk(message)).collect();
    let server = Server::new(move |stream, _| {
        let head = toy::STREAM_HEAD.replace("text/event-stream", content_type);
        answer_all(stream, |_| format!("{head}{body}0\r\n\r\n"));
    });
    let mut job = toy::job(server.address, transport);
    job.workload.operations[0].expect = Expectation {
        events: Some(events),
        ..Expectation::default()
    };
    assert_allocates_nothing(job);
}

fn with_a_rule() -> Events {
    Events {
        some: vec![EventRule::Contains("n\":".into())],
        ..Events::default()
    }
}

fn streams_of_events(transport: TransportChoice) {
    let event = "id: 1\r\nevent: tick\r\ndata: {\"n\": 1}\r\n\r\n".to_owned();
    streaming("text/event-stream", &vec![event; 20], with_a_rule(), transport);
}

fn streams_of_lines(transport: TransportChoice) {
    let lines = vec!["{\"n\": 1}\n".to_owned(); 20];
    streaming("application/x-ndjson", &lines, with_a_rule(), transport);
}

fn answers_of_a_language_model(transport: TransportChoice) {
    let chunk = |choices: &str, usage: &str| {
        format!("data: {{\"id\":\"c-1\",\"choices\":[{choices}],\"usage\":{usage}}}\n\n")
    };
    let token = r#"{"index":0,"delta":{"content":" word"},"finish_reason":null}"#;
    let mut answer = vec![chunk(token, "null"); 20];
    answer.push(chunk("", r#"{"prompt_tokens":3,"completion_tokens":20}"#));
    answer.push("data: [DONE]\n\n".to_owned());
    let events = Events {
        chat: Some(Chat {
            ttft_below_ns: Some(MS),
            tpot_below_ns: Some(MS),
            e2el_below_ns: Some(MS),
        }),
        ..Events::default()
    };
    streaming("text/event-stream", &answer, events, transport);
}

/// Every message is known; its JSON has the spaces that many writers add.
fn streams_of_known_messages(transport: TransportChoice) {
    let server = Server::new(|stream, _| {
        let event = |n: u64| toy::event(Some(n), "tick", &format!("{{\"n\": {n}, \"of\": 20}}"));
        let body: String = (1..=20).map(|n| toy::chunk(&event(n))).collect();
        answer_all(stream, |_| format!("{}{body}0\r\n\r\n", toy::STREAM_HEAD));
    });
    let mut job = toy::job(server.address, transport);
    job.workload.operations[0].expect = Expectation {
        events: Some(Events {
            whole: Some(ExactStream {
                count: Template::literal("20"),
                each: MessageRule {
                    id: Some(Template(vec![Part::Formula(Formula::Item)])),
                    name: Some(Template::literal("tick")),
                    data: Some(Data::Json(Template(vec![
                        Part::Literal(r#"{"n":"#.into()),
                        Part::Formula(Formula::Item),
                        Part::Literal(r#","of":20}"#.into()),
                    ]))),
                },
                last: None,
                gap_us: Some(Template::literal("0")),
                flushed: false,
                first: Vec::new(),
                closing: Vec::new(),
                separate: false,
            }),
            ..Events::default()
        }),
        ..Expectation::default()
    };
    assert_allocates_nothing(job);
}

fn an_open_load(transport: TransportChoice) {
    let server = Server::new(|stream, _| answer_all(stream, |got| reply(path_of(&got.line))));
    let mut job = toy::job(server.address, transport);
    job.workload = judged_workload();
    job.load = Load::Open {
        arrival: toy::arrivals(2_000.0, Spacing::Poisson),
        connections: 8,
        in_flight: 1,
        backlog: 1_000_000,
        members: None,
    };
    assert_allocates_nothing(job);
}

/// An HTTP/2 job with a body and header checks.
fn over_http2(port: u16, transport: TransportChoice, protocol: Protocol) -> Job {
    let operation = wire::post("/", &[b'x'; 1000]);
    let mut job = wire::job(port, protocol, (4, 8), operation);
    job.transport = transport;
    job.workload.operations[0].expect.headers = vec![HeaderRule {
        name: "x-header".into(),
        value: HeaderValue::Matches("[a-z]+".into()),
    }];
    job
}

/// Replies to each request with a head, a body and the frames of `after`.
fn answering(
    settings: &'static [(u16, u32)],
    head: Vec<u8>,
    body: Vec<u8>,
    after: Option<Vec<u8>>,
    granting: bool,
) -> ScriptedServer {
    ScriptedServer::start(move |stream, _| {
        let Some(mut peer) = Peer::greet(stream, settings) else {
            return;
        };
        while let Some(frame) = peer.next() {
            let stream = frame.header.stream;
            if granting && frame.header.kind == DATA && !frame.payload.is_empty() {
                let length = frame.payload.len() as u32;
                peer.write(wire::peer::WINDOW_UPDATE, 0, stream, &length.to_be_bytes());
            }
            if frame.ends_stream() {
                peer.write(HEADERS, END_HEADERS, stream, &head);
                let ends = if after.is_some() { 0 } else { END_STREAM };
                peer.write(DATA, ends, stream, &body);
                if let Some(trailers) = &after {
                    peer.write(HEADERS, END_HEADERS | END_STREAM, stream, trailers);
                }
            }
            if peer.flush().is_none() {
                return;
            }
        }
    })
}

fn http2(transport: TransportChoice) {
    let head = [OK, &literal("x-header", "value")].concat();
    let server = answering(&[], head, b"hello".to_vec(), None, false);
    let mut job = over_http2(server.port, transport, Protocol::Http2);
    job.workload.operations[0].expect.body = vec![BodyRule::Matches("^hello$".into())];
    assert_allocates_nothing(job);
}

fn bodies_that_windows_keep_back(transport: TransportChoice) {
    // SETTINGS_INITIAL_WINDOW_SIZE: the body of 1,000 bytes is sent in pieces.
    let head = [OK, &literal("x-header", "value")].concat();
    let server = answering(&[(4, 300)], head, b"hello".to_vec(), None, true);
    assert_allocates_nothing(over_http2(server.port, transport, Protocol::Http2));
}

fn grpc(transport: TransportChoice) {
    let head = [
        OK,
        &literal("content-type", "application/grpc"),
        &literal("x-header", "value"),
    ]
    .concat();
    let message = b"\0\0\0\0\x05hello".to_vec();
    let server = answering(&[], head, message, Some(literal("grpc-status", "0")), false);
    let mut job = over_http2(server.port, transport, Protocol::Grpc);
    job.workload.operations[0].expect.body = vec![BodyRule::Matches("^hello$".into())];
    assert_allocates_nothing(job);
}

/// Streams of messages in both directions.
fn streams_of_grpc(transport: TransportChoice) {
    let head = [OK, &literal("content-type", "application/grpc")].concat();
    let messages = b"\0\0\0\0\x05hello".repeat(20);
    let server = answering(&[], head, messages, Some(literal("grpc-status", "0")), false);
    let mut job = over_http2(server.port, transport, Protocol::Grpc);
    let operation = &mut job.workload.operations[0];
    operation.request.body = Body::Messages(Messages {
        each: vec!["hello".into(); 20],
        unanswered: None,
    });
    operation.expect = Expectation {
        events: Some(Events {
            some: vec![EventRule::Contains("hello".into())],
            ..Events::default()
        }),
        ..Expectation::default()
    };
    assert_allocates_nothing(job);
}

/// Messages with a value each, and a ping before each reply.
fn web_sockets(transport: TransportChoice) {
    let server = Server::new(|stream, _| {
        let Ok(mut socket) = tungstenite::accept(stream) else {
            return;
        };
        while let Ok(message) = socket.read() {
            if !message.is_text() {
                continue;
            }
            let ping = tungstenite::Message::Ping("here".into());
            if socket.send(ping).is_err() || socket.send(message).is_err() {
                return;
            }
        }
    });
    let mut job = toy::job(server.address, transport);
    job.protocol = Protocol::WebSocket;
    let mut message = operation("echo", BodyRule::Exact(around("<", ">")));
    message.request.method = "TEXT".into();
    message.request.path = Template::literal("/echo");
    message.request.body = Body::Bytes(around("<", ">"));
    message.expect.headers.clear();
    message.expect.status = vec![101];
    job.workload = Workload {
        parameters: judged_workload().parameters,
        ..Workload::of(message)
    };
    job.load = Load::closed(4, 4);
    assert_allocates_nothing(job);
}
