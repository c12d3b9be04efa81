//! Rules for the crates: allowed dependencies, no cycles between files, and required files and headers.

use super::cycles::Modules;
use super::repository::{Repository, is_test};
use std::collections::{BTreeMap, BTreeSet};

/// Allowed dependencies of each crate. Every edge points up this list: see docs/ARCHITECTURE.md.
const EDGES: &[(&str, &[&str])] = &[
    ("schema", &[]),
    ("load", &["schema"]),
    ("records", &[]),
    ("files", &[]),
    ("protocols", &["load"]),
    ("merge", &["load", "records"]),
    ("store", &["files", "records"]),
    ("generator", &["load", "merge", "protocols", "records"]),
    ("config", &["files", "load"]),
    ("check", &["config", "load", "protocols", "records"]),
    ("host", &["files", "records"]),
    ("kubernetes", &["host"]),
    ("statistics", &["records"]),
    (
        "runner",
        &[
            "check",
            "config",
            "files",
            "host",
            "kubernetes",
            "load",
            "merge",
            "protocols",
            "records",
            "statistics",
            "store",
        ],
    ),
    ("report", &["records", "statistics"]),
    ("telemetry", &["load", "protocols", "records"]),
    ("servers", &["config", "load"]),
    (
        "cli",
        &[
            "check",
            "config",
            "generator",
            "host",
            "kubernetes",
            "load",
            "protocols",
            "records",
            "report",
            "runner",
            "servers",
            "statistics",
            "store",
            "telemetry",
        ],
    ),
];

/// Crates use only those that [`EDGES`] allows, and all crates are listed there.
pub(crate) fn edges_are_allowed(repository: &Repository) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, allowed) in EDGES {
        let manifest = repository.text(&format!("crates/{name}/Cargo.toml"));
        for dependency in dependencies(manifest) {
            if !allowed.contains(&dependency.as_str()) {
                faults.push(format!(
                    "crates/{name}/Cargo.toml: {name} → {dependency} is not an allowed edge"
                ));
            }
        }
    }
    let folders: BTreeSet<&str> = repository
        .files()
        .filter_map(|(path, _)| path.strip_prefix("crates/")?.split('/').next())
        .collect();
    for folder in folders {
        if !EDGES.iter().any(|(name, _)| *name == folder) {
            faults.push(format!(
                "crates/{folder}: add it to EDGES in xtask/src/tidy/crates.rs and to docs/ARCHITECTURE.md"
            ));
        }
    }
    faults
}

/// The workspace crates in the dependencies of a manifest, without dev-dependencies.
fn dependencies(manifest: &str) -> Vec<String> {
    let table: toml::Table = manifest.parse().unwrap_or_default();
    let dependencies = table.get("dependencies").and_then(toml::Value::as_table);
    dependencies
        .into_iter()
        .flatten()
        .filter_map(|(name, _)| name.strip_prefix("prony-").map(str::to_owned))
        .collect()
}

/// The files of a crate depend on each other in one direction.
pub(crate) fn files_have_no_cycles(repository: &Repository) -> Vec<String> {
    let mut crates: BTreeMap<&str, Modules> = BTreeMap::new();
    for (path, code) in repository.product() {
        if let Some((name, file)) = path
            .strip_prefix("crates/")
            .and_then(|path| path.split_once("/src/"))
        {
            crates.entry(name).or_default().add(file, code);
        }
    }
    let mut faults = Vec::new();
    for (name, modules) in &crates {
        for (folder, ring) in modules.cycles() {
            faults.push(format!(
                "crates/{name}/src/{folder}: {} depend on each other in a cycle: move what they share into a file below them",
                ring.join(", ")
            ));
        }
    }
    faults
}

/// The meaning of a kind of warning is declared once, in `records`. A reader that matches on a kind would miss new kinds.
pub(crate) fn readers_match_no_kind_of_warning(repository: &Repository) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, code) in repository.product() {
        if path.starts_with("crates/records/src/warning") {
            continue;
        }
        for (number, line) in code.lines().enumerate() {
            let matches = ["==", "!=", "=>", "matches!", "| WarningKind"];
            let makes = line.contains("Warning::new(");
            if line.contains("WarningKind::") && !makes && matches.iter().any(|text| line.contains(text)) {
                faults.push(format!(
                    "{path}:{}: it matches on a kind of warning: use `kind.facts()`, and add what is missing there",
                    number + 1
                ));
            }
        }
    }
    faults
}

