//! The documents: the tables of keys and the schemas in `schemas/1`, and the examples of files in documents, are current.

mod examples;
mod key_tables;
mod schema_files;

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares a file with its current text. `UPDATE=1` writes it instead.
fn assert_current(path: &Path, current: &str) {
    let old = std::fs::read_to_string(path).unwrap_or_default();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, current).expect("the file can be written");
    } else {
        assert!(
            old == current,
            "{} is stale: `UPDATE=1 cargo test -p prony-runner documents` updates it",
            path.display()
        );
    }
}
