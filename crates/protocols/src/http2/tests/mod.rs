//! A connection that receives everything a service may send, valid and invalid, whole and in pieces.

use super::frame::{self, FrameHeader, HEADER_LENGTH, flag, kind, setting};
use super::hpack::{Decoder, Fields};
use super::*;
use crate::protocol::{Call, End, Failure, Head, Protocol, ProtocolError, ReplySink, Token};
use crate::request_values::Parameters;
use prony_load::{Body, Header, Request, Target, Template};
use proptest::prelude::*;

/// The events that a sink received, with the pieces of a body joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SinkEvent {
    FirstByte(u32),
    Head(u32, u16, Vec<(String, String)>),
    Data(u32, Vec<u8>),
    Message(u32),
    GrpcMessage(u32, String),
    End(u32, Option<u32>),
    Failed(u32, Failure),
}

#[derive(Debug, Default)]
pub(crate) struct Recorder(pub(crate) Vec<SinkEvent>);

impl ReplySink for Recorder {
    fn first_byte(&mut self, token: Token) {
        self.0.push(SinkEvent::FirstByte(token.0));
    }

    fn head(&mut self, token: Token, head: Head<'_>) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let headers = head.headers.iter().map(|(name, value)| (text(name), text(value)));
        self.0
            .push(SinkEvent::Head(token.0, head.status, headers.collect()));
    }

    fn data(&mut self, token: Token, piece: &[u8]) {
        match self.0.last_mut() {
            Some(SinkEvent::Data(last, bytes)) if *last == token.0 => bytes.extend_from_slice(piece),
            _ => self.0.push(SinkEvent::Data(token.0, piece.to_vec())),
        }
    }

    fn message(&mut self, token: Token) {
        self.0.push(SinkEvent::Message(token.0));
    }

    fn grpc_message(&mut self, token: Token, text: &[u8]) {
        let text = String::from_utf8_lossy(text).into_owned();
        self.0.push(SinkEvent::GrpcMessage(token.0, text));
    }

    fn end(&mut self, token: Token, end: End) {
        self.0.push(SinkEvent::End(token.0, end.grpc_status));
    }

    fn failed(&mut self, token: Token, failure: Failure) {
        self.0.push(SinkEvent::Failed(token.0, failure));
    }
}

pub(crate) fn request(method: &str, path: &str, body: Option<&[u8]>) -> Request {
    Request {
        method: method.into(),
        path: Template::literal(path),
        headers: vec![Header {
            name: "X-Trace".into(),
            value: Template::literal("on"),
        }],
        body: body.map_or(Body::None, |bytes| Body::Bytes(Template::literal(bytes.to_vec()))),
    }
}

pub(crate) fn target() -> Target {
    Target {
        url: "http://localhost:1".into(),
        host: "localhost".into(),
        port: 1,
        authority: "localhost:1".into(),
        tls: None,
        connect: prony_load::ConnectOptions::default(),
        credentials: None,
    }
}

/// A connection with its surroundings, and the bytes it sent since the last check.
pub(crate) struct TestConnection<M: Semantics> {
    pub(crate) connection: Connection<M>,
    shared: Http2WorkerState,
    pub(crate) sent: Vec<u8>,
    pub(crate) reported: Recorder,
    parameters: Parameters,
}

/// A frame as the service receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

pub(crate) fn frames(mut bytes: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk::<HEADER_LENGTH>() {
        let header = FrameHeader::parse(header);
        let (payload, rest) = rest.split_at(header.length as usize);
        bytes = rest;
        frames.push(Frame {
            kind: header.kind,
            flags: header.flags,
            stream: header.stream,
            payload: payload.to_vec(),
        });
    }
    assert!(bytes.is_empty(), "half a frame was sent");
    frames
}

