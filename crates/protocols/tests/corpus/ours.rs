//! The readings of this crate.

use prony_load::{Body, ConnectOptions, Protocol as Spoken, Request, Target, Template};
use prony_protocols::client::{BodyFraming, Client, ClientError, Frame};
use prony_protocols::http1::Http1;
use prony_protocols::http2::{Connection, Semantics};
use prony_protocols::protocol::{Call, End, Failure, Framing, Head, Protocol, ReplySink, Token};
use prony_protocols::request_values::Parameters;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// What becomes of the one request.
#[derive(Default)]
struct Observation {
    head: Option<(u16, Framing, bool)>,
    body: Vec<u8>,
    /// Where messages end.
    ends: Vec<usize>,
    end: Option<Result<End, Failure>>,
}

impl ReplySink for Observation {
    fn first_byte(&mut self, _: Token) {}

    fn head(&mut self, _: Token, head: Head<'_>) {
        self.head = Some((head.status, head.framing, head.closes));
    }

    fn data(&mut self, _: Token, piece: &[u8]) {
        self.body.extend_from_slice(piece);
    }

    fn message(&mut self, _: Token) {
        self.ends.push(self.body.len());
    }

    fn end(&mut self, _: Token, end: End) {
        assert!(self.end.replace(Ok(end)).is_none(), "one end");
    }

    fn failed(&mut self, _: Token, failure: Failure) {
        assert!(self.end.replace(Err(failure)).is_none(), "one end");
    }
}

fn target() -> Target {
    Target {
        url: "http://h/".into(),
        host: "h".into(),
        port: 80,
        authority: "h".into(),
        tls: None,
        connect: ConnectOptions::default(),
        credentials: None,
    }
}

fn request(method: &str) -> Request {
    Request {
        method: method.into(),
        path: Template::literal("/"),
        headers: vec![],
        body: Body::None,
    }
}

fn call<'a, Prepared>(prepared: &'a Prepared, parameters: &'a Parameters) -> Call<'a, Prepared> {
    Call {
        token: Token(0),
        prepared,
        values: parameters.values(0),
        wants_headers: true,
        is_last: false,
    }
}

/// What a connection sees of bytes in pieces of a size, after which it ends.
fn http1_seen(method: &str, pieces: &mut dyn Iterator<Item = &[u8]>) -> Observation {
    let mut shared = Http1::shared();
    let mut connection = Http1::new(&mut shared, 1);
    let (mut seen, mut out) = (Observation::default(), Vec::new());
    let prepared = Http1::prepare(&request(method), &target()).expect("a plain request");
    connection.start(&mut shared, &call(&prepared, &Parameters::new(&[], 0)), &mut out);
    for piece in pieces {
        if connection
            .receive(&mut shared, piece, &mut out, &mut seen)
            .is_err()
        {
            return seen;
        }
    }
    connection.end_of_stream(&mut shared, true, &mut seen);
    seen
}

pub(crate) fn http1(method: &str, bytes: &[u8], size: usize) -> String {
    let seen = http1_seen(method, &mut bytes.chunks(size));
    match (seen.end, seen.head) {
        (Some(Ok(_)), Some((status, framing, closes))) => {
            let connection = if closes { "closes" } else { "open" };
            let body = String::from_utf8_lossy(&seen.body);
            format!("{status}, {}, {connection}: {body}", framing.word())
        }
        (Some(Err(Failure::Malformed(reason))), _) => format!("malformed: {reason}"),
        _ => "incomplete".to_owned(),
    }
}

/// What becomes of the first head alone.
pub(crate) fn head(method: &str, bytes: &[u8]) -> String {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let head = &bytes[..end.map_or(bytes.len(), |at| at + 4)];
    let seen = http1_seen(method, &mut std::iter::once(head));
    match seen.end {
        Some(Err(_)) => "refused",
        _ if end.is_some() => "complete",
        _ => "partial",
    }
    .to_owned()
}

const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

/// What a stream sees, and how the connection ended where it broke.
fn stream_seen<M: Semantics>(
    method: &str,
    bytes: &[u8],
    size: usize,
) -> (Observation, Vec<u8>, Option<&'static str>) {
    let mut shared = Connection::<M>::shared();
    let mut connection = Connection::<M>::new(&mut shared, 1);
    let (mut seen, mut out) = (Observation::default(), Vec::new());
    let prepared = Connection::<M>::prepare(&request(method), &target()).expect("a plain request");
    connection.open(&mut shared, &prepared, &mut out);
    connection
        .receive(&mut shared, SETTINGS, &mut out, &mut seen)
        .expect("settings");
    connection.start(&mut shared, &call(&prepared, &Parameters::new(&[], 0)), &mut out);
    out.clear();
    for piece in bytes.chunks(size) {
        if let Err(error) = connection.receive(&mut shared, piece, &mut out, &mut seen) {
            return (seen, out, Some(error.0));
        }
    }
    connection.end_of_stream(&mut shared, true, &mut seen);
    (seen, out, None)
}

