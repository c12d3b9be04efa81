//! A connection that receives everything a service may send, valid and invalid, whole and split at every position.

use super::*;
use crate::request_values::Parameters;
use prony_load::formula::Formula;
use prony_load::{Body, Header, Parameter, Part, Source, Template};
use proptest::prelude::*;
use tungstenite::handshake::derive_accept_key;

/// The events that a connection reported, as lines of text: the pieces of a message are joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Log {
    lines: Vec<String>,
    message: Vec<u8>,
}

impl ReplySink for Log {
    fn first_byte(&mut self, token: Token) {
        self.lines.push(format!("{} begins", token.0));
    }

    fn head(&mut self, _: Token, head: Head<'_>) {
        assert_eq!((head.status, head.headers.len()), (101, 0));
    }

    fn data(&mut self, _: Token, piece: &[u8]) {
        assert!(!piece.is_empty());
        self.message.extend_from_slice(piece);
    }

    fn end(&mut self, token: Token, _: End) {
        let message = std::mem::take(&mut self.message);
        self.lines
            .push(format!("{} is {}", token.0, String::from_utf8_lossy(&message)));
    }

    fn failed(&mut self, token: Token, failure: Failure) {
        self.message.clear();
        let Failure::Malformed(reason) = failure else {
            panic!("{failure:?}");
        };
        self.lines.push(format!("{} failed: {reason}", token.0));
    }
}

fn target() -> Target {
    Target {
        url: "ws://h:1/chat".into(),
        host: "h".into(),
        port: 1,
        authority: "h:1".into(),
        tls: None,
        connect: prony_load::ConnectOptions::default(),
        credentials: None,
    }
}

fn request(kind: &str, message: &[u8]) -> Request {
    Request {
        method: kind.into(),
        path: Template::literal("/chat?room=1"),
        headers: Vec::new(),
        body: Body::Bytes(Template::literal(message.to_vec())),
    }
}

/// A frame as a server sends it, from its first byte and its payload.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![first];
    match payload.len() {
        short @ 0..126 => out.push(short as u8),
        middle @ 126..65_536 => {
            out.push(126);
            out.extend((middle as u16).to_be_bytes());
        }
        long => {
            out.push(127);
            out.extend((long as u64).to_be_bytes());
        }
    }
    out.extend(payload);
    out
}

const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;

/// The frames that a client sent: first byte and unmasked payload of each.
fn unmasked(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut frames = Vec::new();
    while let [first, second, rest @ ..] = bytes {
        assert_ne!(second & 0x80, 0, "a client masks");
        let (length, rest) = match second & 0x7f {
            126 => (usize::from(rest[0]) << 8 | usize::from(rest[1]), &rest[2..]),
            127 => {
                let length = rest[..8].try_into().expect("eight bytes");
                (u64::from_be_bytes(length) as usize, &rest[8..])
            }
            short => (usize::from(short), rest),
        };
        let (key, rest) = rest.split_at(4);
        let (payload, rest) = rest.split_at(length);
        let plain = payload
            .iter()
            .zip(key.iter().cycle())
            .map(|(byte, key)| byte ^ key);
        frames.push((*first, plain.collect()));
        bytes = rest;
    }
    assert!(bytes.is_empty(), "half a frame was sent");
    frames
}

struct TestConnection {
    connection: WebSocket,
    shared: WebSocketSettings,
    out: Vec<u8>,
    log: Log,
}

impl TestConnection {
    /// A connection that has sent its handshake.
    fn new(first: &Request, limits: &Limits) -> Self {
        let mut shared = WebSocket::shared_within(limits);
        let mut connection = WebSocket::new(&mut shared, 8);
        let mut out = Vec::new();
        let first = WebSocket::prepare(first, &target()).expect("a message");
        connection.open(&mut shared, &first, &mut out);
        assert!(!connection.is_ready() && connection.free_slots() == 0);
        Self {
            connection,
            shared,
            out,
            log: Log::default(),
        }
    }

    /// A connection whose handshake is complete, with these messages in flight.
    fn with(requests: &[Request], limits: &Limits) -> Self {
        let mut bench = Self::new(&requests[0], limits);
        let reply = bench.switching("");
        bench.receive(&reply).expect("a handshake");
        assert!(bench.connection.is_ready());
        bench.out.clear();
        for (token, request) in (0..).zip(requests) {
            bench.start(token, request, false);
        }
        bench
    }