impl<M: Semantics> TestConnection<M> {
    /// A connection that is open but has received nothing from the service yet.
    pub(crate) fn silent(depth: u32) -> Self {
        let mut shared = Connection::<M>::shared();
        let mut connection = Connection::<M>::new(&mut shared, depth);
        let mut sent = Vec::new();
        let first = Connection::<M>::prepare(&request("GET", "/", None), &target()).expect("a request");
        connection.open(&mut shared, &first, &mut sent);
        Self {
            connection,
            shared,
            sent,
            reported: Recorder::default(),
            parameters: Parameters::new(&[], 1),
        }
    }

    /// A connection whose service has sent these settings.
    pub(crate) fn open(depth: u32, settings: &[(u16, u32)]) -> Self {
        let mut bench = Self::silent(depth);
        let mut bytes = Vec::new();
        frame::write_settings(settings, &mut bytes);
        bench.receive(&bytes).expect("settings");
        bench.sent.clear();
        bench
    }

    pub(crate) fn start(&mut self, token: u32, request: &Request) {
        let prepared = Connection::<M>::prepare(request, &target()).expect("a request");
        let call = Call {
            token: Token(token),
            prepared: &prepared,
            values: self.parameters.values(0),
            wants_headers: true,
            is_last: false,
        };
        self.connection.start(&mut self.shared, &call, &mut self.sent);
    }

    pub(crate) fn receive(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.connection
            .receive(&mut self.shared, bytes, &mut self.sent, &mut self.reported)
    }

    pub(crate) fn take_sent(&mut self) -> Vec<Frame> {
        frames(&std::mem::take(&mut self.sent))
    }
}

type HttpBench = TestConnection<Http>;

/// Frames of a service, one after the other.
#[derive(Default)]
pub(crate) struct Script(pub(crate) Vec<u8>);

impl Script {
    pub(crate) fn frame(mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Self {
        frame::write(kind, flags, stream, payload, &mut self.0);
        self
    }

    /// HEADERS with fields as literals, so that no table is touched.
    pub(crate) fn headers(self, stream: u32, flags: u8, fields: &[(&str, &str)]) -> Self {
        let block = literals(fields);
        self.frame(kind::HEADERS, flags | flag::END_HEADERS, stream, &block)
    }

    pub(crate) fn data(self, stream: u32, flags: u8, payload: &[u8]) -> Self {
        self.frame(kind::DATA, flags, stream, payload)
    }
}

pub(crate) fn literals(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            assert!(text.len() < 127);
            block.push(text.len() as u8);
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

const OK: &[(&str, &str)] = &[(":status", "200"), ("content-type", "text/plain")];

fn head(token: u32, status: u16, headers: &[(&str, &str)]) -> SinkEvent {
    let owned = headers
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()));
    SinkEvent::Head(token, status, owned.collect())
}

fn hello(token: u32) -> Vec<SinkEvent> {
    vec![
        SinkEvent::FirstByte(token),
        head(token, 200, &OK[1..]),
        SinkEvent::Data(token, b"Hello, World!".to_vec()),
        SinkEvent::End(token, None),
    ]
}

#[test]
fn the_preface_comes_first_and_requests_wait_for_settings() {
    let mut bench = HttpBench::silent(32);
    assert_eq!(bench.connection.free_slots(), 0);
    assert!(bench.sent.starts_with(frame::PREFACE));
    let opening = frames(&bench.sent[frame::PREFACE.len()..]);
    assert_eq!(
        opening.iter().map(|frame| frame.kind).collect::<Vec<_>>(),
        [kind::SETTINGS, kind::WINDOW_UPDATE]
    );
    bench.sent.clear();
    let mut settings = Vec::new();
    frame::write_settings(&[(setting::MAX_CONCURRENT_STREAMS, 3)], &mut settings);
    bench.receive(&settings).expect("settings");
    assert_eq!(bench.connection.free_slots(), 3);
    assert_eq!(bench.connection.stream_limit(), Some(3));
    let receipt = bench.take_sent();
    assert_eq!((receipt[0].kind, receipt[0].flags), (kind::SETTINGS, flag::ACK));
}

