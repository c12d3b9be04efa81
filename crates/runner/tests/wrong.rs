//! Wrong testbeds and settings of projects, and what users read about them.
//!
//! Each file of `wrong/` has the cases of a kind. A case begins with `=== what is wrong`; its text is the file.

use prony_runner::testbed::TestbedFile;
use prony_runner::{Checkout, PROJECT_FILE};
use std::fmt::Write as _;
use std::path::Path;
use tempfile::TempDir;

/// The errors of all cases of a kind, one after the other.
fn messages<E: ToString>(cases: &str, file: &str, read: impl Fn(&Path) -> Result<(), E>) -> String {
    let mut messages = String::new();
    for case in cases.trim_start_matches("=== ").split("\n=== ") {
        let (title, text) = case.split_once('\n').expect("a title and a file");
        let folder = TempDir::new().expect("a folder");
        std::fs::write(folder.path().join(file), text).expect("a file");
        let message = match read(folder.path()) {
            Ok(()) => "nothing is wrong".to_owned(),
            Err(error) => error.to_string(),
        };
        let root = format!("{}/", folder.path().display());
        let _ = writeln!(messages, "=== {title}\nerror: {}\n", message.replace(&root, ""));
    }
    for word in [
        "nothing is wrong",
        "expected ",
        "unknown field",
        "invalid type",
        "did not match",
        "os error",
    ] {
        assert!(!messages.contains(word), "`{word}`:\n{messages}");
    }
    messages
}

#[test]
fn wrong_testbeds() {
    insta::assert_snapshot!(messages(
        include_str!("wrong/testbed.txt"),
        "testbed.toml",
        |root| { TestbedFile::read(&root.join("testbed.toml")).map(drop) }
    ));
}

#[test]
fn wrong_projects() {
    insta::assert_snapshot!(messages(
        include_str!("wrong/project.txt"),
        PROJECT_FILE,
        |root| {
            let root = root.to_owned();
            Checkout { root }.store().map(drop)
        }
    ));
}
