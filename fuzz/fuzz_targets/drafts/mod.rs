//! A draft of any file is a contract that can be read, or an error that names the file.

use prony_config::import::{Draft, DraftError};
use std::fs;
use std::path::Path;

/// The most bytes of the files of a draft: more than any of a file that a fuzzer makes needs.
const MOST: usize = 64 << 20;

/// Makes a draft of a file with this content.
pub(crate) fn of_file(content: &[u8], read: fn(&Path) -> Result<Draft, DraftError>) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("source");
    fs::write(&file, content).expect("a file");
    match read(&file) {
        Ok(draft) => is_readable(&draft),
        Err(error) => assert!(error.to_string().contains("source"), "{error}"),
    }
}

/// The files of a draft are TOML and JSON.
pub(crate) fn is_readable(draft: &Draft) {
    let files = draft.files("mine");
    assert!(files.values().map(String::len).sum::<usize>() < MOST);
    for (name, text) in files {
        match name.rsplit_once('.') {
            Some((_, "toml")) => {
                let parsed = toml::from_str::<toml::Table>(&text);
                assert!(parsed.is_ok(), "{parsed:?}\n{text}");
            }
            _ => {
                let parsed = serde_json::from_str::<serde_json::Value>(&text);
                assert!(parsed.is_ok(), "{name}: {parsed:?}");
            }
        }
    }
}