#[test]
fn a_request_is_what_was_asked() {
    let mut bench = HttpBench::open(4, &[]);
    bench.start(9, &request("POST", "/api?a=1", Some(b"body")));
    let sent = bench.take_sent();
    let mut fields = Fields::default();
    Decoder::new(1 << 16)
        .decode(&sent[0].payload, &mut fields)
        .expect("a block");
    let text: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}={}", name.escape_ascii(), value.escape_ascii()))
        .collect();
    assert_eq!(
        text,
        [
            ":method=POST",
            ":scheme=http",
            ":authority=localhost:1",
            ":path=/api?a=1",
            "content-length=4",
            "x-trace=on"
        ]
    );
    assert_eq!(
        sent[1],
        Frame {
            kind: kind::DATA,
            flags: flag::END_STREAM,
            stream: 1,
            payload: b"body".to_vec()
        }
    );
}

#[test]
fn a_method_that_expects_content_sends_length_zero() {
    for (method, has_length) in [("POST", true), ("GET", false)] {
        let mut bench = HttpBench::open(4, &[]);
        bench.start(1, &request(method, "/", None));
        let sent = bench.take_sent();
        let mut fields = Fields::default();
        Decoder::new(1 << 16)
            .decode(&sent[0].payload, &mut fields)
            .expect("a block");
        let found = fields
            .iter()
            .any(|(name, value)| (name, value) == (b"content-length", b"0"));
        assert_eq!(found, has_length, "{method}");
        assert_eq!(sent.len(), 1, "no frame of data follows");
    }
}

#[test]
fn replies_come_in_any_order_and_free_their_places() {
    let mut bench = HttpBench::open(2, &[]);
    bench.start(10, &request("GET", "/", None));
    bench.start(11, &request("GET", "/", None));
    assert_eq!(bench.connection.free_slots(), 0);
    let script = Script::default()
        .headers(3, 0, OK)
        .headers(1, 0, OK)
        .data(3, flag::END_STREAM, b"Hello, World!")
        .data(1, 0, b"Hello, ")
        .data(1, flag::END_STREAM, b"World!");
    bench.receive(&script.0).expect("frames");
    assert_eq!(bench.connection.free_slots(), 2);
    let of = |wanted: u32| -> Vec<SinkEvent> {
        let reported = bench.reported.0.iter();
        reported
            .filter(|reported| {
                let (SinkEvent::FirstByte(token)
                | SinkEvent::Head(token, ..)
                | SinkEvent::Data(token, _)
                | SinkEvent::End(token, _)) = reported
                else {
                    panic!("{reported:?}")
                };
                *token == wanted
            })
            .cloned()
            .collect()
    };
    assert_eq!((of(10), of(11)), (hello(10), hello(11)));
}

/// A conversation with everything that a well-behaved service may do.
fn peaceful() -> Vec<u8> {
    let fields = literals(&[("x-long", "a"), ("x-longer", "b")]);
    let mut padded = vec![3, 0, 0, 0, 0, 200];
    padded.extend_from_slice(&literals(OK));
    padded.extend_from_slice(&[0; 3]);
    Script::default()
        .frame(kind::PING, 0, 0, b"12345678")
        .headers(1, 0, &[(":status", "103"), ("link", "</a>")])
        .frame(
            kind::HEADERS,
            flag::END_HEADERS | flag::PADDED | flag::PRIORITY,
            1,
            &padded,
        )
        .frame(0x42, 0xff, 1, b"unknown")
        .frame(kind::PRIORITY, 0, 1, &[0; 5])
        .data(1, flag::PADDED, b"\x04Hello, \0\0\0\0")
        .data(1, 0, b"")
        .data(1, flag::PADDED, b"\x02\0\0")
        .data(1, 0, b"World!")
        .frame(kind::HEADERS, flag::END_STREAM, 1, &fields[..5])
        .frame(kind::CONTINUATION, 0, 1, &fields[5..9])
        .frame(kind::CONTINUATION, 0, 1, &[])
        .frame(kind::CONTINUATION, flag::END_HEADERS, 1, &fields[9..])
        .0
}

