//! Packs every crate as for publishing, and checks that each has everything that its manifest and its program need.

use crate::root;
use anyhow::{Context as _, Result};
use flate2::read::GzDecoder;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use tar::Archive;
use xshell::{Shell, cmd};

const FIELDS: [&str; 6] = [
    "description",
    "license",
    "keywords",
    "categories",
    "readme",
    "rust-version",
];
const FILES: [&str; 3] = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"];
/// Files that a crate includes from folders of the checkout.
const EMBEDDED: [(&str, &[&str]); 3] = [
    (
        "prony-runner",
        &[
            "contracts/hello/contract.toml",
            "suites/quick.toml",
            "backing-services/postgresql/backing.toml",
            "toolchains.toml",
        ],
    ),
    (
        "prony-report",
        &["web/package-lock.json", "web/src/main.tsx", "web/.npmrc"],
    ),
    ("prony", &["templates/go/service.toml"]),
];
/// The size limit of a registry.
const MOST_BYTES: u64 = 10 << 20;

/// `cargo xtask packages`.
pub(crate) fn check_packages() -> Result<bool> {
    let shell = Shell::new()?;
    shell.change_dir(root());
    let out = tempfile::tempdir()?;
    let target = out.path();
    // The packages are not built again: their contents are checked instead.
    cmd!(
        shell,
        "cargo package --quiet --locked --workspace --exclude xtask --no-verify --allow-dirty --target-dir {target}"
    )
    .run()?;
    let mut packages = Vec::new();
    for entry in fs::read_dir(target.join("package"))? {
        packages.push(entry?.path());
    }
    packages.retain(|path| path.extension().is_some_and(|end| end == "crate"));
    packages.sort();
    let mut faults = Vec::new();
    for path in &packages {
        let name = path.file_stem().unwrap_or_default().display().to_string();
        let found = faults_of(path).with_context(|| path.display().to_string())?;
        faults.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    let crates = fs::read_dir(root().join("crates"))?.count();
    if packages.len() != crates {
        faults.push(format!(
            "there are {crates} crates, but {} were packed",
            packages.len()
        ));
    }
    for fault in &faults {
        println!("packages: {fault}");
    }
    println!("packages: {} crates, {} faults", packages.len(), faults.len());
    Ok(faults.is_empty())
}

fn faults_of(path: &Path) -> Result<Vec<String>> {
    let mut archive = Archive::new(GzDecoder::new(File::open(path)?));
    let mut names = BTreeSet::new();
    let mut manifest = String::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.components().skip(1).collect::<std::path::PathBuf>();
        let name = name.display().to_string();
        if name == "Cargo.toml" {
            entry.read_to_string(&mut manifest)?;
        }
        names.insert(name);
    }
    let mut faults = faults_in(&toml::from_str(&manifest)?, &names);
    let size = fs::metadata(path)?.len();
    if size > MOST_BYTES {
        faults.push(format!("{size} bytes, more than a registry accepts"));
    }
    Ok(faults)
}

fn faults_in(manifest: &toml::Table, names: &BTreeSet<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let package = manifest.get("package").and_then(toml::Value::as_table);
    let field = |key: &str| package.and_then(|package| package.get(key));
    let is_empty = |value: &toml::Value| {
        value.as_str().is_some_and(str::is_empty) || value.as_array().is_some_and(Vec::is_empty)
    };
    for key in FIELDS {
        if field(key).is_none_or(is_empty) {
            faults.push(format!("no {key}"));
        }
    }
    let name = field("name").and_then(toml::Value::as_str).unwrap_or_default();
    let embedded = EMBEDDED
        .iter()
        .filter(|(owner, _)| *owner == name)
        .flat_map(|(_, files)| *files);
    for file in FILES.iter().chain(embedded) {
        if !names.contains(*file) {
            faults.push(format!("{file} is missing"));
        }
    }
    let is_product = |name: &&String| {
        name.contains("/node_modules/") || name.starts_with("web/dist/") || name.starts_with("target/")
    };
    if let Some(product) = names.iter().find(is_product) {
        faults.push(format!("{product} is a build product"));
    }
    let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
    for (name, dependency) in dependencies.into_iter().flatten() {
        if name.starts_with("prony") && dependency.get("version").is_none() {
            faults.push(format!("its dependency {name} has no version"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_of_a_package_is_found() {
        let manifest = "[package]\nname = 'prony'\ndescription = 'd'\nlicense = 'MIT'\nkeywords = ['k']\ncategories = []\n\
                        readme = 'r'\n[dependencies]\nprony-load = { path = 'x' }\nserde = '1'";
        let names = ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "web/dist/page.js"];
        let found = faults_in(
            &toml::from_str(manifest).expect("TOML"),
            &names.map(str::to_owned).into(),
        );
        assert_eq!(
            found,
            [
                "no categories",
                "no rust-version",
                "templates/go/service.toml is missing",
                "web/dist/page.js is a build product",
                "its dependency prony-load has no version",
            ]
        );
    }
}
