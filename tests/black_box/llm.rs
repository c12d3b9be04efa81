//! `prony load --llm` and `prony capacity --llm` against a real server of chat completions: `LiteLLM`'s proxy, from `PyPI`.
//!
//! The proxy answers from its configuration (`mock_response`), so no model is needed; streams, keys, models, token counts and
//! errors are its own. The counts of prony are compared with those that curl reads from the same stream. `make test-all` runs
//! this test, since the proxy installs about a hundred packages.

use crate::common::{CommandOutput, root, until};
use crate::ports::reserved;
use crate::server::{Server, output, told};
use crate::skip::skipped;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

const PACKAGE: &str = "litellm[proxy]==1.99.4";
/// A hundred packages of Python need long to start on a busy machine.
const PATIENCE: Duration = Duration::from_mins(3);
const KEY: &str = "sk-toy-0123456789abcdef";
const ANSWER: &str = "The quick brown fox jumps over the lazy dog, and then it does so again and again until the evening comes. ";

/// Starts the proxy, which is installed once. The error is pip's.
fn proxy(work: &Path) -> Result<Server, String> {
    let program = installed()?;
    let answer = ANSWER.repeat(3);
    let config = format!(
        "model_list:
  - model_name: tiny
    litellm_params: {{ model: openai/tiny, api_key: none, mock_response: \"{}\" }}
general_settings: {{ master_key: {KEY} }}
",
        answer.trim()
    );
    fs::write(work.join("config.yaml"), config).expect("a file");
    let port = reserved();
    let mut command = Command::new(program);
    command
        .args(["--config", "config.yaml", "--host", "127.0.0.1", "--port"])
        .arg(port.to_string())
        .current_dir(work)
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        .env("LITELLM_LOG", "ERROR");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().to_lowercase().ends_with("_proxy") {
            command.env_remove(name);
        }
    }
    let server = Server::start(&mut command, port, &work.join("proxy.log"), PATIENCE);
    let healthy = format!("{}/health/liveliness", server.url);
    until("the proxy is healthy", || {
        let mut asked = Command::new("curl");
        asked.args([
            "--silent",
            "--fail",
            "--noproxy",
            "*",
            "--max-time",
            "5",
            &healthy,
        ]);
        asked.output().expect("curl").status.success()
    });
    Ok(server)
}

fn installed() -> Result<PathBuf, String> {
    let folder = root().join(".prony/cache/llm");
    fs::create_dir_all(&folder).expect("a folder");
    let folder = folder.canonicalize().expect("the folder");
    let done = folder.join("installed");
    if fs::read_to_string(&done).ok().as_deref() != Some(PACKAGE) {
        output(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&folder),
        );
        let mut pip = Command::new(folder.join("bin/pip"));
        let ended = pip.args(["install", "-q", PACKAGE]).output().expect("pip starts");
        if !ended.status.success() {
            let said = told(&ended);
            let last = said.trim().lines().next_back().unwrap_or_default();
            return Err(format!("pip cannot install {PACKAGE}: {last}"));
        }
        fs::write(done, PACKAGE).expect("a file");
    }
    Ok(folder.join("bin/litellm"))
}

