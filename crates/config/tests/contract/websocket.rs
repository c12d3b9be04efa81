//! WebSocket in contracts: messages of loads, scripts of cases, and error messages.

use super::common::{load, refused, right};
use prony_config::contract::{Case, Delivery, ExpectedFrame, Frame, FrameKind, Member, ScriptStep};
use prony_load::{Body, BodyRule, Part, Protocol, Template};

const RIGHT: &str = r#"format = 1

[operation.text]
websocket = "/ws"
headers = { Origin = "here" }
with = { message = { random_hex = 8 } }
text = "<{message}>"
expect = { echoed = true }

[operation.binary]
websocket = "/ws"
headers = { Origin = "here" }
with = { bytes = { random = [1, 9] } }
generated = { bytes = "{bytes}" }
expect = { echoed = true }

[[case]]
name = "a talk"

[case.call]
operation = "text"
with = { code = [1000, ""] }
script = [
    { text = "a{message}", fin = false },
    { ping = { hex = "00ff" } },
    { continuation = { letters = 3 }, masked = false, expect = "echo" },
    { close = "{code}", expect = { close = [1000, "{code}"] } },
]

[[case]]
name = "a message"
call = { operation = "binary", with = { bytes = 300 } }

[[case]]
name = "refused"
call = { websocket = "/none", expect = { status = [403, 404] } }

[workload.text]
mix = [{ operation = "text" }]
load = { kind = "closed", connections = 1, in_flight = 8 }

[workload.binary]
mix = [{ operation = "binary", with = { bytes = 20 } }]
load = { kind = "closed", connections = 1 }

[operation.room]
common_cases = false
websocket = "/room/{room}"
with = { room = { random_hex = 4 } }
text = "hello"
expect = { echoed = true }

[[case]]
name = "members"

[case.call]
operation = "room"
with = { room = "r" }
script = [
    { client = "a" },
    { client = "b", path = "/room/{room}x", text = "hello" },
    { client = "b", stop_reading = true },
    { client = "a", text = "bye", abort = true },
]

[workload.room]
mix = [{ operation = "room" }]
load = { kind = "closed", connections = 6, members = 3 }
"#;

fn case(name: &str) -> Case {
    let contract = right(RIGHT);
    let mut cases = contract.cases(Protocol::WebSocket, 3).into_iter();
    cases.find(|case| case.name == name).expect("a case")
}

fn constant(template: &Template) -> Vec<u8> {
    let mut out = Vec::new();
    template.render(&mut out, |_, _| panic!("a place"));
    out
}

#[test]
fn a_talk_is_said_frame_by_frame() {
    let case = case("a talk");
    let [first, second] = case.exchanges.as_slice() else {
        panic!("one for each code: {case:?}")
    };
    let [
        ScriptStep::Send(begin),
        ScriptStep::Send(ping),
        ScriptStep::Send(end),
        ScriptStep::Expect(ExpectedFrame::Echo),
        close,
        closed,
    ] = first.script.as_slice()
    else {
        panic!("{:?}", first.script)
    };
    assert_eq!(
        (begin.kind, begin.is_final, begin.is_masked),
        (FrameKind::Text, false, true)
    );
    assert_eq!((begin.payload.len(), begin.payload[0]), (9, b'a'));
    assert_eq!(*ping, Frame::new(FrameKind::Ping, vec![0, 255]));
    assert_eq!(
        (end.kind, end.is_final, end.is_masked),
        (FrameKind::More, true, false)
    );
    assert!(end.payload.len() == 3 && end.payload.iter().all(u8::is_ascii_lowercase));
    let with_code = Frame::new(FrameKind::Close, vec![3, 0xe8]);
    assert_eq!(*close, ScriptStep::Send(with_code));
    assert_eq!(
        *closed,
        ScriptStep::Expect(ExpectedFrame::Close(vec![Some(1000), Some(1000)]))
    );
    let without = ScriptStep::Send(Frame::new(FrameKind::Close, Vec::new()));
    let heard = ScriptStep::Expect(ExpectedFrame::Close(vec![Some(1000), None]));
    assert_eq!(second.script[4..], [without, heard]);
    assert!(
        second.label.starts_with("WebSocket /ws (code=, message="),
        "{}",
        second.label
    );
}

#[test]
fn without_a_talk_the_message_and_its_echo_are_one() {
    let case = case("a message");
    let [ScriptStep::Send(said), ScriptStep::Expect(ExpectedFrame::Echo)] =
        case.exchanges[0].script.as_slice()
    else {
        panic!("{case:?}")
    };
    assert_eq!((said.kind, said.payload.len()), (FrameKind::Binary, 300));
    assert_eq!(case.exchanges[0].label, "WebSocket /ws (bytes=300)");
}

