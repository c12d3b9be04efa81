//! A new project in a folder without a server: one with a service, ready for its first run.

use crate::commands::new::{Language, next_commands};
use crate::exit::{Exit, bad_input};
use crate::output::print;
use anyhow::{Context as _, anyhow};
use prony_config::format::{FORMAT, FileKind, schema_line};
use prony_runner::{PROJECT_FILE, write_missing_schemas};
use std::path::Path;

/// Programs that show which language is installed.
const PROGRAMS: [(&str, Language); 5] = [
    ("node", Language::Node),
    ("go", Language::Go),
    ("python3", Language::Python),
    ("javac", Language::Java),
    ("cargo", Language::Rust),
];
/// The line in `.gitignore` that excludes prony's own files.
const IGNORED: &str = "/.prony/";

/// Creates a project with a service in this language. Without one: the first that is installed.
pub(super) fn create(root: &Path, language: Option<Language>, json: bool) -> anyhow::Result<Exit> {
    let language = language.unwrap_or_else(installed_language);
    let name = format!("{}-mine", language.folder());
    let service = root.join("services").join(&name);
    let suite = root.join("suites/mine.toml");
    if let Some(there) = [&service, &suite].into_iter().find(|path| path.exists()) {
        return Err(bad_input(anyhow!(
            "{} already exists and is not overwritten: nothing was changed; an empty {PROJECT_FILE} also makes this folder a project",
            there.display()
        )));
    }
    language.write(&service, &name)?;
    put(&suite, &suite_of(&name))?;
    let schemas = write_missing_schemas(root, &FileKind::ALL)?;
    ignore(root)?;
    // Written last: a folder that has this file is a complete project.
    put(&root.join(PROJECT_FILE), &project())?;
    if json {
        let mut files = vec![
            PROJECT_FILE.to_owned(),
            format!("services/{name}"),
            "suites/mine.toml".to_owned(),
        ];
        files.extend(schemas);
        let made = serde_json::json!({
            "schema": prony_records::SCHEMA,
            "project": root,
            "service": name,
            "suite": "mine",
            "files": files,
        });
        print(&made.to_string())?;
        return Ok(Exit::Fine);
    }
    let check = format!("prony check {name}");
    let next = next_commands(&[
        (&check, "check the service against its contract"),
        ("prony run", "build, start, check, load and rank"),
        ("prony validate", "after each change: find errors in all files"),
    ]);
    print(&format!(
        "{PROJECT_FILE}, services/{name}, suites/mine.toml, and schemas/ for editors\n\n{next}"
    ))?;
    Ok(Exit::Fine)
}

fn installed_language() -> Language {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let found = PROGRAMS.iter().find(|(program, _)| installed(program));
    found.map_or(Language::Node, |(_, language)| *language)
}

fn project() -> String {
    let schema = schema_line(FileKind::Project, 0);
    format!(
        "{schema}\
# This folder is a prony project. Its contracts, suites and toolchains take precedence over those that prony ships.
format = {FORMAT}
# store = \"runs.db\"                 # where runs are stored; default: .prony/store.db
"
    )
}

fn suite_of(service: &str) -> String {
    let schema = schema_line(FileKind::Suite, 1);
    format!(
        "{schema}\
format = {FORMAT}
title = \"Mine\"
rounds = 5                       # fresh starts of each service
warm_up = \"1s\"
duration = \"2s\"

[[group]]
contract = \"hello\"
load = {{ kind = \"closed\", connections = 16 }}
services = [\"{service}/*\"]      # all its variants; add other services to compare with
"
    )
}

pub(super) fn put(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Adds a line to `.gitignore`, unless it is there already.
fn ignore(root: &Path) -> anyhow::Result<()> {
    let path = root.join(".gitignore");
    let mut text = std::fs::read_to_string(&path).unwrap_or_default();
    let known = [IGNORED, ".prony/", ".prony", "/.prony"];
    if text.lines().any(|line| known.contains(&line.trim())) {
        return Ok(());
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(IGNORED);
    text.push('\n');
    put(&path, &text)
}
