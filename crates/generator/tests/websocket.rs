//! WebSocket against a real server, and against misbehaving ones, on both transports: each message gets the right
//! outcome, memory is bounded, and nothing hangs.

use crate::toy::{HELLO, MS, Server, arrivals, fails, job, read_request, run};
use prony_load::{
    Body, BodyRule, Expectation, GeneratedBody, Job, Load, Operation, Parameter, Part, Protocol, Request,
    Source, Spacing, Template, TransportChoice, Workload,
};
use prony_records::{Recording, WarningKind};
use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::Duration;
use tungstenite::Message;
use tungstenite::handshake::derive_accept_key;

on_both_transports!(
    texts_come_back,
    binary_messages_of_every_size_come_back,
    an_open_load_sends_at_its_rate,
    users_close_their_connections,
    connections_end_with_a_close_frame,
    connections_are_made_again_after_so_many_messages,
    replies_may_come_byte_by_byte,
    pings_are_answered_while_messages_are_under_way,
    an_altered_reply_is_wrong,
    a_reply_of_the_other_kind_is_wrong,
    a_masked_frame_is_wrong,
    a_compressed_frame_is_wrong,
    a_message_without_end_is_wrong_at_once,
    a_close_in_the_middle_of_a_message_is_wrong,
    a_close_instead_of_a_reply_is_a_reset,
    a_connection_that_breaks_is_a_reset,
    silence_is_a_timeout,
    a_reply_without_a_switch_is_reported,
    a_service_may_speak_first,
);

const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;

/// Longest time that a test waits for anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// An echo server based on the library. Reports for each connection whether it ended with a close frame.
fn echo() -> (Server, mpsc::Receiver<bool>) {
    let (tell, reported) = mpsc::channel();
    let server = Server::new(move |stream, _| {
        let Ok(mut socket) = tungstenite::accept(stream) else {
            return;
        };
        let ended_well = loop {
            match socket.read() {
                Ok(message @ (Message::Text(_) | Message::Binary(_))) => {
                    if socket.send(message).is_err() {
                        break false;
                    }
                }
                Ok(Message::Close(_)) => break true,
                Ok(_) => {}
                Err(_) => break false,
            }
        };
        // The test may be over.
        let _ = tell.send(ended_well);
    });
    (server, reported)
}

/// A message sent on connect is not a reply to any request.
fn a_service_may_speak_first(transport: TransportChoice) {
    let server = Server::new(|stream, _| {
        let mut peer = Peer {
            writer: stream.try_clone().expect("a second handle"),
            reader: BufReader::new(stream),
        };
        let Some(asked) = read_request(&mut peer.reader) else {
            return;
        };
        let greeting = [switching(&asked.head).as_bytes(), b"\x81\x05hello"].concat();
        if peer.writer.write_all(&greeting).is_err() {
            return;
        }
        while let Some((first, payload)) = peer.read() {
            if peer.write(first, &payload).is_none() {
                return;
            }
        }
    });
    let mut job = with_request_limit(texts(&server, transport), 100);
    job.load = Load::closed(2, 2);
    // Connections established under load are greeted, too.
    job.limits.requests_per_connection = Some(10);
    let recording = run(&job);
    all_valid(&recording);
    assert!(recording.connections.reconnects > 0);
}

/// The server's side of a connection, which may misbehave.
struct Peer {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Peer {
    /// The next message, or a pong; `None` at the end.
    fn read(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut header = [0; 2];
        self.reader.read_exact(&mut header).ok()?;
        assert_ne!(header[1] & 0x80, 0, "a client masks");
        let length = match header[1] & 0x7f {
            126 => {
                let mut length = [0; 2];
                self.reader.read_exact(&mut length).ok()?;
                usize::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.reader.read_exact(&mut length).ok()?;
                u64::from_be_bytes(length) as usize
            }
            short => usize::from(short),
        };
        let (mut key, mut payload) = ([0; 4], vec![0; length]);
        self.reader.read_exact(&mut key).ok()?;
        self.reader.read_exact(&mut payload).ok()?;
        for (byte, key) in payload.iter_mut().zip(key.iter().cycle()) {
            *byte ^= key;
        }
        (header[0] != CLOSE).then_some((header[0], payload))
    }

