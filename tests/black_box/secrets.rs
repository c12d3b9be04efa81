//! Secrets that a user gives to prony are in nothing that a command leaves behind, and texts of others do not control the terminal.

use crate::common::{Checkout, CommandOutput};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The secrets that each test plants; no other text contains them.
const HEADER: &str = "hdr-7f3a9c51-planted";
const BEARER: &str = "brr-20c4e8d6-planted";
const PASSWORD: &str = "pwd-91b5a7f0-planted";
const QUERY: &str = "qry-3d6e2b84-planted";
const COOKIE: &str = "cke-c8f04a17-planted";
/// Common to all of them.
const PLANTED: &str = "-planted";

/// A server that repeats the head of each request in a reply that is never expected, with a cookie and a token of its own.
struct Echo {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Echo {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || answer(stream, &seen));
            }
        });
        Self { port, heads }
    }

    /// The heads of the requests so far.
    fn heads(&self) -> String {
        self.heads.lock().expect("the heads").concat()
    }
}

fn answer(stream: TcpStream, seen: &Mutex<Vec<String>>) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
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
        stream.read_exact(&mut vec![0; length]).ok()?;
        seen.lock().expect("the heads").push(head.clone());
        let got = head.lines().collect::<Vec<_>>().join(" | ");
        let body = format!("{{\"token\":\"own-4c1d{PLANTED}\",\"got\":\"{got}\"}}");
        let reply = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nSet-Cookie: sid=own-77aa{PLANTED}; Path=/\r\n\
             Location: /next?access_token=own-8e2f{PLANTED}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let reply = if head.starts_with("HEAD ") {
            reply
        } else {
            reply + &body
        };
        stream.get_mut().write_all(reply.as_bytes()).ok()?;
    }
}

/// The files below a folder, and what they contain.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
        if kind.is_dir() {
            files(&path, found);
        } else if kind.is_file() {
            found.push((path.display().to_string(), std::fs::read(&path).expect("read")));
        }
    }
}

fn holds_planted(bytes: &[u8]) -> bool {
    bytes
        .windows(PLANTED.len())
        .any(|part| part == PLANTED.as_bytes())
}

/// Checks that what a command printed has no secret.
#[track_caller]
fn is_clean(output: &CommandOutput) {
    for text in [&output.out, &output.err] {
        assert!(!text.contains(PLANTED), "{text}");
        assert!(!text.contains(&basic()), "{text}");
    }
}

/// The password as it is sent.
fn basic() -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(format!("me:{PASSWORD}"))
}

