//! Shared by the tests of `prony load`: starting prony, reading its output, and servers to load.
#![allow(dead_code, reason = "each test binary uses its own part")]

use prony_schema::Schema;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs prony to its end.
pub(crate) fn prony(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(arguments)
        .output()
        .expect("prony runs")
}

/// Runs prony with the arguments of a line, which are separated by spaces.
pub(crate) fn prony_line(line: &str) -> Output {
    prony(&line.split_whitespace().collect::<Vec<_>>())
}

/// The text on standard error.
pub(crate) fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The text on standard output and standard error.
pub(crate) fn shown(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr_of(output))
}

/// All output without newlines: where lines break depends on the values.
pub(crate) fn words(output: &Output) -> String {
    shown(output).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks that a text has this part.
#[track_caller]
pub(crate) fn assert_contains(text: &str, part: &str) {
    assert!(text.contains(part), "no `{part}` in {text}");
}

/// Checks that prony refused its input, with this text in the error.
#[track_caller]
pub(crate) fn assert_refused(output: &Output, part: &str) {
    let error = stderr_of(output);
    assert_eq!(output.status.code(), Some(2), "{part}: {error}");
    assert_contains(&error, part);
}

/// The JSON on standard output, which must contain nothing else.
pub(crate) fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr_of(output)))
}

/// The recording of a load on standard output, which must match its schema.
pub(crate) fn recording_of(output: &Output) -> Value {
    let recording = json_of(output);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/load.schema.json");
    let schema: Value = serde_json::from_slice(&std::fs::read(path).expect("the schema")).expect("JSON");
    let schema = Schema::compile(&schema).expect("a schema");
    assert_eq!(schema.judge(&recording), Ok(()), "{recording:#}");
    recording
}

/// A request as a server received it.
#[derive(Clone)]
pub(crate) struct Request {
    /// The request line and the headers.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Request {
    /// Reads the next request; `None` if the connection has ended.
    pub(crate) fn read(stream: &mut impl BufRead) -> Option<Self> {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let begin = head.len();
            if stream.read_line(&mut head).ok()? == 0 {
                return None;
            }
            let line = head[begin..].trim();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).ok()?;
        Some(Self { head, body })
    }
}

/// A reply with this body.
pub(crate) fn reply(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

/// Answers the requests of a connection until it ends; a request for which `answer` returns `None` gets no reply.
pub(crate) fn talk(stream: impl Read + Write, answer: impl Fn(&Request) -> Option<Vec<u8>>) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let request = Request::read(&mut stream)?;
        if let Some(reply) = answer(&request) {
            stream.get_mut().write_all(&reply).ok()?;
        }
    }
}

/// Listens on a free port and returns it. Each connection has a thread; all run until the test process ends.
pub(crate) fn listen(connected: impl Fn(TcpStream) -> Option<()> + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let connected = Arc::new(connected);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connected = Arc::clone(&connected);
            std::thread::spawn(move || connected(stream));
        }
    });
    port
}

/// A server that sends these replies; returns its URL.
pub(crate) fn serve(answer: impl Fn(&Request) -> Option<Vec<u8>> + Send + Sync + 'static) -> String {
    let port = listen(move |stream| talk(stream, &answer));
    format!("http://127.0.0.1:{port}")
}

/// A server that answers each request with `hello`, but paths with `/wrong` with something else.
pub(crate) fn server() -> String {
    serve(|request| {
        let wrong = request.head.lines().next()?.contains("/wrong");
        Some(reply(if wrong { "hullo" } else { "hello" }))
    })
}

/// A server that accepts every request, but never answers one in five.
pub(crate) fn forgetful() -> String {
    let count = AtomicU64::new(0);
    serve(move |_| (count.fetch_add(1, Ordering::Relaxed) % 5 != 4).then(|| reply("hello")))
}
