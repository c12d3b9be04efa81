//! A digest of files and their contents.

use crate::digest::short;
use crate::git;
use crate::source_files::{SourceEntry, is_left_behind};
use prony_files::{Entry, EntryKind, Walk};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Files of a checkout that git ignores, such as output of builds and editors.
#[derive(Debug, Default)]
pub struct IgnoredFiles(BTreeSet<PathBuf>);

impl IgnoredFiles {
    /// Queries git. Outside of a repository, or without git, nothing is ignored.
    pub fn of(root: &Path) -> Self {
        let list = [
            "ls-files",
            "-z",
            "--others",
            "--ignored",
            "--exclude-standard",
            "--directory",
            "--",
            "services",
            "contracts",
        ];
        let listed = git::output(root, &list).unwrap_or_default();
        // A path with a trailing slash equals the one without.
        Self(git::paths(&listed).map(|path| root.join(path)).collect())
    }

    fn has(&self, path: &Path) -> bool {
        self.0.contains(path)
    }
}

pub(super) struct Tree<'a> {
    ignored: &'a IgnoredFiles,
    files: Vec<File>,
}

struct File {
    name: String,
    kind: &'static str,
    content: Vec<u8>,
}

impl<'a> Tree<'a> {
    pub(super) const fn new(ignored: &'a IgnoredFiles) -> Self {
        Self {
            ignored,
            files: Vec::new(),
        }
    }

    /// Adds everything in a folder, except for files with these names directly in it. Links are not followed; what is none of
    /// file, folder and link is no source.
    pub(super) fn add_folder(&mut self, folder: &Path, without: &[&str]) {
        let skips = |below: &Path| {
            self.ignored.has(&folder.join(below))
                || is_left_behind(&name_of(below))
                || without.iter().any(|name| below == Path::new(name))
        };
        let walk = Walk::new(folder).skip(&skips);
        let entries: Vec<Entry> = walk.readable().collect();
        for entry in entries {
            let name = entry.path.to_string_lossy();
            match entry.kind {
                EntryKind::Folder | EntryKind::Special(_) => {}
                EntryKind::Link(target) => self.add_link(name.into_owned(), &target),
                EntryKind::File => self.add_file(&name, &folder.join(&entry.path)),
            }
        }
    }

    /// Adds those sources that are measured.
    pub(super) fn add_sources(&mut self, entries: Vec<SourceEntry>) {
        for entry in entries.into_iter().filter(|entry| entry.is_measured) {
            let name = entry.path.to_string_lossy();
            match entry.kind {
                EntryKind::Folder | EntryKind::Special(_) => {}
                EntryKind::Link(target) => self.add_link(name.into_owned(), &target),
                EntryKind::File => self.add_file(&name, &entry.from),
            }
        }
    }

    fn add_link(&mut self, name: String, target: &Path) {
        self.files.push(File {
            name,
            kind: "link",
            content: target.as_os_str().as_bytes().to_vec(),
        });
    }

    pub(super) fn add_file(&mut self, name: &str, path: &Path) {
        let executable = fs::metadata(path).is_ok_and(|data| data.permissions().mode() & 0o111 != 0);
        self.files.push(File {
            name: name.to_owned(),
            kind: if executable { "program" } else { "file" },
            content: fs::read(path).unwrap_or_default(),
        });
    }

    /// Adds the files of a folder that have this extension.
    pub(super) fn add_all(&mut self, folder: &Path, extension: &str) {
        for path in entries(folder) {
            if path.extension().is_some_and(|found| found == extension) && path.is_file() {
                self.add_file(&name_of(&path), &path);
            }
        }
    }

    /// Adds the shared scripts that are named by these commands, by the files so far, or by an added script.
    pub(super) fn add_shared<'c>(&mut self, services: &Path, commands: impl Iterator<Item = &'c str>) {
        let commands: Vec<&str> = commands.collect();
        let mut scripts: Vec<PathBuf> = entries(services);
        scripts
            .retain(|path| path.is_file() && name_of(path) != "toolchains.toml" && !self.ignored.has(path));
        while let Some(place) = scripts.iter().position(|path| {
            let name = name_of(path);
            commands.iter().any(|command| command.contains(&name)) || self.names(&name)
        }) {
            let script = scripts.remove(place);
            self.add_file(&format!("../{}", name_of(&script)), &script);
        }
    }

    fn names(&self, name: &str) -> bool {
        let name = name.as_bytes();
        let has = |content: &[u8]| content.windows(name.len()).any(|window| window == name);
        self.files.iter().any(|file| has(&file.content))
    }

    pub(super) fn digest(mut self) -> String {
        self.files.sort_by(|left, right| left.name.cmp(&right.name));
        let mut digest = Sha256::new();
        for File { name, kind, content } in &self.files {
            digest.update(format!("{kind} {} {name} {}\n", name.len(), content.len()));
            digest.update(content);
        }
        short(&digest.finalize())
    }
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