    /// Sends a frame with a short message.
    fn write(&mut self, first: u8, payload: &[u8]) -> Option<()> {
        let frame = [&[first, payload.len() as u8], payload].concat();
        self.writer.write_all(&frame).ok()
    }
}

/// Completes the handshake and then replies to each message with `answer`, until that returns `None`.
fn answering(answer: impl Fn(&mut Peer, u8, Vec<u8>) -> Option<()> + Send + Sync + 'static) -> Server {
    Server::new(move |stream, _| {
        let mut peer = Peer {
            writer: stream.try_clone().expect("a second handle"),
            reader: BufReader::new(stream),
        };
        let Some(asked) = read_request(&mut peer.reader) else {
            return;
        };
        let head = switching(&asked.head);
        if peer.writer.write_all(head.as_bytes()).is_err() {
            return;
        }
        while let Some((first, payload)) = peer.read() {
            if answer(&mut peer, first, payload).is_none() {
                return;
            }
        }
    })
}

/// The valid response to a handshake.
fn switching(asked: &str) -> String {
    let key = asked
        .lines()
        .find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "));
    let accept = derive_accept_key(key.expect("a key").as_bytes());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    )
}

/// A message that must be echoed unchanged.
fn message(kind: &str, message: Template) -> Operation {
    Operation {
        name: "echo".into(),
        request: Request {
            method: kind.into(),
            path: Template::literal("/ws/echo"),
            headers: Vec::new(),
            body: Body::Bytes(message.clone()),
        },
        expect: Expectation {
            status: vec![101],
            body: vec![BodyRule::Exact(message)],
            ..Expectation::default()
        },
    }
}

/// Texts with a number each, on four connections.
fn texts(server: &Server, transport: TransportChoice) -> Job {
    let mut job = job(server.address, transport);
    job.protocol = Protocol::WebSocket;
    let text = Template(vec![Part::Literal("\u{20ac} ".into()), Part::Value(0)]);
    job.workload = Workload::of(message("TEXT", text));
    job.workload.parameters = vec![Parameter {
        name: "n".into(),
        source: Source::Counter { start: 0 },
    }];
    job
}

/// The job ends when this number of messages have an outcome.
fn with_request_limit(mut job: Job, messages: u64) -> Job {
    job.phases.measurement_ns = 60_000 * MS;
    job.limits.requests = Some(messages);
    job
}

fn all_valid(recording: &Recording) {
    assert_eq!(
        (
            recording.outcomes.errors(),
            recording.unexpected_replies.as_slice()
        ),
        (0, &[][..]),
        "{:?} {:?}",
        recording.outcomes,
        recording.warnings
    );
    assert!(recording.requests.valid > 0);
    assert_eq!(recording.protocol, "websocket");
    assert_eq!(
        recording.status_codes.get("101"),
        Some(&recording.requests.completed)
    );
}

/// Every message had an unexpected reply, for this reason.
fn all_wrong(recording: &Recording, reason: &str) {
    assert!(recording.requests.offered > 0);
    assert_eq!(
        recording.outcomes.unexpected, recording.requests.offered,
        "{:?} {:?}",
        recording.outcomes, recording.unexpected_replies
    );
    for wrong in &recording.unexpected_replies {
        let reported = format!("{} {} {}", wrong.what, wrong.expected, wrong.got);
        assert!(reported.contains(reason), "{reported}");
    }
}

/// The recording reports a protocol violation with this reason.
fn violated(recording: &Recording, reason: &str) {
    let reported = recording.warnings.iter().find(|warning| {
        warning.kind == WarningKind::ProtocolError && warning.text.contains("violated the protocol")
    });
    assert!(
        reported.is_some_and(|warning| warning.text.contains(reason)),
        "{:?}",
        recording.warnings
    );
}

fn texts_come_back(transport: TransportChoice) {
    let (server, _) = echo();
    let mut job = texts(&server, transport);
    job.load = Load::closed(4, 8);
    let recording = run(&job);
    all_valid(&recording);
    assert!(recording.requests.valid > 32, "{:?}", recording.requests);
    assert_eq!(
        (
            recording.connections.established,
            recording.connections.reconnects
        ),
        (4, 0)
    );
}

fn binary_messages_of_every_size_come_back(transport: TransportChoice) {
    let (server, _) = echo();
    for bytes in [0, 1, 125, 126, 65_535, 65_536, 1 << 20] {
        let mut job = job(server.address, transport);
        job.protocol = Protocol::WebSocket;
        let generated = GeneratedBody {
            bytes,
            chunk: None,
            end: Template::literal(vec![7_u8; usize::from(GeneratedBody::end_length(bytes))]),
        };
        let mut expected = generated.filler();
        generated.end.render(&mut expected, |_, _| {});
        let mut operation = message("BINARY", Template::literal(expected));
        operation.request.body = Body::Generated(generated);
        job.workload = Workload::of(operation);
        job.load = Load::closed(2, 3);
        let recording = run(&with_request_limit(job, 12));
        all_valid(&recording);
        assert_eq!(recording.requests.valid, 12, "{bytes} bytes");
        // The key and the shortest header precede each outgoing message.
        assert!(recording.bytes.sent >= 12 * (bytes + 6), "{:?}", recording.bytes);
    }
}

