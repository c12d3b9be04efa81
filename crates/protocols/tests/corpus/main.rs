//! Byte sequences that servers send, each with the one reading that it has here and the section that decides.
//!
//! One parser for check and load means one possible mistake for both. So libraries that other projects trust read each
//! sequence too: httparse and hyper, h2, tungstenite. Where one of them reads something else, `differences.toml` says which
//! section of which standard decides; a difference that is not there fails the test, and so does one that is gone.
//!
//! No library with the rules of gRPC alone is at hand: its entries are read by our code only.

mod entries;
mod oracles;
mod ours;

use entries::{Difference, Entry};
use std::collections::BTreeMap;

/// Whether a reading is the expected one: of what is refused, the expected words are a part of the reason.
fn is_expected(reading: &str, expected: &str) -> bool {
    match expected.split_once(": ") {
        Some((kind, words)) if entries::is_refusal(expected) => reading
            .split_once(": ")
            .is_some_and(|(got, reason)| got == kind && reason.contains(words)),
        _ => reading == expected,
    }
}

/// Fails with every entry that is read in another way, whole or in single bytes.
fn all_are_read(file: &str, read: impl Fn(&Entry, usize) -> String) {
    let mut wrong = Vec::new();
    for entry in entries::of(file) {
        let length = entry.bytes().len();
        for size in [length, 1] {
            // What follows a reply in another read is seen by the next request, or never.
            if size == 1 && length > 1 && entry.reading.contains("more bytes") {
                continue;
            }
            let reading = read(&entry, size);
            if !is_expected(&reading, &entry.reading) {
                wrong.push(format!(
                    "{} ({}), in pieces of {size}:\n  expected {}\n  read     {reading}",
                    entry.name, entry.section, entry.reading
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {file}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Compares our readings with those of a library.
fn differences_are_listed(
    (file, oracle): (&str, &str),
    ours: impl Fn(&Entry) -> String,
    theirs: impl Fn(&Entry) -> String,
) {
    let listed: BTreeMap<String, Difference> = entries::differences()
        .into_iter()
        .filter(|difference| difference.file == file && difference.oracle == oracle)
        .map(|difference| (difference.entry.clone(), difference))
        .collect();
    let entries = entries::of(file);
    let mut wrong = Vec::new();
    for entry in &entries {
        let (ours, theirs) = (ours(entry), theirs(entry));
        match listed.get(&entry.name) {
            None if ours != theirs => wrong.push(format!(
                "[[difference]]\nfile = \"{file}\"\nentry = \"{}\"\noracle = \"{oracle}\"\nreading = \"{}\"\nsection = \"{}\"\n",
                entry.name,
                theirs.escape_default(),
                entry.section
            )),
            Some(_) if ours == theirs => wrong.push(format!("`{}` is not read in another way any more", entry.name)),
            Some(listed) if listed.reading != theirs => {
                wrong.push(format!("`{}` is read as `{theirs}`, not as `{}`", entry.name, listed.reading));
            }
            Some(listed) if listed.section.is_empty() => {
                wrong.push(format!("`{}` is listed without the section that decides", entry.name));
            }
            _ => {}
        }
    }
    let is_known = |name: &String| entries.iter().any(|entry| entry.name == *name);
    wrong.extend(
        listed
            .keys()
            .filter(|name| !is_known(name))
            .map(|name| format!("there is no entry `{name}`")),
    );
    assert!(wrong.is_empty(), "{oracle}, {file}:\n{}", wrong.join("\n"));
}

#[test]
fn http1_is_read_as_the_standard_says() {
    all_are_read("http1", |entry, size| {
        ours::http1(&entry.method, &entry.bytes(), size)
    });
}

#[test]
fn http2_is_read_as_the_standard_says() {
    all_are_read("http2", |entry, size| {
        ours::http2(&entry.method, &entry.bytes(), size)
    });
}

#[test]
fn grpc_is_read_as_the_protocol_says() {
    all_are_read("grpc", |entry, size| {
        ours::grpc(&entry.method, &entry.bytes(), size)
    });
}

#[test]
fn frames_of_web_sockets_are_read_as_the_standard_says() {
    all_are_read("websocket", |entry, size| ours::websocket(&entry.bytes(), size));
}

#[test]
fn httparse_reads_the_same_heads() {
    let ours = |entry: &Entry| ours::head(&entry.method, &entry.bytes());
    let theirs = |entry: &Entry| oracles::httparse(&entry.bytes());
    differences_are_listed(("http1", "httparse"), ours, theirs);
}

fn in_short(entry: &Entry) -> String {
    entries::in_short(&entry.reading)
}

#[test]
fn hyper_reads_the_same_replies() {
    let theirs = |entry: &Entry| oracles::hyper(&entry.method, &entry.bytes());
    differences_are_listed(("http1", "hyper"), in_short, theirs);
}

#[test]
fn h2_reads_the_same_replies() {
    let theirs = |entry: &Entry| oracles::h2(&entry.method, &entry.bytes());
    differences_are_listed(("http2", "h2"), in_short, theirs);
}

#[test]
fn tungstenite_reads_the_same_messages() {
    let theirs = |entry: &Entry| oracles::tungstenite(&entry.bytes());
    differences_are_listed(("websocket", "tungstenite"), in_short, theirs);
}

#[test]
fn names_are_unique_and_sections_are_given() {
    for file in ["http1", "http2", "grpc", "websocket"] {
        let entries = entries::of(file);
        for (place, entry) in entries.iter().enumerate() {
            assert!(!entry.section.is_empty(), "{}", entry.name);
            let is_again = entries[..place].iter().any(|other| other.name == entry.name);
            assert!(!is_again, "{file}: two entries are named `{}`", entry.name);
        }
    }
}
