//! What a server sends is right for `prony check` and for `prony load`, or wrong for both: each reply of the corpus goes through
//! both programs.

use crate::common::{json_of, listen, prony_line, stderr_of};
use crate::corpus::{self, Entry, in_short};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

/// Expects the reply that the corpus has where it is right.
const CONTRACT: &str = r#"
name = "odd"
title = "Odd"
document = "none"
summary = "One reply, byte for byte."

[operation.get]
summary = "The reply."
http = "GET /"
expect = { status = 200, text = "hi" }

[workload.get]
summary = "The reply again and again."
mix = [{ operation = "get" }]
load = { kind = "closed", connections = 1 }
"#;
const RIGHT: &str = "200: hi";
/// Entries at once.
const AT_ONCE: usize = 4;

/// Serves these bytes in answer to `GET /`, and what any server sends to the other requests of a check.
fn serve(stream: TcpStream, entry: &[u8], closes: bool) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok().filter(|read| *read > 0)?;
            if header == "\r\n" {
                break;
            }
            if let Some(text) = header.to_lowercase().strip_prefix("content-length:") {
                length = text.trim().parse().ok()?;
            }
        }
        reader.read_exact(&mut vec![0; length]).ok()?;
        let mut words = line.split([' ', '?']);
        let answer: &[u8] = match (words.next()?, words.next()?) {
            ("GET", "/") => entry,
            ("HEAD", "/") => b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n",
            (_, "/") => b"HTTP/1.1 405 No\r\nAllow: GET, HEAD\r\nContent-Length: 0\r\n\r\n",
            _ => b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
        };
        writer.write_all(answer).ok()?;
        if closes && answer == entry {
            return None;
        }
    }
}

/// Serves these frames of stream 1 in answer to every request, each time on the stream of the request.
fn serve_http2(mut stream: TcpStream, entry: &[u8], closes: bool) -> Option<()> {
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const ACKNOWLEDGED: [u8; 9] = [0, 0, 0, 4, 1, 0, 0, 0, 0];
    let (headers, end_stream) = (1, 0x1);
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).ok()?;
    stream.write_all(&SETTINGS).ok()?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        stream.read_exact(&mut vec![0; length as usize]).ok()?;
        let (kind, flags) = (head[3], head[4]);
        if kind == SETTINGS[3] && flags == 0 {
            stream.write_all(&ACKNOWLEDGED).ok()?;
        } else if kind == headers && flags & end_stream != 0 {
            stream.write_all(&on_stream(entry, &head[5..])).ok()?;
            if closes {
                return None;
            }
        }
    }
}

/// The frames of stream 1 as frames of another one. What is not a whole frame stays as it is.
fn on_stream(frames: &[u8], stream: &[u8]) -> Vec<u8> {
    let mut moved = frames.to_vec();
    let mut at = 0;
    while let Some(head) = frames.get(at..at + 9) {
        if head[5..] == [0, 0, 0, 1] {
            moved[at + 5..at + 9].copy_from_slice(stream);
        }
        at += 9 + u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
    }
    moved
}

/// Whether both accept a server, and what they said.
fn verdicts(entry: &Entry, contract: &Path, is_http2: bool) -> ([bool; 2], String) {
    let bytes: Arc<[u8]> = entry.bytes().into();
    let closes = entry.reading.contains("closes") || entry.reading == "incomplete";
    let port = if is_http2 {
        listen(move |stream| serve_http2(stream, &bytes, closes))
    } else {
        listen(move |stream| serve(stream, &bytes, closes))
    };
    let url = format!("http://127.0.0.1:{port}/");
    let contract = contract.to_str().expect("a path");
    let protocol = if is_http2 { "--protocol http2" } else { "" };
    let checked = prony_line(&format!(
        "check --url {} {contract} {protocol}",
        url.trim_end_matches('/')
    ));
    let protocol = if is_http2 { "--http2" } else { "" };
    let options = "-n 4 -c 1 --timeout 2s --expect hi --json";
    let loaded = prony_line(&format!("load {url} {options} {protocol}"));
    let recording = json_of(&loaded);
    let outcomes = recording["outcomes"].as_object().expect("outcomes");
    let is_right = outcomes
        .iter()
        .all(|(outcome, count)| (outcome == "valid") == (count != 0));
    let said = format!(
        "{}\n{outcomes:?} {}",
        stderr_of(&checked),
        recording["unexpected_replies"]
    );
    ([checked.status.success(), is_right], said)
}

fn assert_same_verdicts(entries: &[Entry], contract: &str, is_http2: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("odd");
    std::fs::create_dir(&path).expect("a folder");
    std::fs::write(path.join("contract.toml"), contract).expect("a file");
    let (waiting, wrong) = (Mutex::new(entries.iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let next = || waiting.lock().expect("no panic").next();
                while let Some(entry) = next() {
                    let expected = in_short(&entry.reading) == RIGHT;
                    let (verdicts, said) = verdicts(entry, &path, is_http2);
                    if verdicts != [expected; 2] {
                        wrong.lock().expect("no panic").push(format!(
                            "`{}` ({}), right: {expected}; check and load: {verdicts:?}\n{said}",
                            entry.name, entry.section
                        ));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        entries.len(),
        wrong.join("\n\n")
    );
}

#[test]
fn a_reply_is_right_for_check_and_load_or_wrong_for_both() {
    // Of two requests in one packet the notice behind the first reply answers the second.
    let is_for_one = |entry: &Entry| entry.method == "GET" && !entry.name.starts_with("the notice");
    let entries: Vec<Entry> = corpus::of("http1").into_iter().filter(is_for_one).collect();
    assert!(entries.len() > 100);
    assert_same_verdicts(&entries, CONTRACT, false);
}

#[test]
fn a_reply_over_http2_is_right_for_check_and_load_or_wrong_for_both() {
    let entries: Vec<Entry> = corpus::of("http2")
        .into_iter()
        .filter(|entry| entry.method == "GET")
        .collect();
    assert!(entries.len() > 50);
    // The server does not decode headers, so it answers every request in the same way.
    let without =
        r#"without = ["percent-encoded path", "query string", "HEAD", "unknown path", "wrong method"]"#;
    let contract = CONTRACT.replace("title = ", &format!("{without}\ntitle = "));
    assert_same_verdicts(&entries, &contract, true);
}
