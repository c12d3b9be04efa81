//! Replies of every shape, whole and split at every position.

use super::*;
use crate::request_values::Parameters;
use prony_load::formula::{Formula, Operator};
use prony_load::{Body, GeneratedBody, Header, Parameter, Part, Source, Template};
use proptest::prelude::*;

/// The events that a connection reported, as lines of text: the pieces of a body are joined.
#[derive(Debug, Default, PartialEq, Eq)]
struct Log {
    lines: Vec<String>,
    body: Vec<u8>,
}

impl ReplySink for Log {
    fn first_byte(&mut self, _: Token) {}

    fn head(&mut self, token: Token, head: Head<'_>) {
        let headers = head
            .headers
            .iter()
            .map(|(name, _)| String::from_utf8_lossy(name).into_owned());
        self.lines.push(format!(
            "{} head {} [{}]",
            token.0,
            head.status,
            headers.collect::<Vec<_>>().join(",")
        ));
    }

    fn data(&mut self, _: Token, piece: &[u8]) {
        assert!(!piece.is_empty());
        self.body.extend_from_slice(piece);
    }

    fn end(&mut self, token: Token, _: End) {
        let body = std::mem::take(&mut self.body);
        self.lines
            .push(format!("{} body {}", token.0, String::from_utf8_lossy(&body)));
    }

    fn failed(&mut self, token: Token, failure: Failure) {
        self.body.clear();
        self.lines.push(format!("{} failed {failure:?}", token.0));
    }
}

fn target() -> Target {
    Target {
        url: "http://h/".into(),
        host: "h".into(),
        port: 80,
        authority: "h".into(),
        tls: None,
        connect: prony_load::ConnectOptions::default(),
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

/// Feeds the pieces to a connection with these requests in flight, followed by the end of the stream.
fn replies<'a>(methods: &[&str], pieces: impl IntoIterator<Item = &'a [u8]>, wants_headers: bool) -> Log {
    let mut shared = Http1::shared();
    let mut connection = Http1::new(&mut shared, methods.len() as u32);
    let (mut log, mut out) = (Log::default(), Vec::new());
    let none = Parameters::new(&[], 0);
    for (index, method) in methods.iter().enumerate() {
        let call = Call {
            token: Token(index as u32),
            prepared: &Http1::prepare(&request(method), &target()).expect("a plain request"),
            values: none.values(0),
            wants_headers,
            is_last: false,
        };
        connection.start(&mut shared, &call, &mut out);
    }
    for piece in pieces {
        if connection
            .receive(&mut shared, piece, &mut out, &mut log)
            .is_err()
        {
            log.lines.push("closed".into());
            return log;
        }
    }
    connection.end_of_stream(&mut shared, true, &mut log);
    log.lines
        .push(format!("under way {}", connection.in_flight.len()));
    log
}

fn whole(reply: &str) -> Vec<String> {
    replies(&["GET"], [reply.as_bytes()], false).lines
}

#[test]
fn lengths_are_found() {
    let cases = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi"),
        ("HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n", ""),
        ("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", "hi"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3;a=b\r\n ho\r\n0\r\n\r\n",
            "hi ho",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\nTrailer: x\r\n\r\n",
            "",
        ),
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", "until the end"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
            "hi",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nhi", "hi"),
        (
            "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length:\r\n\t 2\r\n\r\nhi",
            "hi",
        ),
        ("HTTP/1.0 200 OK\r\n\r\nold", "old"),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
            "x",
        ),
        (
            "HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
            "x",
        ),
    ];
    for (reply, body) in cases {
        assert_eq!(
            whole(reply),
            ["0 head 200 []", &format!("0 body {body}"), "under way 0"],
            "{reply:?}"
        );
    }
}