#[test]
fn several_members_talk_in_turn() {
    let case = case("members");
    let by = |name: &str, path: Option<&str>| {
        ScriptStep::SwitchTo(Member {
            name: name.into(),
            path: path.map(|path| path.as_bytes().to_vec()),
        })
    };
    let says = |text: &str| ScriptStep::Send(Frame::new(FrameKind::Text, text.into()));
    let right = [
        by("a", None),
        by("b", Some("/room/rx")),
        says("hello"),
        by("b", None),
        ScriptStep::StopReading,
        by("a", None),
        says("bye"),
        ScriptStep::Abort,
    ];
    assert_eq!(case.exchanges[0].script, right);
}

#[test]
fn members_of_a_load_share_the_places_of_their_path() {
    let contract = right(RIGHT);
    let room = contract
        .workload("room", Protocol::WebSocket)
        .expect("a workload");
    let Template(parts) = &room.operations[0].request.path;
    assert_eq!(parts.last(), Some(&Part::Value(0)));
    let (_, load) = contract.load_of(Some("room")).expect("a load");
    assert_eq!((load.members(), load.shareable()), (Some(3), 2));
}

#[test]
fn a_handshake_may_have_to_be_refused() {
    let case = case("refused");
    assert_eq!(case.exchanges[0].script, []);
    assert_eq!(case.exchanges[0].expect.status, [403, 404]);
}

#[test]
fn the_common_cases_share_connections() {
    let first = case("keep-alive");
    assert_eq!((first.exchanges.len(), first.exchanges[0].script.len()), (1, 200));
    assert_eq!(first.delivery, Delivery::InTurn);
    let many = case("many connections");
    assert_eq!(
        (many.exchanges.len(), many.delivery),
        (32, Delivery::ManyConnections(32))
    );
    assert_eq!(case("single bytes").delivery, Delivery::SingleBytes);
    let unknown = case("unknown path");
    assert_eq!(unknown.exchanges[0].script, []);
    assert_eq!(unknown.exchanges[0].expect.status, [400, 403, 404]);
    assert_eq!(constant(&unknown.exchanges[0].request.path), b"/no/such/path");
}

