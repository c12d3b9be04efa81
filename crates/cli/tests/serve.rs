//! `prony serve` on stores with sample runs.

use crate::made::{self, filled, keep, sample};
use prony_records::TrialRecord;
use prony_store::{Progress, Store};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// `prony serve` on a free port; it ends when this value is dropped.
struct Server {
    process: Child,
    address: String,
    token: String,
    /// The cookie that a browser has after the printed address was opened.
    cookie: String,
}

impl Server {
    fn start(store: &Path) -> Self {
        Self::with(store, &[])
    }

    fn with(store: &Path, arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_prony"))
            .args(["serve", "--port", "0"])
            .args(arguments)
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
        let (address, token) = line.trim().split_once("/?token=").expect("a token");
        let address = address.trim_start_matches("http://").to_owned();
        let mut server = Self {
            process,
            address,
            token: token.to_owned(),
            cookie: String::new(),
        };
        let (head, _) = server.ask(&format!("GET /?token={token}"), &server.host(), "");
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = cookie.and_then(|cookie| cookie.split(';').next());
        cookie.expect("a cookie").clone_into(&mut server.cookie);
        server
    }

    fn host(&self) -> String {
        format!("Host: {}\r\n", self.address)
    }

    fn bearer(&self) -> String {
        format!("{}Authorization: Bearer {}\r\n", self.host(), self.token)
    }

    /// The header lines of a browser that has opened the page.
    fn browser(&self) -> String {
        format!("{}Cookie: other=1; {}\r\n", self.host(), self.cookie)
    }

    fn connect(&self, head: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("connects");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("has a limit");
        stream.write_all(head.as_bytes()).expect("asks");
        stream
    }

    /// Sends a request with further header lines, each with its line end.
    fn ask(&self, line: &str, more: &str, body: &str) -> (String, String) {
        let length = body.len();
        let text =
            format!("{line} HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n{more}\r\n{body}");
        let mut reply = String::new();
        self.connect(&text).read_to_string(&mut reply).expect("answers");
        let (head, body) = reply.split_once("\r\n\r\n").expect("a reply");
        (head.to_ascii_lowercase(), body.to_owned())
    }

    fn get(&self, path: &str) -> (String, String) {
        self.ask(&format!("GET {path}"), &self.browser(), "")
    }

