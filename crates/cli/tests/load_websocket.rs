//! Loads of a WebSocket: command lines, messages, output, and what is rejected before the load.

use crate::common::{
    assert_refused, json_of, listen, prony, prony_line, recording_of, server, stderr_of, words,
};
use crate::tls;
use serde_json::Value;
use std::process::Output;
use std::sync::{Arc, Mutex};
use tungstenite::Message;
use tungstenite::handshake::server::{ErrorResponse, Request, Response};

/// What a server received.
#[derive(Default)]
struct ServerObservation {
    /// Path and headers of each handshake.
    handshakes: Vec<String>,
    messages: Vec<Message>,
}

/// A server that echoes each message, but answers the text `wrong` with another one. Returns its port, and what it received.
fn echo() -> (u16, Arc<Mutex<ServerObservation>>) {
    let seen = Arc::new(Mutex::new(ServerObservation::default()));
    let noted = Arc::clone(&seen);
    let port = listen(move |stream| {
        stream.set_nodelay(true).ok()?;
        #[allow(clippy::result_large_err, reason = "the library's own type")]
        let note = |asked: &Request, answer: Response| -> Result<Response, ErrorResponse> {
            let text = format!("{} {:?}", asked.uri(), asked.headers());
            noted.lock().expect("no panic").handshakes.push(text);
            Ok(answer)
        };
        let mut socket = tungstenite::accept_hdr(stream, note).ok()?;
        loop {
            let message = socket.read().ok()?;
            if message.is_text() || message.is_binary() {
                noted.lock().expect("no panic").messages.push(message.clone());
                let wrong = message == Message::text("wrong");
                socket
                    .send(if wrong { Message::text("wrung") } else { message })
                    .ok()?;
            }
        }
    });
    (port, seen)
}

fn load(arguments: &[&str]) -> Output {
    prony(&[&["load"], arguments].concat())
}

/// The JSON of a load without errors, which must match its schema.
fn recording(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(output));
    let recording = recording_of(output);
    assert_eq!(recording["protocol"], "websocket");
    recording
}

#[test]
fn texts_that_come_back_are_valid() {
    let (port, seen) = echo();
    let url = format!("ws://127.0.0.1:{port}/ws/echo?a=b");
    let output = load(&[
        &url,
        "-c",
        "2",
        "--in-flight",
        "3",
        "-n",
        "30",
        "--message",
        "number {n:counter(1)}",
        "-H",
        "Origin: http://here",
        "--json",
    ]);
    let recording = recording(&output);
    assert_eq!(recording["outcomes"]["valid"], 30, "{recording:#}");
    assert_eq!(recording["status_codes"]["101"], 30);
    assert_eq!(recording["operations"][0]["name"], "TEXT /ws/echo?a=b");
    let seen = seen.lock().expect("no panic");
    assert_eq!(seen.handshakes.len(), 2);
    assert!(
        seen.handshakes[0].starts_with("/ws/echo?a=b ") && seen.handshakes[0].contains("http://here"),
        "{:?}",
        seen.handshakes
    );
    for number in 1..=30 {
        let message = Message::text(format!("number {number}"));
        assert!(seen.messages.contains(&message), "{message}");
    }
}

#[test]
fn messages_have_the_size_and_the_kind_that_was_typed() {
    let (port, seen) = echo();
    let url = format!("ws://127.0.0.1:{port}");
    let of = |arguments: &[&str]| {
        seen.lock().expect("no panic").messages.clear();
        let output = load(&[&[url.as_str(), "-c", "1", "-n", "4", "--json"], arguments].concat());
        assert_eq!(recording(&output)["outcomes"]["valid"], 4);
        std::mem::take(&mut seen.lock().expect("no panic").messages)
    };
    for (size, bytes) in [("5", 5), ("1KiB", 1_024), ("2MiB", 2 << 20)] {
        let messages = of(&["--message-size", size]);
        assert!(
            messages.iter().all(|one| one.is_binary() && one.len() == bytes),
            "{size}"
        );
        assert_ne!(messages[0], messages[1], "each has a unique end");
    }
    let messages = of(&[]);
    assert!(messages.iter().all(|one| one.is_text() && one.len() == 16));
    assert_ne!(messages[0], messages[1]);
    let messages = of(&["--message", "hello", "--binary"]);
    assert_eq!(messages[3], Message::binary(b"hello".to_vec()));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("message");
    std::fs::write(&file, [0xff, 0xfe]).expect("a file");
    let file = format!("@{}", tls::typed(&file));
    let messages = of(&["--message", &file, "--binary"]);
    assert_eq!(messages[3], Message::binary(vec![0xff, 0xfe]));
    let output = load(&[&url, "--message", &file]);
    assert_refused(&output, "--binary");
}

