//! The rules of the house, as a test: edges between crates, headers, words, links, and nothing of one
//! particular machine.

mod circles;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What each crate may depend on. The graph goes one way: see docs/ARCHITECTURE.md.
const EDGES: &[(&str, &[&str])] = &[
    ("schema", &[]),
    ("load", &["schema"]),
    ("records", &[]),
    ("protocols", &["load"]),
    ("merge", &["load", "records"]),
    ("store", &["records"]),
    ("generator", &["load", "merge", "protocols", "records"]),
    ("config", &["load"]),
    ("check", &["config", "load", "protocols", "records"]),
    ("host", &["records"]),
    ("kubernetes", &["host"]),
    ("statistics", &["records"]),
    (
        "runner",
        &[
            "check",
            "config",
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
    ("servers", &["config"]),
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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the checkout's root")
}

/// The files that git tracks or would track, relative to the root.
fn tracked() -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git is needed to list the files of the checkout");
    assert!(
        output.status.success(),
        "git ls-files failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let listed = String::from_utf8(output.stdout).expect("file names are UTF-8");
    listed
        .lines()
        .filter(|path| root().join(path).is_file())
        .map(str::to_owned)
        .collect()
}

fn text(path: &str) -> String {
    String::from_utf8_lossy(&std::fs::read(root().join(path)).expect("a tracked file can be read"))
        .into_owned()
}

/// Fails with every fault at once, so that they can be mended at once.
fn no_faults(faults: &[String]) {
    assert!(
        faults.is_empty(),
        "{} fault(s):\n  {}",
        faults.len(),
        faults.join("\n  ")
    );
}

fn rust_sources() -> Vec<String> {
    tracked().into_iter().filter(|path| is_rust(path)).collect()
}

/// Sources of prony itself: a template is a service's.
fn is_rust(path: &str) -> bool {
    path.starts_with("crates/") && has_extension(path, "rs") && !path.starts_with("crates/cli/templates/")
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|found| found == extension)
}

fn is_test_file(path: &str) -> bool {
    path.contains("/tests/")
        || path.ends_with("/tests.rs")
        || path.contains("/benches/")
        || path.contains("/examples/")
}

#[test]
fn edges_go_one_way() {
    let mut faults = Vec::new();
    for (name, allowed) in EDGES {
        let manifest = text(&format!("crates/{name}/Cargo.toml"));
        let table: toml::Table = manifest.parse().expect("a manifest is TOML");
        let dependencies = table
            .get("dependencies")
            .and_then(toml::Value::as_table)
            .cloned()
            .unwrap_or_default();
        for dependency in dependencies.keys().filter_map(|key| key.strip_prefix("prony-")) {
            if !allowed.contains(&dependency) {
                faults.push(format!(
                    "crates/{name}/Cargo.toml: {name} → {dependency} is not an allowed edge"
                ));
            }
        }
    }
    let folders = tracked()
        .into_iter()
        .filter_map(|path| Some(path.strip_prefix("crates/")?.split('/').next()?.to_owned()));
    for folder in folders.collect::<BTreeSet<_>>() {
        if !EDGES.iter().any(|(name, _)| *name == folder) {
            faults.push(format!(
                "crates/{folder}: say in tests/tidy.rs what it may depend on"
            ));
        }
    }
    no_faults(&faults);
}

/// Tests that use the protocols of the product: those of that crate, and one that counts streams by header blocks whose table
/// changes, which no library here reads alone.
const USE_PROTOCOLS: [&str; 2] = ["crates/protocols/", "crates/generator/tests/http2.rs"];

/// Check and load have one reader. What it reads comes from others, or its mistakes would agree with themselves.
#[test]
fn test_servers_do_not_use_the_protocols_of_the_product() {
    let is_server =
        |path: &String| path.starts_with("crates/servers/") || path.contains("/toy/") || is_test_file(path);
    let is_free = |path: &String| !USE_PROTOCOLS.iter().any(|allowed| path.starts_with(allowed));
    let mut faults = Vec::new();
    for path in rust_sources().into_iter().filter(is_server).filter(is_free) {
        // Tests within a crate's sources may use what they test.
        let is_within = path.contains("/src/") && !path.starts_with("crates/servers/");
        // In two halves, so that this file is none of those.
        if !is_within && text(&path).contains(concat!("prony_", "protocols")) {
            faults.push(format!(
                "{path}: a server of a test uses prony-protocols: take hyper, tonic, tungstenite or bytes"
            ));
        }
    }
    no_faults(&faults);
}

#[test]
fn files_go_one_way() {
    let mut crates: BTreeMap<String, circles::Modules> = BTreeMap::new();
    for path in rust_sources().into_iter().filter(|path| !is_test_file(path)) {
        if let Some((name, file)) = path
            .strip_prefix("crates/")
            .and_then(|path| path.split_once("/src/"))
        {
            let content = text(&path);
            let code = content.split("#[cfg(test)]").next().unwrap_or_default();
            crates.entry(name.to_owned()).or_default().add(file, code);
        }
    }
    let mut faults = Vec::new();
    for (name, modules) in &crates {
        for (folder, ring) in modules.circles() {
            faults.push(format!(
                "crates/{name}/src/{folder}: {} use each other in a circle: what do they share that belongs below them?",
                ring.join(", ")
            ));
        }
    }
    no_faults(&faults);
}

/// Tests of a crate are one program, which names its files: one that it does not name would never be compiled.
/// What a kind of warning means is declared in one place. A reader that asked for a kind would not know the next one.
#[test]
fn no_reader_asks_for_a_kind_of_warning() {
    let mut faults = Vec::new();
    let sources = rust_sources().into_iter().filter(|path| !is_test_file(path));
    for path in sources.filter(|path| !path.starts_with("crates/records/src/warning/")) {
        let content = text(&path);
        let code = content.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            let asks = ["==", "!=", "=>", "matches!", "| WarningKind"];
            let makes = line.contains("Warning::new(");
            if line.contains("WarningKind::") && !makes && asks.iter().any(|ask| line.contains(ask)) {
                faults.push(format!(
                    "{path}:{}: it asks for a kind of warning: ask `kind.facts()`, and declare there what you need",
                    number + 1
                ));
            }
        }
    }
    no_faults(&faults);
}