#[test]
fn every_cut_gives_the_same_reply() {
    let bytes = peaceful();
    for cut in 0..bytes.len() {
        let mut bench = HttpBench::open(1, &[]);
        bench.start(5, &request("GET", "/", None));
        bench.sent.clear();
        bench.receive(&bytes[..cut]).expect("the first part");
        bench.receive(&bytes[cut..]).expect("the second part");
        assert_eq!(bench.reported.0, hello(5), "cut at {cut}");
        let pong = bench.take_sent();
        assert_eq!(pong.len(), 1);
        assert_eq!(
            (pong[0].kind, pong[0].flags, pong[0].payload.as_slice()),
            (kind::PING, flag::ACK, &b"12345678"[..])
        );
    }
    let mut bench = HttpBench::open(1, &[]);
    bench.start(5, &request("GET", "/", None));
    for byte in bytes {
        bench.receive(&[byte]).expect("a byte");
    }
    assert_eq!(bench.reported.0, hello(5));
}

#[test]
fn a_block_that_fills_the_table_is_read_each_time() {
    // 0x40: a literal that enters the table. The same bytes add it again.
    let mut block = vec![0x88, 0x40];
    block.extend_from_slice(&literals(&[("x-a", "b")])[1..]);
    let mut bench = HttpBench::open(8, &[]);
    for token in 0..3 {
        bench.start(token, &request("GET", "/", None));
        let frame = Script::default().frame(
            kind::HEADERS,
            flag::END_HEADERS | flag::END_STREAM,
            token * 2 + 1,
            &block,
        );
        bench.receive(&frame.0).expect("a reply");
    }
    // Entries 62 to 64 exist, 65 does not.
    for (token, block, works) in [(3, &[0x88, 0xc0][..], true), (4, &[0x88, 0xc1][..], false)] {
        bench.start(token, &request("GET", "/", None));
        let flags = flag::END_HEADERS | flag::END_STREAM;
        let frame = Script::default().frame(kind::HEADERS, flags, token * 2 + 1, block);
        assert_eq!(bench.receive(&frame.0).is_ok(), works);
    }
}

/// Replies that violate the protocol, each on stream 1.
#[rustfmt::skip]
fn malformed_replies() -> Vec<(&'static str, Script)> {
    let end = flag::END_STREAM;
    let long: &[(&str, &str)] = &[(":status", "200"), ("content-length", "5")];
    let script = Script::default;
    vec![
        ("no status", script().headers(1, end, &[("a", "b")])),
        ("status of two digits", script().headers(1, end, &[(":status", "20")])),
        ("status twice", script().headers(1, end, &[(":status", "200"), (":status", "200")])),
        ("status after others", script().headers(1, end, &[("a", "b"), (":status", "200")])),
        ("foreign pseudo-header", script().headers(1, end, &[(":status", "200"), (":path", "/")])),
        ("upper case", script().headers(1, end, &[(":status", "200"), ("A", "b")])),
        ("connection header", script().headers(1, end, &[(":status", "200"), ("connection", "close")])),
        ("chunked", script().headers(1, end, &[(":status", "200"), ("transfer-encoding", "chunked")])),
        ("line break", script().headers(1, end, &[(":status", "200"), ("a", "b\r\nc: d")])),
        ("two lengths", script().headers(1, end, &[(":status", "200"), ("content-length", "1"), ("content-length", "2")])),
        ("no length", script().headers(1, end, &[(":status", "200"), ("content-length", "-1")])),
        ("too short", script().headers(1, 0, long).data(1, end, b"four")),
        ("nothing of five", script().headers(1, end, long)),
        ("too long", script().headers(1, 0, long).data(1, end, b"sixsix")),
        ("data first", script().data(1, end, b"x")),
        ("interim that ends", script().headers(1, end, &[(":status", "100")])),
        ("switching protocols", script().headers(1, 0, &[(":status", "101")])),
        ("second head", script().headers(1, 0, OK).headers(1, end, OK)),
        ("trailers that go on", script().headers(1, 0, OK).headers(1, 0, &[("a", "b")])),
        ("window of 0", script().frame(kind::WINDOW_UPDATE, 0, 1, &[0; 4])),
        ("window too large", script().frame(kind::WINDOW_UPDATE, 0, 1, &[0x7f, 0xff, 0xff, 0xff])),
        ("a body to a 204", script().headers(1, 0, &[(":status", "204")]).data(1, end, b"x")),
    ]
}

