//! `prony report` and `prony serve` from outside, on a store with a made-up run.

#[allow(dead_code, reason = "each test binary uses a part of it")]
#[path = "../../report/tests/sample/mod.rs"]
mod sample;

use prony_store::{Progress, Store};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn filled(folder: &Path) -> PathBuf {
    let path = folder.join("store.db");
    let store = Store::open(&path).expect("opens");
    let run = sample::run();
    store.begin_run(&run).expect("begins");
    for trial in sample::trials() {
        store.append_trial(&run.id, &trial).expect("appends");
    }
    path
}

fn prony(store: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(arguments)
        .env("PRONY_STORE", store)
        .current_dir(store.parent().expect("lies in a folder"))
        .output()
        .expect("runs")
}

fn said(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[test]
fn the_latest_run_is_shown_as_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let shown = said(&prony(&filled(folder.path()), &["report"]));
    assert!(
        shown.contains("rust-axum") && shown.contains("excluded at check"),
        "{shown}"
    );
    assert!(!shown.contains('\u{1b}'), "colours without a terminal");
}

#[test]
fn json_goes_to_standard_output_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = prony(&filled(folder.path()), &["report", "sample", "--format", "json"]);
    let report: Value = serde_json::from_str(&said(&output)).expect("JSON");
    assert_eq!(report["run"], sample::run().id.as_str());
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn every_form_can_be_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path());
    let all = folder.path().join("all");
    said(&prony(
        &store,
        &["report", "--format", "all", "--out", all.to_str().expect("text")],
    ));
    for name in [
        "report.html",
        "report.md",
        "report.csv",
        "report.json",
        "report.prom",
        "report.otlp.json",
    ] {
        let size = std::fs::metadata(all.join(name)).expect("is there").len();
        assert!(size > 500, "{name} has {size} bytes");
    }
    assert_eq!(
        std::fs::read_dir(all.join("charts")).expect("is there").count(),
        6
    );
    for form in ["html", "md", "csv", "json", "prometheus", "otlp"] {
        let file = folder.path().join(form);
        said(&prony(
            &store,
            &["report", "--format", form, "--out", file.to_str().expect("text")],
        ));
        assert!(file.is_file(), "{form}");
    }
}

#[test]
fn json_has_a_word_of_its_own_and_a_folder_takes_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path());
    let long = said(&prony(&store, &["report", "--format", "json"]));
    assert_eq!(said(&prony(&store, &["report", "--json"])), long);
    let twice = prony(&store, &["report", "--json", "--format", "md"]);
    assert_eq!(twice.status.code(), Some(2));
    let out = folder.path().join("new");
    let into = format!("{}/", out.display());
    said(&prony(&store, &["report", "--json", "--out", &into]));
    let written = std::fs::read_to_string(out.join("report.json")).expect("written");
    assert_eq!(written.trim(), long.trim());
    for (form, name) in [
        ("html", "report.html"),
        ("csv", "report.csv"),
        ("terminal", "report.txt"),
    ] {
        said(&prony(&store, &["report", "--format", form, "--out", &into]));
        assert!(out.join(name).is_file(), "{name}");
    }
    let file = out.join("report.json");
    let refused = prony(
        &store,
        &["report", "--format", "all", "--out", file.to_str().expect("text")],
    );
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("name a folder with --out"), "{told}");
}

#[test]
fn killed_runs_are_listed_without_reading_all_their_trials() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let store = Store::open(&path).expect("opens");
    let mut run = sample::run();
    run.ended_at = None;
    store.begin_run(&run).expect("begins");
    for trial in sample::trials() {
        store.append_trial(&run.id, &trial).expect("appends");
    }
    drop(store);
    // What an earlier version wrote, and nobody can read any more.
    let database = rusqlite::Connection::open(&path).expect("opens");
    let broken = "UPDATE trial SET head = x'00' WHERE sequence < (SELECT max(sequence) FROM trial)";
    assert!(database.execute(broken, []).expect("breaks") > 1);
    drop(database);
    let listed = Server::start(&path).json("/api/runs");
    assert_eq!(listed[0]["id"], run.id.as_str(), "{listed}");
    assert_eq!(listed[0]["running"], false, "{listed}");
}