#[test]
fn every_file_of_tests_belongs_to_a_program() {
    let mut faults = Vec::new();
    for path in rust_sources() {
        let Some((folder, file)) = path
            .split_once("/tests/")
            .filter(|(folder, file)| !folder.contains("/src/") && !file.contains('/'))
        else {
            continue;
        };
        let manifest = text(&format!("{folder}/Cargo.toml"));
        if !manifest.contains("autotests = false") || manifest.contains(&format!("path = \"tests/{file}\"")) {
            continue;
        }
        let module = format!("mod {};", file.trim_end_matches(".rs"));
        if !text(&format!("{folder}/tests/main.rs"))
            .lines()
            .any(|line| line == module)
        {
            faults.push(format!("{folder}/tests/main.rs lacks `{module}`"));
        }
    }
    no_faults(&faults);
}

#[test]
fn crates_open_with_a_header() {
    let entry = |path: &String| path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
    let faults: Vec<String> = rust_sources()
        .into_iter()
        .filter(entry)
        .filter(|path| {
            text(path)
                .lines()
                .take_while(|line| line.starts_with("//!"))
                .count()
                < 3
        })
        .map(|path| format!("{path}: open with what it is, what it must never do, and where to start"))
        .collect();
    no_faults(&faults);
}

#[test]
fn services_are_complete() {
    let mut faults = Vec::new();
    for folder in std::fs::read_dir(root().join("services"))
        .expect("services/")
        .filter_map(Result::ok)
    {
        // The ledger is no service.
        let is_service = folder.path().is_dir() && folder.file_name() != "verified";
        if is_service && !folder.path().join("service.toml").is_file() {
            faults.push(format!(
                "services/{}: no service.toml",
                folder.file_name().to_string_lossy()
            ));
        }
    }
    no_faults(&faults);
}

/// A reader finds where settings come from. References are on no board, and c-epoll stands on no framework.
#[test]
fn services_name_their_guide() {
    let catalogue = prony_config::Catalogue::read(&root()).expect("the checkout's own files are valid");
    let faults: Vec<String> = catalogue
        .services
        .iter()
        .filter(|service| service.guide.is_none())
        .filter(|service| service.class.word() != "reference" && service.name != "c-epoll")
        .map(|service| format!("services/{}: {} has no `guide`", service.name, service.variant))
        .collect();
    no_faults(&faults);
}

#[test]
fn words_are_the_glossary_s() {
    // PromptLength that DESIGN of the glossary replaces, in what users read. Quotations of other tools go in backticks.
    const INSTEAD: &[(&str, &str)] = &[
        ("rps", "throughput"),
        ("qps", "throughput"),
        ("scenario", "workload"),
        ("corrected latency", "response time"),
    ];
    let mut faults = Vec::new();
    let read = |path: &String| {
        has_extension(path, "md") || (path.starts_with("crates/cli/src") && has_extension(path, "rs"))
    };
    for path in tracked()
        .into_iter()
        .filter(read)
        .filter(|path| path != "docs/GLOSSARY.md")
    {
        for (number, line) in text(&path).lines().enumerate() {
            let outside: String = line
                .split('`')
                .step_by(2)
                .collect::<Vec<_>>()
                .join(" ")
                .to_lowercase();
            let words: Vec<&str> = outside
                .split(|letter: char| !letter.is_alphanumeric() && letter != '-')
                .collect();
            for (word, better) in INSTEAD {
                if words
                    .windows(word.split(' ').count())
                    .any(|window| window.join(" ") == *word)
                {
                    faults.push(format!("{path}:{}: `{word}`: say {better}", number + 1));
                }
            }
        }
    }
    no_faults(&faults);
}

