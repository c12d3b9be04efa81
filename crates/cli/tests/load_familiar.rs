//! Options of `prony load` that users of curl, k6, oha and h2load look for.

use crate::common::{
    Request, assert_contains, assert_refused, json_of, listen, prony, recording_of, reply, serve, server,
    shown, stderr_of, words,
};
use crate::tls::{Front, typed};
use serde_json::Value;
use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Output;
use std::sync::{Arc, Mutex};

/// What a server has received.
type Inbox<T> = Arc<Mutex<Vec<T>>>;

fn load(arguments: &[&str]) -> Output {
    prony(&[&["load"], arguments].concat())
}

/// The recording of a load without errors.
fn recording(arguments: &[&str]) -> Value {
    let output = load(&[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let recording = recording_of(&output);
    assert_eq!(
        recording["requests"]["valid"], recording["requests"]["offered"],
        "{recording}"
    );
    recording
}

/// A server that keeps the requests it receives, and answers `hello`.
fn keeping() -> (String, Inbox<Request>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeps = Arc::clone(&kept);
    let url = serve(move |request| {
        keeps.lock().expect("no panic").push(request.clone());
        Some(reply("hello"))
    });
    (url, kept)
}

fn kept(requests: &Inbox<Request>) -> Vec<Request> {
    requests.lock().expect("no panic").clone()
}

/// The frames of a client of HTTP/2 up to its first request: type and payload.
fn frames_of_client(stream: &mut TcpStream) -> Option<Vec<(u8, Vec<u8>)>> {
    stream.read_exact(&mut [0; 24]).ok()?;
    stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).ok()?;
    let mut frames = Vec::new();
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header).ok()?;
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).ok()?;
        frames.push((header[3], payload));
        if header[3] == 1 {
            // Status 200 by its index in the static table, and the end of the stream.
            stream.write_all(&[0, 0, 1, 1, 5]).ok()?;
            stream.write_all(&header[5..9]).ok()?;
            stream.write_all(&[0x88]).ok()?;
            return Some(frames);
        }
    }
}

/// A server of HTTP/2 for one request per connection, with the frames of its clients.
fn http2_server() -> (u16, Inbox<(u8, Vec<u8>)>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeps = Arc::clone(&kept);
    let port = listen(move |mut stream| {
        let frames = frames_of_client(&mut stream)?;
        keeps.lock().expect("no panic").extend(frames);
        let _ = stream.read(&mut [0; 1024]);
        Some(())
    });
    (port, kept)
}

/// A server of HTTP/2 built with another library, with the authority and the header `host` of each request.
fn http2_service() -> (u16, Inbox<(String, bool)>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeps = Arc::clone(&kept);
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
                .await
                .expect("a port");
            tell.send(listener.local_addr().expect("an address").port())
                .expect("the test waits");
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer_http2(stream, Arc::clone(&keeps)));
            }
        });
    });
    (told.recv().expect("it listens"), kept)
}

async fn answer_http2(stream: tokio::net::TcpStream, keeps: Inbox<(String, bool)>) -> Option<()> {
    let mut connection = h2::server::handshake(stream).await.ok()?;
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let authority = request.uri().authority()?.to_string();
        let has_host = request.headers().contains_key("host");
        keeps.lock().expect("no panic").push((authority, has_host));
        respond
            .send_response(tonic::codegen::http::Response::new(()), true)
            .ok()?;
    }
    Some(())
}

fn port_of(url: &str) -> &str {
    url.rsplit(':').next().expect("a port")
}

