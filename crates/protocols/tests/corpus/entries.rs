//! The files of the corpus.

use serde::Deserialize;
use std::path::Path;

/// What a server sends, and how it is read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// What decides.
    pub(crate) section: String,
    #[serde(default = "get")]
    pub(crate) method: String,
    /// Each character is a byte.
    bytes: Option<String>,
    hex: Option<String>,
    repeat: Option<Repeat>,
    pub(crate) reading: String,
}

/// Something that is there many times.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeat {
    text: Option<String>,
    hex: Option<String>,
    times: usize,
    /// Where; absent: at the end.
    at: Option<usize>,
}

/// Something that a library reads in another way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Difference {
    pub(crate) file: String,
    pub(crate) entry: String,
    pub(crate) oracle: String,
    /// What the library reads.
    pub(crate) reading: String,
    /// What decides against it, or leaves both free.
    pub(crate) section: String,
}

#[derive(Deserialize)]
struct Entries {
    entry: Vec<Entry>,
}

#[derive(Deserialize)]
struct Differences {
    difference: Vec<Difference>,
}

fn get() -> String {
    "GET".to_owned()
}

fn text(file: &str) -> String {
    // Tests of other crates read it too.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocols/tests/corpus");
    let path = folder.join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn of(file: &str) -> Vec<Entry> {
    let entries: Entries = toml::from_str(&text(&format!("{file}.toml"))).expect("a file of entries");
    entries.entry
}

pub(crate) fn differences() -> Vec<Difference> {
    let differences: Differences = toml::from_str(&text("differences.toml")).expect("a file of differences");
    differences.difference
}

impl Entry {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = decoded(self.bytes.as_deref(), self.hex.as_deref());
        if let Some(repeat) = &self.repeat {
            let piece = decoded(repeat.text.as_deref(), repeat.hex.as_deref());
            let at = repeat.at.unwrap_or(bytes.len());
            bytes.splice(at..at, piece.repeat(repeat.times));
        }
        bytes
    }
}

fn decoded(text: Option<&str>, hex: Option<&str>) -> Vec<u8> {
    let of_text = text.into_iter().flat_map(str::chars);
    let of_text = of_text.map(|letter| u8::try_from(letter).expect("a character that is a byte"));
    let digits = hex.unwrap_or_default().as_bytes();
    let of_hex = digits.chunks(2).map(|two| {
        let two = std::str::from_utf8(two).expect("digits");
        u8::from_str_radix(two, 16).expect("two hexadecimal digits")
    });
    of_text.chain(of_hex).collect()
}

/// Whether a reading says that there is no reply.
pub(crate) fn is_refusal(reading: &str) -> bool {
    let kinds = [
        "malformed",
        "stream error",
        "connection error",
        "reset",
        "unprocessed",
        "incomplete",
    ];
    kinds.iter().any(|kind| reading.starts_with(kind))
}

/// A reading in the words that all libraries have: the status and the body, or that there is no reply.
pub(crate) fn in_short(reading: &str) -> String {
    if is_refusal(reading) {
        return "refused".to_owned();
    }
    match reading.split_once(": ") {
        Some((head, body)) => format!("{}: {body}", head.split(',').next().unwrap_or_default()),
        None => reading.to_owned(),
    }
}
