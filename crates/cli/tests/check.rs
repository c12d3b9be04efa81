//! `prony check --url` and `prony backend`.

use crate::common::{self, assert_refused, stderr_of};
use crate::ports;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

/// Starts a server of `hello` whose greeting is `body`, for the lifetime of the test process.
fn server(body: &'static str) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream, body));
        }
    });
    address
}

fn serve(stream: TcpStream, greeting: &str) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let (method, target) = line.split_once(' ')?;
        let path = target.split([' ', '?']).next()?.replace("%69", "i");
        let method = method.to_owned();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            if header == "\r\n" {
                break;
            }
            let lower = header.to_lowercase();
            length = lower
                .strip_prefix("content-length:")
                .map_or(Some(length), |text| text.trim().parse().ok())?;
        }
        let mut sent = vec![0; length];
        reader.read_exact(&mut sent).ok()?;
        let (status, text) = match (path.as_str(), method.as_str()) {
            ("/api/test", "GET" | "HEAD") => (200, greeting),
            ("/api/test", _) => (405, ""),
            _ => (404, ""),
        };
        let size = text.len();
        let shown = if method == "HEAD" { "" } else { text };
        let head = format!(
            "HTTP/1.1 {status} X\r\nContent-Type: text/plain\r\nContent-Length: {size}\r\n\r\n{shown}"
        );
        writer.write_all(head.as_bytes()).ok()?;
    }
}

fn prony(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("NO_COLOR", "1")
        .output()
        .expect("prony runs")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_right_server_passes() {
    let url = format!("http://{}", server("Hello, World!"));
    let output = prony(&["check", "--url", &url, "hello", "--seed", "5"]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}{}",
        out(&output),
        stderr_of(&output)
    );
    assert!(
        out(&output).contains(" cases passed, 0 failed"),
        "{}",
        out(&output)
    );
    assert!(out(&output).contains("No Date header in "), "{}", out(&output));
    assert!(stderr_of(&output).contains("seed 5"), "{}", stderr_of(&output));
}

#[test]
fn a_wrong_server_fails_with_code_3_and_a_reason() {
    let url = format!("http://{}", server("Hello, World!\n"));
    let folder = tempfile::tempdir().expect("a folder");
    let junit = folder.path().join("check.xml");
    let junit = junit.to_str().expect("UTF-8");
    let output = prony(&["check", "--url", &url, "hello", "--junit", junit]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr_of(&output));
    let text = out(&output);
    for part in [
        "✗",
        "GET /api/test",
        "an extra newline at the end",
        "expected  Hello, World!",
        "got       Hello, World!\\n",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    let xml = std::fs::read_to_string(junit).expect("JUnit XML");
    assert!(
        xml.contains("<testsuites") && xml.contains("an extra newline at the end"),
        "{xml}"
    );
}

#[test]
fn json_is_printed_to_standard_output_only() {
    let url = format!("http://{}", server("Hello, World"));
    let output = prony(&["check", "--url", &url, "hello", "--json"]);
    assert_eq!(output.status.code(), Some(3));
    let json: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(json["schema"], 2);
    let row = &json["services"][0];
    assert_eq!(
        (row["contract"].as_str(), row["passed"].as_bool()),
        (Some("hello"), Some(false))
    );
    assert_eq!(
        (row["service"].as_str(), row["unavailable"].is_null()),
        (Some(url.as_str()), true)
    );
    let failure = &row["failures"][0];
    assert_eq!(failure["case"], "keep-alive");
    assert_eq!(failure["got"], "Hello, World");
    assert!(
        failure["expected"]
            .as_str()
            .is_some_and(|text| text.ends_with("Hello, World!")),
        "{failure}"
    );
    assert!(
        row["warnings"]
            .as_array()
            .is_some_and(|warnings| !warnings.is_empty())
    );
}

/// The contract of a shop: a read, a write, and a search by POST that changes nothing.
const SHOP: &str = r#"
format = 1

[operation.listItems]
http = "GET /items"
expect = { status = 200 }

[operation.createItem]
http = "POST /items"
json = { name = "a" }
expect = { status = 200 }

[operation.searchItems]
http = "POST /search"
safe = SAFE
json = { name = "a" }
expect = { status = 200 }

[operation.logout]
http = "GET /logout"
safe = false
expect = { status = 200 }

[[case]]
name = "a new item"
call = { operation = "createItem" }

[workload.all]
mix = [{ operation = "listItems" }, { operation = "createItem" }]
load = { kind = "closed", connections = 2 }
"#;

/// A server of that shop, and the requests that it got.
fn shop() -> (String, Arc<Mutex<BTreeSet<String>>>) {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let kept = Arc::clone(&seen);
    let url = common::serve(move |request| {
        let line = request.head.lines().next()?;
        let (method, target) = line.split_once(' ')?;
        let path = target
            .split([' ', '?'])
            .next()?
            .replace("%73", "s")
            .replace("%74", "t")
            .replace("%68", "h");
        kept.lock().ok()?.insert(format!("{method} {path}"));
        let status = match (method, path.as_str()) {
            ("GET" | "HEAD", "/items" | "/logout") | ("POST", "/items" | "/search") => "200 OK",
            (_, "/items" | "/logout" | "/search") => "405 Method Not Allowed",
            _ => "404 Not Found",
        };
        let body = if method == "HEAD" { "" } else { "a" };
        Some(format!("HTTP/1.1 {status}\r\nContent-Length: 1\r\n\r\n{body}").into_bytes())
    });
    (url, seen)
}

#[test]
fn requests_that_may_change_data_need_a_switch() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("shop");
    std::fs::create_dir(&own).expect("a folder");
    let file = own.join("contract.toml");
    let own = own.to_str().expect("UTF-8");
    let check = |safe: &str, more: &[&str]| {
        std::fs::write(&file, SHOP.replace("SAFE", safe)).expect("written");
        let (url, seen) = shop();
        let output = prony(&[&["check", "--url", &url, own, "--json"], more].concat());
        let json: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        let sent = seen.lock().expect("a lock").clone();
        (output, json["services"][0].clone(), sent)
    };
    let is_read = |line: &&String| line.starts_with("GET /") || line.starts_with("HEAD /");
    let (output, row, sent) = check("false", &[]);
    assert_eq!(output.status.code(), Some(0), "{row}");
    assert!(sent.iter().all(|line| is_read(&line)), "{sent:?}");
    assert!(
        sent.contains("GET /items") && !sent.contains("GET /logout"),
        "{sent:?}"
    );
    assert_eq!(
        row["skipped"],
        json!([
            "createItem",
            "searchItems",
            "logout",
            "a new item",
            "chunked body",
            "wrong method"
        ]),
    );
    assert!(
        stderr_of(&output).contains("sending only GET, HEAD, OPTIONS"),
        "{}",
        stderr_of(&output)
    );
    let (_, row, sent) = check("true", &[]);
    let others: Vec<&String> = sent.iter().filter(|line| !is_read(line)).collect();
    assert_eq!(others, ["POST /search"], "{row}");
    let (output, row, sent) = check("false", &["--allow-writes"]);
    assert_eq!(output.status.code(), Some(0), "{row}");
    assert!(row.get("skipped").is_none(), "{row}");
    for line in ["POST /items", "POST /search", "GET /logout", "DELETE /items"] {
        assert!(sent.contains(line), "{line}: {sent:?}");
    }
}

