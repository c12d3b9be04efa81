//! `prony load` over HTTP/2 and gRPC: command lines, requests and output.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output};

/// A frame (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A header as a literal that uses no table.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    for text in [name, value] {
        bytes.push(text.len() as u8);
        bytes.extend(text.as_bytes());
    }
    bytes
}

/// Answers every call with this message, if its body is the expected one.
fn serve(mut stream: TcpStream, asked: &[u8], message: &[u8]) -> std::io::Result<()> {
    let head = [&[0x88], literal("content-type", "application/grpc").as_slice()].concat();
    let prefixed = |message: &[u8]| [&[0], &(message.len() as u32).to_be_bytes()[..], message].concat();
    stream.read_exact(&mut [0; 24])?;
    stream.write_all(&frame(4, 0, 0, &[]))?;
    // A window that is large enough for the bodies of all requests of a test.
    stream.write_all(&frame(8, 0, 0, &(1u32 << 30).to_be_bytes()))?;
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header)?;
        let number = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
        let mut payload = vec![0; u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize];
        stream.read_exact(&mut payload)?;
        // The DATA frame that ends a request.
        if header[3] != 0 || header[4] & 1 == 0 {
            continue;
        }
        let status = if payload == prefixed(asked) { "0" } else { "3" };
        let reply = [
            frame(1, 4, number, &head),
            frame(0, 0, number, &prefixed(message)),
            frame(1, 5, number, &literal("grpc-status", status)),
        ];
        stream.write_all(&reply.concat())?;
    }
}

/// A gRPC server on a port of its own, for the lifetime of the test process.
fn server(asked: &'static [u8], message: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream, asked, message));
        }
    });
    port
}

fn proto() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../contracts/person/person.proto")
}

fn prony(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prony"))
        .arg("load")
        .args(arguments)
        .output()
        .expect("prony")
}

/// Calls `getPerson` for 200 ms.
fn call(port: u16, more: &[&str]) -> Output {
    let (url, proto) = (format!("http://127.0.0.1:{port}"), proto());
    let mut arguments = vec![url.as_str(), "--grpc", "--proto", proto.to_str().expect("a path")];
    if !more.contains(&"--method") {
        arguments.extend(["--method", "prony.person.PersonService/getPerson"]);
    }
    arguments.extend(["-c", "2", "--in-flight", "3", "-d", "200ms", "--json"]);
    arguments.extend(more);
    prony(&arguments)
}

fn recording(output: &Output) -> Value {
    // A load with nothing but unexpected replies has failed, and also prints its recording.
    assert!(
        matches!(output.status.code(), Some(0 | 3)),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

#[test]
fn a_message_is_written_as_json_and_sent_encoded() {
    // PersonId { id: "7" } and Person { id: "7", gender: "male" }.
    let port = server(b"\x0a\x017", b"\x0a\x017\x1a\x04male");
    let right = [
        "--message",
        r#"{"id": "7"}"#,
        "--expect",
        r#"{"gender": "male", "id": "7"}"#,
    ];
    let said = recording(&call(port, &right));
    assert_eq!(said["protocol"], "grpc");
    assert_eq!(said["requests"]["valid"], said["requests"]["offered"]);
    assert!(said["requests"]["valid"].as_u64() > Some(0));
    // Any other reply is unexpected, and is shown.
    let said = recording(&call(
        port,
        &["--message", r#"{"id": "7"}"#, "--expect", r#"{"id": "8"}"#],
    ));
    assert_eq!(said["outcomes"]["unexpected"], said["requests"]["offered"]);
    assert_eq!(said["unexpected_replies"][0]["what"], "body at id");
    assert_eq!((&said["verdict"], &said["exit"]), (&"failed".into(), &3.into()));
    // A message with placeholders: this server knows the 7, but not the 8.
    let message = r#"{"id": "{n:range(7,8)}"}"#;
    let said = recording(&call(port, &["--message", message, "--deadline", "5s"]));
    let count = |name: &str| said["outcomes"][name].as_f64().expect("a number");
    let share = count("valid") / (count("valid") + count("status"));
    assert!((0.4..0.6).contains(&share), "{said}");
    // The empty message, which this server answers with INVALID_ARGUMENT.
    let said = recording(&call(port, &[]));
    assert_eq!(said["outcomes"]["status"], said["requests"]["offered"]);
    assert_eq!(said["status_codes"]["grpc-3"], said["requests"]["completed"]);
}

/// Echoes everything, frame by frame: each message is answered with itself.
fn give_back(mut stream: TcpStream) -> std::io::Result<()> {
    let head = [&[0x88], literal("content-type", "application/grpc").as_slice()].concat();
    stream.read_exact(&mut [0; 24])?;
    stream.write_all(&frame(4, 0, 0, &[]))?;
    stream.write_all(&frame(8, 0, 0, &(1u32 << 30).to_be_bytes()))?;
    let mut begun = 0;
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header)?;
        let number = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
        let mut payload = vec![0; u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize];
        stream.read_exact(&mut payload)?;
        if header[3] != 0 {
            continue;
        }
        let mut reply = Vec::new();
        // The streams of one connection come one after the other.
        if begun < number {
            begun = number;
            reply.extend(frame(1, 4, number, &head));
        }
        reply.extend(frame(0, 0, number, &payload));
        if header[4] & 1 == 1 {
            reply.extend(frame(1, 5, number, &literal("grpc-status", "0")));
        }
        stream.write_all(&reply)?;
    }
}

/// Ten calls of the contract `stream`, to a server that echoes.
fn stream_call(method: &str, more: &[&str]) -> Output {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || give_back(stream));
        }
    });
    let proto = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../contracts/stream/stream.proto");
    let method = format!("prony.stream.StreamService/{method}");
    let mut arguments = vec![url.as_str(), "--grpc", "--method", &method];
    arguments.extend(["--proto", proto.to_str().expect("a path"), "-c", "2", "-n", "10"]);
    arguments.extend(more);
    prony(&arguments)
}