    /// Sends a request as a page of this server does; returns the status and the body.
    fn change(&self, line: &str, body: &str) -> (u16, String) {
        let (browser, own) = (self.browser(), &self.address);
        let more = format!("{browser}Origin: http://{own}\r\nContent-Type: application/json\r\n");
        let (head, body) = self.ask(line, &more, body);
        (status(&head), body)
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

fn status(head: &str) -> u16 {
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.expect("a status")
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
fn killed_runs_are_listed_without_reading_all_their_trials() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let store = Store::open(&path).expect("opens");
    let mut run = sample::run();
    run.ended_at = None;
    keep(&store, &run, &sample::trials());
    drop(store);
    // Written by an earlier version, and no longer readable.
    let database = rusqlite::Connection::open(&path).expect("opens");
    let broken = "UPDATE trial SET head = x'00' WHERE sequence < (SELECT max(sequence) FROM trial)";
    assert!(database.execute(broken, []).expect("breaks") > 1);
    drop(database);
    let listed = Server::start(&path).json("/api/runs");
    assert_eq!(listed[0]["id"], run.id.as_str(), "{listed}");
    assert_eq!(listed[0]["running"], false, "{listed}");
}

#[test]
fn only_from_here_and_only_its_own_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(&filled(folder.path()));
    let (own, id) = (&server.address, sample::run().id);
    let knows = format!(
        "Authorization: Bearer {}\r\nCookie: {}\r\n",
        server.token, server.cookie
    );
    for more in [
        format!("Host: evil.example\r\n{knows}"),
        knows.clone(),
        format!("{}Origin: http://evil.example\r\n", server.browser()),
        format!("{}Sec-Fetch-Site: same-site\r\n", server.browser()),
    ] {
        let (head, body) = server.ask("GET /api/runs", &more, "");
        assert!(
            status(&head) == 403 && !body.contains("sample"),
            "{more}: {head}\n{body}"
        );
    }
    let lines = [
        format!("DELETE /api/runs/{id}"),
        format!("PUT /api/runs/{id}/label"),
        "POST /api/changes".to_owned(),
    ];
    for line in &lines {
        for more in [
            // The request is not from a page, or from one without an origin, of another server, on another port, or with a rebound name.
            format!("Host: {own}\r\n"),
            format!("Host: {own}\r\nOrigin: null\r\n"),
            format!("Host: {own}\r\nOrigin: http://evil.example\r\n"),
            format!("Host: {own}\r\nOrigin: http://127.0.0.1:1\r\n"),
            format!("Host: {own}\r\nOrigin: http://{own}\r\nSec-Fetch-Site: same-site\r\n"),
            "Host: evil.example\r\nOrigin: http://evil.example\r\n".to_owned(),
        ] {
            let more = format!(
                "{more}Cookie: {}\r\nContent-Type: application/json\r\n",
                server.cookie
            );
            let (head, _) = server.ask(line, &more, "{\"label\":\"harmed\"}");
            assert_eq!(status(&head), 403, "{line}: {more}");
        }
    }
    // No other page may learn that it may send requests.
    let more = format!(
        "{}Origin: http://evil.example\r\nAccess-Control-Request-Method: DELETE\r\n",
        server.browser()
    );
    let (head, _) = server.ask(&lines[0].replacen("DELETE", "OPTIONS", 1), &more, "");
    assert!(
        status(&head) == 403 && !head.contains("access-control-allow"),
        "{head}"
    );
    let listed = server.json("/api/runs");
    assert_eq!(
        (&listed[0]["id"], &listed[0]["label"]),
        (&Value::from(id), &Value::Null)
    );
    assert_eq!(server.change("POST /api/runs", "{}").0, 405);
}

/// All that is served, and one that is not.
const ADDRESSES: [&str; 12] = [
    "/",
    "/run/latest",
    "/api/runs",
    "/api/runs/latest",
    "/api/runs/latest/answer",
    "/api/runs/latest/events",
    "/api/compare?a=latest&b=latest",
    "/api/rights",
    "/api/services",
    "/api/history?service=rust-axum&variant=current&contract=hello",
    "/metrics",
    "/nowhere",
];

/// Another user of the machine can set every header, but does not know the token.
#[test]
fn nothing_is_shown_or_changed_without_the_token() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = filled(folder.path());
    let server = Server::start(&path);
    let other = Server::start(&path);
    let (own, id) = (&server.address, sample::run().id);
    assert!(server.token.len() >= 32 && server.token != other.token && server.cookie != other.cookie);
    let port = own.rsplit(':').next().expect("a port");
    let guesses = [
        String::new(),
        format!("Authorization: Bearer {}\r\n", other.token),
        format!("Authorization: Bearer {}0\r\n", server.token),
        "Authorization: Bearer \r\n".to_owned(),
        format!("Cookie: prony-{port}={}\r\n", server.token),
        format!(
            "Cookie: prony-{port}={}\r\n",
            other.cookie.split('=').nth(1).expect("a value")
        ),
    ];
    let mut lines = vec![
        format!("DELETE /api/runs/{id}"),
        format!("PUT /api/runs/{id}/label"),
    ];
    for path in ADDRESSES {
        lines.push(format!("GET {path}"));
        let mark = if path.contains('?') { '&' } else { '?' };
        lines.push(format!("GET {path}{mark}token={}", other.token));
        // A program that knows it is answered.
        if !path.ends_with("/events") {
            let (head, _) = server.ask(&format!("GET {path}"), &server.bearer(), "");
            assert_eq!(
                status(&head),
                if path == "/nowhere" { 404 } else { 200 },
                "{path}"
            );
        }
    }
    for (line, guess) in lines
        .iter()
        .flat_map(|line| guesses.iter().map(move |guess| (line, guess)))
    {
        let more =
            format!("Host: {own}\r\nOrigin: http://{own}\r\nContent-Type: application/json\r\n{guess}");
        let (head, body) = server.ask(line, &more, "{\"label\":\"harmed\"}");
        assert_eq!(status(&head), 401, "{line}: {guess}");
        assert!(
            head.contains("www-authenticate: bearer") && !head.contains("set-cookie"),
            "{head}"
        );
        assert!(
            !body.contains("sample") && body.contains("that `prony serve` printed"),
            "{body}"
        );
    }
    // Data is for pages and programs: an address of it with the token gives no cookie.
    let (head, _) = server.ask(
        &format!("GET /api/runs?token={}", server.token),
        &server.host(),
        "",
    );
    assert_eq!(status(&head), 401, "{head}");
    assert_eq!(server.json("/api/runs")[0]["label"], Value::Null);
}

