//! `prony check`, `prony call` and `prony new contract --record` over TLS.

use crate::common::{Request, assert_contains, assert_refused, listen, shown, talk, words};
use crate::tls::{Front, typed};
use std::path::Path;
use std::process::{Command, Output};

/// A server of `hello` without TLS; returns its port.
fn plain() -> u16 {
    listen(|stream| talk(stream, |request| Some(answer(request))))
}

fn answer(request: &Request) -> Vec<u8> {
    let mut words = request.head.split([' ', '?']);
    let (method, path) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default().replace("%69", "i"),
    );
    let (status, text) = match (path.as_str(), method) {
        ("/api/test", "GET" | "HEAD") => (200, "Hello, World!"),
        ("/api/test", _) => (405, ""),
        _ => (404, ""),
    };
    let (size, shown) = (text.len(), if method == "HEAD" { "" } else { text });
    format!("HTTP/1.1 {status} X\r\nContent-Type: text/plain\r\nContent-Length: {size}\r\n\r\n{shown}")
        .into_bytes()
}

fn prony_in(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prony"))
        .args(arguments)
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env("NO_COLOR", "1")
        .output()
        .expect("prony runs")
}

fn prony(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    prony_in(folder.path(), arguments)
}

#[test]
fn a_server_with_tls_is_checked_and_called() {
    let front = Front::before(plain(), &["http/1.1"]);
    let (url, cacert) = (front.url(), front.cacert());
    for trust in [&["--cacert", typed(&cacert)][..], &["--insecure"]] {
        let checked = prony(&[&["check", "--url", &url, "hello"], trust].concat());
        assert_eq!(checked.status.code(), Some(0), "{}", shown(&checked));
        assert_contains(&shown(&checked), "10 cases passed, 0 failed, 1 skipped");
        let called = prony(&[&["call", "hello", "hello", "--url", &url], trust].concat());
        assert_eq!(called.status.code(), Some(0), "{}", shown(&called));
        assert_eq!(String::from_utf8_lossy(&called.stdout).trim(), "Hello, World!");
    }
}

#[test]
fn a_contract_is_recorded_from_a_server_with_tls() {
    let front = Front::before(plain(), &[]);
    let project = tempfile::tempdir().expect("a folder");
    std::fs::write(project.path().join("prony.toml"), "").expect("a file");
    let url = format!("{}/api/test", front.url());
    let record = ["new", "contract", "mine", "--record", &url];
    let stranger = prony_in(project.path(), &record);
    assert_eq!(stranger.status.code(), Some(1), "{}", shown(&stranger));
    for part in ["not trusted", "--cacert", "Nothing was written"] {
        assert_contains(&shown(&stranger), part);
    }
    assert!(!project.path().join("contracts/mine").exists());
    let cacert = front.cacert();
    let trusted = prony_in(
        project.path(),
        &[&record[..], &["--cacert", typed(&cacert)]].concat(),
    );
    assert_eq!(trusted.status.code(), Some(0), "{}", shown(&trusted));
    let contract = std::fs::read_to_string(project.path().join("contracts/mine/contract.toml"));
    assert!(contract.expect("it is there").contains("Hello, World!"));
    let checked = prony_in(
        project.path(),
        &["check", "--url", &front.url(), "mine", "--insecure"],
    );
    assert_eq!(checked.status.code(), Some(0), "{}", shown(&checked));
}

#[test]
fn a_mismatch_of_tls_settings_is_reported() {
    let behind = plain();
    let front = Front::before(behind, &["http/1.1"]);
    let other = Front::before(behind, &[]);
    let (cacert, strange) = (front.cacert(), other.cacert());
    let (url, by_address) = (front.url(), format!("https://127.0.0.1:{}", front.port));
    let without_tls = format!("https://localhost:{behind}");
    let with_tls = format!("http://localhost:{}", front.port);
    let trusted = ["--cacert", typed(&cacert)];
    for (url, more, parts) in [
        // The authority that signed the certificate is not trusted.
        (&url, &[][..], &["not trusted", "--cacert FILE", "--insecure"][..]),
        (
            &url,
            &["--cacert", typed(&strange)],
            &["not trusted", "--cacert FILE"],
        ),
        // The certificate is for `localhost`.
        (
            &by_address,
            &trusted,
            &["not valid for name", "127.0.0.1", "localhost"],
        ),
        (&without_tls, &["--insecure"], &["speak TLS on this port"]),
        (&with_tls, &[], &["speaks TLS on this port", "https://"]),
    ] {
        let line = [&["call", "hello", "hello", "--url", url], more].concat();
        let called = prony(&line);
        assert_eq!(called.status.code(), Some(1), "{line:?}: {}", shown(&called));
        for part in parts {
            assert_contains(&shown(&called), part);
        }
    }
    // A check reports it for each case.
    let checked = prony(&["check", "--url", &url, "hello"]);
    assert_eq!(checked.status.code(), Some(3), "{}", shown(&checked));
    assert_contains(&words(&checked), "not trusted");
    let http2 = prony(
        &[
            &["call", "hello", "hello", "--http2", "--url", &url],
            &trusted[..],
        ]
        .concat(),
    );
    assert_eq!(http2.status.code(), Some(1), "{}", shown(&http2));
    assert!(shown(&http2).contains("ALPN"), "{}", shown(&http2));
    let http2 = prony(&["call", "hello", "hello", "--http2", "--url", &with_tls]);
    assert_contains(&shown(&http2), "speaks TLS on this port");
}

#[test]
fn files_without_a_certificate_are_bad_input() {
    let front = Front::before(plain(), &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "nothing").expect("a file");
    let (url, missing) = (front.url(), folder.path().join("missing.pem"));
    let check = ["check", "--url", &url, "hello"];
    for (more, part) in [
        (&["--cacert", typed(&empty)][..], "holds no certificate"),
        (&["--cacert", typed(&missing)], "missing.pem"),
        (&["--cacert", typed(&empty), "--insecure"], "cannot be used with"),
    ] {
        let output = prony(&[&check[..], more].concat());
        assert_refused(&output, part);
    }
    for line in [
        &["call", "hello", "hello", "--port", "1", "--insecure"][..],
        &["check", "--all", "--insecure"],
    ] {
        let output = prony(line);
        assert_refused(&output, "--url https://");
    }
}