#[test]
fn messages_go_one_way_and_both() {
    let echo = [
        "--message",
        r#"{"bytes": "AAA{n:range(1,9)}"}"#,
        "--messages",
        "5",
        "--json",
    ];
    for more in [&[][..], &["--unanswered", "2"]] {
        let said = recording(&stream_call("echo", &[&echo, more].concat()));
        assert_eq!(said["requests"]["valid"], 10, "{said}");
        assert_eq!(said["messages"]["received"], 50, "{said}");
        assert_eq!(said["messages"]["streams"]["completed"], 10);
        assert!(said["messages"]["gap_ns"]["p50"].is_u64() && said["messages"]["ids"].is_null());
    }
    let said = recording(&stream_call("echo", &[&echo, &["--events", "3"][..]].concat()));
    assert_eq!(said["messages"]["streams"]["at_bound"], 10, "{said}");
    assert_eq!(said["messages"]["received"], 30, "{said}");
    // An echoed number reads as a sum, and an echoed question reads as a tick.
    let sum = [
        "--message",
        r#"{"value": 7}"#,
        "--expect",
        r#"{"count": 7}"#,
        "--json",
    ];
    let said = recording(&stream_call("sum", &sum));
    assert_eq!(
        (&said["requests"]["valid"], &said["messages"]),
        (&Value::from(10), &Value::Null)
    );
    let said = recording(&stream_call("sum", &[&sum, &["--messages", "2"][..]].concat()));
    assert_eq!(
        said["unexpected_replies"][0]["what"], "number of messages",
        "{said}"
    );
    let said = recording(&stream_call("tick", &["--message", r#"{"count": 5}"#, "--json"]));
    assert_eq!(said["messages"]["received"], 10, "{said}");
    let shown = stream_call("tick", &[]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("10 complete, 0 ended early, 0 cut"), "{shown}");
}

#[test]
fn what_makes_no_call_is_bad_input() {
    let assert_rejected = |output: Output, part: &str| {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(part), "{text}");
    };
    assert_rejected(
        call(1, &["--method", "prony.person.PersonService/getNobody"]),
        "getPerson",
    );
    assert_rejected(call(1, &["--message", r#"{"name": 1}"#]), "prony.person.PersonId");
    assert_rejected(call(1, &["--message", "@/nowhere/at/all"]), "/nowhere/at/all");
    assert_rejected(call(1, &["--http2"]), "cannot be used with");
    assert_rejected(prony(&["http://127.0.0.1:1", "--message", "{}"]), "--grpc");
    for (method, switches, part) in [
        ("tick", &["--messages", "2"][..], "takes one message"),
        ("sum", &["--events", "2"], "answers with one message"),
        ("sum", &["--for", "2s"], "answers with one message"),
        (
            "sum",
            &["--messages", "2", "--unanswered", "1"],
            "answers with one message",
        ),
        ("echo", &["--unanswered", "1"], "--messages"),
        ("echo", &["--expect", "{}"], "answers with a stream"),
        ("echo", &["--expect-event", "x"], "cannot be used with"),
    ] {
        assert_rejected(stream_call(method, switches), part);
    }
    let proto = proto();
    let proto = proto.to_str().expect("a path");
    let method = "prony.person.PersonService/getPerson";
    assert_rejected(
        prony(&[
            "http://127.0.0.1:1/path",
            "--grpc",
            "--proto",
            proto,
            "--method",
            method,
        ]),
        "/path",
    );
}

#[test]
fn a_service_of_another_protocol_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let output = prony(&[&format!("http://127.0.0.1:{port}/"), "--http2", "-d", "200ms"]);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("does not speak HTTP/2"), "{text}");
}