/// Reads one answer with a plain client: the number of events with text, and the token count.
fn read_plainly(url: &str) -> (u64, u64) {
    let body = json!({
        "model": "tiny",
        "messages": [{ "role": "user", "content": "hello" }],
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    let mut curl = Command::new("curl");
    curl.args([
        "--silent",
        "--show-error",
        "--fail",
        "--noproxy",
        "*",
        "--max-time",
        "60",
    ])
    .args(["--header", "Content-Type: application/json", "--header"])
    .arg(format!("Authorization: Bearer {KEY}"))
    .args(["--data", &body.to_string()])
    .arg(format!("{url}/v1/chat/completions"));
    let text = output(&mut curl);
    let mut lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(str::trim)
        .collect();
    assert_eq!(lines.pop(), Some("[DONE]"), "the end of {text}");
    let (mut events, mut usage) = (0, Value::Null);
    for line in lines {
        let chunk: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let has_text = |choice: &Value| {
            let content = choice["delta"]["content"].as_str();
            content.is_some_and(|content| !content.is_empty())
        };
        let choices = chunk["choices"].as_array().expect("choices");
        events += u64::from(choices.iter().any(has_text));
        if chunk["usage"].is_object() {
            usage = chunk["usage"].clone();
        }
    }
    let tokens = usage["completion_tokens"].as_u64();
    (events, tokens.unwrap_or_else(|| panic!("no usage in {text}")))
}

fn prony(arguments: &[&str], key: &str) -> CommandOutput {
    let output = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(arguments)
        .env("PRONY_API_KEY", key)
        .output();
    let ended = CommandOutput::of(&output.expect("prony runs"));
    for text in [&ended.out, &ended.err] {
        assert!(!text.contains(key), "the key is shown: {ended:?}");
    }
    ended
}

/// The recording of a load, and the exit code and output.
fn load(url: &str, arguments: &[&str], key: &str) -> (Value, CommandOutput) {
    let url = format!("{url}/v1");
    let ended = prony(&[&["load", &url, "--llm", "--json"], arguments].concat(), key);
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    (ended.json(), ended)
}

fn answers_are_counted(url: &str) {
    let (events, tokens) = read_plainly(url);
    assert!(events > 1, "{events} events");
    let (recording, ended) = load(url, &["-n", "20", "-c", "2"], KEY);
    assert!(ended.err.contains("the model is `tiny`"), "{}", ended.err);
    assert_eq!(
        recording["outcomes"]["valid"], 20,
        "{}",
        recording["unexpected_replies"]
    );
    let messages = &recording["messages"];
    assert_eq!(messages["received"], 20 * events, "20 × {events}");
    assert_eq!(messages["streams"]["completed"], 20, "{}", messages["streams"]);
    let llm = &messages["llm"];
    assert_eq!(llm["usage"]["answers"], 20, "{llm}");
    assert_eq!(llm["usage"]["completion_tokens"], 20 * tokens, "{llm}");
    let first = llm["ttft_ns"]["min"].as_f64().expect("a first token");
    let last = messages["last_ns"]["max"].as_f64().expect("a last message");
    assert!(0.0 < first && first <= last, "{first} {last}");
}

fn an_open_load_meets_an_objective(url: &str) {
    let open = ["--rate", "5", "--model", "tiny"];
    let wide = ["-d", "4s", "--objective", "ttft<30s,tpot<30s"];
    let (recording, ended) = load(url, &[open, wide].concat(), KEY);
    let good = &recording["messages"]["llm"]["good"];
    assert_eq!(ended.code, Some(0), "{good} {}", ended.err);
    assert_eq!(good["answers"], good["due"], "{}", ended.err);
    assert!(good["due"].as_u64() >= Some(19), "{good}");
    let narrow = ["-d", "2s", "--objective", "ttft<1us"];
    let (recording, ended) = load(url, &[open, narrow].concat(), KEY);
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    assert_eq!(
        recording["messages"]["llm"]["good"]["answers"], 0,
        "{}",
        ended.err
    );
}

fn a_wrong_key_and_a_wrong_model_are_reported(url: &str) {
    let two = ["-n", "2", "-c", "1", "--model"];
    let (recording, _) = load(url, &[&two[..], &["tiny"]].concat(), "sk-wrong-9876543210fedcba");
    assert_eq!(recording["outcomes"]["status"], 2, "{}", recording["outcomes"]);
    assert!(
        recording["unexpected_replies"][0]["got"].is_string(),
        "{recording}"
    );
    let (recording, _) = load(url, &[&two[..], &["huge"]].concat(), KEY);
    assert_eq!(recording["outcomes"]["status"], 2, "{}", recording["outcomes"]);
    let got = recording["unexpected_replies"][0]["got"]
        .as_str()
        .expect("a reply");
    assert!(got.contains("huge"), "{got}");
}

fn a_capacity_is_searched(url: &str) {
    let url = format!("{url}/v1");
    let search = [
        "--objective",
        "ttft<30s,tpot<30s",
        "--start",
        "20",
        "--limit",
        "40",
    ];
    let more = ["--model", "tiny", "-d", "1s", "--json"];
    let ended = prony(&[&["capacity", &url, "--llm"], &search[..], &more].concat(), KEY);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found = ended.json();
    assert_eq!(found["capacity_per_s"].as_f64(), Some(40.0), "{found}");
    let curve = found["curve"].as_array().expect("a curve");
    let has_good = |point: &Value| point["llm"]["good"]["answers"].as_u64() > Some(0);
    assert!(curve.iter().all(has_good), "{found}");
}

/// A single test, since the proxy needs long to start.
#[test]
#[ignore = "installs a hundred packages: `make test-all` runs it"]
fn what_the_proxy_of_litellm_answers_is_counted_and_judged() {
    let work = TempDir::new().expect("a folder");
    let server = match proxy(work.path()) {
        Ok(server) => server,
        Err(reason) => {
            skipped(&reason);
            return;
        }
    };
    answers_are_counted(&server.url);
    an_open_load_meets_an_objective(&server.url);
    a_wrong_key_and_a_wrong_model_are_reported(&server.url);
    a_capacity_is_searched(&server.url);
}
