//! The ledger: the verified variants, and the digests of their parts at that time. A file for each service in `services/verified/`.

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Digests of the parts that decide the result of a variant, by their names.
pub(super) type Parts = BTreeMap<String, String>;

/// The folder of the ledger in a checkout.
pub(super) const FOLDER: &str = "services/verified";

const HEAD: &str =
    "# Written by `make test-services`: what each variant was when it passed its check and a brief load.\n";

/// A variant that passed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// The version of prony that verified it; only for information.
    pub(super) prony: String,
    /// Seconds for building and loading it.
    pub(super) seconds: u64,
    /// The digests at that time.
    pub(super) parts: Parts,
}

/// The entries of a service by variant.
pub(super) type Entries = BTreeMap<String, Entry>;

/// All entries, by service.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Ledger(pub(super) BTreeMap<String, Entries>);

impl Ledger {
    /// Reads the files of a folder; empty if it does not exist.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let mut ledger = Self::default();
        let Ok(files) = fs::read_dir(folder) else {
            return Ok(ledger);
        };
        for file in files {
            let path = file
                .with_context(|| format!("cannot list {}", folder.display()))?
                .path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let text =
                    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
                let entries = parse(&text).with_context(|| path.display().to_string())?;
                let name = path
                    .file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                ledger.0.insert(name, entries);
            }
        }
        Ok(ledger)
    }

    /// The entry of a variant.
    pub(super) fn entry(&self, service: &str, variant: &str) -> Option<&Entry> {
        self.0.get(service)?.get(variant)
    }

    /// Records that a variant passed.
    pub(super) fn record(&mut self, service: &str, variant: &str, mut entry: Entry) {
        let entries = self.0.entry(service.to_owned()).or_default();
        if let Some(before) = entries.get(variant) {
            entry.seconds = stable_estimate(before.seconds, entry.seconds);
        }
        entries.insert(variant.to_owned(), entry);
    }

    /// Writes the file of each service if it changed, and removes those of services and variants that no longer exist.
    pub(super) fn write(&mut self, folder: &Path, known: impl Fn(&str, &str) -> bool) -> Result<()> {
        for (service, entries) in &mut self.0 {
            entries.retain(|variant, _| known(service, variant));
            let path = folder.join(format!("{service}.toml"));
            if entries.is_empty() {
                if path.exists() {
                    fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
                }
                continue;
            }
            write(&path, &text(entries))?;
        }
        self.0.retain(|_, entries| !entries.is_empty());
        Ok(())
    }
}

pub(super) fn parse(text: &str) -> Result<Entries> {
    Ok(toml::from_str(text)?)
}

/// A file of the ledger. Equal entries have equal text.
pub(super) fn text(entries: &Entries) -> String {
    let tables = toml::to_string(entries).expect("invariant: entries are tables of texts and numbers");
    format!("{HEAD}\n{tables}")
}

fn write(path: &PathBuf, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|written| written == text) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    // An interrupt leaves the old file in place.
    let new = path.with_extension("new");
    fs::write(&new, text)
        .and_then(|()| fs::rename(&new, path))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Durations vary from run to run: an estimate that is about right is kept.
fn stable_estimate(before: u64, now: u64) -> u64 {
    let is_about_right = now <= before.saturating_mul(2) && before <= now.saturating_mul(2);
    if is_about_right { before } else { now }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn entry(source: &str, seconds: u64) -> Entry {
        Entry {
            prony: "0.2.0".to_owned(),
            seconds,
            parts: Parts::from([
                ("source".to_owned(), source.to_owned()),
                ("run".to_owned(), "9".to_owned()),
            ]),
        }
    }

    #[test]
    fn a_written_ledger_is_read_back_and_rewritten_unchanged() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("verified");
        let mut ledger = Ledger::default();
        ledger.record("go", "current", entry("aa", 12));
        ledger.record("go", "netcore3.1", entry("bb", 3));
        ledger.record("gone", "current", entry("cc", 1));
        ledger
            .write(&folder, |service, _| service == "go")
            .expect("written");
        assert_eq!(Ledger::read(&folder).expect("read"), ledger);
        assert!(!folder.join("gone.toml").exists());
        let path = folder.join("go.toml");
        let first = fs::read_to_string(&path).expect("a file");
        assert!(
            first.contains("[\"netcore3.1\".parts]\nrun = \"9\"\nsource = \"bb\"\n"),
            "{first}"
        );
        ledger.write(&folder, |_, _| true).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("a file"), first);
        ledger
            .write(&folder, |_, variant| variant == "none")
            .expect("written");
        assert!(!path.exists());
    }

    #[test]
    fn seconds_that_are_about_right_stay() {
        assert_eq!(
            [
                stable_estimate(10, 19),
                stable_estimate(10, 5),
                stable_estimate(10, 21),
                stable_estimate(10, 4)
            ],
            [10, 10, 21, 4]
        );
        assert_eq!(stable_estimate(0, 1), 1);
    }

    #[test]
    fn an_invalid_file_is_an_error_that_names_it() {
        let place = tempfile::tempdir().expect("a folder");
        fs::write(place.path().join("go.toml"), "[current]\nsource = 1\n").expect("written");
        let error = Ledger::read(place.path()).expect_err("no entry");
        assert!(format!("{error:#}").contains("go.toml"), "{error:#}");
    }
}