#[test]
fn the_printed_address_gives_a_cookie_and_disappears() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(&filled(folder.path()));
    let line = format!("GET /compare?a=x&token={}&b=y", server.token);
    // As from a link in a terminal that is itself a page.
    let more = format!("{}Sec-Fetch-Site: cross-site\r\n", server.host());
    let (head, body) = server.ask(&line, &more, "");
    assert_eq!(status(&head), 200, "{head}");
    let cookie = head
        .lines()
        .find(|line| line.starts_with("set-cookie:"))
        .expect("a cookie");
    assert!(
        cookie.ends_with("; path=/; httponly; samesite=strict"),
        "{cookie}"
    );
    assert!(!cookie.contains(&server.token), "{cookie}");
    assert!(
        body.contains("content=\"0; url=/compare?a=x&amp;b=y\"") && !body.contains(&server.token),
        "{body}"
    );
}

#[test]
fn a_program_uses_the_token_of_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, file) = (filled(folder.path()), folder.path().join("token"));
    let arguments = ["--token-file", file.to_str().expect("text")];
    let first = Server::with(&path, &arguments);
    let token = std::fs::read_to_string(&file).expect("it was created");
    assert_eq!(token.trim(), first.token);
    drop(first);
    let server = Server::with(&path, &arguments);
    assert_eq!(server.token, token.trim());
    let (head, body) = server.ask("GET /metrics", &server.bearer(), "");
    assert!(status(&head) == 200 && body.contains("prony_"), "{head}\n{body}");
    let id = sample::run().id;
    let (head, _) = server.ask(&format!("DELETE /api/runs/{id}"), &server.bearer(), "");
    assert_eq!(status(&head), 204, "a program has no origin");
    std::fs::write(&file, "short").expect("writes");
    let refused = made::prony(&path, &["serve", "--port", "0", "--token-file", "token"]);
    let reason = String::from_utf8_lossy(&refused.stderr);
    assert!(
        refused.status.code() == Some(2) && reason.contains("has no token"),
        "{reason}"
    );
}

#[test]
fn names_are_checked_wherever_it_listens() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = filled(folder.path());
    for (listen, allowed, refused) in [
        ("127.0.0.1", "localhost:1", "192.0.2.1:1"),
        ("0.0.0.0", "192.0.2.1:1", "evil.example"),
        ("127.0.0.1", "Bench.example:1", "evil.bench.example"),
    ] {
        let server = Server::with(&path, &["--listen", listen, "--allow-host", "bench.example"]);
        let knows = format!("Authorization: Bearer {}\r\n", server.token);
        let asked = |host: &str| {
            status(
                &server
                    .ask("GET /api/runs", &format!("Host: {host}\r\n{knows}"), "")
                    .0,
            )
        };
        assert_eq!((asked(allowed), asked(refused)), (200, 403), "{listen}");
    }
    let wrong = made::prony(
        &path,
        &["serve", "--port", "0", "--allow-host", "http://bench.example"],
    );
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn beyond_loopback_it_only_shows() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::with(&filled(folder.path()), &["--listen", "0.0.0.0"]);
    let id = sample::run().id;
    assert_eq!(server.json("/api/rights")["change"], false);
    let (status, message) = server.change(&format!("DELETE /api/runs/{id}"), "");
    assert!(
        status == 405 && message.contains("is read-only"),
        "{status} {message}"
    );
    let bearer = server.bearer();
    assert!(
        server
            .ask(&format!("DELETE /api/runs/{id}"), &bearer, "")
            .0
            .contains(" 405 ")
    );
    assert_eq!(server.json("/api/runs")[0]["id"], id.as_str());
}