/// Checks that nothing in the store and the reports of a checkout has a secret.
#[track_caller]
fn left_clean(checkout: &Checkout, runs: &[&str]) {
    for run in runs {
        let reported = checkout.prony(&["report", run, "--format", "all", "--out", "reports/all/"]);
        assert_eq!(reported.code, Some(0), "{reported:?}");
        is_clean(&reported);
        for format in ["terminal", "md", "csv", "json", "prometheus", "otlp"] {
            let reported = checkout.prony(&["report", run, "--format", format]);
            assert_eq!(reported.code, Some(0), "{reported:?}");
            is_clean(&reported);
        }
    }
    let exported = checkout.prony(&["store", "export", "-"]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    assert!(exported.out.contains("\"run\""), "{exported:?}");
    is_clean(&exported);
    let mut found = Vec::new();
    for folder in [".prony", "reports"] {
        files(&checkout.path(folder), &mut found);
    }
    assert!(found.iter().any(|(name, _)| name.ends_with("report.html")));
    for (name, bytes) in found {
        assert!(!holds_planted(&bytes), "{name}");
        assert!(!String::from_utf8_lossy(&bytes).contains(&basic()), "{name}");
    }
}

#[test]
fn planted_secrets_are_in_nothing_that_a_load_leaves_behind() {
    let (checkout, server) = (Checkout::new(1, &[]), Echo::start());
    checkout.write(
        "secret.headers",
        &format!("# of the shop\nX-Api-Key: {HEADER}\nCookie: sid={COOKIE}; theme=dark\n"),
    );
    let url = format!(
        "http://me:{PASSWORD}@127.0.0.1:{}/a?access_token={QUERY}&page=2",
        server.port
    );
    let plain = format!("http://127.0.0.1:{}/a?access_token={QUERY}", server.port);
    let load = |url: &str, switches: &[&str]| {
        let usual = ["load", url, "-n", "40", "-c", "2", "--expect", "hello"];
        let mut command = checkout.command(&[&usual[..], switches].concat());
        let ended = command.env("SHOP_TOKEN", BEARER).output().expect("prony runs");
        let ended = CommandOutput::of(&ended);
        assert_eq!(ended.code, Some(3), "every reply is another one: {ended:?}");
        is_clean(&ended);
        ended
    };
    let saved = load(&url, &["-H", "@secret.headers", "--save", "mine"]);
    assert!(saved.err.contains("Saved as `mine`"), "{saved:?}");
    let token = ["--bearer-env", "SHOP_TOKEN", "-H", "@secret.headers"];
    load(&plain, &[&token[..], &["--save", "token"]].concat());
    load(&plain, &[&token[..], &["--json", "--log", "log.jsonl"]].concat());
    load(&plain, &["-H", &format!("Authorization: Bearer {BEARER}")]);
    let heads = server.heads();
    for sent in [
        format!("Authorization: Basic {}", basic()),
        format!("Authorization: Bearer {BEARER}"),
        format!("X-Api-Key: {HEADER}"),
        format!("Cookie: sid={COOKIE}; theme=dark"),
        format!("GET /a?access_token={QUERY}&page=2 HTTP/1.1"),
        format!("Host: 127.0.0.1:{}\r\n", server.port),
    ] {
        assert!(heads.contains(&sent), "not sent: {sent} in {heads}");
    }
    let log = std::fs::read(checkout.path("log.jsonl")).expect("the log of requests");
    assert!(!holds_planted(&log));
    let again = load(&url, &["-H", "@secret.headers", "--save", "mine"]);
    assert!(again.err.contains("2 of 5"), "{again:?}");
    left_clean(&checkout, &["mine", "token"]);
}

#[test]
fn a_url_with_a_password_is_called_and_checked_and_not_shown() {
    let (checkout, server) = (Checkout::new(1, &[]), Echo::start());
    let url = format!("http://me:{PASSWORD}@127.0.0.1:{}", server.port);
    let called = checkout.prony(&["call", "hello", "hello", "--url", &url]);
    is_of(&called, &server);
    let called = checkout.prony(&["call", "hello", "hello", "--url", &url, "--json"]);
    is_of(&called, &server);
    assert!(
        called.json()["headers"]["set-cookie"] == "sid=***; Path=/",
        "{called:?}"
    );
    for switches in [&[][..], &["--json"], &["--junit", "checks.xml"]] {
        let checked = checkout.prony(&[&["check", "hello", "--url", &url][..], switches].concat());
        assert_eq!(checked.code, Some(3), "{checked:?}");
        is_clean(&checked);
    }
    let junit = std::fs::read(checkout.path("checks.xml")).expect("a file");
    assert!(!holds_planted(&junit));
    let capacity = [
        "capacity",
        &url,
        "--objective",
        "p50<1s",
        "--limit",
        "200",
        "--start",
        "200",
        "-d",
        "200ms",
        "--confirm",
        "1s",
    ];
    is_clean(&checkout.prony(&[&capacity[..], &["--json"]].concat()));
    let refused = checkout.prony(&["load", &format!("ftp://me:{PASSWORD}@127.0.0.1/")]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    is_clean(&refused);
}

/// Checks a call: the body is printed as it came, without what the user gave as a secret.
#[track_caller]
fn is_of(called: &CommandOutput, server: &Echo) {
    assert!(
        server
            .heads()
            .contains(&format!("Authorization: Basic {}", basic()))
    );
    assert!(called.out.contains("Authorization: Basic ***"), "{called:?}");
    for secret in [PASSWORD, &basic()] {
        assert!(
            !called.out.contains(secret) && !called.err.contains(secret),
            "{called:?}"
        );
    }
}

/// The service of a checkout gets a program that prints this, a text of Python, and ends.
fn dying(checkout: &Checkout, words: &str) {
    let python = format!(
        "import sys\nsys.stdout.reconfigure(encoding='utf-8')\nsys.stdout.write({words})\nsys.stdout.flush()\nsys.exit(7)\n"
    );
    checkout.write("services/toy-right/toy.py", &python);
}

#[test]
fn secrets_in_the_log_of_a_service_stay_in_its_log() {
    let checkout = Checkout::new(1, &["right"]);
    dying(
        &checkout,
        &format!(
            "'AWS_SECRET_ACCESS_KEY={HEADER}\\nAuthorization: Bearer {BEARER}\\n{{\"password\": \"{PASSWORD}\"}}\\n'"
        ),
    );
    let ended = checkout.prony(&["run", "toys"]);
    is_clean(&ended);
    let checked = checkout.prony(&["check", "toy-right", "hello"]);
    is_clean(&checked);
    assert!(checked.out.contains("Authorization: Bearer ***"), "{checked:?}");
    let exported = checkout.prony(&["store", "export", "-"]);
    assert!(exported.out.contains("AWS_SECRET_ACCESS_KEY=***"), "{exported:?}");
    is_clean(&exported);
    // The log itself is what the service printed: only its owner reads it.
    let mut logs = Vec::new();
    files(&checkout.path(".prony/log"), &mut logs);
    assert!(logs.iter().any(|(_, bytes)| holds_planted(bytes)));
    let mut names: Vec<String> = logs.into_iter().map(|(name, _)| name).collect();
    names.push(checkout.path(".prony/store.db").display().to_string());
    for name in names {
        let mode = std::fs::metadata(&name).expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{name}");
    }
}

#[test]
fn the_log_of_a_service_does_not_control_the_terminal() {
    let checkout = Checkout::new(1, &["right"]);
    dying(&checkout, r"'\x1b]0;PWNED\x07\x1b[2J\x9b2J\u202e1 passed\n'");
    for arguments in [
        &["check", "toy-right", "hello"][..],
        &["run", "toys"],
        &["check", "toy-right", "hello", "--json"],
    ] {
        let ended = checkout.prony(arguments);
        let shown = format!("{}{}", ended.out, ended.err);
        let controls = ['\x1b', '\x07', '\u{9b}', '\u{202e}'];
        assert!(!shown.contains(controls), "{ended:?}");
    }
    let shown = checkout.prony(&["check", "toy-right", "hello"]).out;
    assert!(shown.contains(r"\u001b]0;PWNED\u0007\u001b[2J"), "{shown}");
}

#[test]
fn a_header_that_cannot_be_read_is_named_without_its_text() {
    let checkout = Checkout::new(1, &[]);
    checkout.write("bad", &format!("X-A: 1\n{HEADER}\n"));
    checkout.write("control", &format!("X-A: {HEADER}\u{1}\n"));
    checkout.write("empty", "# none\n");
    let url = "http://127.0.0.1:9/";
    for (switches, part) in [
        (&["-H", "@none"][..], "-H @none: cannot read the file"),
        (&["-H", "@bad"], "bad, line 2 is not a header"),
        (
            &["-H", "@control"],
            "the value of `X-A` contains a control character",
        ),
        (&["-H", "@empty"], "the file has no header"),
        (&["-H", HEADER], "a value of -H is not a header"),
        (
            &["--bearer-env", "NO_SUCH_TOKEN"],
            "NO_SUCH_TOKEN: the environment variable is not set",
        ),
        (
            &["--bearer-env", "WORDS"],
            "WORDS: the environment variable is not a token",
        ),
        (
            &["--bearer-env", "TOKEN", "-H", "authorization: x"],
            "Remove one of them",
        ),
    ] {
        for command in [
            &["load"][..],
            &["capacity", "--objective", "p99<1s"],
            &["new", "contract", "mine", "--record"],
        ] {
            let mut prony = checkout.command(&[command, &[url], switches].concat());
            let words = format!("{HEADER} {BEARER}");
            let ended = prony.env("WORDS", words).env("TOKEN", BEARER).output();
            let ended = CommandOutput::of(&ended.expect("prony runs"));
            assert_eq!(ended.code, Some(2), "{command:?} {switches:?}: {ended:?}");
            assert!(ended.err.contains(part), "{command:?} {switches:?}: {ended:?}");
            is_clean(&ended);
        }
    }
}

#[test]
fn a_draft_has_no_secret_of_its_source() {
    let (checkout, server) = (Checkout::new(1, &[]), Echo::start());
    std::fs::remove_file(checkout.path("contracts")).expect("the link");
    checkout.write("prony.toml", "");
    checkout.write("secret.headers", &format!("X-Api-Key: {HEADER}\n"));
    let origin = format!("http://127.0.0.1:{}", server.port);
    let curl = format!(
        "curl '{origin}/a?access_token={QUERY}' -H 'Cookie: sid={COOKIE}' -H 'Authorization: Basic {}' -H 'Content-Type: application/json' \
         -d '{{\"user\":\"ada\",\"password\":\"{PASSWORD}\"}}'",
        basic()
    );
    let har = serde_json::json!({ "log": { "version": "1.2", "entries": [{
        "request": {
            "method": "POST", "url": format!("{origin}/login?api_key={QUERY}"),
            "headers": [
                { "name": "Proxy-Authorization", "value": format!("Bearer {BEARER}") },
                { "name": "X-CSRF-Token", "value": HEADER },
                { "name": "Content-Type", "value": "application/x-www-form-urlencoded" }
            ],
            "postData": { "mimeType": "application/x-www-form-urlencoded", "text": format!("user=ada&password={PASSWORD}") }
        },
        "response": { "status": 200, "content": {
            "mimeType": "application/json", "text": format!("{{\"id\":1,\"token\":\"{COOKIE}\",\"hello\":\"{HEADER}\"}}")
        } }
    }] } });
    checkout.write("shop.har", &har.to_string());
    let recorded = format!("http://me:{PASSWORD}@127.0.0.1:{}", server.port);
    for (name, arguments) in [
        ("curl", &["--curl", &curl][..]),
        ("har", &["--har", "shop.har"]),
        (
            "recorded",
            &[
                "--curl",
                &curl,
                "--record",
                &recorded,
                "--allow-writes",
                "-H",
                "@secret.headers",
            ],
        ),
        ("url", &["--record", &format!("{recorded}/a?token={QUERY}")]),
    ] {
        let ended = checkout.prony(&[&["new", "contract", name][..], arguments].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        is_clean(&ended);
        let mut found = Vec::new();
        files(&checkout.path("contracts").join(name), &mut found);
        let text: String = found
            .into_iter()
            .map(|(_, bytes)| String::from_utf8(bytes).expect("text"))
            .collect();
        assert!(
            !text.contains(PLANTED) && !text.contains(&basic()),
            "{name}: {text}"
        );
        assert!(
            text.contains("SECRET") && text.contains("Secrets were removed"),
            "{name}: {text}"
        );
        let folder = format!("contracts/{name}");
        assert_eq!(checkout.prony(&["validate", &folder]).code, Some(0), "{text}");
    }
    let sent = server.heads();
    assert!(sent.contains(&format!("X-Api-Key: {HEADER}")), "{sent}");
}