    fn start(&mut self, token: u32, request: &Request, is_last: bool) {
        let none = Parameters::new(&[], 0);
        let call = Call {
            token: Token(token),
            prepared: &WebSocket::prepare(request, &target()).expect("a message"),
            values: none.values(0),
            wants_headers: false,
            is_last,
        };
        self.connection.start(&mut self.shared, &call, &mut self.out);
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.connection
            .receive(&mut self.shared, bytes, &mut self.out, &mut self.log)
    }

    fn sent(&mut self) -> Vec<(u8, Vec<u8>)> {
        unmasked(&std::mem::take(&mut self.out))
    }

    /// The reply to the handshake, with additional headers.
    fn switching(&self, more: &str) -> Vec<u8> {
        let opening = String::from_utf8(self.out.clone()).expect("text");
        let key = opening
            .lines()
            .find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "));
        let accept = derive_accept_key(key.expect("a key").as_bytes());
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, upgrade\r\n\
             Sec-WebSocket-Accept: {accept}\r\n{more}\r\n"
        )
        .into_bytes()
    }
}

/// The results of receiving bytes in these pieces: reported events, whether the protocol was kept, frames sent.
type ReceivedMessage = (Vec<String>, Result<(), ProtocolError>, Vec<(u8, Vec<u8>)>);

fn came<'a>(
    requests: &[Request],
    limits: &Limits,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> ReceivedMessage {
    let mut bench = TestConnection::with(requests, limits);
    bench.out.clear();
    let mut result = Ok(());
    for piece in pieces {
        if result.is_ok() {
            result = bench.receive(piece);
        }
    }
    (bench.log.lines.clone(), result, bench.sent())
}

/// The results of receiving these bytes, which must be the same when they are split in two anywhere, and byte by byte.
fn receive_all(requests: &[Request], limits: &Limits, bytes: &[u8]) -> ReceivedMessage {
    let whole = came(requests, limits, [bytes]);
    for at in 0..=bytes.len() {
        let (front, back) = bytes.split_at(at);
        assert_eq!(came(requests, limits, [front, back]), whole, "cut at {at}");
    }
    assert_eq!(came(requests, limits, bytes.chunks(1)), whole, "byte by byte");
    whole
}

/// Two texts are in flight; returns the results and checks that there was no error.
fn right(bytes: &[u8]) -> (Vec<String>, Vec<(u8, Vec<u8>)>) {
    let texts = [request("TEXT", b"a"), request("TEXT", b"b")];
    let (lines, result, sent) = receive_all(&texts, &Limits::default(), bytes);
    assert_eq!(result, Ok(()));
    (lines, sent)
}

/// Two texts are in flight; the first one fails for this reason, and the connection is closed with this code.
fn wrong(bytes: &[u8], reason: &str, code: u16) {
    let texts = [request("TEXT", b"a"), request("TEXT", b"b")];
    wrong_within(&texts, &Limits::default(), bytes, reason, code);
}

fn wrong_within(requests: &[Request], limits: &Limits, bytes: &[u8], reason: &str, code: u16) {
    let (lines, result, sent) = receive_all(requests, limits, bytes);
    let error = result.expect_err("a fault").to_string();
    assert!(error.contains(reason), "{error}");
    assert_eq!(lines.last(), Some(&format!("0 failed: {error}")));
    assert_eq!(sent.last(), Some(&(CLOSE, code.to_be_bytes().to_vec())));
}

#[test]
fn the_credentials_of_a_url_are_a_header_of_the_handshake() {
    let target = Target {
        credentials: prony_load::Credentials::of_url("me", Some("a%20b")),
        ..target()
    };
    let message = WebSocketMessage::for_handshake(&request("TEXT", b""), &target).expect("a good request");
    let none = Parameters::new(&[], 0);
    let sent = message.handshake().request(none.values(0));
    let text = String::from_utf8(sent).expect("text");
    assert!(text.contains("\r\nAuthorization: Basic bWU6YSBi\r\n"), "{text}");
}