#[test]
fn what_is_not_there_is_bad_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = filled(folder.path());
    let unknown = prony(&store, &["report", "nowhere"]);
    let told = String::from_utf8_lossy(&unknown.stderr);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        told.contains("`nowhere`") && told.contains(&sample::run().id),
        "{told}"
    );
    let missing = prony(&folder.path().join("no.db"), &["report"]);
    assert_eq!(missing.status.code(), Some(2));
    let unchecked = prony(&store, &["report", "--format", "junit"]);
    assert_eq!(unchecked.status.code(), Some(2));
}

/// `prony serve` on a free port; ends with the value.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(store: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_prony"))
            .args(["serve", "--port", "0"])
            .env("PRONY_STORE", store)
            .current_dir(store.parent().expect("lies in a folder"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut line = String::new();
        let out = process.stdout.take().expect("piped");
        BufReader::new(out)
            .read_line(&mut line)
            .expect("says its address");
        let address = line
            .trim()
            .trim_start_matches("http://")
            .trim_end_matches('/')
            .to_owned();
        Self { process, address }
    }

    fn connect(&self, head: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("connects");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("has a limit");
        stream.write_all(head.as_bytes()).expect("asks");
        stream
    }

    fn ask(&self, method: &str, path: &str, host: &str) -> (String, String) {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let mut reply = String::new();
        self.connect(&head).read_to_string(&mut reply).expect("answers");
        let (head, body) = reply.split_once("\r\n\r\n").expect("a reply");
        (head.to_ascii_lowercase(), body.to_owned())
    }

    fn get(&self, path: &str) -> (String, String) {
        self.ask("GET", path, &self.address)
    }

    fn json(&self, path: &str) -> Value {
        let (head, body) = self.get(path);
        assert!(
            head.starts_with("http/1.1 200") && head.contains("application/json"),
            "{head}"
        );
        serde_json::from_str(&body).expect("JSON")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn pages_and_data_are_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(&filled(folder.path()));
    for path in [
        "/",
        "/run/latest",
        "/compare?a=x&b=y",
        "/service/rust-axum/current/hello",
    ] {
        let (head, body) = server.get(path);
        assert!(
            head.starts_with("http/1.1 200") && head.contains("text/html"),
            "{path}: {head}"
        );
        assert!(
            head.contains("content-security-policy: default-src 'none'; script-src 'sha256-"),
            "{head}"
        );
        assert!(
            head.contains("frame-ancestors 'none'") && head.contains("nosniff"),
            "{head}"
        );
        assert!(body.contains("id=\"prony-data\""));
    }
    let id = sample::run().id;
    assert_eq!(server.json("/api/runs")[0]["id"], id.as_str());
    assert_eq!(
        server.json("/api/runs/latest")["groups"][0]["services"][0]["service"],
        "rust-axum"
    );
    assert_eq!(server.json("/api/services").as_array().map(Vec::len), Some(4));
    let history = server.json("/api/history?service=rust-axum&variant=current&contract=hello");
    assert!(
        history[0]["runs"][0]["goodput_per_s"]["point"].is_number(),
        "{history}"
    );
    let both = server.json(&format!("/api/compare?a={id}&b=latest"));
    assert_eq!(both["base"]["id"], both["new"]["id"]);
    let changes = both["groups"][0]["services"][0]["changes"]
        .as_array()
        .expect("changes");
    assert!(
        changes
            .iter()
            .all(|change| change["verdict"] == "same" || change["verdict"] == "cannot_tell"),
        "{both}"
    );
    let (head, body) = server.get("/api/runs/nowhere");
    assert!(
        head.starts_with("http/1.1 404") && body.contains("no run `nowhere`"),
        "{head}\n{body}"
    );
}

#[test]
fn only_reading_and_only_from_here() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(&filled(folder.path()));
    for method in ["POST", "PUT", "DELETE"] {
        let (head, _) = server.ask(method, "/api/runs", &server.address);
        assert!(head.starts_with("http/1.1 405"), "{method}: {head}");
    }
    let (head, body) = server.ask("GET", "/api/runs", "evil.example");
    assert!(
        head.starts_with("http/1.1 403") && !body.contains("sample"),
        "{head}\n{body}"
    );
}

