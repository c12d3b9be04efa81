//! What a server sends is right for `prony check` and for `prony load`, or wrong for both: each reply of the corpus goes through
//! both programs.

use crate::common::{json_of, listen, prony, prony_line, stderr_of};
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

/// Whether both accept a server, and what they said.
fn verdicts(entry: &Entry, contract: &Path) -> ([bool; 2], String) {
    let bytes: Arc<[u8]> = entry.bytes().into();
    let closes = entry.reading.contains("closes") || entry.reading == "incomplete";
    let port = listen(move |stream| serve(stream, &bytes, closes));
    let url = format!("http://127.0.0.1:{port}/");
    let contract = contract.to_str().expect("a path");
    let checked = prony(&["check", "--url", url.trim_end_matches('/'), contract]);
    let loaded = prony_line(&format!("load {url} -n 4 -c 1 --timeout 2s --expect hi --json"));
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

#[test]
fn a_reply_is_right_for_check_and_load_or_wrong_for_both() {
    let folder = tempfile::tempdir().expect("a folder");
    let contract = folder.path().join("odd");
    std::fs::create_dir(&contract).expect("a folder");
    std::fs::write(contract.join("contract.toml"), CONTRACT).expect("a file");
    // Of two requests in one packet the notice behind the first reply answers the second.
    let is_for_one = |entry: &Entry| entry.method == "GET" && !entry.name.starts_with("the notice");
    let entries: Vec<Entry> = corpus::of("http1").into_iter().filter(is_for_one).collect();
    assert!(entries.len() > 100);
    let (waiting, wrong) = (Mutex::new(entries.iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let next = || waiting.lock().expect("no panic").next();
                while let Some(entry) = next() {
                    let expected = in_short(&entry.reading) == RIGHT;
                    let (verdicts, said) = verdicts(entry, &contract);
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