#[test]
fn a_run_gets_a_label() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = filled(folder.path());
    let server = Server::start(&path);
    assert_eq!(server.json("/api/rights")["change"], true);
    let id = sample::run().id;
    let line = format!("PUT /api/runs/{id}/label");
    let (status, message) = server.change(&line, "{\"label\":\" before the <b>fix</b> \"}");
    assert_eq!(status, 204, "{message}");
    for label in [
        &server.json("/api/runs")[0]["label"],
        &server.json(&format!("/api/runs/{id}"))["label"],
    ] {
        assert_eq!(label, "before the <b>fix</b>");
    }
    let listed = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["list", "runs"])
        .env("PRONY_STORE", &path)
        .current_dir(folder.path())
        .output()
        .expect("runs");
    let shown = String::from_utf8_lossy(&listed.stdout);
    assert!(shown.contains("before the <b>fix</b>"), "{shown}");
    let long = format!("{{\"label\":\"{}\"}}", "x".repeat(81));
    let (status, message) = server.change(&line, &long);
    assert!(
        status == 400 && message.contains("at most 80"),
        "{status} {message}"
    );
    assert_eq!(
        server
            .change("PUT /api/runs/nowhere/label", "{\"label\":\"x\"}")
            .0,
        404
    );
    // A part of the name is enough to show a run, but not to change it.
    assert_eq!(
        server.change("PUT /api/runs/latest/label", "{\"label\":\"x\"}").0,
        404
    );
    assert_eq!(server.change(&line, "{\"label\":\"\"}").0, 204);
    assert_eq!(server.json("/api/runs")[0]["label"], Value::Null);
}

#[test]
fn a_run_is_deleted_unless_it_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = filled(folder.path());
    let store = Store::open(&path).expect("opens");
    keep(&store, &made::going_on(), &[]);
    let server = Server::start(&path);
    let id = sample::run().id;
    let answer = server.json(&format!("/api/runs/{id}/answer"));
    assert!(answer["answer"].is_string(), "{answer}");
    // A recently active run, and one that ended but is being measured again.
    let lock = store.lock_run(&id).expect("free");
    for run in ["next", &id] {
        let (status, message) = server.change(&format!("DELETE /api/runs/{run}"), "");
        assert!(
            status == 409 && message.contains("is being measured"),
            "{status} {message}"
        );
    }
    drop(lock);
    assert_eq!(server.json("/api/runs").as_array().map(Vec::len), Some(2));
    assert_eq!(server.change("DELETE /api/runs/latest", "").0, 404);
    assert_eq!(server.change(&format!("DELETE /api/runs/{id}"), "").0, 204);
    let (head, _) = server.get(&format!("/api/runs/{id}"));
    assert_eq!(status(&head), 404);
    let (head, _) = server.get(&format!("/api/runs/{id}/answer"));
    assert_eq!(status(&head), 404);
    assert_eq!(server.json("/api/runs")[0]["id"], "next");
    assert_eq!(server.json("/api/services").as_array().map(Vec::len), Some(0));
    assert_eq!(server.change(&format!("DELETE /api/runs/{id}"), "").0, 404);
}

#[test]
fn progress_of_a_run_is_streamed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let store = Store::open(&path).expect("opens");
    let now = humantime::format_rfc3339(std::time::SystemTime::now()).to_string();
    let mut run = sample::run();
    (run.started_at, run.ended_at) = (now.clone(), None);
    store.begin_run(&run).expect("begins");
    let server = Server::start(&path);
    let head = format!("GET /api/runs/latest/events HTTP/1.1\r\n{}\r\n", server.browser());
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
        spent_s: 1.5,
    }
}

