//! The published schemas accept every shipped file, and reject what the parser rejects.

use crate::service::Project;
use prony_config::Suite;
use prony_config::format::{FileKind, SourceFile, schema, upgraded};
use prony_config::schemas;
use prony_schema::{Fault, Schema};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The published schema of a kind of file.
pub(crate) struct Published(Schema);

impl Published {
    pub(crate) fn of(kind: FileKind) -> Self {
        let extended = schemas::extended(kind).expect("a kind of this crate");
        let published = schema::published(&extended, "a file");
        Self(Schema::compile(&published).expect("a schema"))
    }

    pub(crate) fn judge(&self, value: &Value) -> Result<(), Fault> {
        self.0.judge(value)
    }
}

/// A file, as validators of JSON see it.
pub(crate) fn toml_as_json(text: &str) -> Value {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The files in a folder of the repository: `*` stands for each folder in it.
fn files(pattern: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let found = pattern.split('/').fold(vec![root], |folders, part| {
        let below = |folder: PathBuf| match part.strip_prefix('*') {
            None => vec![folder.join(part)],
            Some(end) => std::fs::read_dir(&folder)
                .into_iter()
                .flatten()
                .map(|entry| entry.expect("an entry").path())
                .filter(|path| path.to_string_lossy().ends_with(end))
                .collect(),
        };
        folders.into_iter().flat_map(below).collect()
    });
    found.into_iter().filter(|path| path.is_file()).collect()
}

/// Shipped files, in the current format, are valid under the schema of their kind.
fn check_shipped(kind: FileKind, patterns: &[&str], least: usize) {
    let published = Published::of(kind);
    let extended = schemas::extended(kind).expect("a kind of this crate");
    let paths: Vec<PathBuf> = patterns.iter().flat_map(|pattern| files(pattern)).collect();
    assert!(paths.len() >= least, "only {} files", paths.len());
    for path in paths {
        let file = SourceFile::read(&path).expect("a file");
        let text = upgraded(kind, &extended, &file).unwrap_or_else(|error| panic!("{error}"));
        let text = text.unwrap_or_else(|| std::fs::read_to_string(&path).expect("a file"));
        published
            .judge(&toml_as_json(&text))
            .unwrap_or_else(|fault| panic!("{}: {fault}\n{text}", path.display()));
    }
}

#[test]
fn shipped_contracts_are_valid_under_their_schema() {
    check_shipped(FileKind::Contract, &["contracts/*/contract.toml"], 14);
}

#[test]
fn shipped_services_are_valid_under_their_schema() {
    let patterns = [
        "services/*/service.toml",
        "tests/*/project/services/*/service.toml",
        "crates/cli/templates/*/service.toml",
    ];
    check_shipped(FileKind::Service, &patterns, 50);
}

#[test]
fn shipped_suites_are_valid_under_their_schema() {
    check_shipped(
        FileKind::Suite,
        &["suites/*.toml", "tests/*/project/suites/*.toml"],
        17,
    );
}

#[test]
fn shipped_toolchains_and_backing_services_are_valid_under_their_schema() {
    let toolchains = ["services/toolchains.toml", "crates/runner/toolchains.toml"];
    check_shipped(FileKind::Toolchains, &toolchains, 2);
    check_shipped(FileKind::Backing, &["backing-services/*/backing.toml"], 3);
}

const CONTRACT: &str = r#"format = 1

[operation.get]
http = "GET /a/{id}"
with.id = { range = [1, 9] }
expect = { status = 200, json_contains = { id = "{id}" } }
capture.name = { json = "/name" }

[[case]]
name = "one"
call = { operation = "get", expect.headers = { A = { matches = "a+" } } }

[workload.read]
mix = [{ operation = "get" }]
load = { kind = "closed", connections = 4 }
"#;

const SERVICE: &str = r#"format = 1
contracts = ["hello"]
build = ["true"]
run = "exec ./server"
workers = { kind = "threads" }

[[variant]]
name = "one"
"#;

const SUITE: &str = r#"format = 1
title = "Mine"
rounds = 3
duration = "2s"

[[group]]
contract = "hello"
load = { kind = "closed", connections = 16 }
services = ["go-one"]
"#;

const TOOLCHAINS: &str = r#"format = 1

[toy]
title = "Toy"
probe = "toy --version"
version = '(\d+)'
packages = { debian = ["toy"] }
"#;

const BACKING: &str = r#"format = 1
run = "exec db"
ready = { query = "select 1" }
query_url = "postgres://{host}:{port}/db"
"#;

/// A text of a file, and the one that replaces it.
type Change = (&'static str, &'static str);

/// Valid files, and changes that make them invalid.
const WRONG: [(FileKind, &str, &[Change]); 5] = [
    (
        FileKind::Contract,
        CONTRACT,
        &[
            ("capture.name", "captures.name"),
            ("expect = {", "expects = {"),
            ("status = 200", "status = 42"),
            ("status = 200", "status = \"200\""),
            ("status = 200", "status = []"),
            ("{ range = [1, 9] }", "{ range = [1] }"),
            ("{ range = [1, 9] }", "{ ranges = [1, 9] }"),
            ("{ json = \"/name\" }", "{ jsonpath = \"/name\" }"),
            ("{ json = \"/name\" }", "\"json:/name\""),
            ("{ matches = \"a+\" }", "{ match = \"a+\" }"),
            ("{ matches = \"a+\" }", "7"),
            ("name = \"one\"\n", ""),
            ("call = { operation", "call = { operations"),
            ("mix = [{ operation = \"get\" }]", "mix = \"get\""),
            ("mix = [{ operation", "mix = [{ weight = -1, operation"),
            ("kind = \"closed\"", "kind = \"close\""),
            ("connections = 4", "connections = \"4\""),
            ("load = { kind = \"closed\", connections = 4 }\n", ""),
            ("format = 1", "format = 2"),
        ],
    ),
    (
        FileKind::Service,
        SERVICE,
        &[
            ("contracts = [\"hello\"]", "contracts = []"),
            ("contracts = [\"hello\"]", "contracts = \"hello\""),
            ("run =", "start ="),
            ("run =", "pinned = true\nrun ="),
            ("build = [\"true\"]", "build = true"),
            ("\"threads\"", "\"thread\""),
            ("name = \"one\"", "title = \"one\""),
            ("name = \"one\"", "name = \"one\"\nframework = \"none\""),
            ("run =", "protocols = [\"http3\"]\nrun ="),
            ("run =", "start_timeout = 3\nrun ="),
        ],
    ),
    (
        FileKind::Suite,
        SUITE,
        &[
            ("duration", "duraton"),
            ("rounds = 3", "rounds = \"3\""),
            ("\"2s\"", "2"),
            ("services = [\"go-one\"]", "services = \"go-one\""),
            ("contract = \"hello\"\n", ""),
            ("title = \"Mine\"", "title = 1"),
        ],
    ),
    (
        FileKind::Toolchains,
        TOOLCHAINS,
        &[
            ("probe", "probes"),
            ("title = \"Toy\"\n", ""),
            ("debian = [\"toy\"]", "debian = \"toy\""),
            ("debian", "debain"),
        ],
    ),
    (
        FileKind::Backing,
        BACKING,
        &[
            ("run = \"exec db\"\n", ""),
            ("query = \"select 1\"", "queries = 1"),
            ("query_url", "query_uri"),
            ("run = \"exec db\"", "run = [\"exec db\"]"),
        ],
    ),
];

/// What the parser finds wrong.
fn parsed(kind: FileKind, text: &str) -> Result<(), String> {
    let project = Project::new();
    let name = match kind {
        FileKind::Contract => "contracts/mine/contract.toml",
        FileKind::Service => "services/mine/service.toml",
        FileKind::Toolchains => "services/toolchains.toml",
        FileKind::Backing => "backing-services/mine/backing.toml",
        _ => {
            project.write("suites/mine.toml", text);
            let read = Suite::read(&project.path("suites/mine.toml"), None);
            return read.map(drop).map_err(|error| error.to_string());
        }
    };
    project.write(name, text);
    project.catalogue().verify().map_err(|error| project.text(&error))
}

#[test]
fn a_wrong_file_is_rejected_by_schema_and_parser() {
    let mut faults = Vec::new();
    for (kind, right, changes) in WRONG {
        let published = Published::of(kind);
        assert_eq!(published.judge(&toml_as_json(right)), Ok(()), "{kind}");
        assert_eq!(parsed(kind, right), Ok(()), "{kind}");
        for (from, to) in changes {
            assert!(right.contains(from), "{kind}: {from}");
            let wrong = right.replacen(from, to, 1);
            if published.judge(&toml_as_json(&wrong)).is_ok() {
                faults.push(format!("{kind}: the schema accepts `{to}`"));
            }
            if parsed(kind, &wrong).is_ok() {
                faults.push(format!("{kind}: the parser accepts `{to}`"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