#[test]
fn a_url_without_a_scheme_means_http() {
    let url = server();
    let bare = url.strip_prefix("http://").expect("http");
    let recording = recording(&[&format!("{bare}/x"), "-n", "3", "-c", "1"]);
    assert_eq!(recording["target"], format!("{url}/x"));
    let by_name = format!("localhost:{}", port_of(&url));
    let limits = [
        "-c",
        "1",
        "-d",
        "100ms",
        "--start",
        "100",
        "--limit",
        "100",
        "--objective",
        "p50<1h",
    ];
    let capacity = prony(&[&["capacity", &by_name][..], &limits, &["--json"]].concat());
    assert!(capacity.status.success(), "{}", shown(&capacity));
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("urls");
    std::fs::write(&list, format!("GET {bare}/a\n3 POST {bare}/b x\n")).expect("a file");
    let mixed = load(&["--urls", typed(&list), "-n", "4", "-c", "1", "--json"]);
    assert_eq!(json_of(&mixed)["outcomes"]["valid"], 4, "{}", shown(&mixed));
    assert_refused(&load(&["two words"]), "invalid URL");
}

#[test]
fn host_is_the_authority_of_http2() {
    let (port, heads) = http2_service();
    let url = format!("http://127.0.0.1:{port}/");
    let line = format!("curl --http2-prior-knowledge -H 'Host: curl.example' {url}");
    for arguments in [
        &[&url[..], "--http2", "-H", "hOsT: typed.example"][..],
        &["--curl", &line],
    ] {
        let output = load(&[arguments, &["-n", "1", "-c", "1", "--json"]].concat());
        assert_eq!(json_of(&output)["outcomes"]["valid"], 1, "{}", shown(&output));
    }
    let expected = ["typed.example", "curl.example"].map(|name| (name.to_owned(), false));
    assert_eq!(*heads.lock().expect("no panic"), expected);
    let (url, kept_over_http1) = keeping();
    recording(&[&url, "-H", "Host: one.example", "-n", "1", "-c", "1"]);
    let head = kept(&kept_over_http1)[0].head.to_ascii_lowercase();
    assert_eq!(head.matches("host:").count(), 1, "{head}");
    assert_contains(&head, "host: one.example");
}

#[test]
fn windows_and_frames_of_http2_have_the_given_sizes() {
    let (port, kept) = http2_server();
    let url = format!("http://127.0.0.1:{port}/");
    let sizes = [
        "--h2-window",
        "128KiB",
        "--h2-connection-window",
        "256KiB",
        "--h2-max-frame",
        "32KiB",
    ];
    let output = load(&[&[&url[..], "--http2", "-n", "1", "-c", "1", "--json"][..], &sizes].concat());
    assert_eq!(json_of(&output)["outcomes"]["valid"], 1, "{}", shown(&output));
    let frames = kept.lock().expect("no panic").clone();
    let settings = &frames.iter().find(|(kind, _)| *kind == 4).expect("settings").1;
    let setting = |name: u8| {
        let mut entries = settings.chunks(6);
        let entry = entries.find(|entry| entry[1] == name).expect("a setting");
        u32::from_be_bytes([entry[2], entry[3], entry[4], entry[5]])
    };
    assert_eq!((setting(4), setting(5)), (128 << 10, 32 << 10));
    let update = &frames.iter().find(|(kind, _)| *kind == 8).expect("an update").1;
    assert_eq!(update.as_slice(), (256_u32 * 1024 - 65_535).to_be_bytes());
    assert_refused(
        &load(&[&url, "--h2-window", "1KiB"]),
        "--h2-window applies to HTTP/2",
    );
    assert_refused(
        &load(&[&url, "--http2", "--h2-max-frame", "1KiB"]),
        "16KiB to 16MiB",
    );
}