/// The error code in the last frame of a kind that was sent.
fn code(sent: &[u8], kind: u8) -> Option<u32> {
    let (mut rest, mut code) = (sent, None);
    while let Some((header, after)) = rest.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        let (payload, after) = after.split_at(length);
        if header[3] == kind {
            let last = payload.last_chunk::<4>().expect("an error code");
            code = Some(u32::from_be_bytes(*last));
        }
        rest = after;
    }
    code
}

const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;

fn stream_reading(
    (seen, sent, broken): (Observation, Vec<u8>, Option<&'static str>),
    reply: impl Fn(&Observation, End) -> String,
) -> String {
    if let Some(reason) = broken {
        return format!(
            "connection error {}: {reason}",
            code(&sent, GOAWAY).expect("a GOAWAY")
        );
    }
    match &seen.end {
        Some(Ok(end)) => reply(&seen, *end),
        Some(Err(Failure::Malformed(reason))) => match code(&sent, RST_STREAM) {
            Some(code) => format!("stream error {code}: {reason}"),
            None => format!("malformed: {reason}"),
        },
        Some(Err(Failure::Reset(code))) => format!("reset {code}"),
        Some(Err(Failure::Unprocessed)) => "unprocessed".to_owned(),
        None => "incomplete".to_owned(),
    }
}

fn status(seen: &Observation) -> u16 {
    seen.head.expect("a head before the end").0
}

pub(crate) fn http2(method: &str, bytes: &[u8], size: usize) -> String {
    let seen = stream_seen::<prony_protocols::http2::Http>(method, bytes, size);
    stream_reading(seen, |seen, _| {
        format!("{}: {}", status(seen), String::from_utf8_lossy(&seen.body))
    })
}

pub(crate) fn grpc(method: &str, bytes: &[u8], size: usize) -> String {
    let seen = stream_seen::<prony_protocols::grpc::GrpcSemantics>(method, bytes, size);
    stream_reading(seen, |seen, end| {
        let Some(code) = end.grpc_status else {
            return format!("{}: {}", status(seen), String::from_utf8_lossy(&seen.body));
        };
        let mut begin = 0;
        let messages = seen.ends.iter().map(|end| {
            let message = String::from_utf8_lossy(&seen.body[begin..*end]).into_owned();
            begin = *end;
            message
        });
        let messages: Vec<String> = messages.collect();
        format!("{}, grpc-status {code}: {}", status(seen), messages.join("|"))
    })
}

/// Answers a handshake, sends these bytes in pieces and closes the connection.
fn serve(listener: &TcpListener, bytes: &[u8], size: usize) {
    let (mut stream, _) = listener.accept().expect("a connection");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a handshake");
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("text");
    let key = head
        .lines()
        .find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "))
        .expect("a key");
    let accept = tungstenite::handshake::derive_accept_key(key.as_bytes());
    let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
    write!(stream, "{head}Sec-WebSocket-Accept: {accept}\r\n\r\n").expect("sent");
    for piece in bytes.chunks(size) {
        // A client that found a fault may have left.
        if stream.write_all(piece).is_err() {
            return;
        }
    }
}

pub(crate) fn websocket(bytes: &[u8], size: usize) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("bound");
    let target = Target {
        host: address.ip().to_string(),
        port: address.port(),
        ..target()
    };
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&listener, bytes, size));
        read_frames(&target).join("; ")
    })
}

fn read_frames(target: &Target) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(20);
    let client = Client::new(target, Spoken::WebSocket).expect("a client");
    let prepared = client
        .prepare(&request("GET"), BodyFraming::Length)
        .expect("a handshake");
    let mut connection = client.connect(deadline).expect("a connection");
    let token = connection.start(&prepared, Parameters::new(&[], 0).values(0));
    let reply = connection.reply(token, deadline).expect("a reply");
    assert_eq!(reply.status, 101);
    let mut all = Vec::new();
    loop {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        all.push(match connection.next_frame(deadline) {
            Ok(Frame::Text(bytes)) => format!("text {}", text(bytes)),
            Ok(Frame::Binary(bytes)) => format!("binary {}", text(bytes)),
            Ok(Frame::Ping(bytes)) => format!("ping {}", text(bytes)),
            Ok(Frame::Pong(bytes)) => format!("pong {}", text(bytes)),
            Ok(Frame::Close(code)) => {
                all.push(code.map_or_else(|| "close".to_owned(), |code| format!("close {code}")));
                return all;
            }
            Err(error) if error.is_end() => {
                all.push("end".to_owned());
                return all;
            }
            Err(ClientError::Malformed(reason)) => {
                all.push(format!("malformed: {reason}"));
                return all;
            }
            Err(error) => panic!("{error}"),
        });
    }
}