fn an_open_load_sends_at_its_rate(transport: TransportChoice) {
    let (server, _) = echo();
    let mut job = texts(&server, transport);
    job.load = Load::Open {
        arrival: arrivals(500.0, Spacing::Even),
        connections: 4,
        in_flight: 4,
        backlog: 1_000,
        members: None,
    };
    let recording = run(&job);
    all_valid(&recording);
    assert_eq!(recording.requests.valid, 150);
    assert!(recording.schedule_lag_ns.is_some());
}

fn users_close_their_connections(transport: TransportChoice) {
    let (server, ends) = echo();
    let mut job = texts(&server, transport);
    job.load = Load::Users {
        arrival: arrivals(50.0, Spacing::Even),
        requests_per_user: 3,
        think_ns: MS,
        max_users: 50,
    };
    let recording = run(&job);
    all_valid(&recording);
    for _ in 0..recording.requests.valid / 3 {
        assert_eq!(ends.recv_timeout(PATIENCE), Ok(true));
    }
}

fn connections_end_with_a_close_frame(transport: TransportChoice) {
    let (server, ends) = echo();
    let recording = run(&with_request_limit(texts(&server, transport), 100));
    all_valid(&recording);
    for _ in 0..4 {
        assert_eq!(ends.recv_timeout(PATIENCE), Ok(true));
    }
}

fn connections_are_made_again_after_so_many_messages(transport: TransportChoice) {
    let (server, ends) = echo();
    let mut job = with_request_limit(texts(&server, transport), 40);
    job.limits.requests_per_connection = Some(5);
    job.load = Load::closed(2, 2);
    let recording = run(&job);
    all_valid(&recording);
    assert!(
        recording.connections.reconnects >= 6,
        "{:?}",
        recording.connections
    );
    for _ in 0..8 {
        assert_eq!(ends.recv_timeout(PATIENCE), Ok(true));
    }
}

fn replies_may_come_byte_by_byte(transport: TransportChoice) {
    let server = answering(|peer, first, payload| {
        let frame = [&[first, payload.len() as u8], payload.as_slice()].concat();
        // With TCP_NODELAY, each byte is a packet of its own, though some may be read at once.
        frame
            .iter()
            .try_for_each(|byte| peer.writer.write_all(&[*byte]))
            .ok()
    });
    let mut job = with_request_limit(texts(&server, transport), 200);
    job.load = Load::closed(2, 4);
    let recording = run(&job);
    all_valid(&recording);
    assert_eq!(recording.requests.valid, 200);
}

fn pings_are_answered_while_messages_are_under_way(transport: TransportChoice) {
    let server = answering(|peer, first, payload| {
        // In the middle of a message, whose end is only sent after the pong.
        let (front, back) = payload.split_at(payload.len() / 2);
        peer.write(first & 0x7f, front)?;
        peer.write(PING, b"are you there?")?;
        assert_eq!(peer.read()?, (PONG, b"are you there?".to_vec()));
        peer.write(0x80, back)
    });
    let recording = run(&with_request_limit(texts(&server, transport), 40));
    all_valid(&recording);
    assert_eq!(recording.connections.reconnects, 0);
}

fn an_altered_reply_is_wrong(transport: TransportChoice) {
    let changes: [fn(&mut Vec<u8>); 6] = [
        |text| text[0] = b'!',
        |text| *text.last_mut().expect("a number") = b'!',
        |text| text.truncate(text.len() - 1),
        |text| text.push(b'0'),
        |text| text.truncate(3),
        Vec::clear,
    ];
    for change in changes {
        let server = answering(move |peer, _, mut payload| {
            change(&mut payload);
            peer.write(BINARY, &payload)
        });
        let mut job = with_request_limit(texts(&server, transport), 20);
        // A truncated character is not valid text.
        job.workload.operations[0].request.method = "BINARY".into();
        let recording = run(&job);
        all_wrong(&recording, "body");
        assert_eq!(recording.connections.reconnects, 0);
        // The same if there is only one message.
        job.workload = Workload::of(message("BINARY", Template::literal("hello")));
        all_wrong(&run(&job), "body");
    }
}

fn a_reply_of_the_other_kind_is_wrong(transport: TransportChoice) {
    let server = answering(|peer, _, payload| peer.write(BINARY, &payload));
    let recording = run(&with_request_limit(texts(&server, transport), 20));
    all_wrong(&recording, "a text message was sent");
    assert_eq!(recording.connections.reconnects, 0);
}