#[test]
fn errors_have_the_form_of_what_was_requested() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(&filled(folder.path()));
    for (path, code, reason) in [
        ("/foo", 404, "there is no /foo on this server"),
        ("/run/%E0%A4%A", 400, "UTF-8"),
        ("/run/a/b/c", 404, "there is no /run/a/b/c"),
    ] {
        let (head, body) = server.get(path);
        assert_eq!(status(&head), code, "{path}: {head}");
        assert!(
            head.contains("text/html") && body.contains("<h1>") && body.contains(reason),
            "{path}: {body}"
        );
    }
    for (path, code) in [
        ("/api/nothing", 404),
        ("/api/runs/none", 404),
        ("/api/history", 400),
        ("/api/compare?a=1", 400),
        ("/api/runs/%E0%A4%A", 400),
    ] {
        let (head, body) = server.get(path);
        assert_eq!(status(&head), code, "{path}: {head}");
        let error: Value = serde_json::from_str(&body).expect("JSON");
        assert!(
            error["error"].as_str().is_some_and(|reason| !reason.is_empty()),
            "{path}: {body}"
        );
    }
    let (head, body) = server.ask("GET /api/runs", &server.host(), "");
    assert!(
        status(&head) == 401 && body.contains("\"error\":\"the token is missing"),
        "{head}\n{body}"
    );
}

#[test]
fn replies_are_compressed_and_need_not_be_loaded_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(&filled(folder.path()));
    let header = |head: &str, name: &str| {
        let line = head
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.map(str::to_owned)
    };
    let ask = |path: &str, more: &str| {
        server.ask(&format!("GET {path}"), &format!("{}{more}", server.browser()), "")
    };
    for path in ["/", "/api/runs/latest"] {
        let (head, body) = ask(path, "");
        assert_eq!(header(&head, "content-encoding"), None);
        assert_eq!(
            header(&head, "cache-control").as_deref(),
            Some("private, no-cache")
        );
        let whole = body.len();
        // Compressed bytes are no text.
        let text = format!(
            "GET {path} HTTP/1.1\r\nConnection: close\r\nAccept-Encoding: gzip\r\n{}\r\n",
            server.browser()
        );
        let mut reply = Vec::new();
        server.connect(&text).read_to_end(&mut reply).expect("answers");
        let end = reply
            .windows(4)
            .position(|bytes| bytes == b"\r\n\r\n")
            .expect("a head");
        let head = String::from_utf8_lossy(&reply[..end]).to_ascii_lowercase();
        assert_eq!(
            header(&head, "content-encoding").as_deref(),
            Some("gzip"),
            "{head}"
        );
        assert_eq!(
            header(&head, "vary").as_deref(),
            Some("accept-encoding"),
            "{head}"
        );
        assert!(
            2 * (reply.len() - end) < whole,
            "{path}: {} of {whole} bytes",
            reply.len() - end
        );
        let tag = header(&head, "etag").expect("a tag").replacen("w/", "W/", 1);
        let (head, body) = ask(path, &format!("If-None-Match: \"other\", {tag}\r\n"));
        assert!(status(&head) == 304 && body.is_empty(), "{path}: {head}");
        if path != "/" {
            let id = sample::run().id;
            assert_eq!(
                server
                    .change(&format!("PUT /api/runs/{id}/label"), "{\"label\":\"new\"}")
                    .0,
                204
            );
            let (head, _) = ask(path, &format!("If-None-Match: {tag}\r\n"));
            assert_eq!(status(&head), 200, "its label is new");
        }
    }
    let (head, _) = ask("/api/runs", "");
    assert_eq!(header(&head, "cache-control").as_deref(), Some("no-store"));
}

#[test]
fn one_request_has_the_results_of_all_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = filled(folder.path());
    let store = Store::open(&path).expect("opens");
    let mut other = sample::run();
    other.id = "another".to_owned();
    keep(&store, &other, &sample::trials());
    let server = Server::start(&path);
    let (head, body) = server.get("/api/answers");
    assert!(head.contains("application/x-ndjson"), "{head}");
    let lines: Vec<Value> = body
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let mut runs: Vec<&str> = lines.iter().filter_map(|line| line["run"].as_str()).collect();
    runs.sort_unstable();
    let id = sample::run().id;
    assert_eq!(runs, [id.as_str(), "another"]);
    for line in &lines {
        let answer = line["answer"].as_str().unwrap_or_default();
        assert!(
            answer.starts_with("rust-axum/current leads") || answer.starts_with("axum leads"),
            "{line}"
        );
    }
}