#[test]
fn the_handshake_asks_for_a_web_socket() {
    let mut opening = request("TEXT", b"");
    opening.headers = vec![Header {
        name: "Origin".into(),
        value: Template::literal("http://h"),
    }];
    let bench = TestConnection::new(&opening, &Limits::default());
    let text = String::from_utf8(bench.out.clone()).expect("text");
    let (front, key) = text.split_once("Sec-WebSocket-Key: ").expect("a key");
    assert_eq!(
        front,
        "GET /chat?room=1 HTTP/1.1\r\nHost: h:1\r\nOrigin: http://h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\n"
    );
    // Sixteen bytes in base64.
    assert_eq!((key.len(), &key[22..]), (28, "==\r\n\r\n"));
    let other = TestConnection::new(&opening, &Limits::default());
    assert_ne!(other.out, bench.out, "each connection has a key of its own");
}

#[test]
fn a_handshake_may_come_in_pieces() {
    let length = TestConnection::new(&request("TEXT", b""), &Limits::default())
        .switching("")
        .len();
    for at in 0..=length {
        let mut bench = TestConnection::new(&request("TEXT", b""), &Limits::default());
        // An interim reply before it is ignored.
        let reply = [b"HTTP/1.1 103 Early Hints\r\n\r\n".to_vec(), bench.switching("")].concat();
        let (front, back) = reply.split_at(at);
        for piece in [front, back] {
            assert_eq!(bench.receive(piece), Ok(()));
        }
        assert!(bench.connection.is_ready());
        assert_eq!(bench.connection.free_slots(), 8);
    }
}

#[test]
fn what_follows_the_handshake_is_read() {
    let mut bench = TestConnection::new(&request("TEXT", b""), &Limits::default());
    let reply = [bench.switching(""), frame(PING, b"!")].concat();
    bench.out.clear();
    assert_eq!(bench.receive(&reply), Ok(()));
    assert!(bench.connection.is_ready());
    assert_eq!(bench.sent(), [(PONG, b"!".to_vec())]);
}

