//! Runs README's walkthrough from an empty folder to a ranking exactly as written, and its draft of a contract; and `prony init`.

use crate::common::CommandOutput;
use crate::draft::{API, shop};
use crate::schemas;
use crate::skip::skipped;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// The lines of the code blocks of a section of README.
fn blocks(heading: &str) -> Vec<String> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).expect("README.md");
    let below = readme.split_once(heading).expect("the heading").1;
    let section = below.split("\n## ").next().unwrap_or(below);
    let blocks = section.split("```sh\n").skip(1);
    blocks
        .map(|block| block.split_once("```").expect("its end").0.to_owned())
        .collect()
}

/// A shell in a folder, with prony on the PATH, isolated from the environment of the caller.
fn shell(folder: &Path, script: &str) -> CommandOutput {
    let binary = Path::new(env!("CARGO_BIN_EXE_prony")).parent().expect("a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(binary.to_owned()).chain(std::env::split_paths(&path)));
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", script])
        .current_dir(folder)
        .env("PATH", path.expect("a PATH"))
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env("PRONY_LOCKS", folder.join("locks"))
        .env("NO_COLOR", "1")
        .env_remove("PRONY_STORE")
        .output();
    CommandOutput::of(&output.expect("bash"))
}

#[test]
fn the_walk_of_the_readme_ends_with_a_ranked_board() {
    let has_node = Command::new("node").arg("--version").output();
    if !has_node.is_ok_and(|output| output.status.success()) {
        skipped("the walk of the README needs Node.js");
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let began = std::time::Instant::now();
    let walked = shell(folder.path(), &blocks("## Your own service")[0]);
    println!("the walk took {:.1} min", began.elapsed().as_secs_f64() / 60.0);
    assert_eq!(walked.code, Some(0), "{}\n{}", walked.out, walked.err);
    for part in [
        "prony check node-mine",
        "11 cases passed, 0 failed",
        "interpreted",
        "goodput",
    ] {
        assert!(walked.out.contains(part), "no `{part}` in\n{}", walked.out);
    }
    let project = folder.path().join("my-api");
    assert!(
        project.join(".prony/store.db").is_file(),
        "the store of runs is in the project"
    );
    let report = shell(&project, "prony report --format json");
    let report = report.json();
    let ranks = report["groups"][0]["services"].as_array().map(Vec::len);
    assert_eq!(ranks, Some(2), "{report:#}");
}

#[test]
fn the_readme_drafts_and_checks_a_contract_as_written() {
    let project = TempDir::new().expect("a folder");
    std::fs::write(project.path().join("prony.toml"), "").expect("a file");
    std::fs::write(project.path().join("api.yaml"), API).expect("a file");
    let url = shop(serde_json::json!(5));
    let script = blocks("## Your own service")[1].replace("http://127.0.0.1:8080", &url);
    let ended = shell(project.path(), &script);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.out, ended.err);
    assert!(project.path().join("contracts/shop/contract.toml").is_file());
}

#[test]
fn a_project_is_made_once_and_changes_nothing() {
    let folder = TempDir::new().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path(".gitignore"), "target").expect("a file");
    std::fs::write(path("go.mod"), "module mine\n").expect("a file");
    let elsewhere = TempDir::new().expect("a folder");
    let told = shell(elsewhere.path(), "prony init --json --language go").json();
    assert_eq!(
        (&told["service"], &told["suite"]),
        (&"go-mine".into(), &"mine".into()),
        "{told}"
    );
    let made = shell(folder.path(), "prony init --language go");
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(
        made.out.contains("prony check go-mine") && made.out.contains("prony run"),
        "{made:?}"
    );
    let ignored = std::fs::read_to_string(path(".gitignore")).expect("a file");
    assert_eq!(ignored, "target\n/.prony/\n");
    assert_eq!(
        std::fs::read_to_string(path("go.mod")).expect("a file"),
        "module mine\n"
    );
    for file in ["prony.toml", "services/go-mine/service.toml", "suites/mine.toml"] {
        schemas::is_valid(&path(file));
    }
    let kinds = std::fs::read_dir(path("schemas/1")).expect("schemas");
    assert_eq!(kinds.count(), 8);
    let again = shell(folder.path(), "prony init --language go");
    assert!(
        again.code == Some(2) && again.err.contains("already exists"),
        "{again:?}"
    );

    // A folder with services but without the file: existing files are kept.
    std::fs::remove_file(path("prony.toml")).expect("it is there");
    std::fs::write(path("suites/mine.toml"), "mine").expect("a file");
    std::fs::remove_dir_all(path("services")).expect("it is there");
    let kept = shell(folder.path(), "prony init --language go");
    assert!(
        kept.code == Some(2) && kept.err.contains("is not overwritten"),
        "{kept:?}"
    );
    assert_eq!(
        std::fs::read_to_string(path("suites/mine.toml")).expect("a file"),
        "mine"
    );
    assert!(!path("services").exists() && !path("prony.toml").exists());
}

#[test]
fn any_folder_has_what_prony_brings_along_and_says_what_it_lacks() {
    let folder = TempDir::new().expect("a folder");
    let nowhere = shell(folder.path(), "prony check some-service");
    assert!(
        nowhere.code == Some(2) && nowhere.err.contains("`prony init` creates one here"),
        "{nowhere:?}"
    );
    let unknown = shell(folder.path(), "prony check --url http://127.0.0.1:1 helo");
    assert!(
        unknown.code == Some(2)
            && unknown
                .err
                .contains("known contracts are account, catalog, echo, events, files, files-precompressed,"),
        "{unknown:?}"
    );
    std::fs::write(folder.path().join("prony.toml"), "store = \"kept/runs.db\"\n").expect("a file");
    let contracts = shell(folder.path(), "prony list contracts");
    assert!(
        contracts.code == Some(0) && contracts.out.contains("sequence"),
        "{contracts:?}"
    );
    let suites = shell(folder.path(), "prony list suites");
    assert!(
        suites.code == Some(0) && suites.out.contains("quick"),
        "{suites:?}"
    );
    let run = shell(folder.path(), "prony run quick");
    assert!(
        run.code == Some(2) && run.err.contains("no service `go-nethttp`"),
        "{run:?}"
    );
    // The project's own contracts take precedence.
    std::fs::create_dir_all(folder.path().join("contracts/hello")).expect("a folder");
    std::fs::write(folder.path().join("contracts/hello/contract.toml"), "name = 7").expect("a file");
    let own = shell(folder.path(), "prony validate");
    assert!(
        own.code == Some(2) && own.err.contains("contracts/hello/contract.toml:1"),
        "{own:?}"
    );
    std::fs::write(folder.path().join("prony.toml"), "\nshop = 1\n").expect("a file");
    let key = shell(folder.path(), "prony list runs");
    assert!(
        key.code == Some(2) && key.err.contains("unknown key `shop`\n  prony.toml:2:1"),
        "{key:?}"
    );
}