/// A malformed reply fails its request, and the connection continues.
#[test]
fn a_malformed_reply_costs_its_stream_alone() {
    let end = flag::END_STREAM;
    let scripts = malformed_replies();
    for (name, script) in scripts {
        let mut bench = HttpBench::open(2, &[]);
        bench.start(1, &request("GET", "/", None));
        bench.start(2, &request("GET", "/", None));
        bench
            .receive(&script.0)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let last = bench.reported.0.last();
        assert!(
            matches!(last, Some(SinkEvent::Failed(1, Failure::Malformed(_)))),
            "{name}: {last:?}"
        );
        // Anything that still arrives on the dead stream is ignored, and the other stream gets its reply.
        let rest = Script::default()
            .data(1, end, b"late")
            .headers(3, 0, OK)
            .data(3, end, b"Hello, World!");
        bench.reported.0.clear();
        bench.receive(&rest.0).expect("the rest");
        assert_eq!(bench.reported.0, hello(2), "{name}");
    }
}

/// Frames that no service may send.
#[rustfmt::skip]
fn broken_connections() -> Vec<(&'static str, Script)> {
    let script = Script::default;
    vec![
        ("a stream never opened", script().headers(5, 0, OK)),
        ("an even stream", script().headers(2, 0, OK)),
        ("data on stream 0", script().data(0, 0, b"x")),
        ("a pushed stream", script().frame(kind::PUSH_PROMISE, 4, 1, &[0, 0, 0, 2])),
        ("an interrupted block", script().frame(kind::HEADERS, 0, 1, &[0x88]).data(1, 0, b"x")),
        ("a block continued elsewhere", script().frame(kind::HEADERS, 0, 1, &[0x88]).frame(kind::CONTINUATION, 4, 3, &[])),
        ("a block of nothing", script().frame(kind::CONTINUATION, 4, 1, &[0x88])),
        ("a frame too long", script().data(1, 0, &[0; 16_385])),
        ("an index too high", script().frame(kind::HEADERS, 4, 1, &[0xff, 0x20])),
        ("half a ping", script().frame(kind::PING, 0, 0, b"1234")),
        ("a ping on a stream", script().frame(kind::PING, 0, 1, b"12345678")),
        ("half settings", script().frame(kind::SETTINGS, 0, 0, &[0; 5])),
        ("settings on a stream", script().frame(kind::SETTINGS, 0, 1, &[])),
        ("a receipt with settings", script().frame(kind::SETTINGS, flag::ACK, 0, &[0; 6])),
        ("a window of 2^31", script().frame(kind::SETTINGS, 0, 0, &[0, 4, 0x80, 0, 0, 0])),
        ("frames of 16,383", script().frame(kind::SETTINGS, 0, 0, &[0, 5, 0, 0, 0x3f, 0xff])),
        ("push", script().frame(kind::SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 1])),
        ("a connection window of 0", script().frame(kind::WINDOW_UPDATE, 0, 0, &[0; 4])),
        ("a connection window too large", script().frame(kind::WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff])),
        ("a window update of 3 bytes", script().frame(kind::WINDOW_UPDATE, 0, 0, &[0; 3])),
        ("a reset of 3 bytes", script().frame(kind::RST_STREAM, 0, 1, &[0; 3])),
        ("a reset of no stream", script().frame(kind::RST_STREAM, 0, 7, &[0; 4])),
        ("a short goaway", script().frame(kind::GOAWAY, 0, 0, &[0; 7])),
        ("padding beyond the frame", script().headers(1, 0, OK).data(1, flag::PADDED, &[5, 0])),
        ("padding without its length", script().headers(1, 0, OK).data(1, flag::PADDED, &[])),
        ("a padded head beyond itself", script().frame(kind::HEADERS, flag::PADDED | 4, 1, &[9, 0x88])),
        ("a priority cut off", script().frame(kind::HEADERS, flag::PRIORITY | 4, 1, &[0, 0])),
        ("a priority of 4 bytes", script().frame(kind::PRIORITY, 0, 1, &[0; 4])),
    ]
}