#[test]
fn a_change_is_accepted_with_a_note() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = filled(folder.path());
    let id = sample::run().id;
    let change = |note: &str| {
        let service =
            serde_json::json!({ "service": "rust-axum", "variant": "current", "contract": "hello" });
        let mut change = serde_json::json!({
            "workload": "hello", "load_id": "0123456789ab", "metric": "goodput_per_s", "run": id, "note": note,
        });
        change
            .as_object_mut()
            .expect("an object")
            .extend(service.as_object().cloned().expect("an object"));
        change.to_string()
    };
    let query = "/api/changes?service=rust-axum&variant=current&contract=hello";
    {
        let server = Server::start(&path);
        assert_eq!(server.json(query), serde_json::json!([]));
        assert_eq!(
            server
                .change("POST /api/changes", &change(" TLS is on since then "))
                .0,
            204
        );
        let (code, body) = server.change("POST /api/changes", &change(&"x".repeat(201)));
        assert!(code == 400 && body.contains("at most 200 letters"), "{body}");
        let unknown = change("note").replace(&id, "unknown");
        assert_eq!(server.change("POST /api/changes", &unknown).0, 404);
    }
    // Another process reads it from the store.
    let server = Server::start(&path);
    let kept = server.json(query);
    assert_eq!(kept[0]["note"], "TLS is on since then");
    assert_eq!(kept[0]["run"], id.as_str());
    assert_eq!(
        server.json(&query.replace("rust-axum", "other")),
        serde_json::json!([])
    );
    assert_eq!(server.change("POST /api/changes", &change("")).0, 204);
    assert_eq!(server.json(query), serde_json::json!([]));
    // The note of a deleted run disappears with it.
    assert_eq!(server.change("POST /api/changes", &change("again")).0, 204);
    assert_eq!(server.change(&format!("DELETE /api/runs/{id}"), "").0, 204);
    assert_eq!(server.json(query), serde_json::json!([]));
}

/// The tests of the page read this file, which keeps the server and the page consistent.
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
        // From the fifth run on everything is 20 % slower; before and after that it varies by some tenths of a percent.
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
        "rights": server.json("/api/rights"),
        "runs": server.json("/api/runs"),
        "answer": server.json(&format!("/api/runs/{last}/answer")),
        "services": server.json("/api/services"),
        "history": server.json("/api/history?service=rust-axum&variant=current&contract=hello"),
        "compare": server.json(&format!("/api/compare?a={first}&b={last}")),
    });
    let message = answers["answer"]["answer"].as_str().unwrap_or_default();
    assert!(message.starts_with("axum leads:"), "{message}");
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

/// A saved load under a name, with the trials of one service that are given.
fn saved(store: &Store, name: &str, target: &str, day: u32, trials: &[TrialRecord]) {
    let mut run = sample::run();
    name.clone_into(&mut run.id);
    "load".clone_into(&mut run.suite);
    run.started_at = format!("2026-11-{day:02}T08:30:00Z");
    run.plan = serde_json::json!({ "target": target });
    keep(store, &run, trials);
}

/// The trials of the first service under a closed load, at this share of its usual rate.
fn of_one(level: f64) -> Vec<TrialRecord> {
    let mut trials = sample::trials();
    trials.retain(|trial| trial.service.service == "rust-axum" && trial.load["kind"] == "closed");
    for measured in trials.iter_mut().filter_map(|trial| trial.result.as_mut().ok()) {
        measured.recording.throughput_per_s *= level;
        measured.recording.goodput_per_s *= level;
    }
    trials
}

const HISTORY: &str = "/api/history?service=rust-axum&variant=current&contract=hello";

#[test]
fn runs_in_other_circumstances_are_no_change_of_a_service() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let store = Store::open(&path).expect("opens");
    for day in 1..=8 {
        let mut run = sample::run();
        run.id = format!("r{day}");
        run.started_at = format!("2026-11-0{day}T08:30:00Z");
        let level = if day < 5 { 1.0 } else { 0.7 };
        if day < 5 {
            run.environment.cpu.model = Some("another CPU".to_owned());
            run.environment.prony = "0.0.1".to_owned();
        }
        keep(&store, &run, &of_one(level * (1.0 + f64::from(day % 3) / 1000.0)));
    }
    let history = Server::start(&path).json(HISTORY);
    let line = &history[0];
    assert_eq!(line["changes"], serde_json::json!([]), "{line}");
    let alike: Vec<bool> = line["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| run["alike"] == true)
        .collect();
    assert_eq!(
        alike,
        [false, false, false, false, true, true, true, true],
        "{line}"
    );
    let differences = line["runs"][0]["differences"].to_string();
    assert!(
        differences.contains("version of prony: 0.0.1 in the base")
            && differences.contains("CPU: another CPU"),
        "{differences}"
    );
}

