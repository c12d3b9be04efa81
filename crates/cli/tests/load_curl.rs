//! `prony load --curl` sends what curl sends for the same line: both send it to one server, which records the bytes.
//!
//! Equal are the request line, all headers that the command sets, and the body. Not compared is what each program writes by itself:
//! `Host`, `Connection`, `Content-Length`, `Transfer-Encoding`, `Expect`, `User-Agent: curl/…`, `Accept: */*` and the codings of
//! `Accept-Encoding`. Boundaries of forms are replaced by one word, and hexadecimal digits in targets are upper-case: in a query, curl
//! sends letters beyond ASCII as they are, and prony as `%XX`.

use crate::common::{assert_refused, listen, prony, shown, stderr_of};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

/// Lines that are generated in addition to the written ones.
const GENERATED: usize = 60;
const SEED: u64 = 7;

/// A request as bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct RawRequest {
    line: String,
    /// Names in lowercase, in their order.
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// A server that records requests.
struct Recorder {
    port: u16,
    requests: Arc<Mutex<Vec<RawRequest>>>,
}

impl Recorder {
    fn start() -> Self {
        let requests: Arc<Mutex<Vec<RawRequest>>> = Arc::default();
        let noted = Arc::clone(&requests);
        let port = listen(move |stream| record(stream, &noted));
        Self { port, requests }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn take(&self) -> Vec<RawRequest> {
        std::mem::take(&mut *self.requests.lock().expect("no panic"))
    }
}

fn record(stream: TcpStream, requests: &Mutex<Vec<RawRequest>>) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let request = read(&mut stream)?;
        let is_last = request
            .headers
            .iter()
            .any(|(name, value)| name == "connection" && value == "close");
        requests.lock().expect("no panic").push(request);
        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        stream.get_mut().write_all(reply).ok()?;
        if is_last {
            return None;
        }
    }
}

fn line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = Vec::new();
    stream
        .read_until(b'\n', &mut line)
        .ok()
        .filter(|read| *read > 0)?;
    // Bytes beyond ASCII, which curl sends as they are, become `%XX`.
    let line = line.trim_ascii_end().iter().map(|byte| match byte {
        0x80.. => format!("%{byte:02X}"),
        byte => char::from(*byte).to_string(),
    });
    Some(line.collect())
}

fn read(stream: &mut BufReader<TcpStream>) -> Option<RawRequest> {
    let mut request = RawRequest {
        line: line(stream)?,
        ..RawRequest::default()
    };
    loop {
        let line = line(stream)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        let pair = (name.to_ascii_lowercase(), value.trim().to_owned());
        request.headers.push(pair);
    }
    let header = |wanted: &str| {
        let mut headers = request.headers.iter();
        headers
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value.as_str())
    };
    if header("expect").is_some() {
        stream
            .get_mut()
            .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
            .ok()?;
    }
    let length = header("content-length").map_or(0, |length| length.parse().expect("a length"));
    request.body = vec![0; length];
    stream.read_exact(&mut request.body).ok()?;
    Some(request)
}

/// Bytes with a word in the place of each boundary.
fn replaced(bytes: &[u8], boundary: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), bytes);
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(boundary) {
            out.extend_from_slice(b"BOUNDARY");
            rest = after;
        } else {
            out.push(*first);
            rest = after;
        }
    }
    out
}

/// The request without what a program writes by itself.
fn comparable(mut request: RawRequest, has_codings: bool) -> RawRequest {
    const OWN: [&str; 5] = [
        "host",
        "connection",
        "content-length",
        "transfer-encoding",
        "expect",
    ];
    request.headers.retain(|(name, value)| {
        !(OWN.contains(&name.as_str())
            || name == "user-agent" && value.starts_with("curl/")
            || name == "accept" && value == "*/*"
            || name == "accept-encoding" && has_codings)
    });
    for (name, value) in &mut request.headers {
        if let Some((kind, boundary)) = value.split_once("; boundary=").filter(|_| name == "content-type") {
            request.body = replaced(&request.body, boundary.as_bytes());
            *value = format!("{kind}; boundary=BOUNDARY");
        }
    }
    request.headers.sort();
    let mut parts = request.line.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    request.line = parts.fold(first, |line, part| {
        let (digits, rest) = part.split_at(part.len().min(2));
        format!("{line}%{}{rest}", digits.to_ascii_uppercase())
    });
    request
}

