//! The tracked files of the checkout, for the rules.

use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All tracked text files that exist, by their path from the root.
pub(crate) struct Repository {
    pub(crate) root: PathBuf,
    files: BTreeMap<String, String>,
}

impl Repository {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let listed = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .context("cannot run git ls-files")?;
        anyhow::ensure!(
            listed.status.success(),
            "git ls-files failed: {}",
            String::from_utf8_lossy(&listed.stderr).trim()
        );
        let paths = String::from_utf8(listed.stdout).context("git ls-files: a path is not UTF-8")?;
        let mut files = BTreeMap::new();
        for path in paths.split('\0').filter(|path| !path.is_empty()) {
            let file = root.join(path);
            // A symbolic link would be read twice, and a file may be deleted but not committed.
            if file.is_symlink() || !file.is_file() {
                continue;
            }
            let bytes = std::fs::read(&file).with_context(|| format!("cannot read {path}"))?;
            files.insert(path.to_owned(), String::from_utf8_lossy(&bytes).into_owned());
        }
        Ok(Self {
            root: root.to_owned(),
            files,
        })
    }

    /// A repository of these files, for the tests of the rules.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self {
            root: PathBuf::new(),
            files: files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                .collect(),
        }
    }

    /// Every file: its path and its text.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The text of a file; empty if it does not exist.
    pub(crate) fn text(&self, path: &str) -> &str {
        self.files.get(path).map_or("", String::as_str)
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// The Rust sources of the workspace's crates. Templates are the sources of a user's service.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(|(path, _)| {
            path.starts_with("crates/")
                && has_extension(path, "rs")
                && !path.starts_with("crates/cli/templates/")
        })
    }

    /// The same without tests, benchmarks and examples; for a file, the part before its unit tests.
    pub(crate) fn product(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sources()
            .filter(|(path, _)| !is_test(path))
            .map(|(path, text)| (path, text.split("#[cfg(test)]").next().unwrap_or_default()))
    }
}

pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|found| found == extension)
}

pub(crate) fn is_test(path: &str) -> bool {
    path.contains("/tests/")
        || path.ends_with("/tests.rs")
        || path.contains("/benches/")
        || path.contains("/examples/")
        || path.contains("/toy/")
}