#[test]
fn a_handshake_without_a_switch_is_reported() {
    let plain = |status: &str| format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").into_bytes();
    let with = |text: &str| {
        let bench = TestConnection::new(&request("TEXT", b""), &Limits::default());
        String::from_utf8(bench.switching(""))
            .expect("text")
            .replace(text, "X-None: ")
    };
    let foreign = with("nothing").replace("WebSocket\r\nC", "h2c\r\nC");
    let cases = [
        (plain("200 OK"), "plain reply"),
        (plain("301 Moved"), "redirects"),
        (plain("404 Not Found"), "404"),
        (plain("426 Upgrade Required"), "426"),
        (plain("500 Internal"), "5xx"),
        (b"SSH-2.0-OpenSSH\r\n".to_vec(), "HTTP/1."),
        (foreign.into_bytes(), "other than WebSocket"),
        (with("Upgrade: ").into_bytes(), "other than WebSocket"),
        (with("Connection: ").into_bytes(), "other than WebSocket"),
        (
            with("Sec-WebSocket-Accept: ").into_bytes(),
            "without Sec-WebSocket-Accept",
        ),
        // The reply to the key of another connection.
        (with("nothing").into_bytes(), "does not match the key"),
    ];
    for (reply, reason) in cases {
        let mut bench = TestConnection::new(&request("TEXT", b""), &Limits::default());
        let error = bench.receive(&reply).expect_err("no handshake").to_string();
        assert!(error.contains(reason), "{error}");
        assert!(!bench.connection.is_ready());
    }
    for (more, reason) in [
        ("Sec-WebSocket-Extensions: permessage-deflate\r\n", "extension"),
        ("Sec-WebSocket-Protocol: chat\r\n", "subprotocol"),
    ] {
        let mut bench = TestConnection::new(&request("TEXT", b""), &Limits::default());
        let reply = bench.switching(more);
        let error = bench.receive(&reply).expect_err("no handshake").to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn a_subprotocol_may_be_chosen_of_those_that_were_offered() {
    let mut opening = request("TEXT", b"");
    opening.headers = vec![Header {
        name: "sec-websocket-protocol".into(),
        value: Template::literal("chat, soap"),
    }];
    let mut bench = TestConnection::new(&opening, &Limits::default());
    let reply = bench.switching("Sec-WebSocket-Protocol: soap\r\n");
    assert_eq!(bench.receive(&reply), Ok(()));
}

#[test]
fn an_endless_handshake_ends() {
    let mut bench = TestConnection::new(&request("TEXT", b""), &Limits::default());
    bench
        .receive(b"HTTP/1.1 101 Switching Protocols\r\nX: ")
        .expect("a begin");
    let result = (0..100).try_for_each(|_| bench.receive(&[b'x'; 1000]));
    assert!(result.expect_err("too long").0.contains("64 KiB"));
}

#[test]
fn messages_go_out_masked_with_keys_of_their_own() {
    let long = vec![b'x'; 70_000];
    let mut bench = TestConnection::with(
        &[request("TEXT", b"hello"), request("BINARY", &long)],
        &Limits::default(),
    );
    let (first, second) = (bench.out[2..6].to_vec(), bench.out[11 + 10..11 + 14].to_vec());
    assert_ne!(first, second, "two keys");
    assert_ne!(bench.out[6..11], *b"hello", "it is masked");
    assert_eq!(bench.sent(), [(TEXT, b"hello".to_vec()), (BINARY, long)]);
}

#[test]
fn values_are_filled_into_messages() {
    let parameters = [Parameter {
        name: "n".into(),
        source: Source::Counter { start: 7 },
    }];
    let parameters = Parameters::new(&parameters, 1);
    let mut numbered = request("TEXT", b"");
    numbered.body = Body::Bytes(Template(vec![
        Part::Literal("number ".into()),
        Part::Value(0),
        Part::Literal(" or ".into()),
        Part::Formula(Formula::Value(0)),
    ]));
    let prepared = WebSocket::prepare(&numbered, &target()).expect("a message");
    let mut bench = TestConnection::with(&[request("TEXT", b"")], &Limits::default());
    bench.out.clear();
    for number in [0, 93] {
        let call = Call {
            token: Token(1),
            prepared: &prepared,
            values: parameters.values(number),
            wants_headers: false,
            is_last: false,
        };
        bench.connection.start(&mut bench.shared, &call, &mut bench.out);
    }
    assert_eq!(
        bench.sent(),
        [
            (TEXT, b"number 7 or 7".to_vec()),
            (TEXT, b"number 100 or 100".to_vec())
        ]
    );
}

#[test]
fn replies_come_whole_in_fragments_and_with_control_frames_between() {
    let euro = "\u{20ac}".as_bytes();
    let bytes = [
        frame(PING, b"before"),
        frame(0x01, &euro[..1]),
        frame(PING, b""),
        frame(0x00, &euro[1..2]),
        frame(PONG, b"of nothing"),
        frame(0x00, b""),
        frame(0x80, &euro[2..]),
        frame(TEXT, b""),
    ]
    .concat();
    let (lines, sent) = right(&bytes);
    assert_eq!(lines, ["0 begins", "0 is \u{20ac}", "1 begins", "1 is "]);
    assert_eq!(sent, [(PONG, b"before".to_vec()), (PONG, Vec::new())]);
}

#[test]
fn a_close_is_given_back() {
    let (lines, sent) = right(&[frame(TEXT, b"a"), frame(CLOSE, b"\x03\xe9away")].concat());
    assert_eq!(lines, ["0 begins", "0 is a"]);
    assert_eq!(sent, [(CLOSE, vec![0x03, 0xe9])]);
    let (_, sent) = right(&frame(CLOSE, b""));
    assert_eq!(sent, [(CLOSE, Vec::new())]);
    // In the middle of a message; nothing is read after it.
    let (lines, _) = right(&[frame(0x01, b"a"), frame(CLOSE, b""), frame(TEXT, b"b")].concat());
    let reason = "0 failed: the service closed the connection in the middle of a message";
    assert_eq!(lines, ["0 begins", reason]);
}

#[test]
fn what_breaks_the_protocol_fails_the_message_that_is_due() {
    wrong(&frame(0xc1, b"a"), "reserved bit", 1002);
    wrong(&[TEXT, 0x81, 1, 2, 3, 4, b'a'], "a masked frame", 1002);
    wrong(&frame(0x83, b""), "an unknown opcode", 1002);
    wrong(&frame(0x8b, b""), "an unknown opcode", 1002);
    wrong(&frame(PING, &[0; 126]), "longer than 125", 1002);
    wrong(&frame(0x09, b""), "a fragmented control frame", 1002);
    wrong(&frame(0x80, b"a"), "a continuation frame without a message", 1002);
    wrong(
        &[frame(0x01, b"a"), frame(TEXT, b"b")].concat(),
        "before the previous one",
        1002,
    );
    wrong(&[TEXT, 126, 0, 125], "more bytes than it needs", 1002);
    wrong(
        &[TEXT, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff],
        "more bytes than it needs",
        1002,
    );
    wrong(&[TEXT, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], "highest bit", 1002);
    wrong(&frame(TEXT, b"a\xff"), "not UTF-8", 1007);
    wrong(
        &frame(TEXT, "\u{20ac}".as_bytes().split_last().expect("bytes").1),
        "not UTF-8",
        1007,
    );
    wrong(&frame(CLOSE, &[3]), "incomplete code", 1002);
    wrong(&frame(CLOSE, &1005_u16.to_be_bytes()), "must not be sent", 1002);
    wrong(&frame(CLOSE, b"\x03\xe8\xff"), "reason is not UTF-8", 1007);
    let half = b"\xe2\x82";
    wrong(&[frame(0x01, half), frame(0x80, b"")].concat(), "not UTF-8", 1007);
    assert_eq!(right(&frame(TEXT, "\u{20ac}".as_bytes())).0[1], "0 is \u{20ac}");
}

#[test]
fn a_message_has_a_longest_length() {
    let requests = [request("BINARY", b"a")];
    let limits = Limits {
        longest_message: Some(10),
        ..Limits::default()
    };
    let longer = "--longest-event";
    let (lines, result, _) = receive_all(&requests, &limits, &frame(BINARY, b"0123456789"));
    assert_eq!((lines.len(), result), (2, Ok(())));
    // The header alone decides it: none of the payload is waited for.
    wrong_within(&requests, &limits, &[BINARY, 11], longer, 1009);
    wrong_within(
        &requests,
        &limits,
        &[frame(0x02, b"012345"), frame(0x00, b"6789"), frame(0x00, b"a")].concat(),
        longer,
        1009,
    );
    wrong_within(
        &requests,
        &Limits::default(),
        &[BINARY, 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        longer,
        1009,
    );
}

#[test]
fn the_other_kind_is_wrong_and_costs_its_message_alone() {
    let requests = [
        request("TEXT", b"a"),
        request("BINARY", b"b"),
        request("TEXT", b"c"),
    ];
    let bytes = [frame(BINARY, b"a"), frame(TEXT, b"b"), frame(TEXT, b"c")].concat();
    let (lines, result, _) = receive_all(&requests, &Limits::default(), &bytes);
    assert_eq!(result, Ok(()));
    let failed: Vec<bool> = lines.iter().map(|line| line.contains("failed")).collect();
    assert_eq!(failed, [false, true, false, true, false, false], "{lines:?}");
}

#[test]
fn an_unrequested_message_ends_the_connection() {
    let requests = [request("TEXT", b"a")];
    let bytes = [frame(TEXT, b"a"), frame(TEXT, b"a")].concat();
    let (lines, result, sent) = receive_all(&requests, &Limits::default(), &bytes);
    assert!(result.expect_err("one too many").0.contains("not requested"));
    assert_eq!(lines, ["0 begins", "0 is a"]);
    assert_eq!(sent, [(CLOSE, 1008_u16.to_be_bytes().to_vec())]);
}

#[test]
fn messages_before_the_first_request_are_no_replies() {
    let mut bench = TestConnection::new(&request("TEXT", b""), &Limits::default());
    let reply = [
        bench.switching(""),
        frame(TEXT, b"hello"),
        frame(BINARY, b"there"),
    ]
    .concat();
    assert_eq!(bench.receive(&reply[..reply.len() - 1]), Ok(()));
    assert!(bench.connection.is_ready() && bench.connection.is_listening());
    // It ends when the first message is in flight already.
    bench.connection.stop_listening(&mut bench.shared);
    assert!(!bench.connection.is_listening());
    bench.start(0, &request("TEXT", b"a"), false);
    assert_eq!(bench.receive(&reply[reply.len() - 1..]), Ok(()));
    assert_eq!(bench.receive(&frame(TEXT, b"a")), Ok(()));
    assert_eq!(bench.log.lines, ["0 begins", "0 is a"]);
}

#[test]
fn the_last_message_is_followed_by_a_close() {
    let mut bench = TestConnection::with(&[request("TEXT", b"a")], &Limits::default());
    bench.start(1, &request("TEXT", b"b"), true);
    assert_eq!(bench.connection.free_slots(), 0);
    bench.out.clear();
    bench.receive(&frame(TEXT, b"a")).expect("the first");
    assert!(!bench.connection.is_spent() && bench.out.is_empty());
    bench.receive(&frame(TEXT, b"b")).expect("the second");
    assert!(bench.connection.is_spent());
    assert_eq!(bench.sent(), [(CLOSE, 1000_u16.to_be_bytes().to_vec())]);
}

#[test]
fn a_close_frame_is_sent_once() {
    let mut bench = TestConnection::with(&[request("TEXT", b"a")], &Limits::default());
    bench.out.clear();
    for _ in 0..2 {
        bench.connection.announce_close(&mut bench.shared, &mut bench.out);
    }
    // The peer's close frame is not answered again.
    bench.receive(&frame(CLOSE, b"\x03\xe8")).expect("a close");
    assert_eq!(bench.sent(), [(CLOSE, 1000_u16.to_be_bytes().to_vec())]);
    assert!(bench.connection.is_spent());
    let mut bench = TestConnection::new(&request("TEXT", b""), &Limits::default());
    bench.out.clear();
    bench.connection.announce_close(&mut bench.shared, &mut bench.out);
    assert!(bench.out.is_empty(), "the handshake is not complete yet");
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let prepare = |request: &Request| WebSocket::prepare(request, &target()).map(|_| ());
    let refused = |request: &Request| prepare(request).expect_err("refused").to_string();
    assert!(refused(&request("GET", b"")).contains("TEXT and BINARY"));
    let mut placed = request("TEXT", b"");
    placed.path = Template(vec![Part::Literal("/".into()), Part::Value(0)]);
    assert!(refused(&placed).contains("path may have placeholders"));
    for (name, reason) in [
        ("Upgrade", "handshake"),
        ("sec-websocket-key", "handshake"),
        ("Content-Length", "no body"),
    ] {
        let mut headed = request("TEXT", b"");
        headed.headers = vec![Header {
            name: name.into(),
            value: Template::literal("x"),
        }];
        assert!(refused(&headed).contains(reason), "{name}");
    }
}

/// One message as a service sends it.
#[derive(Debug, Clone)]
struct SentMessage {
    is_text: bool,
    message: String,
    /// Length of each fragment but the last one, and the payload of the ping after it.
    fragments: Vec<(usize, Option<Vec<u8>>)>,
}

fn any_message() -> impl Strategy<Value = SentMessage> {
    let ping = proptest::option::of(proptest::collection::vec(any::<u8>(), 0..5));
    let fragments = proptest::collection::vec((0..200_usize, ping), 0..4);
    (any::<bool>(), "\\PC{0,200}", fragments).prop_map(|(is_text, message, fragments)| SentMessage {
        is_text,
        message,
        fragments,
    })
}

impl SentMessage {
    fn write(&self, out: &mut Vec<u8>, pings: &mut Vec<(u8, Vec<u8>)>) {
        let (mut rest, mut first) = (self.message.as_bytes(), if self.is_text { 1 } else { 2 });
        for (length, ping) in &self.fragments {
            let (fragment, after) = rest.split_at((*length).min(rest.len()));
            out.extend(frame(first, fragment));
            (rest, first) = (after, 0);
            if let Some(payload) = ping {
                out.extend(frame(PING, payload));
                pings.push((PONG, payload.clone()));
            }
        }
        out.extend(frame(0x80 | first, rest));
    }
}

proptest! {
    #[test]
    fn messages_are_the_same_however_they_are_cut(
        sent in proptest::collection::vec(any_message(), 1..8),
        size in 1..40_usize,
    ) {
        let (mut bytes, mut pongs, mut lines, mut requests) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (number, one) in sent.iter().enumerate() {
            one.write(&mut bytes, &mut pongs);
            lines.push(format!("{number} begins"));
            lines.push(format!("{number} is {}", one.message));
            requests.push(request(if one.is_text { "TEXT" } else { "BINARY" }, b""));
        }
        let expected = (lines, Ok(()), pongs);
        let limits = Limits::default();
        prop_assert_eq!(&came(&requests, &limits, [bytes.as_slice()]), &expected);
        prop_assert_eq!(&came(&requests, &limits, bytes.chunks(size)), &expected);
        prop_assert_eq!(&came(&requests, &limits, bytes.chunks(1)), &expected);
    }

    #[test]
    fn any_bytes_mean_the_same_however_they_are_cut(
        bytes in proptest::collection::vec(any::<u8>(), 0..60),
        size in 1..9_usize,
    ) {
        let requests = [request("TEXT", b""), request("BINARY", b""), request("TEXT", b"")];
        let limits = Limits { longest_message: Some(50), ..Limits::default() };
        let whole = came(&requests, &limits, [bytes.as_slice()]);
        prop_assert_eq!(&came(&requests, &limits, bytes.chunks(size)), &whole);
        prop_assert_eq!(&came(&requests, &limits, bytes.chunks(1)), &whole);
    }
}

/// Things that members of rooms do, in any order.
#[derive(Debug, Clone, Copy)]
enum MemberAction {
    Greet(u32),
    Say(u32),
    /// A member receives the message with this number, whichever member sent it and however often it came.
    Hear(u32, usize),
    Leave(u32),
    GiveUp(usize),
}

/// How messages ended.
#[derive(Debug, Default)]
struct EndEvent(Vec<u32>);

impl ReplySink for EndEvent {
    fn first_byte(&mut self, _: Token) {}

    fn head(&mut self, _: Token, _: Head<'_>) {}

    fn data(&mut self, _: Token, _: &[u8]) {}

    fn coverage(&mut self, _: Token, expected: u32, reached: u32) {
        assert!(reached <= expected, "{reached} of {expected}");
    }

    fn end(&mut self, token: Token, _: End) {
        self.0.push(token.0);
    }

    fn failed(&mut self, token: Token, _: Failure) {
        self.0.push(token.0);
    }
}

proptest! {
    #[test]
    fn rooms_end_each_message_once_whatever_comes(
        acts in proptest::collection::vec(prop_oneof![
            (0..4_u32).prop_map(MemberAction::Greet),
            (0..4_u32).prop_map(MemberAction::Say),
            (0..4_u32, 0..8_usize).prop_map(|(by, number)| MemberAction::Hear(by, number)),
            (0..4_u32, 0..8_usize).prop_map(|(by, number)| MemberAction::Hear(by, number)),
            (0..4_u32).prop_map(MemberAction::Leave),
            (0..8_usize).prop_map(MemberAction::GiveUp),
        ], 1..60),
    ) {
        let greeting = |by: u32| format!("member {by}").into_bytes();
        let mut rooms = Rooms::new(2);
        let mut positions: Vec<_> = (0..4).map(|by| rooms.add_member(by, greeting(by))).collect();
        let (mut said, mut sink) = (Vec::new(), EndEvent::default());
        let mut over = Vec::new();
        for act in acts {
            let (by, heard) = match act {
                MemberAction::Greet(by) => (by, greeting(by)),
                MemberAction::Hear(by, number) => (by, format!("message {number}").into_bytes()),
                MemberAction::Say(by) => {
                    let number = said.len() as u32;
                    said.push(by);
                    let write = |out: &mut Vec<u8>| out.extend_from_slice(format!("message {number}").as_bytes());
                    rooms.send(positions[by as usize], (Token(number), Kind::Text), write);
                    continue;
                }
                MemberAction::GiveUp(number) => {
                    if let Some(by) = said.get(number) {
                        rooms.abandon(positions[*by as usize], Token(number as u32), &mut sink);
                        over.push(number as u32);
                    }
                    continue;
                }
                MemberAction::Leave(by) => {
                    rooms.remove_member(positions[by as usize], &mut sink);
                    positions[by as usize] = rooms.add_member(by, greeting(by));
                    continue;
                }
            };
            let before = sink.0.len();
            if rooms.receive(positions[by as usize], (Kind::Text, &heard), &mut sink).is_err() {
                rooms.remove_member(positions[by as usize], &mut sink);
                positions[by as usize] = rooms.add_member(by, greeting(by));
            }
            prop_assert!(sink.0[before..].iter().all(|token| !over.contains(token)));
        }
        let ends = sink.0.len();
        sink.0.sort_unstable();
        sink.0.dedup();
        prop_assert_eq!(sink.0.len(), ends);
    }
}