#[test]
fn loads_of_other_targets_and_other_loads_have_histories_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let store = Store::open(&path).expect("opens");
    for day in 1..=4 {
        saved(&store, &format!("a{day}"), "http://one/", day, &of_one(1.0));
        saved(
            &store,
            &format!("b{day}"),
            "http://other/",
            10 + day,
            &of_one(0.5),
        );
    }
    let mut paused = of_one(0.3);
    for trial in &mut paused {
        trial.load["think_ns"] = 200_000_000.into();
    }
    saved(&store, "paused", "http://other/", 20, &paused);
    let server = Server::start(&path);
    let history = server.json(HISTORY);
    let lines: Vec<(String, usize)> = history
        .as_array()
        .expect("lines")
        .iter()
        .map(|line| {
            let runs = line["runs"].as_array().expect("runs");
            (format!("{} {}", line["target"], line["load_text"]), runs.len())
        })
        .collect();
    let closed = "\"closed loop on 64 connections";
    assert_eq!(
        lines,
        [
            (format!("\"http://one/\" {closed}\""), 4),
            (format!("\"http://other/\" {closed}\""), 4),
            (
                format!("\"http://other/\" {closed}, with a pause of 200 ms after each reply\""),
                1
            ),
        ]
    );
}

/// Names of saved loads are exported one by one, and each sample has labels of its own, whatever differs in the loads of a name.
#[test]
fn metrics_have_all_saved_loads_and_separate_their_loads() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let store = Store::open(&path).expect("opens");
    let mut trials = of_one(1.0);
    let changes: [fn(&mut Value); 3] = [
        |load| load["think_ns"] = 200_000_000.into(),
        |load| load["growth"] = serde_json::json!({ "from": 1, "over_ns": 900_000_000 }),
        |load| load["growth"] = serde_json::json!({ "from": 1, "over_ns": 900_000_001 }),
    ];
    for (index, change) in (1..).zip(changes) {
        for mut trial in of_one(1.0) {
            trial.number += 100 * index;
            change(&mut trial.load);
            trials.push(trial);
        }
    }
    saved(&store, "first", "http://one/", 1, &trials);
    saved(&store, "second", "http://one/", 2, &of_one(1.0));
    let (_, text) = Server::start(&path).get("/metrics");
    let samples: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("prony_trials{"))
        .collect();
    let labels: BTreeSet<&str> = samples
        .iter()
        .filter_map(|line| Some(line.rsplit_once(' ')?.0))
        .collect();
    assert_eq!((samples.len(), labels.len()), (5, 5), "{samples:#?}");
    let of = |run: &str| samples.iter().filter(|line| line.contains(run)).count();
    assert_eq!(
        (of("run=\"first\""), of("run=\"second\"")),
        (4, 1),
        "{samples:#?}"
    );
}

#[test]
fn a_name_that_grows_is_shown_as_it_is_now() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let store = Store::open(&path).expect("opens");
    let trials = of_one(1.0);
    saved(&store, "before", "http://one/", 1, &trials[..2]);
    let server = Server::start(&path);
    let both = || {
        let (_, metrics) = server.get("/metrics");
        let trials = metrics.lines().find(|line| line.starts_with("prony_trials{"));
        let trials = trials
            .and_then(|line| line.rsplit_once(' '))
            .map(|(_, trials)| trials.to_owned());
        (trials, server.json("/api/runs/before/answer"))
    };
    let (count, answer) = both();
    assert_eq!(count.as_deref(), Some("2"));
    for mut trial in trials[2..].iter().cloned() {
        let measured = trial.result.as_mut().expect("measured");
        measured.recording.goodput_per_s *= 2.0;
        store.append_trial("before", &trial).expect("appends");
    }
    let ended = sample::run().ended_at.expect("ended");
    store.extend_run("before", 4, &ended).expect("grows");
    let (grown, now) = both();
    assert_eq!(grown.as_deref(), Some("4"));
    assert_ne!(answer, now);
}