#[test]
fn nothing_is_sent_while_the_rate_is_zero() {
    let url = server();
    let stages = recording(&[&url, "-c", "2", "--stages", "100ms:0,100ms:200,100ms:0"]);
    assert_eq!(stages["requests"]["offered"], 20, "{stages}");
    let rows = stages["stages"].as_array().expect("stages");
    let valid: Vec<&Value> = rows.iter().map(|stage| &stage["offered_per_s"]).collect();
    assert_eq!(
        (valid[0], valid[2]),
        (&Value::from(0.0), &Value::from(0.0)),
        "{stages}"
    );
    let up = recording(&[&url, "-c", "2", "--ramp", "0:400", "-d", "200ms"]);
    assert_eq!(up["requests"]["offered"], 40, "{up}");
    let down = recording(&[&url, "-c", "2", "--ramp", "400:0", "-d", "200ms"]);
    assert_eq!(down["requests"]["offered"], 40, "{down}");
    let grown = recording(&[&url, "-c", "0:4:100ms", "-d", "300ms"]);
    assert_eq!(grown["connections"]["established"], 4, "{grown}");
    assert_refused(&load(&[&url, "--ramp", "0:0"]), "above 0");
    assert_refused(&load(&[&url, "--stages", "1s:0"]), "always 0");
    assert_refused(&load(&[&url, "--stages", "1s:-1"]), "0 or more");
    assert_refused(&load(&[&url, "--rate", "0"]), "above 0");
}

#[test]
fn a_form_is_sent_as_curl_sends_it() {
    let (url, requests) = keeping();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("note.txt");
    std::fs::write(&file, "a {note}\n").expect("a file");
    let field = format!("doc=@{};type=text/x-note;filename=n.md", file.display());
    let inline = format!("inline=<{}", file.display());
    let form = ["-F", "id={n:range(5,5)}", "-F", &field, "-F", &inline];
    recording(&[&[&url[..], "-n", "1", "-c", "1"][..], &form].concat());
    let line = format!("curl {url} -F 'a=1' -F 'doc=@{}'", file.display());
    recording(&["--curl", &line, "-n", "1", "-c", "1"]);
    let [first, second] = kept(&requests)
        .try_into()
        .unwrap_or_else(|_| panic!("two requests"));
    assert_contains(&first.head, "POST / HTTP/1.1");
    let boundary = first.head.split("boundary=").nth(1).expect("a boundary");
    let boundary = boundary.lines().next().expect("a line");
    let parts: Vec<&str> = first.body.split(&format!("--{boundary}")).collect();
    assert_eq!(
        parts[1..],
        [
            "\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\n5\r\n",
            "\r\nContent-Disposition: form-data; name=\"doc\"; filename=\"n.md\"\r\nContent-Type: text/x-note\r\n\r\na {note}\n\r\n",
            "\r\nContent-Disposition: form-data; name=\"inline\"\r\n\r\na {note}\n\r\n",
            "--\r\n",
        ]
    );
    assert_contains(&second.body, "filename=\"note.txt\"\r\nContent-Type: text/plain");
    assert_refused(&load(&[&url, "-F", "a=b", "--body", "x"]), "--body");
    assert_refused(
        &load(&[&url, "-F", "a=b", "-H", "Content-Type: text/plain"]),
        "Content-Type",
    );
    assert_refused(&load(&[&url, "-F", "a"]), "NAME=VALUE");
    assert_refused(&load(&[&url, "-F", "a=@/nowhere/at/all"]), "/nowhere/at/all");
}

fn redirect(status: u16, location: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 2\r\n\r\nno").into_bytes()
}

/// A server whose paths lead to `/end`, in several steps.
fn redirecting() -> (String, Inbox<Request>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeps = Arc::clone(&kept);
    let url = serve(move |request| {
        keeps.lock().expect("no panic").push(request.clone());
        let path = request.head.split_whitespace().nth(1)?;
        Some(match path {
            "/a/first?x=1" => redirect(302, "second"),
            "/a/second" => redirect(307, "/end?y=2"),
            "/post" => redirect(303, "/end"),
            "/again" => redirect(308, "/end"),
            "/loop" => redirect(301, "/loop"),
            "/away" => redirect(302, "http://127.0.0.1:1/other"),
            _ => reply("hello"),
        })
    });
    (url, kept)
}