#[test]
fn a_check_that_may_send_nothing_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let contract = "format = 1\n[operation.create]\nhttp = \"POST /items\"\nexpect.status = 200\n\
                    [workload.all]\nmix = [{ operation = \"create\" }]\nload = { kind = \"closed\", connections = 1 }\n";
    std::fs::write(folder.path().join("contract.toml"), contract).expect("written");
    let (url, seen) = shop();
    let output = prony(&["check", "--url", &url, folder.path().to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr_of(&output));
    assert!(seen.lock().expect("a lock").is_empty());
}

#[test]
fn a_refused_connection_is_a_failure() {
    let url = format!("http://127.0.0.1:{}", ports::reserved());
    let output = prony(&["check", "--url", &url, "hello"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr_of(&output));
    assert!(out(&output).contains("no connection"), "{}", out(&output));
}

#[test]
fn bad_input_exits_with_code_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("toy");
    std::fs::create_dir(&own).expect("a folder");
    std::fs::write(own.join("contract.toml"), "name = \"toy\"\ntitel = \"Toy\"\n").expect("written");
    let own = own.to_str().expect("UTF-8");
    let url = "http://127.0.0.1:9";
    for (arguments, part) in [
        (
            vec!["check", "--url", url, "nothing"],
            "no contract `nothing`: known contracts are account, catalog, echo, events, files, files-precompressed,",
        ),
        (vec!["check", "--url", url, own], "error: unknown key `titel`"),
        (
            vec!["check", "--url", "ftp://127.0.0.1:9", "hello"],
            "http and https here, not ftp",
        ),
        (
            vec!["check", "--url", url, "hello", "--cacert", own],
            "Write it as https://",
        ),
        (vec!["check", "go-nethttp", "--insecure"], "service.toml"),
        (
            vec!["check", "--url", "http://127.0.0.1:9/api", "hello"],
            "Remove `/api` from the URL",
        ),
        (
            vec!["check", "--url", url, "hello", "--protocol", "grpc"],
            "it supports http, http2",
        ),
        (vec!["check"], "services are here: name one"),
        (vec!["check", "no-such-service"], "no-such-service"),
        (vec!["check", "go-nethttp", "nothing"], "nothing"),
    ] {
        let output = prony(&arguments);
        assert_refused(&output, part);
    }
}

#[test]
fn the_backend_prints_its_address_and_ends_on_term() {
    let mut backend = Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(["backend", "--delay", "1ms"])
        // Shells set this to the name of the machine.
        .env("HOST", "a-machine")
        .env("PORT", "none")
        .stdout(Stdio::piped())
        .spawn()
        .expect("prony runs");
    let mut line = String::new();
    BufReader::new(backend.stdout.take().expect("piped"))
        .read_line(&mut line)
        .expect("a line");
    let authority = line.trim().strip_prefix("http://").expect("a URL").to_owned();
    let mut stream = TcpStream::connect(&authority).expect("it listens");
    stream
        .write_all(b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .expect("sent");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("a reply");
    assert!(
        reply.starts_with("HTTP/1.1 204 ") && reply.contains("prony-digest: "),
        "{reply}"
    );
    let killed = Command::new("kill")
        .args(["-TERM", &backend.id().to_string()])
        .status()
        .expect("kill is needed");
    assert!(killed.success());
    assert!(backend.wait().expect("it ends").success());
}