#[test]
fn links_lead_somewhere() {
    let mut faults = Vec::new();
    for path in tracked().into_iter().filter(|path| has_extension(path, "md")) {
        let content = text(&path);
        let folder = root().join(&path).parent().expect("a folder").to_owned();
        for target in content
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let file = target.split(['#', ' ']).next().unwrap_or_default();
            let outside = file.is_empty() || file.contains("://") || file.starts_with("mailto:");
            if !outside && !folder.join(file).exists() {
                faults.push(format!("{path}: the link to `{target}` leads nowhere"));
            }
        }
    }
    no_faults(&faults);
}

/// The names of tests are sentences: a word with three underscores is one. A filter that matches nothing would be no error of nextest's.
#[test]
fn tests_that_nextest_is_configured_for_exist() {
    let config = text(".config/nextest.toml");
    let sources = tracked().into_iter().filter(|path| has_extension(path, "rs"));
    let sources: Vec<String> = sources.map(|path| text(&path)).collect();
    let words = config.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let names: BTreeSet<&str> = words.filter(|word| word.matches('_').count() >= 3).collect();
    assert!(names.len() > 10, "{names:?}");
    let exists = |name: &&str| {
        let test = format!("fn {name}(");
        sources.iter().any(|source| source.contains(&test))
    };
    let faults: Vec<String> = names
        .into_iter()
        .filter(|name| !exists(name))
        .map(|name| format!(".config/nextest.toml: there is no test `{name}`"))
        .collect();
    no_faults(&faults);
}

#[test]
fn nothing_is_of_one_machine() {
    // Put together here, so that this file does not contain what it looks for.
    let forbidden = [
        ["/wo", "rk/"].concat(),
        ["/ro", "ot/"].concat(),
        ["registry.np", "mjs.org"].concat(),
        ["static.crat", "es.io"].concat(),
        ["proxy.gol", "ang.org"].concat(),
        ["files.pytho", "nhosted.org"].concat(),
        ["repo1.ma", "ven"].concat(),
        ["repo.ma", "ven.apache"].concat(),
    ];
    let mut faults = Vec::new();
    for path in tracked() {
        let content = text(&path);
        for (number, line) in content.lines().enumerate() {
            if let Some(found) = forbidden.iter().find(|part| line.contains(part.as_str())) {
                faults.push(format!("{path}:{}: `{found}`", number + 1));
            }
        }
    }
    no_faults(&faults);
}

/// `UPDATE=1` writes the table instead of comparing it.
#[test]
fn the_table_of_services_is_current() {
    const BEGIN: &str = "<!-- services: begin -->\n";
    const END: &str = "<!-- services: end -->";
    let catalogue = prony_config::Catalogue::read(&root()).expect("the checkout's own files are valid");
    let heading = "| service | variant | language | framework | version | class | contracts | CPUs | note |";
    let mut table = vec![
        heading.to_owned(),
        "|---|---|---|---|---|---|---|---|---|".to_owned(),
    ];
    table.extend(catalogue.services.iter().map(|service| {
        let over = if service.protocols == [prony_load::Protocol::Grpc] {
            " (gRPC)"
        } else {
            ""
        };
        let note = [service.note.as_deref(), service.unavailable_hint.as_deref()];
        [
            format!("`{}`", service.name),
            format!(
                "{}{}",
                service.variant,
                if service.default { " \u{2022}" } else { "" }
            ),
            service.language.clone(),
            service.framework.clone(),
            service.version.clone(),
            service.class.word().to_owned(),
            format!("{}{over}", service.contracts.join(", ")),
            service.workers.how.clone(),
            note.into_iter().flatten().collect::<Vec<_>>().join("; "),
        ]
        .iter()
        .fold(String::from("|"), |row, cell| {
            format!("{row} {} |", cell.replace('|', "/"))
        })
    }));
    let page = text("docs/SERVICES.md");
    let (before, rest) = page.split_once(BEGIN).expect("the begin of the table is marked");
    let (_, after) = rest.split_once(END).expect("the end of the table is marked");
    let current = format!(
        "{before}{BEGIN}{}\n\n(\u{2022} the default variant)\n{END}{after}",
        table.join("\n")
    );
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(root().join("docs/SERVICES.md"), current).expect("docs/SERVICES.md can be written");
    } else {
        assert!(
            page == current,
            "docs/SERVICES.md is stale: `UPDATE=1 cargo test --test tidy` renews its table"
        );
    }
}
