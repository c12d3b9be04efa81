//! Streams of events: command lines, requests, output, and what is rejected before the load.

use crate::common::{
    self, assert_refused, json_of, listen, prony, prony_line, recording_of, server, stderr_of, words,
};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};

/// The text of one event.
fn event(n: u64, of: u64) -> String {
    format!("id: {n}\nevent: tick\ndata: {{\"n\": {n}, \"of\": {of}}}\n\n")
}

/// A server of `/N`: N events without the fifth, then `event: end`; `/endless` never ends. Returns its URL and the heads of its
/// requests.
fn events() -> (String, Arc<Mutex<Vec<String>>>) {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    let port = listen(move |stream| {
        let mut writer = stream.try_clone().ok()?;
        let mut reader = BufReader::new(stream);
        loop {
            let request = common::Request::read(&mut reader)?;
            seen.lock().expect("no panic").push(request.head.clone());
            let path = request.head.split(' ').nth(1)?.trim_start_matches('/');
            let count = path.parse::<u64>().unwrap_or(u64::MAX);
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
            writer.write_all(head.as_bytes()).ok()?;
            let mut send = |text: &str| write!(writer, "{:x}\r\n{text}\r\n", text.len()).ok();
            for n in (1..=count).filter(|n| *n != 5) {
                send(&event(n, count))?;
                if count == u64::MAX {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            }
            send("event: end\ndata: bye\n\n")?;
            writer.write_all(b"0\r\n\r\n").ok()?;
        }
    });
    (format!("http://127.0.0.1:{port}"), heads)
}

fn load(arguments: &[&str]) -> Output {
    prony(&[&["load"], arguments].concat())
}

/// The server that `prony calibrate` measures, until it is dropped.
struct Toy(Child, String);

impl Toy {
    fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_prony"))
            .args([&["toy", "--port", "0"], arguments].concat())
            .stdout(Stdio::piped())
            .spawn()
            .expect("prony runs");
        let mut url = String::new();
        BufReader::new(process.stdout.take().expect("its output"))
            .read_line(&mut url)
            .expect("a line");
        Self(process, url.trim().to_owned())
    }
}

impl Drop for Toy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_the_toy_server_loses_is_missing() {
    let toy = Toy::start(&["--lose-every", "100"]);
    for (gap_us, count) in [(0, 10_000), (10, 1_000)] {
        let url = format!("{}/events?count={count}&gap_us={gap_us}", toy.1);
        let output = prony_line(&format!("load {url} -c 2 -n 6 --expect-event event:tick --json"));
        assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
        let recording = recording_of(&output);
        let messages = &recording["messages"];
        assert_eq!(messages["received"], 6 * count * 99 / 100, "{messages}");
        assert_eq!(messages["ids"]["missing"], 6 * count / 100, "{messages}");
        assert_eq!(messages["ids"]["late"], 0, "{messages}");
        assert_eq!(messages["streams"]["completed"], 6, "{messages}");
    }
    let wrong = load(&[
        &format!("{}/events", toy.1),
        "-c",
        "1",
        "-n",
        "1",
        "--for",
        "1s",
        "--json",
    ]);
    assert_eq!(json_of(&wrong)["outcomes"]["status"], 1, "{}", stderr_of(&wrong));
}

#[test]
fn streams_that_end_are_counted_to_the_last_message() {
    let (url, heads) = events();
    let url = format!("{url}/10");
    let output = prony_line(&format!(
        "load {url} -c 2 -n 6 --expect-event event:end --expect-event json:/n=10 --json"
    ));
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let recording = recording_of(&output);
    assert_eq!(recording["outcomes"]["valid"], 6, "{recording:#}");
    let messages = &recording["messages"];
    assert_eq!(messages["received"], 60, "{messages}");
    assert_eq!(messages["ids"]["missing"], 6);
    assert_eq!(messages["ids"]["doubled"], 0);
    assert_eq!(messages["streams"]["completed"], 6);
    assert_eq!(messages["streams"]["ended_early"], 0);
    assert!(messages["gap_ns"]["p50"].is_u64() && messages["first_ns"]["min"].as_u64() > Some(0));
    let in_time = recording["intervals"].as_array().expect("intervals").iter();
    assert_eq!(
        in_time.filter_map(|one| one["messages"].as_u64()).sum::<u64>(),
        60
    );
    let heads = heads.lock().expect("no panic");
    assert!(
        heads[0].contains("Accept: text/event-stream, application/x-ndjson"),
        "{}",
        heads[0]
    );
}

#[test]
fn the_text_describes_streams() {
    let (url, heads) = events();
    let url = format!("{url}/endless");
    let output = load(&[&url, "-c", "2", "-n", "4", "--events", "20", "-H", "Accept: */*"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    for part in [
        "OK: 100 % success, ",
        " events/s",
        "    gap, ",
        "    first event, ",
        "4 missing, 0 duplicated, 0 late",
        "4 complete, 0 ended early, 0 cut",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let head = heads.lock().expect("no panic")[0].clone();
    assert!(
        head.contains("Accept: */*") && head.matches("Accept").count() == 1,
        "{head}"
    );
    let output = load(&[&url, "-c", "2", "-n", "2", "--for", "30ms", "--json"]);
    let recording = recording_of(&output);
    assert_eq!(recording["messages"]["streams"]["at_bound"], 2, "{recording:#}");
    assert!(recording["response_time_ns"]["min"].as_u64() >= Some(29_000_000));
}

#[test]
fn a_reply_that_is_not_a_stream_is_reported() {
    let output = load(&[&server(), "-c", "1", "-n", "2", "--events", "5", "--json"]);
    let wrong = &json_of(&output)["unexpected_replies"][0];
    assert_eq!(wrong["what"], "header content-type");
    assert!(
        wrong["got"].as_str().is_some_and(|got| got.contains("hello")),
        "{wrong}"
    );
    let (url, _) = events();
    let output = load(&[
        &format!("{url}/3"),
        "-c",
        "1",
        "-n",
        "2",
        "--longest-event",
        "10",
        "--expect-event",
        "event:end",
        "--json",
    ]);
    let wrong = &json_of(&output)["unexpected_replies"][0];
    assert!(
        wrong["what"]
            .as_str()
            .is_some_and(|what| what.contains("too long")),
        "{wrong}"
    );
}

#[test]
fn an_endless_stream_without_an_end_condition_names_the_options() {
    let (url, _) = events();
    let output = load(&[
        &format!("{url}/endless"),
        "-c",
        "1",
        "-n",
        "1",
        "--timeout",
        "200ms",
    ]);
    assert_eq!(output.status.code(), Some(3));
    let said = words(&output);
    assert!(said.starts_with("FAILED: 0 % success: "), "{said}");
    assert!(said.contains("--events or --for"), "{said}");
}

#[test]
fn contradictions_are_refused_before_the_load() {
    for (arguments, reason) in [
        (&["--events", "0"][..], "0 is not in"),
        (&["--for", "0s"], "the time must not be 0"),
        (
            &["--events", "5", "--in-flight", "2"],
            "a connection for each stream",
        ),
        (&["--events", "5", "--expect", "x"], "cannot be used with"),
        (&["--events", "5", "--decode"], "cannot be used with"),
        (&["--expect-event", "json:n"], "a JSON pointer begins with"),
        (&["--expect-event", "regex:("], "is not a regular expression"),
        (&["--longest-event", "1MiB"], "Use --events N"),
        (&["--events", "5", "--longest-event", "1GB"], "is not a size"),
    ] {
        let output = load(&[&["http://127.0.0.1:1/"], arguments].concat());
        assert_refused(&output, reason);
    }
}
