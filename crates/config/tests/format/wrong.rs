//! Wrong files of every kind, and what users read about them.
//!
//! Each file of `wrong/` has the cases of a kind. A case begins with `=== what is wrong`; its text is the file of that kind, and
//! `--- PATH` begins another file of its project. What stands before the first case is added to the end of each file that does
//! not say `# alone`.

use prony_config::contract::{Contract, SequenceFile};
use prony_config::{Catalogue, ConfigError, Plan, PlanOverrides, Suite};
use prony_load::Protocol;
use std::fmt::Write as _;
use std::path::Path;
use tempfile::TempDir;

/// Files that every project has, unless a case replaces them.
const SOUND: [(&str, &str); 4] = [
    ("contracts/hello/contract.toml", HELLO),
    ("services/toolchains.toml", TOOLCHAINS),
    ("services/go-http/service.toml", SERVICE),
    ("backing-services/postgresql/backing.toml", BACKING),
];

const HELLO: &str = r#"[operation.hello]
http = "GET /"
expect.text = "hello"

[workload.hello]
mix = [{ operation = "hello" }]
load = { kind = "closed", connections = 1 }
"#;

const TOOLCHAINS: &str = r#"[go]
title = "Go"
probe = "go version"
version = 'go(\d+)'
"#;

const SERVICE: &str = r#"contracts = ["hello"]
run = "exec ./server"
"#;

const BACKING: &str = r#"run = "exec postgres {settings}"
ready = { query = "select 1" }
query_url = "postgres://{host}:{port}/db"
seed = "psql"
env = { DATABASE_POOL = "16", DATABASE_NAME = "db" }
settings = { work_mem = "4MB" }
"#;

/// The errors of all cases of a kind, one after the other.
fn messages(cases: &str, file: &str, load: impl Fn(&Path) -> Result<(), ConfigError>) -> String {
    let (ending, cases) = cases.split_once("=== ").expect("a case");
    let mut messages = String::new();
    for case in cases.split("\n=== ") {
        let (title, text) = case.split_once('\n').expect("a title and a file");
        let folder = TempDir::new().expect("a folder");
        for (path, text) in SOUND {
            write(folder.path(), path, text);
        }
        let mut files = text.split("\n--- ");
        let own = files.next().unwrap_or_default();
        let ending = if own.contains("# alone") { "" } else { ending };
        write(folder.path(), file, &format!("{own}\n{ending}"));
        for other in files {
            let (path, text) = other.split_once('\n').expect("a path and a file");
            write(folder.path(), path, text);
        }
        let message = match load(folder.path()) {
            Ok(()) => "nothing is wrong".to_owned(),
            Err(error) => format!("error: {error}"),
        };
        let root = format!("{}/", folder.path().display());
        let _ = writeln!(messages, "=== {title}\n{}\n", message.replace(&root, ""));
    }
    messages
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

/// All definitions of a project.
fn catalogue(root: &Path) -> Result<(), ConfigError> {
    Catalogue::read_with(root, None)?.verify()
}

fn contracts() -> String {
    let file = "contracts/shop/contract.toml";
    messages(include_str!("wrong/contract.txt"), file, |root| {
        Contract::load(&root.join("contracts/shop"))?;
        catalogue(root)
    })
}

fn services() -> String {
    messages(
        include_str!("wrong/service.txt"),
        "services/shop/service.toml",
        catalogue,
    )
}

fn suites() -> String {
    let file = "suites/shop.toml";
    messages(include_str!("wrong/suite.txt"), file, |root| {
        let suite = Suite::read(&root.join(file), None)?;
        Plan::of(
            &Catalogue::read_with(root, None)?,
            &suite,
            &PlanOverrides::default(),
        )
        .map(drop)
    })
}

fn toolchains() -> String {
    messages(
        include_str!("wrong/toolchains.txt"),
        "services/toolchains.toml",
        catalogue,
    )
}

fn backing_services() -> String {
    messages(
        include_str!("wrong/backing.txt"),
        "backing-services/cache/backing.toml",
        catalogue,
    )
}

fn sequences() -> String {
    let file = "visit.toml";
    messages(include_str!("wrong/sequence.txt"), file, |root| {
        SequenceFile::read(&root.join(file), Protocol::Http1).map(drop)
    })
}

#[test]
fn wrong_contracts() {
    insta::assert_snapshot!(contracts());
}

#[test]
fn wrong_services() {
    insta::assert_snapshot!(services());
}

#[test]
fn wrong_suites() {
    insta::assert_snapshot!(suites());
}

#[test]
fn wrong_toolchains() {
    insta::assert_snapshot!(toolchains());
}

#[test]
fn wrong_backing_services() {
    insta::assert_snapshot!(backing_services());
}

#[test]
fn wrong_sequences() {
    insta::assert_snapshot!(sequences());
}

/// Words of Rust and of the libraries that read files.
const FORBIDDEN: [&str; 14] = [
    "nothing is wrong",
    "invalid type",
    "expected ",
    "unknown field",
    "unknown variant",
    "missing field",
    "duplicate field",
    "did not match any variant",
    "Some(",
    "None",
    "Err(",
    "os error",
    "{:?}",
    "/tmp/",
];

#[test]
fn no_message_has_words_of_rust() {
    let kinds = [
        contracts(),
        services(),
        suites(),
        toolchains(),
        backing_services(),
        sequences(),
    ];
    for case in kinds.iter().flat_map(|messages| messages.split("=== ")) {
        // The lines of the files may say anything.
        let lines = case
            .lines()
            .skip(1)
            .filter(|line| !line.contains(" | ") || line.contains('^'));
        for line in lines {
            for word in FORBIDDEN {
                assert!(!line.contains(word), "`{word}`:\n{case}");
            }
        }
    }
}