/// A test file that no test program includes would never be compiled.
pub(crate) fn test_files_belong_to_a_program(repository: &Repository) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, _) in repository.sources() {
        let Some((folder, file)) = path
            .split_once("/tests/")
            .filter(|(folder, file)| !folder.contains("/src/") && !file.contains('/'))
        else {
            continue;
        };
        let manifest = repository.text(&format!("{folder}/Cargo.toml"));
        if !manifest.contains("autotests = false") || manifest.contains(&format!("path = \"tests/{file}\"")) {
            continue;
        }
        let module = format!("mod {};", file.trim_end_matches(".rs"));
        let main = format!("{folder}/tests/main.rs");
        if !repository.text(&main).lines().any(|line| line == module) {
            faults.push(format!("{main} lacks `{module}`"));
        }
    }
    faults
}

/// A crate's header describes what the crate is, what it must never do, and which file to open first.
pub(crate) fn crates_have_a_header(repository: &Repository) -> Vec<String> {
    repository
        .sources()
        .filter(|(path, _)| path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs"))
        .filter(|(_, text)| text.lines().take_while(|line| line.starts_with("//!")).count() < 3)
        .map(|(path, _)| {
            format!("{path}: its header must say what it is, what it must never do, and where to start")
        })
        .collect()
}

/// Tests that may use the protocols of the product: those of that crate, and one that counts streams by header blocks whose
/// table changes, which no library here reads alone.
const USE_PROTOCOLS: [&str; 2] = ["crates/protocols/", "crates/generator/tests/http2.rs"];

/// Check and load share one reader of replies. The servers that test it must be independent of it: one mistake on both sides
/// would agree with itself.
pub(crate) fn test_servers_use_other_protocols(repository: &Repository) -> Vec<String> {
    let is_server = |path: &str| {
        // Unit tests may use what they test.
        let is_unit_test = path.contains("/src/") && !path.starts_with("crates/servers/");
        (path.starts_with("crates/servers/") || is_test(path)) && !is_unit_test
    };
    repository
        .sources()
        .filter(|(path, _)| is_server(path) && !USE_PROTOCOLS.iter().any(|allowed| path.starts_with(allowed)))
        // In two halves, so that this file is not one of those.
        .filter(|(_, text)| text.contains(concat!("prony_", "protocols")))
        .map(|(path, _)| {
            format!(
                "{path}: a test server uses prony-protocols: take hyper, tonic, tungstenite or scripted bytes"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{crates_have_a_header, edges_are_allowed, readers_match_no_kind_of_warning};
    use crate::tidy::repository::Repository;

    #[test]
    fn a_forbidden_edge_and_an_unknown_crate_are_reported() {
        let repository = Repository::of(&[
            (
                "crates/load/Cargo.toml",
                "[dependencies]\nprony-runner.workspace = true\n",
            ),
            ("crates/drawer/Cargo.toml", "[dependencies]\n"),
        ]);
        let faults = edges_are_allowed(&repository);
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].contains("load → runner"), "{faults:?}");
        assert!(faults[1].starts_with("crates/drawer"), "{faults:?}");
    }

    #[test]
    fn a_reader_that_matches_on_a_kind_is_reported() {
        let code = "fn f() {\n    if kind == WarningKind::Errors {}\n    Warning::new(WarningKind::Errors, text);\n}\n";
        let repository = Repository::of(&[("crates/report/src/lib.rs", code)]);
        let faults = readers_match_no_kind_of_warning(&repository);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].starts_with("crates/report/src/lib.rs:2:"), "{faults:?}");
    }

    #[test]
    fn a_crate_without_a_header_is_reported() {
        let repository = Repository::of(&[("crates/load/src/lib.rs", "//! Loads.\n\nmod job;\n")]);
        assert_eq!(crates_have_a_header(&repository).len(), 1);
    }
}