/// Violations that end the connection.
#[test]
fn a_broken_connection_is_reported() {
    let scripts = broken_connections();
    for (name, script) in scripts {
        let mut bench = HttpBench::open(2, &[]);
        bench.start(1, &request("GET", "/", None));
        bench.sent.clear();
        bench.receive(&script.0).expect_err(name);
        assert_eq!(bench.connection.free_slots(), 0, "{name}");
        let last = bench.take_sent().pop().map(|frame| frame.kind);
        assert_eq!(last, Some(kind::GOAWAY), "{name}");
    }
}

#[test]
fn another_protocol_is_named() {
    let mut bench = HttpBench::silent(1);
    let error = bench
        .receive(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        .expect_err("text");
    assert!(error.0.contains("HTTP/1.1"), "{error}");
    let mut bench = HttpBench::silent(1);
    let error = bench.receive(b"SSH-2.0-OpenSSH_9.2\r\n").expect_err("text");
    assert!(error.0.contains("does not speak HTTP/2"), "{error}");
}

#[test]
fn small_windows_hold_the_body_back() {
    let body: Vec<u8> = (0..100u8).collect();
    let mut bench = HttpBench::open(2, &[(setting::INITIAL_WINDOW_SIZE, 10)]);
    bench.start(1, &request("POST", "/", Some(&body)));
    let sent = bench.take_sent();
    assert_eq!((sent.len(), sent[1].payload.len(), sent[1].flags), (2, 10, 0));
    // A larger window for all streams, then for this one only.
    bench
        .receive(
            &Script::default()
                .frame(kind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 30])
                .0,
        )
        .expect("settings");
    let sent = bench.take_sent();
    assert_eq!(
        (sent[1].kind, sent[1].payload.as_slice()),
        (kind::DATA, &body[10..30])
    );
    // A window that shrinks below 0 blocks sending until it is above 0 again.
    let shrink = Script::default()
        .frame(kind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 10])
        .frame(kind::WINDOW_UPDATE, 0, 1, &[0, 0, 0, 20]);
    bench.receive(&shrink.0).expect("settings");
    assert!(bench.take_sent().iter().all(|frame| frame.kind != kind::DATA));
    bench
        .receive(
            &Script::default()
                .frame(kind::WINDOW_UPDATE, 0, 1, &[0, 0, 0, 200])
                .0,
        )
        .expect("a window");
    let sent = bench.take_sent();
    assert_eq!(
        (sent[0].flags, sent[0].payload.as_slice()),
        (flag::END_STREAM, &body[30..])
    );
}

#[test]
fn the_window_of_the_connection_is_shared() {
    let body = vec![7; 50_000];
    let mut bench = HttpBench::open(2, &[(setting::INITIAL_WINDOW_SIZE, 1 << 20)]);
    bench.start(1, &request("POST", "/", Some(&body)));
    bench.start(2, &request("POST", "/", Some(&body)));
    let data = |frames: &[Frame]| -> usize {
        let data = frames.iter().filter(|frame| frame.kind == kind::DATA);
        data.map(|frame| frame.payload.len()).sum()
    };
    let sent = bench.take_sent();
    assert_eq!(data(&sent), 65_535);
    assert!(sent.iter().all(|frame| frame.payload.len() <= 16_384));
    // The reply to the second request comes early: the rest of its body is not sent.
    let early = Script::default().headers(3, flag::END_STREAM, OK);
    bench.receive(&early.0).expect("a reply");
    let sent = bench.take_sent();
    assert_eq!((sent[0].kind, sent[0].stream), (kind::RST_STREAM, 3));
    bench
        .receive(
            &Script::default()
                .frame(kind::WINDOW_UPDATE, 0, 0, &[0, 1, 0, 0])
                .0,
        )
        .expect("a window");
    assert_eq!(data(&bench.take_sent()), 0, "the first was sent whole");
}