#[test]
fn a_run_in_progress_is_told_as_it_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let store = Store::open(&path).expect("opens");
    let now = humantime::format_rfc3339(std::time::SystemTime::now()).to_string();
    let mut run = sample::run();
    (run.started_at, run.ended_at) = (now.clone(), None);
    store.begin_run(&run).expect("begins");
    let server = Server::start(&path);
    let head = format!(
        "GET /api/runs/latest/events HTTP/1.1\r\nHost: {}\r\n\r\n",
        server.address
    );
    let mut lines = BufReader::new(server.connect(&head))
        .lines()
        .map_while(Result::ok);
    let mut next = || -> Value {
        let line = lines.find(|line| line.starts_with("data:")).expect("an event");
        serde_json::from_str(&line["data:".len()..]).expect("JSON")
    };
    let first = next();
    assert_eq!(
        (first["trials"].as_u64(), first["running"].as_bool()),
        (Some(0), Some(true))
    );
    store
        .append_trial(&run.id, &sample::trials()[0])
        .expect("appends");
    assert_eq!(next()["trials"], 1);
    store
        .set_progress(&run.id, &progress(now.clone()))
        .expect("writes");
    assert_eq!(next()["progress"]["service"]["service"], "go-nethttp");
    store.finish_run(&run.id, &now, &[]).expect("ends");
    assert_eq!(next()["running"], false);
}

fn progress(at: String) -> Progress {
    Progress {
        at,
        done: 1,
        planned: 32,
        eta_s: Some(100.0),
        service: Some(sample::trials()[1].service.clone()),
        contract: Some("hello".to_owned()),
        workload: Some("hello".to_owned()),
        step: Some("measurement".to_owned()),
        phase: None,
        throughput_per_s: Some(55_000.0),
        response_time_ns_p99: Some(3_000_000),
        workers: Vec::new(),
        lost: None,
    }
}

/// The page's tests read this file: it keeps the two sides of what is served together.
#[test]
fn the_page_tests_read_what_is_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let store = Store::open(&path).expect("opens");
    for day in 1..=8u32 {
        let mut run = sample::run();
        run.id = format!("2026-11-0{day}T08-30-00-sample");
        run.started_at = format!("2026-11-0{day}T08:30:00Z");
        let group = serde_json::json!({ "contract": "hello", "workload": "hello" });
        run.plan = serde_json::json!({ "services": sample::services(), "groups": [group] });
        store.begin_run(&run).expect("begins");
        // From the fifth run on everything is a fifth slower; before it and after it, it wobbles by some per mille.
        let level = if day < 5 { 1.0 } else { 0.8 } * (1.0 + f64::from(day * 7 % 4) / 1000.0);
        for mut trial in sample::trials() {
            if let Ok(measured) = &mut trial.result {
                measured.recording.throughput_per_s *= level;
                measured.recording.goodput_per_s *= level;
            }
            store.append_trial(&run.id, &trial).expect("appends");
        }
    }
    let server = Server::start(&path);
    let (first, last) = ("2026-11-01T08-30-00-sample", "2026-11-08T08-30-00-sample");
    let answers = serde_json::json!({
        "runs": server.json("/api/runs"),
        "answer": server.json(&format!("/api/runs/{last}/answer")),
        "services": server.json("/api/services"),
        "history": server.json("/api/history?service=rust-axum&variant=current&contract=hello"),
        "compare": server.json(&format!("/api/compare?a={first}&b={last}")),
    });
    let told = answers["answer"]["answer"].as_str().unwrap_or_default();
    assert!(told.starts_with("axum is fastest:"), "{told}");
    let compared = answers["runs"][0]["compared"].as_str().unwrap_or_default();
    assert!(compared.starts_with("axum, Go net/http,"), "{compared}");
    let change = &answers["history"][0]["changes"][0];
    assert_eq!(
        change["run"], "2026-11-05T08-30-00-sample",
        "{}",
        answers["history"]
    );
    let written = answers.to_string() + "\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/tests/served.json");
    if std::env::var_os("PRONY_WRITE_SAMPLE").is_some() {
        std::fs::write(&file, &written).expect("writes");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == written,
        "web/tests/served.json is stale: run this test with PRONY_WRITE_SAMPLE=1"
    );
}