#[test]
fn redirects_are_followed_on_request() {
    let (url, requests) = redirecting();
    let first = format!("{url}/a/first?x=1");
    let followed = recording(&[&first, "--follow", "5", "-n", "4", "-c", "2", "--expect", "hello"]);
    assert_eq!(followed["connections"]["redirects"], 8, "{followed}");
    assert_eq!(
        followed["status_codes"],
        serde_json::json!({ "200": 4 }),
        "{followed}"
    );
    // Each on the connection of its first request.
    assert_eq!(followed["connections"]["reconnects"], 0);
    for arrival in [
        &["--rate", "40", "-d", "100ms"][..],
        &["--users", "40", "--requests-per-user", "1", "-d", "100ms"],
    ] {
        let followed = recording(&[&[&first[..], "--follow", "2"][..], arrival].concat());
        assert_eq!(followed["requests"]["valid"], 4, "{followed}");
        assert_eq!(followed["connections"]["redirects"], 8, "{followed}");
    }
    let text = load(&[&first, "--follow", "5", "-n", "4", "-c", "1"]);
    assert_contains(&words(&text), "redirects 8 followed");
    requests.lock().expect("no panic").clear();
    let line = format!("curl -L {url}/a/first?x=1");
    recording(&["--curl", &line, "-n", "1", "-c", "1"]);
    let lines: Vec<String> = kept(&requests)
        .iter()
        .map(|request| request.head.lines().next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(
        lines,
        [
            "GET /a/first?x=1 HTTP/1.1",
            "GET /a/second HTTP/1.1",
            "GET /end?y=2 HTTP/1.1"
        ]
    );
}

#[test]
fn the_method_after_a_redirect_depends_on_its_status() {
    let (url, requests) = redirecting();
    let body = [
        "-X",
        "POST",
        "--body",
        "data",
        "-H",
        "Content-Type: text/plain",
        "-n",
        "1",
        "-c",
        "1",
    ];
    recording(&[&[&format!("{url}/post")[..], "--follow", "1"][..], &body].concat());
    recording(&[&[&format!("{url}/again")[..], "--follow", "1"][..], &body].concat());
    let sent: Vec<(String, String)> = kept(&requests)
        .iter()
        .map(|request| (request.head.clone(), request.body.clone()))
        .collect();
    assert!(
        sent[1].0.starts_with("GET /end ") && sent[1].1.is_empty(),
        "{:?}",
        sent[1]
    );
    assert!(
        !sent[1].0.to_ascii_lowercase().contains("content-"),
        "{:?}",
        sent[1]
    );
    assert!(
        sent[3].0.starts_with("POST /end ") && sent[3].1 == "data",
        "{:?}",
        sent[3]
    );
}

#[test]
fn redirects_to_elsewhere_or_without_end_are_errors() {
    let (url, _) = redirecting();
    let away = load(&[&format!("{url}/away"), "--follow", "5", "-n", "3", "-c", "1"]);
    assert_eq!(away.status.code(), Some(3));
    let text = words(&away);
    assert!(
        text.contains("same origin") && text.contains("http://127.0.0.1:1/other"),
        "{text}"
    );
    let endless = json_of(&load(&[
        &format!("{url}/loop"),
        "--follow",
        "5",
        "-n",
        "2",
        "-c",
        "1",
        "--json",
    ]));
    assert_eq!(endless["outcomes"]["status"], 2, "{endless}");
    assert_eq!(endless["connections"]["redirects"], 10, "{endless}");
    let not_followed = json_of(&load(&[&format!("{url}/post"), "-n", "2", "-c", "1", "--json"]));
    assert_eq!(not_followed["outcomes"]["status"], 2, "{not_followed}");
    assert!(not_followed["connections"]["redirects"].is_null());
}

/// A proxy of HTTP that keeps the heads of requests to it, and carries bytes after CONNECT.
fn proxy() -> (u16, Inbox<String>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeps = Arc::clone(&kept);
    let port = listen(move |stream| {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut stream = stream;
        loop {
            let request = Request::read(&mut reader)?;
            keeps.lock().expect("no panic").push(request.head.clone());
            let target = request.head.split_whitespace().nth(1)?;
            if !request.head.starts_with("CONNECT ") {
                stream
                    .write_all(&reply(if target.starts_with("http://") {
                        "hello"
                    } else {
                        "no"
                    }))
                    .ok()?;
                continue;
            }
            if request.head.contains(" refused.example:") {
                stream.write_all(b"HTTP/1.1 502 No\r\n\r\n").ok()?;
                return None;
            }
            let port = target.rsplit(':').next()?;
            let mut service = TcpStream::connect(format!("127.0.0.1:{port}")).ok()?;
            stream
                .write_all(b"HTTP/1.1 200 Connected\r\nVia: test\r\n\r\n")
                .ok()?;
            let mut back = (service.try_clone().ok()?, stream.try_clone().ok()?);
            std::thread::spawn(move || std::io::copy(&mut back.0, &mut back.1));
            service.write_all(reader.buffer()).ok()?;
            std::io::copy(&mut stream, &mut service).ok()?;
            return None;
        }
    });
    (port, kept)
}

#[test]
fn plain_requests_through_a_proxy_have_absolute_urls() {
    let (port, heads) = proxy();
    let proxy = format!("me:tulip-field@127.0.0.1:{port}");
    let output = load(&[
        "http://service.example:81/x?y",
        "--proxy",
        &proxy,
        "-n",
        "2",
        "-c",
        "1",
        "--expect",
        "hello",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert_contains(&words(&output), &format!("through the proxy 127.0.0.1:{port}"));
    assert!(!shown(&output).contains("tulip-field"));
    let head = heads.lock().expect("no panic")[0].clone();
    assert!(
        head.starts_with("GET http://service.example:81/x?y HTTP/1.1\r\n"),
        "{head}"
    );
    assert_contains(&head, "Proxy-Authorization: Basic bWU6dHVsaXAtZmllbGQ=");
    assert_contains(&head, "Host: service.example:81");
    let refused = load(&[
        "http://h/",
        "--proxy",
        &format!("https://me:tulip-field@127.0.0.1:{port}"),
    ]);
    assert_refused(&refused, "--proxy");
    assert!(!shown(&refused).contains("tulip-field"));
    let http2 = load(&["http://h/", "--http2", "--proxy", &proxy]);
    assert_refused(&http2, "only within TLS");
    assert!(!shown(&http2).contains("tulip-field"));
}

#[test]
fn tls_goes_through_a_tunnel_of_the_proxy() {
    let (port, heads) = proxy();
    let front = Front::before(port_of(&server()).parse().expect("a port"), &["http/1.1"]);
    let (cacert, proxy) = (front.cacert(), format!("http://127.0.0.1:{port}"));
    let trusted = [
        "--cacert",
        typed(&cacert),
        "--proxy",
        &proxy,
        "-n",
        "3",
        "-c",
        "1",
        "--expect",
        "hello",
    ];
    let through = recording(&[&[&front.url()[..]][..], &trusted].concat());
    assert_eq!(through["proxy"], format!("127.0.0.1:{port}"));
    let head = heads.lock().expect("no panic")[0].clone();
    assert!(
        head.starts_with(&format!("CONNECT localhost:{} HTTP/1.1\r\n", front.port)),
        "{head}"
    );
    let refused = load(&[
        "https://refused.example/",
        "--proxy",
        &proxy,
        "-n",
        "1",
        "-c",
        "1",
        "--timeout",
        "2s",
    ]);
    assert_eq!(refused.status.code(), Some(3));
    assert_contains(
        &words(&refused),
        "the proxy does not connect to the service (status 502)",
    );
}

#[test]
fn the_server_chooses_the_protocol_of_https() {
    let (port, _) = http2_service();
    let front = Front::before(port, &["h2", "http/1.1"]);
    let cacert = front.cacert();
    let trusted = ["--cacert", typed(&cacert), "-n", "1", "-c", "1", "--json"];
    let chosen = load(&[&[&front.url()[..]][..], &trusted].concat());
    assert_eq!(json_of(&chosen)["protocol"], "http2", "{}", shown(&chosen));
    assert_eq!(json_of(&chosen)["outcomes"]["valid"], 1, "{}", shown(&chosen));
    let old = Front::before(port_of(&server()).parse().expect("a port"), &["h2", "http/1.1"]);
    let cacert = old.cacert();
    let forced = recording(&[
        &old.url(),
        "--cacert",
        typed(&cacert),
        "--http1",
        "-n",
        "1",
        "-c",
        "1",
    ]);
    assert_eq!(forced["protocol"], "http1");
    for offers in [&["http/1.1"][..], &[]] {
        let only = Front::before(port_of(&server()).parse().expect("a port"), offers);
        let cacert = only.cacert();
        let agreed = recording(&[&only.url(), "--cacert", typed(&cacert), "-n", "1", "-c", "1"]);
        assert_eq!(agreed["protocol"], "http1");
    }
    assert_refused(&load(&["http://h/", "--http1", "--http2"]), "--http2");
}

#[test]
fn one_request_is_shown_in_full() {
    let url = serve(|request| {
        let is_binary = request.head.contains("/binary");
        let body: &[u8] = if is_binary { &[0, 1, 255] } else { b"{\"a\": 1}" };
        let head = format!(
            "HTTP/1.1 200 OK\r\nSet-Cookie: sid=violet-sea; Path=/\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        Some([head.as_bytes(), body].concat())
    });
    let target = format!("{url}/x?token=azure-tree&n={{n:range(7,8)}}");
    let secret = [
        "-H",
        "Authorization: Bearer crimson-lake",
        "-X",
        "PUT",
        "--body",
        "ping",
    ];
    let output = load(&[&[&target[..], "--debug"][..], &secret].concat());
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let text = shown(&output);
    for part in [
        "> PUT /x?token=***&n=7 HTTP/1.1",
        "> Host: 127.0.0.1:",
        "> Authorization: Bearer ***",
        "> Content-Length: 4",
        "ping",
        "< HTTP/1.1 200",
        "< Set-Cookie: sid=***; Path=/",
        "{\"a\": 1}",
        "HTTP/1.1, connected after ",
        "OK: the reply is valid",
    ] {
        assert_contains(&text, part);
    }
    for secret in ["crimson-lake", "azure-tree", "violet-sea"] {
        assert!(!text.contains(secret), "{text}");
    }
    let binary = load(&[&format!("{url}/binary"), "--debug", "--expect-status", "404"]);
    assert_eq!(binary.status.code(), Some(3));
    assert_contains(&shown(&binary), "00000000  00 01 ff");
    assert_contains(&shown(&binary), "FAILED: status: expected 404, got 200");
    let front = Front::before(port_of(&server()).parse().expect("a port"), &["http/1.1"]);
    let cacert = front.cacert();
    let over_tls = load(&[&front.url(), "--cacert", typed(&cacert), "--debug"]);
    assert_contains(&shown(&over_tls), "TLSv1_3");
    let gone = load(&["http://127.0.0.1:1/", "--debug"]);
    assert_eq!(gone.status.code(), Some(3));
    assert_contains(&shown(&gone), "FAILED: no connection");
}

#[test]
fn a_load_that_is_certain_to_miss_its_objective_ends() {
    let url = serve(|request| {
        let wrong = request.head.contains("/wrong");
        Some(if wrong {
            b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n".to_vec()
        } else {
            reply("hello")
        })
    });
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("urls");
    std::fs::write(&list, format!("3 GET {url}/right\n1 GET {url}/wrong\n")).expect("a file");
    let common = [
        "--urls",
        typed(&list),
        "-c",
        "4",
        "--rate",
        "400",
        "-d",
        "10m",
        "--abort-on-miss",
        "--objective",
    ];
    let missed = load(&[&common[..], &["errors<0.05%", "--json"]].concat());
    assert_eq!(missed.status.code(), Some(3), "{}", stderr_of(&missed));
    let said = recording_of(&missed);
    assert_eq!(said["verdict"], "objective_missed", "{said}");
    assert!(
        said["decided_s"].as_f64().is_some_and(|seconds| seconds < 590.0),
        "{said}"
    );
    let text = load(&[&common[..], &["p99.9<1h"]].concat());
    assert_contains(
        &words(&text),
        "OBJECTIVE MISSED: p99.9 no bound, not below 3600 s; decided and ended after",
    );
    let met = [
        "--abort-on-miss",
        "--objective",
        "errors<50%",
        "-n",
        "40",
        "-c",
        "1",
        "--json",
    ];
    let met = load(&[&["--urls", typed(&list)][..], &met].concat());
    assert_eq!(met.status.code(), Some(0), "{}", stderr_of(&met));
    assert!(json_of(&met)["decided_s"].is_null());
    assert_refused(&load(&[&url, "--abort-on-miss"]), "--objective");
}

/// A server that names each visitor on the first request to `/login`, and keeps the cookies that it receives.
fn naming() -> (String, Inbox<Option<String>>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeps = Arc::clone(&kept);
    let names = std::sync::atomic::AtomicU64::new(0);
    let url = serve(move |request| {
        let mut lines = request.head.lines();
        let cookie = lines.find_map(|line| line.strip_prefix("Cookie: ").map(str::to_owned));
        keeps.lock().expect("no panic").push(cookie.clone());
        if cookie.is_some() {
            return Some(reply("hello"));
        }
        let name = names.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let head = "HTTP/1.1 302 Found\r\nLocation: /home\r\nContent-Length: 0\r\n";
        let cookies = format!(
            "Set-Cookie: id=v{name}; Path=/\r\nSet-Cookie: no=x; Max-Age=0\r\nSet-Cookie: far=y; Path=/far\r\n"
        );
        Some(format!("{head}{cookies}\r\n").into_bytes())
    });
    (url, kept)
}

#[test]
fn each_connection_and_each_user_keeps_its_cookies() {
    let (url, cookies) = naming();
    let login = format!("{url}/login");
    recording(&[&login, "--cookies", "--follow", "1", "-c", "2", "-n", "8"]);
    let sent = cookies.lock().expect("no panic").drain(..).collect::<Vec<_>>();
    let without = sent.iter().filter(|cookie| cookie.is_none()).count();
    assert!(
        (1..=2).contains(&without) && sent.len() == 8 + without,
        "{sent:?}"
    );
    assert!(
        sent.iter()
            .flatten()
            .all(|cookie| cookie == "id=v0" || cookie == "id=v1"),
        "{sent:?}"
    );
    let visits = ["--users", "20", "--requests-per-user", "3", "-d", "200ms"];
    let got = recording(&[&[&login[..], "--cookies", "--follow", "1"][..], &visits].concat());
    let sent = cookies.lock().expect("no panic").drain(..).collect::<Vec<_>>();
    let without = sent.iter().filter(|cookie| cookie.is_none()).count();
    assert_eq!(
        (without as u64) * 3,
        got["requests"]["valid"].as_u64().expect("a number"),
        "{sent:?}"
    );
    // Off, every request is that of a stranger; its own cookies come first.
    let off = load(&[&login, "-c", "1", "-n", "3"]);
    assert_eq!(off.status.code(), Some(3));
    assert!(
        cookies
            .lock()
            .expect("no panic")
            .drain(..)
            .all(|cookie| cookie.is_none())
    );
    let own = ["--cookies", "-H", "Cookie: own=1", "-c", "1", "-n", "2"];
    recording(&[&[&login[..]][..], &own].concat());
    assert!(
        cookies
            .lock()
            .expect("no panic")
            .iter()
            .all(|cookie| cookie.as_deref() == Some("own=1"))
    );
}
