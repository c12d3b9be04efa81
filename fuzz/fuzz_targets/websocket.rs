//! Arbitrary frames of a service, after a valid handshake or instead of it: however they are cut into pieces, the result is
//! the same, and no message exceeds the limit.

#![no_main]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::fuzz_target;
use prony_load::{Body, Limits, Request, Target, Template};
use prony_protocols::protocol::{Call, End, Failure, Head, Protocol, ReplySink, Token};
use prony_protocols::request_values::Parameters;
use prony_protocols::websocket::WebSocket;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

const MESSAGES: u32 = 5;

/// The outcome of each message, and the message that is being received.
#[derive(Debug, Default, PartialEq)]
struct ReceivedMessages {
    ended: Vec<(u32, Vec<u8>, Result<(), Failure>)>,
    begun: bool,
    message: Vec<u8>,
    longest: usize,
}

impl ReceivedMessages {
    fn over(&mut self, token: Token, result: Result<(), Failure>) {
        assert_eq!(
            self.ended.len() as u32,
            token.0,
            "messages end in order, and once"
        );
        let message = std::mem::take(&mut self.message);
        // The length of the message before its fault depends on the pieces.
        let kept = if result.is_ok() { message } else { Vec::new() };
        self.ended.push((token.0, kept, result));
        self.begun = false;
    }
}

impl ReplySink for ReceivedMessages {
    fn first_byte(&mut self, token: Token) {
        assert!(!self.begun && self.ended.len() as u32 == token.0);
        self.begun = true;
    }

    fn head(&mut self, _: Token, head: Head<'_>) {
        assert_eq!(head.status, 101);
    }

    fn data(&mut self, _: Token, piece: &[u8]) {
        assert!(self.begun && !piece.is_empty());
        self.message.extend_from_slice(piece);
        assert!(self.message.len() <= self.longest);
    }

    fn end(&mut self, token: Token, _: End) {
        assert!(self.begun);
        self.over(token, Ok(()));
    }

    fn failed(&mut self, token: Token, failure: Failure) {
        self.over(token, Err(failure));
    }
}

fn request(kind: &str) -> Request {
    Request {
        method: kind.into(),
        path: Template::literal("/a"),
        headers: Vec::new(),
        body: Body::Bytes(Template::literal("a message of some length")),
    }
}

/// The valid reply to a handshake.
fn switching(asked: &[u8]) -> Vec<u8> {
    let asked = std::str::from_utf8(asked).expect("text");
    let key = asked
        .lines()
        .find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "));
    let guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    let text = format!("{}{guid}", key.expect("a key"));
    let accept = STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()));
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    )
    .into_bytes()
}

/// The result for these pieces: the received messages, whether the protocol was valid, and the number of bytes sent.
fn read<'a>(
    kinds: u8,
    longest: u64,
    switches: bool,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (ReceivedMessages, Result<(), &'static str>, usize) {
    let target = Target {
        url: String::new(),
        host: "h".into(),
        port: 1,
        authority: "h:1".into(),
        tls: None,
        connect: prony_load::ConnectOptions::default(),
    };
    let prepare = |kind| WebSocket::prepare(&request(kind), &target).expect("a message");
    let (text, binary) = (prepare("TEXT"), prepare("BINARY"));
    let limits = Limits {
        longest_message: Some(longest),
        ..Limits::default()
    };
    let parameters = Parameters::new(&[], 1);
    let mut shared = WebSocket::shared_within(&limits);
    let mut connection = WebSocket::new(&mut shared, MESSAGES);
    let mut seen = ReceivedMessages {
        longest: longest as usize,
        ..ReceivedMessages::default()
    };
    let mut out = Vec::new();
    connection.open(&mut shared, &text, &mut out);
    if switches {
        let reply = switching(&out);
        connection
            .receive(&mut shared, &reply, &mut out, &mut seen)
            .expect("a handshake");
        assert!(connection.is_ready());
        for number in 0..MESSAGES {
            let call = Call {
                token: Token(number),
                prepared: if kinds >> number & 1 == 0 { &text } else { &binary },
                values: parameters.values(0),
                wants_headers: false,
                is_last: number + 1 == MESSAGES,
            };
            connection.start(&mut shared, &call, &mut out);
        }
    }
    out.clear();
    let mut result = Ok(());
    for piece in pieces {
        let received = connection.receive(&mut shared, piece, &mut out, &mut seen);
        if let Err(fault) = received {
            result = Err(fault.0);
            break;
        }
    }
    assert!(result.is_ok() || connection.is_spent());
    seen.message.clear();
    (seen, result, out.len())
}

// The first byte is the kinds of the messages, the second one the length of the pieces, the third one the longest message and
// whether the handshake is also the service's; the rest is the received data.
fuzz_target!(|data: &[u8]| {
    let [kinds, length, longest, bytes @ ..] = data else {
        return;
    };
    let switches = longest & 1 == 0;
    let longest = u64::from(longest >> 1).max(1);
    let whole = read(*kinds, longest, switches, std::iter::once(bytes));
    let pieces = bytes.chunks(usize::from(*length).max(1));
    assert_eq!(read(*kinds, longest, switches, pieces), whole);
    assert_eq!(read(*kinds, longest, switches, bytes.chunks(1)), whole);
});
