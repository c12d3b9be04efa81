//! Loads on language models, with a server that sends tokens at known times, or misbehaves if the model says so.

use crate::common::{
    Request, assert_contains, assert_refused, json_of, listen, recording_of, reply, stderr_of,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

/// Events with text in each answer.
const EVENTS: u64 = 10;
/// Tokens that the server counts for each answer: two per event.
const TOKENS: u64 = 2 * EVENTS;
const PROMPT_TOKENS: u64 = 3;
/// Minimum time from the request to the first token, and from one event to the next.
const FIRST: Duration = Duration::from_millis(20);
const GAP: Duration = Duration::from_millis(5);
const KEY: &str = "sk-toy-0123456789abcdef";

/// A server with models whose names say how they behave. It records the requests.
struct Toy {
    url: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Toy {
    fn new() -> Self {
        let seen = Arc::<Mutex<Vec<Request>>>::default();
        let kept = Arc::clone(&seen);
        let port = listen(move |stream| {
            stream.set_nodelay(true).ok()?;
            let mut writer = stream.try_clone().ok()?;
            let mut reader = BufReader::new(stream);
            loop {
                let request = Request::read(&mut reader)?;
                kept.lock().ok()?.push(request.clone());
                serve(&request, &mut writer)?;
            }
        });
        Self {
            url: format!("http://127.0.0.1:{port}/v1"),
            seen,
        }
    }

    /// The bodies of all prompts so far.
    fn bodies(&self) -> Vec<Value> {
        let seen = self.seen.lock().expect("no panic");
        let prompts = seen.iter().filter(|request| !request.body.is_empty());
        prompts
            .map(|request| serde_json::from_str(&request.body).expect("JSON"))
            .collect()
    }
}

/// A reply with this status and an error with this message.
fn refused(status: &str, message: &str) -> Vec<u8> {
    let body = json!({ "error": { "message": message, "type": "invalid_request_error" } }).to_string();
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

fn serve(request: &Request, writer: &mut TcpStream) -> Option<()> {
    let path = request.head.split(' ').nth(1)?;
    let known_key = request
        .head
        .lines()
        .find_map(|line| line.strip_prefix("Authorization: "));
    if path == "/v1/models" {
        return writer
            .write_all(&reply(r#"{"object":"list","data":[{"id":"steady"}]}"#))
            .ok();
    }
    if path == "/two/models" {
        return writer
            .write_all(&reply(r#"{"data":[{"id":"steady"},{"id":"plain"}]}"#))
            .ok();
    }
    if path == "/closed/models" {
        let said = format!("wrong key {}", known_key.unwrap_or_default());
        return writer.write_all(&refused("401 Unauthorized", &said)).ok();
    }
    let body: Value = serde_json::from_str(&request.body).ok()?;
    let model = body["model"].as_str()?;
    let status = match model {
        "busy" => Some(refused("429 Too Many Requests", "slow down")),
        "down" => Some(refused("503 Service Unavailable", "no workers")),
        "closed" => Some(refused(
            "401 Unauthorized",
            &format!("Incorrect API key provided: {}", known_key.unwrap_or_default()),
        )),
        "steady" | "plain" | "slow" | "undone" | "fails" | "fails by name" => None,
        other => Some(refused(
            "404 Not Found",
            &format!("The model `{other}` does not exist."),
        )),
    };
    match status {
        Some(status) => writer.write_all(&status).ok(),
        None => answer(model, writer),
    }
}

/// Sends a chunk of the body.
fn send(writer: &mut TcpStream, text: &str) -> Option<()> {
    let chunk = format!("{:x}\r\n{text}\r\n", text.len());
    writer.write_all(chunk.as_bytes()).ok()
}

fn delta(delta: &Value) -> String {
    let chunk = json!({
        "object": "chat.completion.chunk",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": null }],
    });
    format!("data: {chunk}\n\n")
}

fn answer(model: &str, writer: &mut TcpStream) -> Option<()> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n";
    writer.write_all(head.as_bytes()).ok()?;
    send(writer, &delta(&json!({ "role": "assistant", "content": "" })))?;
    send(writer, ": thinking\n\n")?;
    sleep(if model == "slow" { 10 * FIRST } else { FIRST });
    for number in 0..EVENTS {
        if number > 0 {
            sleep(GAP);
        }
        if number == 3 && model == "fails" {
            send(writer, "data: {\"error\":{\"message\":\"out of memory\"}}\n\n")?;
        }
        if number == 3 && model == "fails by name" {
            send(writer, "event: error\ndata: out of memory\n\n")?;
        }
        send(
            writer,
            &delta(&json!({ "content": format!(" word{number} and\n") })),
        )?;
    }
    send(writer, &delta(&json!({})))?;
    if model != "plain" {
        let usage = json!({
            "choices": [],
            "usage": { "prompt_tokens": PROMPT_TOKENS, "completion_tokens": TOKENS, "total_tokens": PROMPT_TOKENS + TOKENS },
        });
        send(writer, &format!("data: {usage}\n\n"))?;
    }
    if model != "undone" {
        send(writer, "data: [DONE]\n\n")?;
    }
    writer.write_all(b"0\r\n\r\n").ok()
}

fn prony(arguments: &[&str], key: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(arguments).env_remove("PRONY_API_KEY");
    if let Some(key) = key {
        command.env("PRONY_API_KEY", key);
    }
    command.output().expect("prony runs")
}

/// Sends eight prompts to a model of a toy.
fn load(toy: &Toy, model: &str, switches: &[&str]) -> Output {
    let arguments: &[&str] = &["load", &toy.url, "--llm", "--model", model, "-n", "8", "-c", "2"];
    prony(&[arguments, switches].concat(), None)
}

fn at_least(value: &Value, least: Duration) {
    // A bucket of the histogram is 0.1 % wide.
    let least = least.as_nanos() as u64 / 1_000 * 998;
    assert!(value.as_u64() >= Some(least), "{value} < {least}");
}

#[test]
fn tokens_are_counted_and_timed_as_they_were_sent() {
    let toy = Toy::new();
    for threads in ["1", "2"] {
        let output = load(&toy, "steady", &["-t", threads, "--max-tokens", "40", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
        let recording = recording_of(&output);
        assert_eq!(recording["outcomes"]["valid"], 8, "{recording:#}");
        let (messages, llm) = (&recording["messages"], &recording["messages"]["llm"]);
        assert_eq!(messages["received"], 8 * EVENTS);
        assert_eq!(messages["streams"]["completed"], 8);
        assert_eq!(messages["ids"], Value::Null);
        assert_eq!(llm["usage"]["answers"], 8);
        assert_eq!(llm["usage"]["completion_tokens"], 8 * TOKENS);
        assert_eq!(llm["usage"]["prompt_tokens"], 8 * PROMPT_TOKENS);
        assert_eq!((&llm["errors"], &llm["empty"]), (&json!(0), &json!(0)));
        assert_eq!(llm["good"], Value::Null);
        at_least(&llm["ttft_ns"]["min"], FIRST);
        at_least(&messages["last_ns"]["min"], FIRST + GAP * (EVENTS as u32 - 1));
        // Nine gaps between ten events take as long as nineteen between twenty tokens.
        let number = |of: &Value, key: &str| of[key].as_f64().expect("a number");
        let by_gaps = 9.0 * number(&messages["gap_ns"], "mean");
        let by_tokens = 19.0 * number(&llm["tpot_ns"], "mean");
        assert!((by_gaps / by_tokens - 1.0).abs() < 0.01, "{by_gaps} {by_tokens}");
        let events = number(&llm["events_per_s_of_stream"], "p50");
        let tokens = number(&llm["usage"]["per_s_of_stream"], "p50");
        assert!((tokens / events - 19.0 / 9.0).abs() < 0.02, "{events} {tokens}");
    }
}

#[test]
fn prompts_are_asked_for_streamed_and_none_begins_as_another() {
    let toy = Toy::new();
    let switches = ["--prompt-words", "5:9", "--max-tokens", "40", "-H", "X-Team: one"];
    let output = load(&toy, "steady", &switches);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    assert_contains(&stderr_of(&output), "prompts of 5 to 9 words");
    let bodies = toy.bodies();
    let begins: BTreeSet<String> = bodies
        .iter()
        .map(|body| {
            assert_eq!(
                (&body["model"], &body["stream"]),
                (&json!("steady"), &json!(true))
            );
            assert_eq!(body["stream_options"]["include_usage"], true);
            assert_eq!(body["max_tokens"], 40);
            let prompt = body["messages"][0]["content"].as_str().expect("a prompt");
            assert!((5..=9).contains(&prompt.split_whitespace().count()), "{prompt}");
            prompt[..8].to_owned()
        })
        .collect();
    assert_eq!((bodies.len(), begins.len()), (8, 8), "{begins:?}");
    let head = toy.seen.lock().expect("no panic")[0].head.clone();
    for line in [
        "POST /v1/chat/completions HTTP/1.1",
        "X-Team: one",
        "Content-Type: application/json",
        "Accept: text/event-stream",
    ] {
        assert!(head.contains(line), "{line}: {head}");
    }
    assert!(!head.contains("Authorization"), "{head}");
}

#[test]
fn prompts_come_from_a_text_or_a_file() {
    let toy = Toy::new();
    let output = load(&toy, "steady", &["--prompt", "Say \"hi\""]);
    assert_contains(&stderr_of(&output), "all prompts are the same");
    let file = tempfile::NamedTempFile::new().expect("a file");
    let lines = "\"one two\"\n{\"prompt\":\"three\"}\n{\"messages\":[{\"role\":\"system\",\"content\":\"be brief\"}]}\n";
    std::fs::write(file.path(), lines).expect("written");
    let path = file.path().to_str().expect("text");
    let output = load(&toy, "steady", &["--prompts", path]);
    let described = "3 prompts of 1 to 2 words, mean 2, p50 2, p90 2; they repeat after 3 requests";
    assert!(stderr_of(&output).contains(described), "{}", stderr_of(&output));
    let contents: Vec<Value> = toy
        .bodies()
        .iter()
        .map(|body| body["messages"][0]["content"].clone())
        .collect();
    assert!(contents[..8].iter().all(|content| content == "Say \"hi\""));
    let of_file: BTreeSet<&str> = contents[8..].iter().filter_map(Value::as_str).collect();
    assert_eq!(of_file, BTreeSet::from(["one two", "three", "be brief"]));
}

#[test]
fn the_text_fits_a_terminal_and_names_the_source_of_token_counts() {
    let toy = Toy::new();
    for (model, part) in [
        ("steady", "tokens, 24 of prompts, in 8 answers"),
        ("plain", "counted as events; the server does not count"),
    ] {
        let output = load(&toy, model, &["--objective", "ttft<20s,tpot<20s,errors<1%"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
        let text = String::from_utf8(output.stdout.clone()).expect("text");
        for part in [
            part,
            "    TTFT, ",
            "    TPOT, ",
            "inter-chunk",
            "8 of 8 answered",
            "✓ good>99%    100 % (ttft<20s, tpot<20s): 0 late, 0 slow",
            "✓ errors<1%",
            "OK: 100 % success, ",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert_contains(&stderr_of(&output), "hint: in a closed load");
    }
    let output = prony(
        &["load", &toy.url, "--llm", "--rate", "20", "-d", "500ms", "--json"],
        None,
    );
    assert!(
        !stderr_of(&output).contains("hint: in a closed"),
        "{}",
        stderr_of(&output)
    );
    assert_contains(&stderr_of(&output), "the model is `steady`, the only one");
    let recording = recording_of(&output);
    assert!(
        recording["requests"]["valid"].as_u64() >= Some(9),
        "{recording:#}"
    );
    at_least(&recording["messages"]["llm"]["ttft_ns"]["min"], FIRST);
}

#[test]
fn errors_in_a_stream_are_distinguished() {
    let toy = Toy::new();
    let of = |model: &str| recording_of(&load(&toy, model, &["--json"]));
    for model in ["fails", "fails by name"] {
        let recording = of(model);
        assert_eq!(recording["outcomes"]["unexpected"], 8, "{recording:#}");
        assert_eq!(recording["messages"]["llm"]["errors"], 8);
        assert_eq!(recording["messages"]["streams"]["ended_early"], 0);
        // Events before the error count; those after it are not read.
        assert_eq!(recording["messages"]["received"], 24);
        let wrong = &recording["unexpected_replies"][0];
        assert_eq!(wrong["what"], "events: an error in the stream");
        assert!(
            wrong["got"]
                .as_str()
                .is_some_and(|got| got.contains("out of memory")),
            "{wrong}"
        );
    }
    let undone = of("undone");
    assert_eq!(undone["outcomes"]["unexpected"], 8, "{undone:#}");
    assert_eq!(undone["messages"]["streams"]["ended_early"], 8);
    assert_eq!(undone["messages"]["llm"]["errors"], 0);
    assert_eq!(undone["unexpected_replies"][0]["expected"], "data: [DONE]");
}

#[test]
fn a_status_is_reported_with_the_reply_of_the_server() {
    let toy = Toy::new();
    for (model, code, said) in [
        ("busy", "429", "slow down"),
        ("down", "503", "no workers"),
        ("none", "404", "The model `none` does not exist."),
    ] {
        let recording = recording_of(&load(&toy, model, &["--json", "--objective", "ttft<9s"]));
        assert_eq!(recording["outcomes"]["status"], 8, "{recording:#}");
        assert_eq!(recording["status_codes"][code], 8);
        let good = &recording["messages"]["llm"]["good"];
        assert_eq!((&good["answers"], &good["due"]), (&json!(0), &json!(8)));
        let output = load(&toy, model, &[]);
        assert_eq!(output.status.code(), Some(3), "{}", stderr_of(&output));
        let text = one_line(&String::from_utf8_lossy(&output.stdout));
        assert!(
            text.starts_with("FAILED: 0 % success: all 8 replies have status "),
            "{text}"
        );
        assert!(text.contains(said) && text.contains(code), "{text}");
    }
}

#[test]
fn an_objective_is_of_each_stream() {
    let toy = Toy::new();
    let output = load(&toy, "slow", &["--objective", "ttft<100ms", "--json"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr_of(&output));
    let recording = recording_of(&output);
    assert_eq!(
        recording["objective"][0]["missed"],
        "0 % of the prompts had a good answer, not 99 % (8 late, 0 slow)"
    );
    let good = recording["messages"]["llm"]["good"].clone();
    assert_eq!((&good["late"], &good["slow"]), (&json!(8), &json!(0)), "{good}");
    // Its tokens take some milliseconds each.
    let output = load(&toy, "steady", &["--objective", "tpot<1us", "--json"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr_of(&output));
    let good = recording_of(&output)["messages"]["llm"]["good"].clone();
    assert!(good["slow"].as_u64() > Some(0) && good["late"] == 0, "{good}");
    assert!(!stderr_of(&output).contains("note:"), "{}", stderr_of(&output));
    // Other tools use this name; the output has prony's name.
    let output = load(&toy, "steady", &["--objective", "itl<1us"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr_of(&output));
    assert_contains(
        &stderr_of(&output),
        "note: `itl` in an objective is read as `tpot`",
    );
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(
        !shown
            .to_lowercase()
            .split(|letter: char| !letter.is_alphabetic())
            .any(|word| word == "itl"),
        "{shown}"
    );
    let output = load(&toy, "steady", &["--objective", "e2el<1us", "--json"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr_of(&output));
    let good = recording_of(&output)["messages"]["llm"]["good"].clone();
    assert!(good["long"] == good["due"] && good["late"] == 0, "{good}");
}

/// Text whose lines are joined, because long lines are wrapped.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_key_is_sent_and_never_shown() {
    let toy = Toy::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (log, store, export) = (path("log.csv"), path("store.db"), path("export.jsonl"));
    let arguments: &[&str] = &[
        "load", &toy.url, "--llm", "--model", "closed", "-n", "4", "-c", "1",
    ];
    let kept: &[&str] = &["--log", &log, "--save", "kept", "--store", &store];
    for switches in [kept, &["--json"]] {
        let output = prony(&[arguments, switches].concat(), Some(KEY));
        let shown = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            stderr_of(&output)
        );
        let shown = one_line(&shown);
        assert!(
            shown.contains("Incorrect API key provided: Bearer ***"),
            "{shown}"
        );
        assert!(!shown.contains("0123456789"), "{shown}");
    }
    let head = toy.seen.lock().expect("no panic")[0].head.clone();
    assert!(
        head.contains(&format!("Authorization: Bearer {KEY}\r\n")),
        "{head}"
    );
    let output = prony(&["store", "export", &export, "--store", &store], Some(KEY));
    assert!(output.status.success(), "{}", stderr_of(&output));
    for file in [&log, &export, &store] {
        let bytes = std::fs::read(file).expect("a file");
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.is_empty() && !text.contains("0123456789"), "{file}");
    }
    let url = toy.url.replace("/v1", "/closed");
    let output = prony(&["load", &url, "--llm", "-n", "1"], Some(KEY));
    assert_refused(&output, "wrong key Bearer ***");
    let output = prony(&["load", &toy.url, "--llm", "-n", "1"], Some("two words"));
    assert_eq!(output.status.code(), Some(2), "{}", stderr_of(&output));
    assert!(stderr_of(&output).contains("PRONY_API_KEY") && !stderr_of(&output).contains("two words"));
}

#[test]
fn the_highest_rate_at_which_answers_are_good_is_searched() {
    let toy = Toy::new();
    let output = prony(
        &[
            "capacity",
            &toy.url,
            "--llm",
            "--objective",
            "ttft<10s,tpot<10s",
            "--start",
            "200",
            "--limit",
            "400",
            "-d",
            "300ms",
            "--confirm",
            "1s",
            "--json",
        ],
        None,
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let found = json_of(&output);
    assert_eq!(
        (&found["capacity_per_s"], &found["limit_reached"]),
        (&json!(400.0), &json!(true))
    );
    assert!(
        found["headline"]
            .as_str()
            .is_some_and(|text| text.contains("prompts/s")),
        "{found}"
    );
    assert_eq!(found["verdict"], "lower_bound", "{found}");
    let curve = found["curve"].as_array().expect("a curve");
    assert!(
        curve
            .iter()
            .all(|point| point["llm"]["good"]["answers"] == point["llm"]["good"]["due"])
    );
    // No load sends a prompt that an earlier one has sent.
    let begins: Vec<String> = toy
        .bodies()
        .iter()
        .map(|body| body["messages"][0]["content"].as_str().expect("a prompt")[..8].to_owned())
        .collect();
    let different: BTreeSet<&String> = begins.iter().collect();
    assert!(begins.len() > 12 && begins.len() == different.len(), "{begins:?}");
}

#[test]
fn contradictions_are_refused_before_the_load() {
    let toy = Toy::new();
    let two = toy.url.replace("/v1", "/two");
    let (one, two) = (toy.url.as_str(), two.as_str());
    for (url, arguments, reason) in [
        (
            two,
            &["--llm"][..],
            "the server has 2 models: steady, plain\n  → Name one with --model NAME.",
        ),
        (one, &["--llm", "--events", "5"], "cannot be used with"),
        (one, &["--llm", "--body", "x"], "cannot be used with"),
        (one, &["--llm", "--grpc"], "cannot be used with"),
        (one, &["--llm", "--curl", "x"], "cannot be used with"),
        (one, &["--model", "steady"], "--llm"),
        (
            one,
            &["--llm", "--prompt", "a", "--prompt-words", "5"],
            "cannot be used with",
        ),
        (one, &["--llm", "--prompt-words", "9:5"], "A not larger than B"),
        (
            one,
            &["--llm", "--in-flight", "2"],
            "a connection for each stream",
        ),
        (one, &["--llm", "-H", "authorization: Bearer x"], "PRONY_API_KEY"),
        (one, &["--objective", "ttft<1s"], "Use --llm"),
        (one, &["--llm", "--objective", "good>50%"], "ttft, tpot or e2el"),
        (
            one,
            &["--llm", "--prompts", "Cargo.toml"],
            "line 1: it is not JSON",
        ),
    ] {
        let begin: &[&str] = &["load", url, "-n", "1"];
        let output = prony(&[begin, arguments].concat(), None);
        assert_refused(&output, reason);
    }
}
