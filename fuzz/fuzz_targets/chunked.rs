//! Chunked bodies: however a body is cut, the result is the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_load::{Body, Request, Target, Template};
use prony_protocols::http1::Http1;
use prony_protocols::protocol::{Call, End, Failure, Head, Protocol, ReplySink, Token};
use prony_protocols::request_values::Parameters;

/// The outcome of the single request, and its body so far.
#[derive(Debug, Default, PartialEq)]
struct ReceivedBody {
    body: Vec<u8>,
    outcome: Option<Result<(), Failure>>,
}

impl ReplySink for ReceivedBody {
    fn first_byte(&mut self, _: Token) {}

    fn head(&mut self, _: Token, head: Head<'_>) {
        assert_eq!(head.status, 200);
    }

    fn data(&mut self, _: Token, piece: &[u8]) {
        assert!(self.outcome.is_none(), "data after the end");
        self.body.extend_from_slice(piece);
    }

    fn end(&mut self, _: Token, _: End) {
        assert!(self.outcome.replace(Ok(())).is_none(), "two ends");
    }

    fn failed(&mut self, _: Token, failure: Failure) {
        assert!(
            self.outcome.replace(Err(failure)).is_none(),
            "a failure after the end"
        );
    }
}

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> ReceivedBody {
    let target = Target {
        url: "http://h/".into(),
        host: "h".into(),
        port: 80,
        authority: "h".into(),
        tls: None,
        connect: prony_load::ConnectOptions::default(),
    };
    let request = Request {
        method: "GET".into(),
        path: Template::literal("/"),
        headers: vec![],
        body: Body::None,
    };
    let mut shared = Http1::shared();
    let mut connection = Http1::new(&mut shared, 1);
    let (mut seen, mut out) = (ReceivedBody::default(), Vec::new());
    let none = Parameters::new(&[], 0);
    let call = Call {
        token: Token(0),
        prepared: &Http1::prepare(&request, &target).expect("a plain request"),
        values: none.values(0),
        wants_headers: false,
        is_last: false,
    };
    connection.start(&mut shared, &call, &mut out);
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".as_slice();
    for piece in std::iter::once(head).chain(pieces) {
        // Data after a complete reply is another fault, which is detected or not depending on the cut.
        if seen.outcome.is_some()
            || connection
                .receive(&mut shared, piece, &mut out, &mut seen)
                .is_err()
        {
            break;
        }
    }
    seen
}

fuzz_target!(|data: &[u8]| {
    let Some((&stride, data)) = data.split_first() else {
        return;
    };
    let by_byte = read(data.chunks(1));
    let cut = read(data.chunks(usize::from(stride).max(1)));
    // Depending on the cut, more data may be visible, which is a fault; a body that failed byte by byte always fails.
    if by_byte.outcome != Some(Ok(())) {
        assert_eq!(by_byte.outcome, cut.outcome);
        assert!(by_byte.body.starts_with(&cut.body) || cut.body.starts_with(&by_byte.body));
    } else {
        assert_eq!(by_byte.body, cut.body);
    }
});
