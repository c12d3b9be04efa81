//! Tests of the language model over plain sockets.

use prony_servers::Backend;
use prony_servers::model::ModelSettings;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longer than anything in these tests can take on a busy machine.
const DEADLINE: Duration = Duration::from_secs(20);
const FIRST: Duration = Duration::from_millis(20);
const GAP: Duration = Duration::from_millis(5);

fn model() -> Backend {
    let settings = ModelSettings {
        first: FIRST,
        gap: GAP,
        key: Some("right".to_owned()),
    };
    Backend::model(settings, 0).expect("a model")
}

/// Sends a request on its own connection.
fn send(model: &Backend, head: &str, body: &str) -> TcpStream {
    let authority = model.url().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&authority).expect("a connection");
    stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer right\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("a request");
    stream
}

fn ask(model: &Backend, head: &str, body: &str) -> String {
    let mut reply = Vec::new();
    let read = send(model, head, body).read_to_end(&mut reply);
    read.expect("a reply");
    // A chunk may end within a character.
    String::from_utf8_lossy(&reply).into_owned()
}

fn chat(name: &str, nonce: &str, tokens: u64) -> String {
    json!({
        "model": name,
        "messages": [{ "role": "system", "content": "be brief" }, { "role": "user", "content": nonce }],
        "max_tokens": tokens,
        "stream": true,
    })
    .to_string()
}

/// The events of a reply, its chunks joined.
fn events(reply: &str) -> Vec<String> {
    let (_, body) = reply.split_once("\r\n\r\n").expect("a head");
    let mut rest = body;
    let mut joined = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("the size of a chunk");
        joined.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    let lines = joined.lines().filter_map(|line| line.strip_prefix("data:"));
    lines.map(|data| data.trim_start().to_owned()).collect()
}

fn seen(model: &Backend, query: &str) -> Value {
    let reply = ask(model, &format!("GET /seen{query}"), "");
    let (_, body) = reply.split_once("\r\n\r\n").expect("a head");
    serde_json::from_str(body).expect("JSON")
}

#[test]
fn a_stream_has_all_events_in_order_none_of_them_early() {
    let model = model();
    let started = Instant::now();
    let reply = ask(&model, "POST /v1/chat/completions", &chat("steady", "n-1", 10));
    // Ten events and the last one, which is due a gap later.
    assert!(started.elapsed() >= FIRST + GAP * 10, "{:?}", started.elapsed());
    let all = events(&reply);
    assert_eq!(all.len(), 13, "{reply}");
    let texts: String = all[..10]
        .iter()
        .map(|event| {
            let event: Value = serde_json::from_str(event).expect("JSON");
            assert_eq!(event["id"], "chatcmpl-n-1");
            event["choices"][0]["delta"]["content"]
                .as_str()
                .expect("a text")
                .to_owned()
        })
        .collect();
    assert!(texts.starts_with("w919 1 w838 2 "), "{texts}");
    assert!(all[10].contains(r#""finish_reason":"stop""#), "{}", all[10]);
    assert!(all[11].contains(r#""total_tokens":13"#), "{}", all[11]);
    assert_eq!(all[12], "[DONE]");
    let counts = seen(&model, "");
    assert_eq!(
        (counts["requests"].clone(), counts["events"].clone()),
        (json!(1), json!(13))
    );
    assert_eq!(
        (counts["open"].clone(), counts["cancels"].clone()),
        (json!(0), json!(0))
    );
    assert!(counts["late_ns"]["p99"].as_u64().is_some(), "{counts}");
}

#[test]
fn a_stream_goes_on_while_others_connect() {
    let settings = ModelSettings {
        first: FIRST,
        gap: Duration::from_micros(500),
        key: None,
    };
    let model = Backend::model(settings, 0).expect("a model");
    let mut stream = send(&model, "POST /v1/chat/completions", &chat("steady", "n-2", 200));
    let mut reply = String::new();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                ask(&model, "GET /seen", "");
            }
        });
        let read = stream.read_to_string(&mut reply);
        is_over.store(true, Ordering::Relaxed);
        read.expect("all events");
    });
    assert_eq!(events(&reply).len(), 203);
}