#[test]
fn messages_of_a_load_must_come_back() {
    let contract = right(RIGHT);
    assert_eq!(contract.protocols(), [Protocol::WebSocket]);
    let text = contract
        .workload("text", Protocol::WebSocket)
        .expect("a workload");
    let [operation] = text.operations.as_slice() else {
        panic!("{text:?}")
    };
    assert_eq!(
        (
            operation.request.method.as_str(),
            operation.expect.status.as_slice()
        ),
        ("TEXT", &[101_u16][..])
    );
    assert_eq!(constant(&operation.request.path), b"/ws");
    let Body::Bytes(message) = &operation.request.body else {
        panic!("{operation:?}")
    };
    assert!(message.0.contains(&Part::Value(0)), "{message:?}");
    assert_eq!(operation.expect.body, [BodyRule::Exact(message.clone())]);
    let binary = contract
        .workload("binary", Protocol::WebSocket)
        .expect("a workload");
    let operation = &binary.operations[0];
    assert_eq!(operation.request.method, "BINARY");
    let [BodyRule::Exact(whole)] = operation.expect.body.as_slice() else {
        panic!("{operation:?}")
    };
    let sent = operation.request.body.render(|_, out| out.push(b'7'));
    let mut expected = Vec::new();
    whole.render(&mut expected, |_, out| out.push(b'7'));
    assert_eq!(sent, Some(expected));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of faults")]
fn what_is_wrong_is_told() {
    let first = "{ text = \"a{message}\", fin = false }";
    let refused_status = "{ status = [403, 404] }";
    let table = [
        (
            first,
            "{ text = \"a\", binary = \"b\" }",
            "24 { text = \"a\", binary = \"b\" }: more than one of `text`, `binary`, `continuation`, `ping`, `pong` and `close`: give only one",
        ),
        (
            first,
            "{ fin = false }",
            "24 { fin = false }: the step is empty: give a frame, or `expect`",
        ),
        (
            first,
            "{ ping = \"a\", fin = false }",
            "24 { ping = \"a\", fin = false }: a ping, pong or close is one frame of at most 125 bytes",
        ),
        (
            first,
            "{ ping = { letters = 126 } }",
            "24 { ping = { letters = 126 } }: a ping, pong or close is one frame of at most 125 bytes",
        ),
        (
            first,
            "{ text = { hex = \"0\" } }",
            "24 { text = { hex = \"0\" } }: `hex` must be pairs of hexadecimal digits",
        ),
        (
            first,
            "{ text = { letters = \"nine\" } }",
            "24 { text = { letters = \"nine\" } }: `nine` is not a number of bytes up to 16777216",
        ),
        (
            first,
            "{ text = { letters = 16777217 } }",
            "24 { text = { letters = 16777217 } }: `16777217` is not a number of bytes up to 16777216",
        ),
        (
            first,
            "{ text = { letter = 9 } }",
            "24 letter: unknown key `letter` (did you mean `letters`?)",
        ),
        (
            first,
            "{ reason = \"bye\" }",
            "24 { reason = \"bye\" }: `reason` without `close`",
        ),
        (
            first,
            "{ close = \"\", reason = \"bye\" }",
            "24 { close = \"\", reason = \"bye\" }: a `reason` needs a code",
        ),
        (
            first,
            "{ close = 65536 }",
            "24 { close = 65536 }: `65536` is not a close code",
        ),
        (
            first,
            "{ expect = { close = 1000 } }",
            "25 { ping = { hex = \"00ff\" } }: the connection has already ended: remove this step",
        ),
        (
            first,
            "{ expect = \"pong\" }",
            "24 \"pong\": `expect` is \"pong\" (known are echo)",
        ),
        (
            first,
            "{ text = \"{unknown}\" }",
            "24 {unknown}: `{unknown}` has no value (give `with.unknown = …`, or write `{{unknown}}` for the text `{unknown}`)",
        ),
        (
            first,
            "{ stop_reading = true }",
            "24 { stop_reading = true }: `path`, `stop_reading` and `abort` need a client: name it with `client`",
        ),
        (
            first,
            "{ text = \"a\", unfinished = true }",
            "24 unfinished: unknown key `unfinished` (known are abort, binary, client, close, continuation, expect, fin, masked, path, ping, pong, reason, stop_reading, text)",
        ),
        (
            "websocket = \"/none\",",
            "http = \"GET /none\", script = [],",
            "36 []: `script` needs a WebSocket: give `websocket`",
        ),
        (
            "websocket = \"/none\",",
            "websocket = \"none\",",
            "36 \"none\": `websocket`: `none` is not a path: it must start with `/`",
        ),
        (
            refused_status,
            "{ status = 403, echoed = true }",
            "36 { status = 403, echoed = true }: `status` is for a rejected handshake: remove the messages after it",
        ),
        (
            refused_status,
            "{ text = \"no\" }",
            "36 { text = \"no\" }: for a WebSocket, `expect` has `echoed`, or the `status` of a rejected handshake",
        ),
        (
            "websocket = \"/ws\"\n",
            "websocket = \"/ws\"\nhttp = \"GET /\"\n",
            "3 [operation.text]: `websocket` together with `http` or `grpc`: give only one of them\n21 [case.call]: `websocket` together with `http` or `grpc`: give only one of them",
        ),
        (
            "\"{bytes}\" }",
            "\"{bytes}\", chunk = 9 }",
            "14 { bytes = \"{bytes}\", chunk = 9 }: `generated.chunk` is for bodies of HTTP/1.1",
        ),
    ];
    refused(RIGHT, &table, |contract| load(contract).map(drop));
}

#[test]
fn what_is_wrong_with_members_is_told() {
    let member = "{ client = \"b\", stop_reading = true }";
    let table = [
        (
            member,
            "{ text = \"c\" }",
            "62 { text = \"c\" }: no `client`: other steps name theirs, so give it here, too",
        ),
        (
            member,
            "{ client = \"b\", path = \"/y\" }",
            "62 { client = \"b\", path = \"/y\" }: `path` is only for the first step of a client",
        ),
        (
            member,
            "{ client = \"c\", path = \"y\" }",
            "62 { client = \"c\", path = \"y\" }: `path` is `y`: a path starts with `/` and has no spaces",
        ),
        (
            member,
            "{ client = \"b\", stop_reading = true, abort = true }",
            "62 { client = \"b\", stop_reading = true, abort = true }: more than one of `expect`, `stop_reading` and `abort`: give only one",
        ),
        (
            member,
            "{ client = \"b\", abort = true }, { client = \"b\" }",
            "62 { client = \"b\" }: the connection has already ended: remove this step",
        ),
        (
            "members = 3",
            "members = 4",
            "68 6: 6 connections do not fill rooms of 4 (give 4 or 8 connections)",
        ),
    ];
    refused(RIGHT, &table, |contract| load(contract).map(drop));
}