#[test]
fn replies_without_a_body_have_none() {
    for reply in [
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
    ] {
        assert_eq!(whole(reply)[1], "0 body ");
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
    let log = replies(&["HEAD"], [head.as_bytes()], false);
    assert_eq!(log.lines, ["0 head 200 []", "0 body ", "under way 0"]);
}

#[test]
fn malformed_replies_are_reported_and_end_the_connection() {
    let cases = [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
            "two different values",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nx",
            "two different values",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1,\r\n\r\nx", "not a number"),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx", "not a number"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx",
            "not a number",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "ambiguous",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "other than chunked",
        ),
        (
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.0",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            "hexadecimal",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy",
            "longer than its size",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n",
            "impossibly large",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy", "more bytes"),
        ("HTTP/1.1 200 OK\nContent-Length: 1\n\r\n\r\nx", "bare LF"),
        ("HTTP/1.1 200 OK\nContent-Length: 1\n\nx", "bare LF"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\n", "bare LF"),
        ("HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\nx", "no token"),
        ("HTTP/1.1 200 OK\r\n folded\r\n\r\n", "no field that it continues"),
        ("HTTP/1.1 200 OK\r\n A: b\r\n\r\n", "no field that it continues"),
        ("HTTP/1.1 2000 OK\r\n\r\n", "status line"),
        ("HTTP/1.1 099 No\r\n\r\n", "status line"),
        ("HTTP/1.1 101 Switching\r\n\r\n", "switches"),
        ("SSH-2.0-OpenSSH_9.2p1\r\n", "does not begin"),
        ("HTTP/2 200\r\n\r\n", "does not begin"),
    ];
    for (reply, reason) in cases {
        let lines = whole(reply);
        let reported = &lines[lines.len() - 2];
        assert!(
            reported.starts_with("0 failed Malformed") && reported.contains(reason),
            "{reply:?}: {lines:?}"
        );
        assert_eq!(lines.last().map(String::as_str), Some("closed"), "{reply:?}");
    }
}

#[test]
fn a_head_without_end_is_not_collected_for_ever() {
    let begin = b"HTTP/1.1 200 OK\r\nx: ".as_slice();
    let endless = std::iter::once(begin).chain(std::iter::repeat_n(b"aaaaaaaaaaaaaaaa".as_slice(), 100_000));
    let log = replies(&["GET"], endless, false);
    assert_eq!(log.lines.last().map(String::as_str), Some("closed"));
    assert!(log.lines[0].contains("longer than 64 KiB"), "{:?}", log.lines);
}

#[test]
fn a_truncated_reply_leaves_its_request_under_way() {
    assert_eq!(
        whole("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi"),
        ["0 head 200 []", "under way 1"]
    );
    assert_eq!(whole("HTTP/1.1 200 OK\r\nContent-Le"), ["under way 1"]);
    assert_eq!(
        whole("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhi"),
        ["0 head 200 []", "under way 1"]
    );
}

#[test]
fn what_was_pipelined_behind_an_announced_close_was_not_processed() {
    let reply = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx";
    let left_out = ["1 failed Unprocessed", "2 failed Unprocessed", "0 head 200 []"];
    let log = replies(&["GET", "POST", "GET"], [reply.as_bytes()], false);
    assert_eq!(log.lines[..3], left_out);
    assert_eq!(log.lines[3..], ["0 body x", "under way 0"]);
    // They are reported as soon as the head is complete.
    let log = replies(
        &["GET", "POST", "GET"],
        [&reply.as_bytes()[..reply.len() - 1]],
        false,
    );
    assert_eq!(log.lines[..3], left_out);
    assert_eq!(log.lines[3..], ["under way 1"]);
    let twice = format!("{reply}{reply}");
    let log = replies(&["GET", "GET"], [twice.as_bytes()], false);
    assert!(log.lines[2].contains("more bytes"), "{:?}", log.lines);
}

#[test]
fn a_fold_is_one_space() {
    let unfolded =
        |text: &str| head::unfolded(text.as_bytes()).map(|head| String::from_utf8(head).expect("text"));
    let begin = "HTTP/1.1 200 OK\r\n";
    for (folded, whole) in [
        ("A: b\r\n c\r\nD: e\r\n\r\n", "A: b c\r\nD: e\r\n\r\n"),
        ("A: b \t\r\n\t  c\r\n d\r\n\r\n", "A: b c d\r\n\r\n"),
        ("A:\r\n b\r\n\r\n", "A: b\r\n\r\n"),
    ] {
        assert_eq!(
            unfolded(&format!("{begin}{folded}")),
            Some(format!("{begin}{whole}"))
        );
    }
    assert_eq!(unfolded(&format!("{begin}A: b\r\nC: d\r\n\r\n")), None);
}

/// Servers send this when they close a connection that was idle for long.
#[test]
fn a_request_timeout_on_an_idle_connection_is_no_violation() {
    let reported = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let mut shared = Http1::shared();
    let mut idle = Http1::new(&mut shared, 1);
    let mut log = Log::default();
    let received = idle.receive(&mut shared, reported, &mut Vec::new(), &mut log);
    assert_eq!((received, idle.is_spent(), log.lines.len()), (Ok(()), true, 0));
    let mut idle = Http1::new(&mut shared, 1);
    let other = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    assert!(
        idle.receive(&mut shared, other, &mut Vec::new(), &mut log)
            .is_err()
    );
    // After a request it is a reply.
    assert_eq!(
        whole(std::str::from_utf8(reported).expect("text"))[0],
        "0 head 408 []"
    );
}

#[test]
fn a_body_until_the_end_is_cut_where_the_end_is_not_the_peer_s() {
    let mut shared = Http1::shared();
    let mut connection = Http1::new(&mut shared, 1);
    let none = Parameters::new(&[], 0);
    let call = Call {
        token: Token(0),
        prepared: &Http1::prepare(&request("GET"), &target()).expect("a plain request"),
        values: none.values(0),
        wants_headers: false,
        is_last: false,
    };
    let (mut log, mut out) = (Log::default(), Vec::new());
    connection.start(&mut shared, &call, &mut out);
    let half = b"HTTP/1.1 200 OK\r\n\r\nhalf of the bo";
    assert_eq!(connection.receive(&mut shared, half, &mut out, &mut log), Ok(()));
    connection.end_of_stream(&mut shared, false, &mut log);
    assert!(log.lines[1].contains("close_notify"), "{:?}", log.lines);
    assert!(connection.is_spent());
}

#[test]
fn the_same_head_again_means_the_same() {
    let reply = "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nhi";
    let three = reply.repeat(3);
    let log = replies(&["GET", "HEAD", "GET"], [&three.as_bytes()[..reply.len()]], false);
    assert_eq!(log.lines[0], "0 head 404 []");
    let log = replies(&["GET", "GET", "GET"], [three.as_bytes()], false);
    assert_eq!(log.lines[5], "2 body hi");
    let log = replies(&["GET"], [reply.as_bytes()], true);
    assert_eq!(log.lines[0], "0 head 404 [Content-Length]");
}

#[test]
fn the_credentials_of_a_url_are_a_header() {
    let target = Target {
        credentials: prony_load::Credentials::of_url("me", Some("a%20b")),
        ..target()
    };
    let text = |request: &Request| {
        let prepared = Http1::prepare(request, &target).expect("a good request");
        let (mut out, none) = (Vec::new(), Parameters::new(&[], 0));
        prepared.render(none.values(0), false, &mut Vec::new(), &mut out);
        String::from_utf8(out).expect("text")
    };
    let mut request = request("GET");
    assert_eq!(
        text(&request),
        "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic bWU6YSBi\r\n\r\n"
    );
    request.headers = vec![Header {
        name: "authorization".into(),
        value: Template::literal("Bearer x"),
    }];
    assert!(!text(&request).contains("Basic"), "the header is stronger");
}

#[test]
fn requests_are_written_as_the_standard_says() {
    let mut request = request("POST");
    request.path = Template(vec![Part::Literal("/p/".into()), Part::Value(0)]);
    request.headers = vec![Header {
        name: "X-A".into(),
        value: Template::literal("b"),
    }];
    request.body = Body::Bytes(Template(vec![Part::Literal("n=".into()), Part::Value(0)]));
    let parameter = Parameter {
        name: "n".into(),
        source: Source::Counter { start: 99 },
    };
    let parameters = Parameters::new(&[parameter], 0);
    let prepared = Http1::prepare(&request, &target()).expect("a good request");
    let text = |number| {
        let mut out = Vec::new();
        prepared.render(parameters.values(number), false, &mut Vec::new(), &mut out);
        String::from_utf8(out).expect("text")
    };
    assert_eq!(
        text(0),
        "POST /p/99 HTTP/1.1\r\nHost: h\r\nX-A: b\r\nContent-Length: 4\r\n\r\nn=99"
    );
    assert_eq!(
        text(1),
        "POST /p/100 HTTP/1.1\r\nHost: h\r\nX-A: b\r\nContent-Length: 5\r\n\r\nn=100"
    );
}

#[test]
fn formulas_are_sent_with_their_numbers_and_the_right_length() {
    let number = || {
        Formula::Of(
            Box::new((Formula::Value(0), Formula::Number(10))),
            Operator::Times,
        )
    };
    let mut request = request("POST");
    request.path = Template(vec![Part::Literal("/p/".into()), Part::Formula(number())]);
    request.headers = vec![Header {
        name: "X-A".into(),
        value: Template(vec![Part::Formula(Formula::Number(-1))]),
    }];
    request.body = Body::Bytes(Template(vec![
        Part::Literal("n=".into()),
        Part::Formula(number()),
    ]));
    let parameter = Parameter {
        name: "n".into(),
        source: Source::Counter { start: 9 },
    };
    let parameters = Parameters::new(&[parameter], 0);
    let prepared = Http1::prepare(&request, &target()).expect("a good request");
    for (place, length, text) in [(0, 4, "90"), (1, 5, "100")] {
        let mut out = Vec::new();
        prepared.render(parameters.values(place), false, &mut Vec::new(), &mut out);
        assert_eq!(
            String::from_utf8_lossy(&out),
            format!(
                "POST /p/{text} HTTP/1.1\r\nHost: h\r\nX-A: -1\r\nContent-Length: {length}\r\n\r\nn={text}"
            )
        );
    }
    request.path = Template(vec![Part::Formula(Formula::Number(1))]);
    assert!(matches!(
        Http1::prepare(&request, &target()),
        Err(PrepareError::Path { path, .. }) if path == "…"
    ));
}

#[test]
fn a_body_that_is_made_up_is_written_with_its_length_or_in_chunks() {
    let parameter = Parameter {
        name: "end".into(),
        source: Source::Hex { digits: 16 },
    };
    let parameters = Parameters::new(&[parameter], 0);
    let written = |bytes: u64, chunk: Option<u32>, number: u64| {
        let mut request = request("POST");
        let end = if bytes == 0 {
            Vec::new()
        } else {
            vec![Part::Value(0)]
        };
        request.body = Body::Generated(GeneratedBody {
            bytes,
            chunk,
            end: Template(end),
        });
        let prepared = Http1::prepare(&request, &target()).expect("a good request");
        let mut out = Vec::new();
        prepared.render(parameters.values(number), false, &mut Vec::new(), &mut out);
        let head = out
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("a head")
            + 4;
        let body = out.split_off(head);
        (String::from_utf8(out).expect("text"), body)
    };
    let (head, whole) = written(40, None, 1);
    assert!(head.ends_with("\r\nContent-Length: 40\r\n\r\n"), "{head}");
    assert_eq!(whole.len(), 40);
    let (_, other) = written(40, None, 2);
    assert_eq!(whole[..24], other[..24]);
    assert_ne!(whole[24..], other[24..]);
    let (head, chunked) = written(40, Some(10), 1);
    assert!(head.ends_with("\r\nTransfer-Encoding: chunked\r\n\r\n"), "{head}");
    let mut expected = Vec::new();
    for piece in [&whole[..10], &whole[10..20], &whole[20..24], &whole[24..], &[]] {
        expected.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        expected.extend_from_slice(piece);
        expected.extend_from_slice(b"\r\n");
    }
    assert_eq!(chunked, expected);
    assert_eq!(written(0, Some(10), 1).1, b"0\r\n\r\n");
    assert!(written(0, None, 1).0.contains("\r\nContent-Length: 0\r\n"));
}

#[test]
fn a_method_that_expects_content_sends_length_zero() {
    for (method, has_length) in [
        ("POST", true),
        ("PUT", true),
        ("PATCH", true),
        ("GET", false),
        ("DELETE", false),
    ] {
        let prepared = Http1::prepare(&request(method), &target()).expect("a good request");
        let mut out = Vec::new();
        let none = Parameters::new(&[], 0);
        prepared.render(none.values(0), false, &mut Vec::new(), &mut out);
        let text = String::from_utf8(out).expect("text");
        assert_eq!(
            text.contains("\r\nContent-Length: 0\r\n\r\n"),
            has_length,
            "{text}"
        );
        assert!(text.ends_with("\r\n\r\n"));
    }
}

#[test]
fn requests_that_would_say_something_else_are_refused() {
    let with_header = |name: &str, value: &str| Request {
        headers: vec![Header {
            name: name.into(),
            value: Template::literal(value),
        }],
        ..request("GET")
    };
    let with_path = |path: &str| Request {
        path: Template::literal(path),
        ..request("GET")
    };
    for wrong in [
        request("GET /x"),
        request(""),
        request("CONNECT"),
        with_header("a b", "c"),
        with_header("a", "b\r\nc: d"),
        with_header("content-length", "3"),
        with_header("Transfer-Encoding", "chunked"),
        with_path("x"),
        with_path("/a b"),
        with_path("/a#b"),
        with_path(""),
    ] {
        assert!(Http1::prepare(&wrong, &target()).is_err(), "{wrong:?}");
    }
}

/// Complete replies, each with its body.
fn reply() -> impl Strategy<Value = (String, String)> {
    let chunks = proptest::collection::vec("[a-z]{1,20}", 0..4);
    prop_oneof![
        "[a-z]{0,40}".prop_map(|body| {
            (
                format!(
                    "HTTP/1.1 200 OK\r\nServer: s\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                ),
                body,
            )
        }),
        chunks.prop_map(|chunks| {
            let coded: Vec<String> = chunks
                .iter()
                .map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len()))
                .collect();
            let coded = coded.concat();
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            (format!("{head}{coded}0\r\nT: v\r\n\r\n"), chunks.concat())
        }),
        Just((
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nX: y\r\n\r\n".to_owned(),
            String::new()
        )),
    ]
}

proptest! {
    #[test]
    fn replies_mean_the_same_however_they_are_cut(
        replies_sent in proptest::collection::vec(reply(), 1..4), wants_headers: bool, stride in 1..30usize
    ) {
        let stream: String = replies_sent.iter().map(|(bytes, _)| bytes.as_str()).collect();
        let methods = vec!["GET"; replies_sent.len()];
        let at_once = replies(&methods, [stream.as_bytes()], wants_headers);
        let bodies: Vec<String> =
            replies_sent.iter().enumerate().map(|(token, (_, body))| format!("{token} body {body}")).collect();
        let reported: Vec<&String> = at_once.lines.iter().filter(|line| line.contains(" body ")).collect();
        prop_assert_eq!(reported, bodies.iter().collect::<Vec<_>>());
        for cut in 0..stream.len() {
            let (left, right) = stream.as_bytes().split_at(cut);
            let pieces = [left, right].into_iter().filter(|piece| !piece.is_empty());
            prop_assert_eq!(&replies(&methods, pieces, wants_headers), &at_once, "cut at {}", cut);
        }
        prop_assert_eq!(&replies(&methods, stream.as_bytes().chunks(stride), wants_headers), &at_once);
    }

    #[test]
    fn no_bytes_make_it_panic_or_go_on_for_ever(bytes: Vec<u8>, prefix in 0..60usize, stride in 1..10usize) {
        let begin = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
        let mut all = begin[..prefix.min(begin.len())].to_vec();
        all.extend_from_slice(&bytes);
        let at_once = replies(&["GET"], [all.as_slice()].into_iter().filter(|piece| !piece.is_empty()), false);
        let cut = replies(&["GET"], all.chunks(stride), false);
        // Bytes after the end are noticed at once or never, depending on the split; everything else is the same.
        prop_assert_eq!(at_once.lines.first(), cut.lines.first());
    }
}
