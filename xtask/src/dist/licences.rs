//! The licences of the crates that are linked into the program.

use super::FEATURE;
use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// The output of `cargo metadata`, limited to the fields in use.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
    /// `None` for crates of this repository.
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// `None` for linked crates; otherwise `build` or `dev`.
    kind: Option<String>,
}

/// Each crate with its licence and the licence texts in its package.
pub(super) fn text(shell: &Shell, triple: &str) -> Result<String> {
    let feature = format!("prony/{FEATURE}");
    let metadata = cmd!(
        shell,
        "cargo metadata --locked --format-version 1 --features {feature} --filter-platform {triple}"
    );
    let metadata: Metadata = serde_json::from_str(&metadata.quiet().read()?)?;
    let linked = linked(&metadata)?;
    let is_foreign = |package: &&Package| package.source.is_some() && linked.contains(package.id.as_str());
    let mut foreign: Vec<&Package> = metadata.packages.iter().filter(is_foreign).collect();
    foreign.sort_by_key(|package| (&package.name, &package.version));
    let mut out =
        "# Licences of the crates in prony\n\nEach crate, its licence, and the licence texts in its package.\n\n".to_owned();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut texts = Vec::new();
    for package in foreign {
        let folder = package
            .manifest_path
            .parent()
            .context("a manifest is in a folder")?;
        let mut own = Vec::new();
        for text in licence_texts(folder)? {
            let number = *numbers.entry(text.clone()).or_insert_with(|| {
                texts.push(text);
                texts.len()
            });
            own.push(number.to_string());
        }
        let Package { name, version, .. } = package;
        ensure!(
            package.license.is_some() || !own.is_empty(),
            "{name} {version} names no licence and contains no licence text: it cannot be released"
        );
        let licence = package.license.as_deref().unwrap_or("see its text");
        let own = if own.is_empty() {
            String::new()
        } else {
            format!(", texts {}", own.join(", "))
        };
        writeln!(out, "- {name} {version}: {licence}{own}")?;
    }
    for (index, text) in texts.iter().enumerate() {
        write!(out, "\n## Text {}\n\n```\n{text}\n```\n", index + 1)?;
    }
    Ok(out)
}

/// Packages whose code is in the program, without those that only build or test it.
fn linked(metadata: &Metadata) -> Result<BTreeSet<&str>> {
    let nodes: BTreeMap<&str, &Node> = metadata
        .resolve
        .nodes
        .iter()
        .map(|node| (node.id.as_str(), node))
        .collect();
    let program = metadata.packages.iter().find(|package| package.name == "prony");
    let mut open = vec![
        program
            .context("cargo metadata has no package prony")?
            .id
            .as_str(),
    ];
    let mut linked = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !linked.insert(id) {
            continue;
        }
        let dependencies = &nodes
            .get(id)
            .with_context(|| format!("{id} is not resolved"))?
            .deps;
        for dependency in dependencies {
            if dependency.dep_kinds.iter().any(|kind| kind.kind.is_none()) {
                open.push(&dependency.pkg);
            }
        }
    }
    Ok(linked)
}

/// The contents of the files with the names of licences.
fn licence_texts(folder: &Path) -> Result<Vec<String>> {
    let is_licence = |path: &PathBuf| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        let begins = ["license", "licence", "copying", "notice", "unlicense"];
        path.is_file() && begins.iter().any(|begin| name.starts_with(begin))
    };
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder)? {
        files.push(entry?.path());
    }
    files.retain(is_licence);
    files.sort();
    let read = |path: &PathBuf| Ok(String::from_utf8_lossy(&fs::read(path)?).trim().to_owned());
    files.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_linked_counts() {
        let package = |name: &str| serde_json::json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT", "manifest_path": "/x", "source": "s" });
        let node = |name: &str, dependencies: &[(&str, Option<&str>)]| {
            let dependencies = dependencies
                .iter()
                .map(|(name, kind)| serde_json::json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] }));
            serde_json::json!({ "id": name, "deps": dependencies.collect::<Vec<_>>() })
        };
        let packages = ["prony", "used", "deep", "builds", "tests"].map(package);
        let metadata = serde_json::json!({
            "packages": packages,
            "resolve": { "nodes": [
                node("prony", &[("used", None), ("builds", Some("build")), ("tests", Some("dev"))]),
                node("used", &[("deep", None)]),
                node("deep", &[]), node("builds", &[]), node("tests", &[]),
            ]},
        });
        let metadata: Metadata = serde_json::from_value(metadata).expect("metadata");
        let found: Vec<&str> = linked(&metadata).expect("linked").into_iter().collect();
        assert_eq!(found, ["deep", "prony", "used"]);
    }

    #[test]
    fn texts_of_licences_are_found_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["LICENSE-MIT", "COPYING", "readme.md", "unlicense"] {
            fs::write(folder.path().join(name), format!("{name}\n")).expect("written");
        }
        let texts = licence_texts(folder.path()).expect("read");
        assert_eq!(texts, ["COPYING", "LICENSE-MIT", "unlicense"]);
    }
}
