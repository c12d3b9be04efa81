//! Input of `prony load` from files and from curl command lines, with a server that records the requests.

use crate::common::{Request, assert_refused, json_of, prony, reply, serve, stderr_of};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A server that answers everything and records each request.
struct RecordingServer {
    url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl RecordingServer {
    fn start() -> Self {
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let noted = Arc::clone(&requests);
        let url = serve(move |request| {
            noted.lock().expect("no panic").push(request.clone());
            Some(reply("ok"))
        });
        Self { url, requests }
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no panic").clone()
    }
}

/// Files for one test.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path: PathBuf = self.0.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_str().expect("text").to_owned()
    }
}

#[test]
fn several_urls_are_loaded_by_their_weights() {
    let (server, files) = (RecordingServer::start(), Files::new());
    let list = format!(
        "# a mix\n9 GET {}/often\n1 POST /seldom {{\"a\": 1}}\n",
        server.url
    );
    let list = files.write("urls.txt", &list);
    let output = prony(&["load", "--urls", &list, "-c", "4", "-d", "300ms", "--json"]);
    let recording = json_of(&output);
    let count = |at: usize| {
        recording["operations"][at]["requests"]["offered"]
            .as_f64()
            .expect("a number")
    };
    assert_eq!(recording["operations"][1]["name"], "POST /seldom");
    let share = count(1) / (count(0) + count(1));
    assert!((0.03..0.25).contains(&share), "{share}");
    let requests = server.requests();
    assert!(
        requests
            .iter()
            .any(|request| request.head.starts_with("POST /seldom ") && request.body == "{\"a\": 1}")
    );
    for (text, more, part) in [
        ("", vec![], "no request"),
        ("GET nowhere", vec![], "line 1"),
        ("GET /a", vec![], "Add the URL of the host."),
        ("GET http://a/\nGET http://b/", vec![], "another host"),
        ("GET /a", vec!["-X", "POST"], "cannot be used"),
    ] {
        let list = files.write("bad.txt", text);
        let output = prony(&[&["load", "--urls", &list], more.as_slice()].concat());
        assert_refused(&output, part);
    }
}