/// Lines with what each switch does; `URL` is the server.
const LINES: [&str; 63] = [
    "curl URL/a",
    "curl -sS URL/a",
    "curl -fsSL URL/a",
    "curl -sSfL -o /dev/null URL",
    "curl -N --no-buffer URL/a?b=c",
    "curl -u user:pass URL/a",
    "curl -uuser:pa:ss URL/a",
    "curl -u user:pass -H 'Authorization: Bearer x' URL/a",
    "curl --oauth2-bearer tok URL/a",
    "curl HOST/no-scheme?u=http://x",
    "curl http://me:p%40ss@HOST/a",
    "curl -u a:b http://c:d@HOST/a",
    "curl -X patch URL",
    "curl -XDELETE URL/7",
    "curl --request PUT --url URL/7 -d a=1",
    "curl -I URL",
    "curl --head URL/a",
    "curl -d a=1 -d b=2 URL",
    "curl -da=1 --data 'b=x y&c' --data-ascii d URL",
    "curl -d '' -d b URL",
    "curl -d @text.txt URL",
    "curl --data-binary @text.txt URL",
    "curl --data-binary @bytes.bin URL",
    "curl --data-raw @text.txt -d '@text.txt' URL",
    "curl --data-urlencode 'q=a b+ü/~' URL",
    "curl --data-urlencode '=a=b' --data-urlencode 'c d' --data-urlencode n@text.txt --data-urlencode @text.txt URL",
    "curl --data-urlencode 'a=' --data-urlencode '' URL",
    "curl -G -d a=1 -d b=2 'URL/x?y=z#top'",
    "curl -G --data-urlencode 'q=ü b' URL",
    "curl -IG -d a=1 URL",
    "curl -G -X POST -d a=1 URL",
    "curl --url-query 'a=b c' --url-query +raw=%20 URL/p?q=1",
    "curl --json '{\"a\": 1}' URL",
    "curl --json @text.txt --json '[1]' -d b URL",
    "curl --json 1 -H 'Content-Type: application/x' -H 'Accept: text/x' URL",
    "curl -X GET -d body URL",
    "curl -F a=1 -F 'b=x y;z' URL",
    "curl -F 'f=@text.txt' -F 'g=@bytes.bin;type=image/x;filename=\"a b.png\"' URL",
    "curl -F 'f=<text.txt;type=text/plain;charset=utf-8' --form-string 'h=@x;y' URL",
    "curl -F 'a=\"q;\\\"r\\\"\" ; type=text/x' -F 'b=  s  ' -F c= URL",
    "curl -F 'na\"me=1' -H 'Content-Type: multipart/form-data' URL",
    "curl -T text.txt URL/dir/",
    "curl -T text.txt -X POST URL/name",
    "curl -H 'X-A: 1' -H 'x-b:2' -HX-C:3 URL",
    "curl -H 'x-empty;' -H 'X-Gone:' -H 'X-Odd; y' -H 'nothing' URL",
    "curl -H 'Content-Type:' -d a URL",
    "curl -H 'Content-Type;' -d a URL",
    "curl -H 'Same: 1' -H 'Same: 2' URL",
    "curl -A 'me/1 (x)' -e http://from/ URL",
    "curl -A x -H 'User-Agent: y' -e 'http://a;auto' URL",
    "curl -b 'a=1; b=2' -b c=3 URL",
    "curl -b a=1 -H 'Cookie: z=9' URL",
    "curl -r 0-9 URL",
    "curl -r 600 URL",
    "curl --compressed URL",
    "curl -k --http1.1 -4 --max-time 5 --retry 0 -w '%{http_code}' URL",
    "curl 'URL/ä?ö=ü'",
    "curl URL/a/../b/./c/..",
    "curl --path-as-is URL/a/../b",
    "curl 'URL/a%7Bb%7D~!*?x=%20&y=(z)'",
    "curl -g 'URL/a?b[]=1&c[0]=2'",
    "curl -d $'a\\'b\\n\\t\\x41\\u00e4\\101' \"URL/x\" -H \"Y: \\\"q\\\" \\$ \\\\\"",
    "curl \\\n  -X POST \\\n  -d a=1 URL # comment",
];

/// Files that lines read, and the line itself.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, content: &[u8]| {
        std::fs::write(folder.path().join(name), content).expect("a file");
    };
    write("text.txt", b"li ne1\r\n{\"two\": 2}\n");
    write("bytes.bin", b"\x89PNG\x00\xff\r\n");
    folder
}

/// A word of a shell, quoted in one of several ways.
fn quoted(text: &str, random: &mut SmallRng) -> String {
    let escaped = |special: &[char]| {
        let letters = text.chars().map(|letter| {
            let mark = if special.contains(&letter) { "\\" } else { "" };
            format!("{mark}{letter}")
        });
        letters.collect::<String>()
    };
    match random.random_range(0..3) {
        0 => format!("'{}'", text.replace('\'', "'\\''")),
        1 => format!("\"{}\"", escaped(&['"', '\\', '$', '`'])),
        _ => format!("$'{}'", escaped(&['\'', '\\'])),
    }
}

