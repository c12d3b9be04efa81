//! The verdict: a load that fails says so in its headline, in its JSON and in its exit code, whatever fails and however it
//! is loaded. Each server here was once taken for a good one.

use crate::common::{
    Request, assert_contains, json_of, listen, prony, recording_of, reply, serve, server, stderr_of,
};
use crate::ports;
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::process::Output;
use std::sync::atomic::{AtomicU64, Ordering};

/// A server that answers every request with this.
fn always(answer: &'static str) -> String {
    serve(move |_| Some(answer.as_bytes().to_vec()))
}

fn all_404() -> String {
    always(
        "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<html>\r\n\x1b[31mno",
    )
}

fn all_503() -> String {
    always("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
}

fn redirects() -> String {
    always("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")
}

/// Accepts every request, and answers none.
fn silent() -> String {
    serve(|_| None)
}

/// Answers with something that is not HTTP.
fn garbage() -> String {
    always("not http at all\r\n\r\n")
}

/// Answers plain HTTP as a TLS server does: with an alert, and the end of the connection.
fn tls_port() -> String {
    let port = listen(|mut stream| {
        let mut hello = [0; 1024];
        let _ = stream.read(&mut hello).ok()?;
        stream.write_all(b"\x15\x03\x01\x00\x02\x02\x46").ok()?;
        stream.shutdown(Shutdown::Both).ok()
    });
    format!("http://127.0.0.1:{port}")
}

/// Closes each connection when its request has arrived.
fn hangs_up() -> String {
    let port = listen(|mut stream| {
        let mut request = [0; 1024];
        let _ = stream.read(&mut request).ok()?;
        None
    });
    format!("http://127.0.0.1:{port}")
}

/// Closes each connection in the middle of the reply.
fn cuts_short() -> String {
    let port = listen(|mut stream| {
        let mut request = [0; 1024];
        let _ = stream.read(&mut request).ok()?;
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello")
            .ok()
    });
    format!("http://127.0.0.1:{port}")
}

/// Accepts the connection of the port probe, and refuses all others.
fn refuses() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let first = listener.accept();
        drop((first, listener));
    });
    format!("http://{address}")
}

/// A port on which no server listens.
fn closed_port() -> String {
    format!("http://127.0.0.1:{}/", ports::reserved())
}