fn a_masked_frame_is_wrong(transport: TransportChoice) {
    let server = answering(|peer, first, _| peer.writer.write_all(&[first, 0x81, 0, 0, 0, 0, b'x']).ok());
    let recording = run(&with_request_limit(texts(&server, transport), 20));
    all_wrong(&recording, "only clients mask");
    violated(&recording, "only clients mask");
}

fn a_compressed_frame_is_wrong(transport: TransportChoice) {
    let server = answering(|peer, first, payload| peer.write(first | 0x40, &payload));
    let recording = run(&with_request_limit(texts(&server, transport), 20));
    all_wrong(&recording, "reserved bit");
    violated(&recording, "compressed");
}

/// A message of 100 MiB in fragments is cancelled at the length limit.
fn a_message_without_end_is_wrong_at_once(transport: TransportChoice) {
    let server = answering(|peer, _, _| {
        peer.write(0x02, b"begin")?;
        let fragment = [vec![0x00, 126, 0x80, 0], vec![b'x'; 0x8000]].concat();
        (0..3_200).try_for_each(|_| peer.writer.write_all(&fragment)).ok()
    });
    let mut job = with_request_limit(texts(&server, transport), 3);
    job.workload = Workload::of(message("BINARY", Template::literal("begin")));
    let recording = run(&job);
    all_wrong(&recording, "--longest-event");
    assert!(recording.bytes.received < 3 * (50 << 20), "{:?}", recording.bytes);
}

fn a_close_in_the_middle_of_a_message_is_wrong(transport: TransportChoice) {
    let server = answering(|peer, first, payload| {
        peer.write(first & 0x7f, &payload)?;
        peer.write(CLOSE, &1001_u16.to_be_bytes())
    });
    let recording = run(&with_request_limit(texts(&server, transport), 20));
    all_wrong(&recording, "in the middle of a message");
}

fn a_close_instead_of_a_reply_is_a_reset(transport: TransportChoice) {
    let server = answering(|peer, _, _| peer.write(CLOSE, &1001_u16.to_be_bytes()));
    let recording = run(&with_request_limit(texts(&server, transport), 20));
    assert_eq!(recording.outcomes.reset, 20, "{:?}", recording.outcomes);
}

fn a_connection_that_breaks_is_a_reset(transport: TransportChoice) {
    let server = answering(|peer, first, payload| {
        peer.write(first & 0x7f, &payload)?;
        None
    });
    let recording = run(&with_request_limit(texts(&server, transport), 20));
    assert_eq!(recording.outcomes.reset, 20, "{:?}", recording.outcomes);
}

fn silence_is_a_timeout(transport: TransportChoice) {
    let server = answering(|_, _, _| Some(()));
    let mut job = with_request_limit(texts(&server, transport), 8);
    job.timeout_ns = 50 * MS;
    let recording = run(&job);
    assert_eq!(recording.outcomes.timeout, 8, "{:?}", recording.outcomes);
}

fn a_reply_without_a_switch_is_reported(transport: TransportChoice) {
    // Each response to the handshake, and the expected error.
    let cases: [(&str, &str); 4] = [
        (HELLO, "plain reply"),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "404"),
        (
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
            "other than WebSocket",
        ),
        (
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
            "does not match the key",
        ),
    ];
    for (answer, reason) in cases {
        let server = Server::answering(answer);
        let error = fails(&texts(&server, transport)).to_string();
        assert!(error.contains(reason), "{error}");
    }
    let server = Server::new(|_, _| {});
    let error = fails(&texts(&server, transport)).to_string();
    assert!(
        error.contains("before it answered the WebSocket handshake"),
        "{error}"
    );
}

#[test]
fn all_messages_must_share_their_connections() {
    let (server, _) = echo();
    let mut job = texts(&server, TransportChoice::Epoll);
    let mut other = message("BINARY", Template::literal("b"));
    other.name = "other".into();
    other.request.path = Template::literal("/elsewhere");
    job.workload.operations.push(other);
    let error = fails(&job);
    assert!(error.is_bad_input());
    assert!(error.to_string().contains("different paths"), "{error}");
    // Texts and binary messages may be mixed.
    job.workload.operations[1].request.path = job.workload.operations[0].request.path.clone();
    let steps = [0, 1].map(|operation| prony_load::Step { operation, weight: 1 });
    job.workload.order = prony_load::Order::Mix(steps.to_vec());
    let recording = run(&with_request_limit(job, 100));
    all_valid(&recording);
    assert!(recording.operations.iter().all(|one| one.requests.valid > 0));
}