/// A line of switches in any order.
fn generated(random: &mut SmallRng) -> String {
    const TEXTS: [&str; 10] = [
        "a=1",
        "{\"k\": \"v\"}",
        "it's",
        "\"q\"",
        "$HOME `x` \\",
        "ü€😀",
        "",
        "a b\tc",
        "<x>&y;",
        "50%+",
    ];
    const PATHS: [&str; 5] = ["/", "/a/b", "/a?x=1&y=2", "/%20?q='a'", "/v1/~me;p=1"];
    let text = |random: &mut SmallRng| *TEXTS.choose(random).expect("one");
    let mut words = Vec::new();
    for number in 0..random.random_range(0..4) {
        let value = text(random);
        words.push(format!("-H {}", quoted(&format!("X-{number}: {value}."), random)));
    }
    let data = [
        "-d ",
        "--data-raw ",
        "--data-binary ",
        "--data-urlencode ",
        "--json ",
    ];
    for _ in 0..random.random_range(0..3) {
        let switch = *data.choose(random).expect("one");
        let value = format!("n={}", text(random));
        words.push(format!("{switch}{}", quoted(&value, random)));
    }
    let more = [
        "-X PUT",
        "-XPOST",
        "-s",
        "-vL",
        "-A agent",
        "-b c=1",
        "-u me:pw",
        "--compressed",
        "-fsS",
        "-e http://r/x",
    ];
    words.extend(more.sample(random, 2).map(|word| (*word).to_owned()));
    let path = *PATHS.choose(random).expect("one");
    words.push(quoted(&format!("URL{path}"), random));
    let mut line = vec!["curl".to_owned()];
    while !words.is_empty() {
        line.push(words.swap_remove(random.random_range(0..words.len())));
    }
    line.join([" ", " \\\n  "].choose(random).expect("one"))
}

/// What a program sends for a line.
fn sent(recorder: &Recorder, line: &str, run: impl Fn(&Path) -> std::process::Output) -> RawRequest {
    let folder = folder();
    std::fs::write(folder.path().join("line.sh"), line).expect("a file");
    let output = run(folder.path());
    let mut requests = recorder.take();
    assert_eq!(requests.len(), 1, "{line}: {}", shown(&output));
    comparable(requests.remove(0), line.contains("--compressed"))
}

fn by_curl(recorder: &Recorder, line: &str) -> RawRequest {
    sent(recorder, line, |folder| {
        let mut bash = Command::new("bash");
        bash.args(["line.sh"])
            .current_dir(folder)
            .env("HOME", folder)
            .output()
            .expect("bash, which this test needs")
    })
}

fn by_prony(recorder: &Recorder, line: &str) -> RawRequest {
    sent(recorder, line, |folder| {
        let mut prony = Command::new(env!("CARGO_BIN_EXE_prony"));
        let arguments = ["load", "--curl", "@line.sh", "-n", "1", "-c", "1"];
        prony
            .args(arguments)
            .current_dir(folder)
            .output()
            .expect("prony runs")
    })
}

#[test]
fn a_line_sends_what_curl_sends() {
    let version = Command::new("curl").arg("--version").output();
    let version = version.expect("curl, which this test needs: install it");
    assert!(version.status.success(), "{}", shown(&version));
    let mut random = SmallRng::seed_from_u64(SEED);
    let mut lines: Vec<String> = LINES.map(str::to_owned).to_vec();
    lines.extend((0..GENERATED).map(|_| generated(&mut random)));
    let recorder = Recorder::start();
    let mut differences = Vec::new();
    for line in &lines {
        let line = line
            .replace("URL", &recorder.url())
            .replace("HOST", &format!("127.0.0.1:{}", recorder.port));
        let (expected, found) = (by_curl(&recorder, &line), by_prony(&recorder, &line));
        if expected != found {
            differences.push(format!("{line}\ncurl:  {expected:?}\nprony: {found:?}"));
        }
    }
    let of_curl = by_curl(&recorder, &format!("curl -d a {}/x", recorder.url()));
    for other in [
        "curl -d b URL/x",
        "curl -d a URL/y",
        "curl -d a URL/x -H 'A: 1'",
        "curl -X PUT -d a URL/x",
    ] {
        let other = by_prony(&recorder, &other.replace("URL", &recorder.url()));
        assert_ne!(of_curl, other, "the comparison sees no difference");
    }
    assert!(
        differences.is_empty(),
        "{} of {} lines differ:\n{}",
        differences.len(),
        lines.len(),
        differences.join("\n\n")
    );
}

#[test]
fn what_is_not_sent_is_said_on_standard_error() {
    let recorder = Recorder::start();
    let load = |line: &str| {
        let line = line.replace("URL", &recorder.url());
        prony(&["load", "--curl", &line, "-n", "1", "-c", "1"])
    };
    for (line, part) in [
        (
            "curl --digest -u a:b URL",
            "--curl: Only basic authentication is supported",
        ),
        (
            "curl -x http://proxy:1 URL",
            "only change the connection are not taken over: `-x`",
        ),
        ("curl URL -d \"$NAME\"", "`$NAME` is filled in by a shell"),
    ] {
        let output = load(line);
        assert!(output.status.success(), "{line}: {}", stderr_of(&output));
        assert!(
            stderr_of(&output).contains(part),
            "{line}: {}",
            stderr_of(&output)
        );
    }
    for (line, part) in [
        ("curl URL URL/b", "two URLs"),
        (
            "curl URL --unknown",
            "--curl: `--unknown` is not supported: leave it out",
        ),
        (
            "curl URL -d @nowhere",
            "--curl: `-d`: cannot read the file `nowhere`: No such file",
        ),
        ("curl URL | jq . && curl URL", "a second request in line 1"),
    ] {
        assert_refused(&load(line), part);
    }
}
