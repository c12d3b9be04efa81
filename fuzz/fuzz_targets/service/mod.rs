//! Requests on one connection, and a service that answers with the fuzzer's bytes.

use prony_load::{Body, Request, Target, Template};
use prony_protocols::protocol::{Call, End, Failure, Head, Protocol, ReplySink, Token};
use prony_protocols::request_values::Parameters;

const REQUESTS: u32 = 5;

/// Checks that each request starts, continues and ends in order, and only once.
#[derive(Default)]
struct OrderChecker {
    ended: [bool; REQUESTS as usize],
    headed: [bool; REQUESTS as usize],
}

impl OrderChecker {
    fn under_way(&self, token: Token) -> usize {
        let place = token.0 as usize;
        assert!(!self.ended[place], "a request goes on after its end");
        place
    }
}

impl ReplySink for OrderChecker {
    fn first_byte(&mut self, token: Token) {
        self.under_way(token);
    }

    fn head(&mut self, token: Token, head: Head<'_>) {
        let place = self.under_way(token);
        assert!(!self.headed[place], "a reply has one head");
        assert!((200..=999).contains(&head.status));
        self.headed[place] = true;
    }

    fn data(&mut self, token: Token, _: &[u8]) {
        let place = self.under_way(token);
        assert!(self.headed[place], "the head comes before the body");
    }

    fn end(&mut self, token: Token, _: End) {
        let place = self.under_way(token);
        assert!(self.headed[place], "a reply has a head");
        self.ended[place] = true;
    }

    fn failed(&mut self, token: Token, _: Failure) {
        let place = self.under_way(token);
        self.ended[place] = true;
    }
}

/// Makes the service send `data`: the first byte selects how it is cut into pieces, the rest is sent.
pub fn answer<P: Protocol>(data: &[u8]) {
    let Some((&cut, data)) = data.split_first() else {
        return;
    };
    let target = Target {
        url: String::new(),
        host: "h".into(),
        port: 1,
        authority: "h:1".into(),
        tls: None,
        connect: prony_load::ConnectOptions::default(),
    };
    let request = Request {
        method: "POST".into(),
        path: Template::literal("/a"),
        headers: Vec::new(),
        body: Body::Bytes(Template::literal("a body of some length")),
    };
    let Ok(prepared) = P::prepare(&request, &target) else {
        panic!("the request is good");
    };
    let parameters = Parameters::new(&[], 1);
    let mut shared = P::shared();
    let mut connection = P::new(&mut shared, REQUESTS);
    let (mut out, mut watch, mut next) = (Vec::new(), OrderChecker::default(), 0);
    connection.open(&mut shared, &prepared, &mut out);
    for piece in data.chunks(usize::from(cut).max(1)) {
        while next < REQUESTS && connection.free_slots() > 0 {
            let call = Call {
                token: Token(next),
                prepared: &prepared,
                values: parameters.values(0),
                wants_headers: next % 2 == 0,
                is_last: false,
            };
            connection.start(&mut shared, &call, &mut out);
            next += 1;
        }
        if connection
            .receive(&mut shared, piece, &mut out, &mut watch)
            .is_err()
        {
            return;
        }
        out.clear();
    }
    connection.end_of_stream(&mut shared, data.len().is_multiple_of(2), &mut watch);
}
