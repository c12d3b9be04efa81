//! Files that prony writes name their schema, and are valid under it.

use crate::common::root;
use prony_schema::Schema;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The file is valid under the schema of its first line, which is relative to it; taplo agrees where it is installed.
pub(crate) fn is_valid(file: &Path) {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let first = text.lines().next().unwrap_or_default();
    let name = first
        .strip_prefix("#:schema ")
        .unwrap_or_else(|| panic!("no schema in\n{text}"));
    let schema = file.parent().expect("a folder").join(name);
    let schema = std::fs::read_to_string(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let value: Value = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(value["format"], 1, "{text}");
    let verdict = Schema::compile(&schema).expect("a schema").judge(&value);
    verdict.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    let taplo = root().join(".prony/cache/test-tools/bin/taplo");
    if taplo.is_file() {
        let linted = Command::new(taplo)
            .args(["lint", "--no-auto-config", "--colors", "never"])
            .arg(file)
            .output()
            .expect("taplo runs");
        let told = String::from_utf8_lossy(&linted.stderr);
        assert!(linted.status.success(), "{told}\n{text}");
    }
}