/// Answers one of three requests correctly, and the others with a 500.
fn mostly_broken() -> String {
    let count = AtomicU64::new(0);
    serve(move |_: &Request| {
        let good = count.fetch_add(1, Ordering::Relaxed).is_multiple_of(3);
        Some(if good {
            reply("hello")
        } else {
            b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n".to_vec()
        })
    })
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn first_line(output: &Output) -> String {
    text(output).lines().next().unwrap_or_default().to_owned()
}

/// A short load with these arguments.
fn load(arguments: &[&str]) -> Output {
    prony(
        &[
            &["load", "-c", "4", "-d", "300ms", "--timeout", "400ms"],
            arguments,
        ]
        .concat(),
    )
}

/// A load of `number` requests.
fn load_of(number: &str, arguments: &[&str]) -> Output {
    prony(&[&["load", "-n", number], arguments].concat())
}

/// Ways to load that must all lead to the same verdict.
const WAYS: [&[&str]; 4] = [
    &[],
    &["--rate", "100"],
    &["--objective", "p99<1h"],
    &["--rate", "100", "--objective", "p99<1h,errors<100%"],
];

/// Asserts that a server fails however it is loaded, and that the first line says why.
fn fails(what: &str, url: &str, reasons: &[&str]) {
    for way in WAYS {
        let output = load(&[&[url], way].concat());
        let line = first_line(&output);
        assert_eq!(
            output.status.code(),
            Some(3),
            "{what}, {way:?}: {line} {}",
            stderr_of(&output)
        );
        assert!(
            line.starts_with("FAILED: 0 % success: "),
            "{what}, {way:?}: {line}"
        );
        // A long line is wrapped.
        let whole = text(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            reasons.iter().any(|reason| whole.contains(reason)),
            "{what}, {way:?}: {whole}"
        );
        assert!(
            !whole.contains("p99"),
            "{what}, {way:?}: a percentile without a reply: {whole}"
        );
        let json = load(&[&[url, "--json"], way].concat());
        assert_eq!(json.status.code(), Some(3), "{what}, {way:?}");
        let json = json_of(&json);
        assert_eq!(
            (&json["verdict"], &json["exit"]),
            (&"failed".into(), &3.into()),
            "{what}: {json}"
        );
    }
}

#[test]
fn replies_that_are_not_valid_are_no_result() {
    fails(
        "404",
        &format!("{}/nothere", all_404()),
        &["replies have status 404"],
    );
    fails("503", &all_503(), &["replies have status 503"]);
    fails("302", &redirects(), &["replies have status 302"]);
    fails("garbage", &garbage(), &["replies are unexpected", "none of"]);
}

#[test]
fn requests_without_a_reply_are_no_result() {
    fails("silent", &silent(), &["answered within"]);
    fails("hangs up", &hangs_up(), &["closed the connections", "none of"]);
    fails(
        "cuts short",
        &cuts_short(),
        &["closed the connections", "none of"],
    );
    fails(
        "TLS",
        &tls_port(),
        &["none of", "unexpected", "closed the connections"],
    );
}

/// Even if all requests were due in the warm-up, and are still open.
#[test]
fn a_server_that_never_answered_fails_after_a_warm_up_too() {
    for warm_up in ["0s", "200ms", "1s"] {
        let output = prony(&[
            "load",
            &silent(),
            "-c",
            "2",
            "-d",
            "500ms",
            "--warmup",
            warm_up,
            "--timeout",
            "5s",
        ]);
        let line = first_line(&output);
        assert!(line.starts_with("FAILED: 0 % success: "), "{warm_up}: {line}");
        assert_eq!(output.status.code(), Some(3), "{warm_up}");
    }
}

#[test]
fn refused_connections_are_a_failure() {
    // Each load needs a listener of its own, because it closes after the first connection.
    for way in WAYS {
        let output = load(&[&[refuses().as_str()], way].concat());
        let line = first_line(&output);
        assert!(
            line.starts_with("FAILED: 0 % success: "),
            "{way:?}: {line} {}",
            stderr_of(&output)
        );
        assert_eq!(output.status.code(), Some(3), "{way:?}: {line}");
    }
    let url = closed_port();
    let output = load(&[&url]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        first_line(&output).starts_with("FAILED: 0 % success: cannot connect to 127.0.0.1:"),
        "{}",
        text(&output)
    );
    assert_contains(&text(&output), "→ Check that the server is running");
    let json = load(&[&url, "--json"]);
    assert_eq!(json.status.code(), Some(3));
    let json = json_of(&json);
    assert_eq!(
        (&json["verdict"], &json["error"]["kind"]),
        (&"failed".into(), &"connect".into()),
        "{json}"
    );
    let capacity = capacity(&url, &["--json"]);
    assert_eq!(capacity.status.code(), Some(3), "{}", stderr_of(&capacity));
    assert_eq!(json_of(&capacity)["verdict"], "failed");
}

#[test]
fn fewer_than_half_valid_is_a_failure_and_more_are_errors() {
    let broken = load_of("300", &[&mostly_broken(), "-c", "4"]);
    assert_eq!(broken.status.code(), Some(3), "{}", text(&broken));
    assert!(
        first_line(&broken).starts_with("FAILED: 33.3 % success: only 100 of 300 requests"),
        "{}",
        text(&broken)
    );
    let count = AtomicU64::new(0);
    let url = serve(move |_| {
        let bad = count.fetch_add(1, Ordering::Relaxed) % 5 == 4;
        Some(if bad {
            b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n".to_vec()
        } else {
            reply("hello")
        })
    });
    let some = load_of("1000", &[&url, "-c", "1"]);
    assert_eq!(some.status.code(), Some(0), "{}", text(&some));
    let line = first_line(&some);
    assert!(
        line.starts_with("ERRORS: 80.0 % success, ") && line.contains("p99 no bound"),
        "{line}"
    );
    // With an objective it is a failure.
    let objective = load_of("1000", &[&url, "-c", "1", "--objective", "errors<1%"]);
    assert_eq!(objective.status.code(), Some(3));
    assert!(
        first_line(&objective).starts_with("OBJECTIVE MISSED: errors 20.0 %, not below 1 %"),
        "{}",
        text(&objective)
    );
}

#[test]
fn a_load_that_meets_its_objectives_is_ok() {
    let url = server();
    let output = load_of(
        "2000",
        &[&url, "--expect", "hello", "--objective", "p99<1h,errors<1%"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let text = text(&output);
    let line = first_line(&output);
    // On a busy machine the generator may be the limit.
    assert!(
        line.starts_with("OK: 100 % success, ") || line.starts_with("LOWER BOUND: at least "),
        "{line}"
    );
    assert!(
        text.contains("✓ p99<1h") && text.contains("✓ errors<1%   0 %"),
        "{text}"
    );
    assert!(text.contains("success      100 %       2,000 of 2,000"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let json = recording_of(&load_of("2000", &[&url, "--json", "--objective", "p99<1h"]));
    assert_eq!(
        (json["exit"].as_u64(), json["objective"][0]["met"].as_bool()),
        (Some(0), Some(true))
    );
}

/// The sample of an unexpected reply is shown once, on one line, without control characters that a terminal would interpret.
#[test]
fn a_wrong_reply_is_shown_once() {
    let output = load(&[&format!("{}/nothere", all_404())]);
    let text = text(&output);
    assert_eq!(text.matches('✗').count(), 1, "{text}");
    assert!(
        text.contains("✗ GET /nothere, ") && text.contains(" times: expected status 200–299, got 404"),
        "{text}"
    );
    assert!(
        !text.contains('\x1b') && text.contains("→ Check the path."),
        "{text:?}"
    );
    assert!(!text.contains("latency"), "{text}");
}

fn capacity(url: &str, more: &[&str]) -> Output {
    let all = [
        "capacity",
        url,
        "-c",
        "4",
        "-d",
        "200ms",
        "--start",
        "50",
        "--limit",
        "100",
        "--timeout",
        "400ms",
        "--objective",
        "p99<1h",
    ];
    prony(&[&all, more].concat())
}

#[test]
fn no_rate_of_a_broken_server_meets_an_objective() {
    for (what, url) in [
        ("404", all_404()),
        ("503", all_503()),
        ("302", redirects()),
        ("silent", silent()),
        ("hangs up", hangs_up()),
    ] {
        let output = capacity(&url, &[]);
        let line = first_line(&output);
        assert_eq!(
            output.status.code(),
            Some(3),
            "{what}: {line} {}",
            stderr_of(&output)
        );
        assert!(
            line.starts_with("FAILED: no rate meets p99<1h: "),
            "{what}: {line}"
        );
        let json = capacity(&url, &["--json"]);
        assert_eq!(json.status.code(), Some(3), "{what}");
        let json = json_of(&json);
        assert_eq!(json["verdict"], "failed", "{what}: {json}");
        assert_eq!(json["capacity_per_s"], Value::Null, "{what}: {json}");
        assert_eq!(
            json["curve"].as_array().map(Vec::len),
            Some(1),
            "{what}: a second rate was tried"
        );
    }
}

#[test]
fn an_error_is_one_json_object_too() {
    let url = server();
    for (arguments, code, kind) in [
        (vec!["load", "--json"], 2, "usage"),
        (vec!["load", &url, "--json", "--no-such-option"], 2, "usage"),
        (vec!["load", "ftp://h/", "--json"], 2, "input"),
        (
            vec!["load", &url, "--json", "--body", "@/no/such/file"],
            2,
            "input",
        ),
        (vec!["compare", "--json"], 2, "usage"),
    ] {
        let output = prony(&arguments);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {}",
            stderr_of(&output)
        );
        let json = json_of(&output);
        assert_eq!(json["exit"], code, "{arguments:?}: {json}");
        assert_eq!(json["error"]["kind"], kind, "{arguments:?}: {json}");
        assert!(
            json["error"]["text"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{json}"
        );
    }
    let help = prony(&["load", "--help", "--json"]);
    assert_eq!(help.status.code(), Some(0));
}

/// Invalid paths, headers and data are reported once.
#[test]
fn a_cause_is_reported_once() {
    let url = server();
    for (arguments, cause) in [
        (vec![format!("{url}/a b")], "it contains a space"),
        (
            vec![url.clone(), "--body".into(), "@/no/such/file".into()],
            "/no/such/file",
        ),
    ] {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = prony(&[&["load", "-n", "1"], words.as_slice()].concat());
        let said = stderr_of(&output);
        assert!(!output.status.success() && said.contains(cause), "{said}");
        let halves: Vec<&str> = said.trim().split(": ").collect();
        let unique: std::collections::BTreeSet<&&str> = halves.iter().collect();
        assert_eq!(halves.len(), unique.len(), "reported twice: {said}");
    }
}