#[test]
fn each_event_comes_in_a_piece_of_its_own() {
    let model = model();
    let reply = ask(&model, "POST /v1/chat/completions", &chat("fast", "n", 200));
    let (_, body) = reply.split_once("\r\n\r\n").expect("a head");
    let data = body.lines().filter(|line| line.starts_with("data:")).count();
    let sizes = body
        .lines()
        .filter(|line| u64::from_str_radix(line, 16).is_ok_and(|size| size > 0));
    assert_eq!((data, sizes.count()), (203, 203));
}

#[test]
fn the_name_of_the_model_chooses_the_reply() {
    let model = model();
    let status = |name: &str| {
        let reply = ask(&model, "POST /v1/chat/completions", &chat(name, "n", 5));
        (reply["HTTP/1.1 ".len()..][..3].to_owned(), reply)
    };
    for (name, expected) in [
        ("busy", "429"),
        ("refused", "401"),
        ("missing", "404"),
        ("down", "503"),
        ("other", "404"),
    ] {
        let (status, reply) = status(name);
        assert_eq!(status, expected, "{name}");
        assert!(reply.contains(r#"{"error":{"#), "{reply}");
        assert_eq!(reply.contains("retry-after: 7"), name == "busy", "{reply}");
    }
    let (_, plain) = status("plain");
    assert!(
        plain.contains(r#""content":"w919 1 w838 2 w757 3 w676 4 w595 5 ""#),
        "{plain}"
    );
    let (_, fails) = status("fails");
    let events = events(&fails);
    assert!(
        events.len() == 4 && events[3].starts_with(r#"{"error":"#),
        "{fails}"
    );
    let (_, cut) = status("cut");
    assert!(
        !cut.ends_with("\r\n0\r\n\r\n") && cut.matches("data:").count() == 3,
        "{cut}"
    );
    let (_, odd) = status("odd");
    assert!(
        odd.contains("be brief") && odd.contains("\\ud83d\\ude00") && odd.contains(": a comment"),
        "{odd}"
    );
}

#[test]
fn a_wrong_key_is_refused_and_the_bodies_are_remembered() {
    let model = model();
    let wrong = ask(&model, "POST /v1/chat/completions", &chat("plain", "n-2", 1)).replace("right", "wrong");
    assert!(wrong.starts_with("HTTP/1.1 200 "), "{wrong}");
    let refused = {
        let authority = model.url().trim_start_matches("http://").to_owned();
        let mut stream = TcpStream::connect(&authority).expect("a connection");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        let body = chat("plain", "n-2", 1);
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer wrong\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("a request");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("a reply");
        reply
    };
    assert!(refused.starts_with("HTTP/1.1 401 "), "{refused}");
    let counts = seen(&model, "?nonce=n-2");
    assert_eq!(
        (counts["requests"].clone(), counts["wrong_keys"].clone()),
        (json!(2), json!(1))
    );
    assert_eq!(counts["bodies"][1]["messages"][1]["content"], "n-2");
    assert_eq!(seen(&model, "?nonce=other")["requests"], 0);
}

#[test]
fn a_client_that_leaves_is_a_cancel() {
    let model = model();
    let stream = send(&model, "POST /v1/chat/completions", &chat("slow", "n-3", 10_000));
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("a line");
    assert!(line.starts_with("HTTP/1.1 200"), "{line}");
    let started = Instant::now();
    while seen(&model, "?nonce=n-3")["cancels"] != 1 {
        assert!(started.elapsed() < DEADLINE, "{}", seen(&model, ""));
    }
    assert_eq!(seen(&model, "")["open"], 0);
}