#[test]
fn what_is_received_is_granted_again() {
    let mut bench = HttpBench::open(1, &[]);
    bench.start(1, &request("GET", "/", None));
    bench.sent.clear();
    bench
        .receive(&Script::default().headers(1, 0, OK).0)
        .expect("a head");
    let frame = Script::default().data(1, 0, &[0; 16_384]).0;
    let mut granted = [0u64; 2];
    for _ in 0..80_000 {
        bench.receive(&frame).expect("data");
        for frame in bench.take_sent() {
            assert_eq!(frame.kind, kind::WINDOW_UPDATE);
            granted[frame.stream as usize] += u64::from(frame::number(&frame.payload));
        }
        bench.reported.0.clear();
    }
    assert!(granted.iter().all(|&bytes| bytes > 1 << 29), "{granted:?}");
}

#[test]
fn reset_and_goaway_fail_their_streams() {
    let mut bench = HttpBench::open(4, &[]);
    for token in 1..=4 {
        bench.start(token, &request("GET", "/", None));
    }
    let script = Script::default()
        .frame(kind::RST_STREAM, 0, 1, &[0, 0, 0, 2])
        .frame(kind::GOAWAY, 0, 0, &[0, 0, 0, 5, 0, 0, 0, 0])
        .headers(3, flag::END_STREAM, OK);
    bench.receive(&script.0).expect("frames");
    assert_eq!(bench.reported.0[0], SinkEvent::Failed(1, Failure::Reset(2)));
    assert_eq!(bench.reported.0[1], SinkEvent::Failed(4, Failure::Unprocessed));
    assert_eq!(bench.connection.free_slots(), 0);
    assert!(!bench.connection.is_spent());
    bench
        .receive(&Script::default().headers(5, flag::END_STREAM, OK).0)
        .expect("the last reply");
    assert!(bench.connection.is_spent());
}

#[test]
fn a_cancelled_stream_is_ignored_and_its_headers_are_still_read() {
    let mut bench = HttpBench::open(2, &[]);
    bench.start(1, &request("GET", "/", None));
    bench.sent.clear();
    let TestConnection { connection, sent, .. } = &mut bench;
    assert!(connection.cancel(Token(1), sent));
    let reset = bench.take_sent();
    assert_eq!((reset[0].kind, reset[0].stream), (kind::RST_STREAM, 1));
    bench.start(2, &request("GET", "/", None));
    // The late reply adds a field to the table, and the next reply refers to it.
    let mut entering = vec![0x88, 0x40];
    entering.extend_from_slice(&literals(&[("x-a", "b")])[1..]);
    let script = Script::default()
        .frame(kind::HEADERS, flag::END_HEADERS, 1, &entering)
        .data(1, flag::END_STREAM, b"late")
        .frame(
            kind::HEADERS,
            flag::END_HEADERS | flag::END_STREAM,
            3,
            &[0x88, 0xbe],
        );
    bench.receive(&script.0).expect("frames");
    assert_eq!(
        bench.reported.0,
        [
            SinkEvent::FirstByte(2),
            head(2, 200, &[("x-a", "b")]),
            SinkEvent::End(2, None)
        ]
    );
}

#[test]
fn replies_without_a_body_may_have_a_length() {
    for (method, status) in [("HEAD", "200"), ("GET", "304")] {
        let mut bench = HttpBench::open(1, &[]);
        bench.start(1, &request(method, "/", None));
        let fields = [(":status", status), ("content-length", "13")];
        bench
            .receive(&Script::default().headers(1, flag::END_STREAM, &fields).0)
            .expect("a reply");
        assert_eq!(bench.reported.0.last(), Some(&SinkEvent::End(1, None)));
    }
}