#[test]
fn an_open_load_sends_so_many_messages_a_second() {
    let (port, _) = echo();
    let url = format!("ws://127.0.0.1:{port}");
    let output = prony_line(&format!(
        "load {url} -c 4 --in-flight 4 --rate 200 -d 500ms --json"
    ));
    let recording = recording(&output);
    assert_eq!(recording["requests"]["valid"], 100, "{recording:#}");
    assert!(recording["schedule_lag_ns"]["p50"].is_u64());
}

#[test]
fn a_wrong_reply_is_shown_and_fails_an_objective() {
    let (port, _) = echo();
    let url = format!("ws://127.0.0.1:{port}/chat");
    let arguments = [
        &url,
        "-c",
        "1",
        "-n",
        "3",
        "--message",
        "wrong",
        "--objective",
        "errors<1%",
    ];
    let output = load(&arguments);
    assert_eq!(output.status.code(), Some(3), "{}", stderr_of(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    for part in [
        "FAILED: 0 % success: ",
        "✗ TEXT /chat, 3 times: ",
        "expected body",
        "wrong, got wrung",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

#[test]
fn a_web_socket_may_be_sealed() {
    let (port, _) = echo();
    let front = tls::Front::before(port, &["http/1.1"]);
    let url = front.url().replace("https", "wss");
    let cacert = front.cacert();
    let arguments = [
        "-c",
        "2",
        "--in-flight",
        "2",
        "-n",
        "20",
        "--message-size",
        "64KiB",
        "--json",
    ];
    let output = load(
        &[
            &[url.as_str(), "--cacert", tls::typed(&cacert)],
            arguments.as_slice(),
        ]
        .concat(),
    );
    let recording = recording(&output);
    assert_eq!(recording["outcomes"]["valid"], 20);
    assert!(recording["tls_time_ns"]["p50"].is_u64());
    let output = load(&[&[url.as_str()], arguments.as_slice()].concat());
    assert_eq!(output.status.code(), Some(3), "{}", words(&output));
    assert!(words(&output).contains("--cacert"), "{}", words(&output));
}

#[test]
fn a_server_without_web_sockets_is_reported() {
    let url = server().replace("http", "ws");
    let output = load(&[&url, "-c", "1", "-d", "100ms"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr_of(&output));
    let said = words(&output);
    assert!(said.contains("there is no WebSocket at this path"), "{said}");
}

#[test]
fn what_makes_no_sense_is_refused_before_the_load() {
    let (port, _) = echo();
    let ws = format!("ws://127.0.0.1:{port}/echo");
    let (ws, placed) = (ws.as_str(), format!("{ws}/{{n:counter(1)}}"));
    let http = "http://127.0.0.1:1/echo";
    let cases: [(&[&str], &str); 14] = [
        (&[ws, "--http2"], "--http2 applies to HTTP requests"),
        (&[ws, "-X", "POST"], "--method applies to HTTP requests"),
        (&[ws, "--body", "a"], "--message TEXT"),
        (&[ws, "--expect", "a"], "--expect applies to"),
        (&[ws, "--events", "3"], "--events applies to"),
        (&[ws, "-H", "Connection: close"], "prony writes itself"),
        (&[ws, "--message-size", "0"], "not a size"),
        (&[ws, "--message-size", "4", "--message", "a"], "cannot be used"),
        (&[&placed], "may have placeholders"),
        (&[ws, "--sequence", "none.toml"], "not ws"),
        (&[ws, "--cacert", "none.pem"], "does not use it"),
        (&[http, "--message", "a"], "ws:// or wss://"),
        (
            &[http, "--message-size", "4"],
            "--message-size applies to messages of a WebSocket",
        ),
        (&[http, "--longest-event", "4"], "streams and WebSockets"),
    ];
    for (arguments, part) in cases {
        let output = load(arguments);
        assert_refused(&output, part);
    }
}

#[test]
fn a_message_has_a_longest_length() {
    let (port, _) = echo();
    let url = format!("ws://127.0.0.1:{port}");
    let output = prony_line(&format!(
        "load {url} -c 1 -n 2 --message-size 100 --longest-event 99 --json"
    ));
    let recording = json_of(&output);
    assert_eq!(recording["outcomes"]["unexpected"], 2, "{recording:#}");
    let got = recording["unexpected_replies"][0]["got"].as_str().expect("text");
    assert!(got.contains("--longest-event"), "{got}");
}