#[test]
fn a_request_takes_its_places_from_one_row_of_a_table() {
    let (server, files) = (RecordingServer::start(), Files::new());
    let rows: Vec<String> = (0..200).map(|row| format!("{row},name{row}\n")).collect();
    let rows = rows.concat();
    let table = files.write("users.csv", &format!("id,name\n{rows}"));
    let url = format!("{}/users/{{id}}", server.url);
    let load = |more: &[&str]| {
        let arguments = [
            "load", &url, "--data", &table, "-X", "POST", "--body", "{name}", "-d", "300ms",
        ];
        prony(&[&arguments[..], more].concat())
    };
    let output = load(&["-c", "4", "-t", "2", "--rate", "300"]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let requests = server.requests();
    let mut seen = BTreeSet::new();
    for Request { head, body } in &requests {
        let id = head
            .split(' ')
            .nth(1)
            .and_then(|path| path.strip_prefix("/users/"))
            .expect("a path");
        assert_eq!(*body, format!("name{id}"));
        seen.insert(id.to_owned());
    }
    // About 90 requests and 200 rows: the rows are divided among the threads, so that none is used twice.
    assert_eq!(
        seen.len(),
        requests.len(),
        "a row was used twice before all were used once"
    );
    // The same as JSON Lines.
    let lines = files.write("users.jsonl", "{\"id\": 7, \"name\": \"name7\"}\n");
    let output = prony(&[
        "load", &url, "--data", &lines, "-X", "POST", "--body", "{name}", "-n", "1",
    ]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let Request { head, body } = server.requests().pop().expect("a request");
    assert!(
        head.starts_with("POST /users/7 ") && body == "name7",
        "{head} {body}"
    );
    let unknown = load(&["-H", "X-A: {colour}"]);
    assert_refused(&unknown, "id, name");
    for (name, text, part) in [
        ("empty.csv", "", "no row"),
        ("names.csv", "id,name\n", "no row"),
        ("ragged.csv", "id,name\n1\n", "line 2: it has 1 value"),
        (
            "bad.jsonl",
            "{\"id\": 1}\n\n{\"name\": 2}\n",
            "line 3: it has no `id`",
        ),
        (
            "semicolon.csv",
            "id;name\n1;2\n",
            "semicolon.csv: line 1: the columns of `id;name` are separated by semicolons: separate them by commas",
        ),
        ("tab.csv", "id\tname\n1\t2\n", "separated by tabs"),
    ] {
        let table = files.write(name, text);
        let output = prony(&["load", &url, "--data", &table]);
        assert_refused(&output, part);
    }
}

#[test]
fn a_byte_order_mark_and_empty_lines_are_no_values() {
    let (server, files) = (RecordingServer::start(), Files::new());
    let url = format!("{}/x/{{a}}", server.url);
    let feed = files.write("feed.txt", "\u{feff}1\r\n\r\n2\r\n");
    let table = files.write("table.csv", "\u{feff}a\r\n1\r\n\r\n2\r\n");
    let lines = files.write("lines.jsonl", "\u{feff}{\"a\": 1}\r\n\r\n{\"a\": 2}\r\n");
    let list = format!("\u{feff}GET {0}/x/1\r\n\r\nGET {0}/x/2\r\n", server.url);
    let list = files.write("list.txt", &list);
    for more in [
        vec![url.as_str(), "--feed", &format!("a={feed}")],
        vec![url.as_str(), "--data", &table],
        vec![url.as_str(), "--data", &lines],
        vec!["--urls", &list],
    ] {
        let output = prony(&[&["load", "-n", "20", "-c", "1"], more.as_slice()].concat());
        assert!(output.status.success(), "{}", stderr_of(&output));
        let requests = std::mem::take(&mut *server.requests.lock().expect("no panic"));
        let paths: BTreeSet<&str> = requests
            .iter()
            .filter_map(|request| request.head.split(' ').nth(1))
            .collect();
        assert_eq!(paths, BTreeSet::from(["/x/1", "/x/2"]), "{more:?}");
    }
    let empty = files.write("empty.txt", "\u{feff}\r\n\n");
    let output = prony(&["load", &url, "--feed", &format!("a={empty}")]);
    assert_refused(&output, "Write one on each line.");
}

#[test]
fn a_line_of_curl_is_taken_over() {
    let server = RecordingServer::start();
    let line = format!(
        "curl '{}/api?a=1' \\\n  -H 'X-Token: t' -H 'Connection: keep-alive' --data-raw $'{{\"it\\'s\": 1}}'",
        server.url
    );
    let output = prony(&["load", "--curl", &line, "-c", "1", "-d", "100ms"]);
    assert!(output.status.success(), "{}", stderr_of(&output));
    let Request { head, body } = server.requests().pop().expect("a request");
    assert!(head.starts_with("POST /api?a=1 HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("X-Token: t") && head.contains("x-www-form-urlencoded"),
        "{head}"
    );
    assert!(!head.contains("keep-alive"));
    assert_eq!(body, "{\"it's\": 1}");
    for (line, part) in [
        ("wget http://h", "start with `curl`"),
        ("curl http://h --nothing", "`--nothing` is not supported"),
        ("curl 'http://h", "quote"),
    ] {
        let output = prony(&["load", "--curl", line]);
        assert_refused(&output, part);
    }
}

#[test]
fn a_compressed_body_is_judged_when_it_is_decoded() {
    // `hello` in each coding; the zstd frame holds it uncompressed (RFC 8878).
    let gzip: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00\x00\x00";
    let codings: [(&str, &str, &[u8]); 4] = [
        ("/", "br", b"\x0b\x02\x80hello\x03"),
        ("/gzip", "gzip", gzip),
        ("/zstd", "zstd", b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello"),
        ("/broken", "gzip", b"no gzip"),
    ];
    let url = serve(move |request| {
        let asked = request.head.to_ascii_lowercase().contains("\naccept-encoding:");
        let path = request.head.split(' ').nth(1)?;
        let (_, coding, body) = codings.iter().find(|(of, ..)| *of == path)?;
        let body = if asked { body } else { &b"not asked"[..] };
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {length}\r\n\r\n");
        Some([head.as_bytes(), body].concat())
    });
    let load = |path: &str| -> Value {
        let url = format!("{url}{path}");
        let output = prony(&[
            "load", &url, "--decode", "--expect", "hello", "-c", "2", "-d", "200ms", "--json",
        ]);
        json_of(&output)
    };
    for (path, _, body) in &codings[..3] {
        let right = load(path);
        assert_eq!(
            right["outcomes"]["valid"], right["requests"]["offered"],
            "{right}"
        );
        let count = |name: &str| right["decoded"][name].as_u64().expect("a number");
        assert!(count("replies") > 0, "{path}");
        assert_eq!(
            count("encoded_bytes"),
            body.len() as u64 * count("replies"),
            "{path}"
        );
        assert_eq!(count("decoded_bytes"), 5 * count("replies"), "{path}");
    }
    let broken = load("/broken");
    assert_eq!(
        broken["outcomes"]["unexpected"], broken["requests"]["offered"],
        "{broken}"
    );
    let got = broken["unexpected_replies"][0]["got"]
        .as_str()
        .unwrap_or_default();
    assert!(got.contains("does not decode"), "{broken}");
}

/// An error says each thing once: no part of a message between colons is repeated.
#[test]
fn an_error_is_reported_once() {
    let (server, files) = (RecordingServer::start(), Files::new());
    let url = server.url.as_str();
    let table = files.write("t.csv", "id;name\n1;2\n");
    let ragged = files.write("r.csv", "a,b\n1\n");
    let list = files.write("l.txt", "GET nowhere\n");
    let headers = files.write("h.txt", "none\n");
    let proto = files.write("p.proto", "syntax = \"proto3\"; message");
    let sequence = files.write("s.toml", "[[step]]\nhttp = \"GET /a b\"\n");
    let space = format!("{url}/a b");
    for (arguments, part) in [
        (vec![space.as_str()], "path `/a b` cannot be sent"),
        (vec![url, "-H", "Bad Name: x"], "header `Bad Name` cannot be sent"),
        (vec![url, "-H", "A: \u{1}"], "contains a control character"),
        (
            vec![url, "-H", "Content-Length: 3"],
            "header `Content-Length` cannot be sent",
        ),
        (vec![url, "-X", "GE T"], "`GE T` is not an HTTP method"),
        (vec![url, "-H", &format!("@{headers}")], "line 1 is not a header"),
        (vec![url, "--data", &table], "separated by semicolons"),
        (vec![url, "--data", &ragged], "it has 1 value"),
        (vec![url, "--data", "/no/such.csv"], "cannot read /no/such.csv"),
        (vec!["--urls", &list], "`GET nowhere` is not a request"),
        (vec!["--curl", "curl 'http://h"], "a quote is not closed"),
        (vec!["--curl", "@/no/such.sh"], "cannot read /no/such.sh"),
        (
            vec!["--curl", "curl http://h -d @/no/such"],
            "cannot read the file `/no/such`",
        ),
        (vec![url, "--sequence", &sequence], "a space in the path"),
        (
            vec![url, "--grpc", "--method", "a.B/c", "--proto", &proto],
            "expected an identifier",
        ),
        (
            vec![url, "--grpc", "--method", "a.B/c"],
            "cannot ask the service for its methods",
        ),
        (vec![url, "--expect-body", "("], "is not a regular expression"),
        (
            vec![url, "--expect-json", "a="],
            "it must begin with a JSON pointer",
        ),
    ] {
        let output = prony(&[&["load", "-n", "1"], arguments.as_slice()].concat());
        let message = stderr_of(&output);
        assert!(!output.status.success(), "{message}");
        assert_eq!(message.matches(part).count(), 1, "{message}");
        let mut parts: Vec<&str> = message.split(": ").map(str::trim).collect();
        parts.sort_unstable();
        let count = parts.len();
        parts.dedup();
        assert_eq!(parts.len(), count, "{message}");
    }
}

#[test]
fn more_in_flight_than_any_machine_has_memory_for_is_refused() {
    for arguments in [
        &["-c", "1", "--in-flight", "4294967295"],
        &["-c", "3", "--in-flight", "2000000000"],
    ] {
        let output = prony(&[&["load", "http://127.0.0.1:9/", "-n", "1"][..], arguments].concat());
        let message = stderr_of(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("--in-flight"), "{message}");
    }
}