#[test]
fn the_credentials_of_a_url_are_a_header() {
    let header = |value: &str| Header {
        name: "Authorization".into(),
        value: Template::literal(value),
    };
    let with = |headers: Vec<Header>, target: &Target| {
        let request = Request {
            headers,
            ..request("GET", "/", None)
        };
        format!("{:?}", Http2::prepare(&request, target).expect("a good request"))
    };
    let plain = target();
    let target = Target {
        credentials: prony_load::Credentials::of_url("me", Some("a%20b")),
        ..target()
    };
    assert_eq!(
        with(Vec::new(), &target),
        with(vec![header("Basic bWU6YSBi")], &plain)
    );
    let own = vec![header("Bearer x")];
    assert_eq!(with(own.clone(), &target), with(own, &plain));
}

/// HTTP/2 has no `Host`.
#[test]
fn the_host_of_a_request_is_its_authority() {
    let mut named = request("GET", "/", None);
    named.headers.push(Header {
        name: "Host".into(),
        value: Template::literal("else.example"),
    });
    let mut target = target();
    let prepared = |request: &Request, target: &Target| {
        format!("{:?}", Http2::prepare(request, target).expect("a good request"))
    };
    let by_header = prepared(&named, &target);
    target.authority = "else.example".into();
    assert_eq!(by_header, prepared(&request("GET", "/", None), &target));
}

#[test]
fn requests_that_cannot_be_sent_are_refused() {
    let prepare = |request: &Request| Http2::prepare(request, &target()).map(|_| ());
    prepare(&request("GET", "/", None)).expect("fine");
    prepare(&request("GE T", "/", None)).expect_err("a method with a space");
    prepare(&request("GET", "api", None)).expect_err("a path without /");
    prepare(&request("GET", "/a b", None)).expect_err("a path with a space");
    prepare(&request("GET", "/#a", None)).expect_err("a fragment");
    for (name, value) in [
        ("Connection", "close"),
        ("a b", "c"),
        ("a", "b\r\nc: d"),
        ("", ""),
    ] {
        let mut request = request("GET", "/", None);
        request.headers[0] = Header {
            name: name.into(),
            value: Template::literal(value),
        };
        prepare(&request).expect_err(name);
    }
}

#[test]
fn headers_too_long_for_a_frame_are_continued() {
    let mut request = request("GET", "/", None);
    request.headers[0].value = Template::literal("~".repeat(40_000).as_str());
    let mut bench = HttpBench::open(1, &[]);
    bench.start(1, &request);
    let sent = bench.take_sent();
    let kinds: Vec<(u8, u8)> = sent.iter().map(|frame| (frame.kind, frame.flags)).collect();
    assert_eq!(
        kinds,
        [
            (kind::HEADERS, flag::END_STREAM),
            (kind::CONTINUATION, 0),
            (kind::CONTINUATION, flag::END_HEADERS)
        ]
    );
    let block: Vec<u8> = sent.into_iter().flat_map(|frame| frame.payload).collect();
    let mut fields = Fields::default();
    Decoder::new(1 << 20)
        .decode(&block, &mut fields)
        .expect("a block");
    assert_eq!(fields.iter().last().map(|(_, value)| value.len()), Some(40_000));
}

proptest! {
    #[test]
    fn any_bytes_are_taken_or_refused(
        bytes: Vec<u8>,
        parts in prop::collection::vec((0..11u8, any::<u8>(), 0..6u32, prop::collection::vec(any::<u8>(), 0..40)), 0..30),
        cut in 1..50usize,
    ) {
        let mut bench = HttpBench::open(4, &[(setting::INITIAL_WINDOW_SIZE, 7)]);
        for token in 0..3 {
            bench.start(token, &request("POST", "/", Some(b"twelve bytes")));
        }
        let script = parts.iter().fold(Script::default(), |script, (kind, flags, stream, payload)| {
            script.frame(*kind, *flags, *stream, payload)
        });
        for piece in [script.0, bytes].concat().chunks(cut) {
            if bench.receive(piece).is_err() {
                break;
            }
        }
        let ended = bench.reported.0.iter().filter(|reported| matches!(reported, SinkEvent::End(..) | SinkEvent::Failed(..))).count();
        prop_assert_eq!(ended as u32 + bench.connection.streams.open(), 3);
    }
}
