//! Helpers for tests of contracts.

pub(crate) mod session;

use prony_config::ConfigError;
use prony_config::contract::Contract;
use prony_load::Template;
use std::fmt::Write as _;

/// Loads a contract in a folder with these files.
pub(crate) fn load_beside(contract: &str, files: &[(&str, &str)]) -> Result<Contract, ConfigError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("toy");
    std::fs::create_dir(&path).expect("a folder");
    for (name, text) in [("contract.toml", contract)].iter().chain(files) {
        std::fs::write(path.join(name), text).expect("written");
    }
    Contract::load(&path)
}

/// Loads a contract without other files.
pub(crate) fn load(contract: &str) -> Result<Contract, ConfigError> {
    load_beside(contract, &[])
}

/// Loads a contract that must be right.
pub(crate) fn right(contract: &str) -> Contract {
    load(contract).unwrap_or_else(|error| panic!("{error}"))
}

/// A text with one replacement. The old part must be there.
pub(crate) fn replaced(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "nothing to replace: {old}");
    text.replacen(old, new, 1)
}

/// The errors of a contract, each as `LINE MARKED: MESSAGE (HELP)`.
pub(crate) fn told(error: &ConfigError, contract: &str) -> String {
    let ConfigError::Files(found) = error else {
        return error.to_string();
    };
    let lines = found.0.iter().map(|one| {
        let line = contract.lines().nth(one.line - 1).unwrap_or_default();
        let marked: String = line
            .chars()
            .skip(one.column - 1)
            .take(one.end_column - one.column)
            .collect();
        let help = one
            .help
            .as_ref()
            .map_or_else(String::new, |help| format!(" ({help})"));
        format!("{} {marked}: {}{help}", one.line, one.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Each replacement in a right contract must be refused with these errors.
pub(crate) fn refused(
    right: &str,
    table: &[(&str, &str, &str)],
    load: impl Fn(&str) -> Result<(), ConfigError>,
) {
    let mut wrong = String::new();
    for (old, new, expected) in table {
        let text = replaced(right, old, new);
        let told = match load(&text) {
            Ok(()) => "it loads".to_owned(),
            Err(error) => told(&error, &text),
        };
        if told != *expected {
            let _ = write!(wrong, "\n{new}\n  expected: {expected}\n  told:     {told}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A template as text, in which values that differ between requests are `<0>`, `<1>`, …
pub(crate) fn text(template: &Template) -> String {
    let mut out = Vec::new();
    template.render(&mut out, |slot, out| {
        out.extend_from_slice(format!("<{slot}>").as_bytes());
    });
    String::from_utf8(out).expect("text")
}
