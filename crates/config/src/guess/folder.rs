//! The files of a repository that matter for a guess.

use prony_files::{EntryKind, Walk};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders within each other that are searched.
const DEPTH: usize = 6;
/// The most files that are listed.
const MOST: usize = 20_000;
/// The largest file that is read, bytes.
const LARGEST: u64 = 512 << 10;
/// Folders with what others wrote, what builds make, and tests.
const OTHERS: [&str; 14] = [
    "node_modules",
    "target",
    "build",
    "dist",
    "out",
    "bin",
    "obj",
    "venv",
    "vendor",
    "site-packages",
    "__pycache__",
    "test",
    "tests",
    "examples",
];

/// Ends of the names of test files, without the extension.
const TESTS: [&str; 5] = ["_test", ".test", "_spec", ".spec", "Test"];

pub(super) struct Folder {
    root: PathBuf,
    /// By depth, then by name: what is further up counts first.
    files: Vec<PathBuf>,
}

impl Folder {
    pub(super) fn new(root: &Path) -> Self {
        let is_other = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with('.') || OTHERS.contains(&&*name) && root.join(path).is_dir()
        };
        let walk = Walk::new(root).only_to(DEPTH).skip(&is_other);
        let is_wanted = |path: &Path| {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            !stem.starts_with("test_") && !TESTS.iter().any(|end| stem.ends_with(end))
        };
        let found = walk
            .readable()
            .filter(|entry| entry.kind == EntryKind::File && is_wanted(&entry.path));
        let mut files: Vec<PathBuf> = found.take(MOST).map(|entry| entry.path).collect();
        files.sort_by_cached_key(|path| (path.components().count(), path.clone()));
        Self {
            root: root.to_owned(),
            files,
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// All files, relative to the folder.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }

    /// The files with this extension.
    pub(super) fn with_extension<'a>(&'a self, extension: &'a str) -> impl Iterator<Item = &'a Path> {
        let has_it = move |path: &&Path| path.extension().is_some_and(|found| found == extension);
        self.files().filter(has_it)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.root.join(name).is_file()
    }

    /// The text of a file; `None` if it is absent, large or not a text.
    pub(super) fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        let path = self.root.join(path);
        if fs::metadata(&path).ok()?.len() > LARGEST {
            return None;
        }
        fs::read_to_string(path).ok()
    }
}
