//! The files that a service is built from. One list decides what goes into the fingerprint, what is copied to the place where it is
//! built, and what is sent to another host, so that all three are the same.

mod not_ignored;

use crate::git;
use prony_config::project::{PROJECT_FILE, SERVICE_FILE, STATE_FOLDER};
use prony_config::{Service, SourceFiles};
use prony_files::{Entry, EntryKind, Walk};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Left in the folder of the service by manual builds; these are not sources.
const LEFT_BEHIND: [&str; 9] = [
    ".git",
    STATE_FOLDER,
    "node_modules",
    "target",
    "venv",
    "__pycache__",
    ".gradle",
    "bin.prony",
    ".DS_Store",
];
/// Lists of the sources of services, in a project that prony sent to another host. git does not know it there.
pub(crate) const LISTS: &str = ".prony-sources";
/// Marks a folder of which all files are sources: a revision that was checked out completely.
pub(crate) const WHOLE: &str = ".prony-whole";

/// A file, link or folder of the sources.
#[derive(Debug)]
pub(crate) struct SourceEntry {
    /// Relative to the build folder.
    pub(crate) path: PathBuf,
    /// The place from which it is copied.
    pub(crate) from: PathBuf,
    pub(crate) kind: EntryKind,
    /// Whether it is part of the fingerprint. The values of prony's own files are, instead of the files.
    pub(crate) is_measured: bool,
}

pub(crate) fn is_left_behind(name: &str) -> bool {
    LEFT_BEHIND.contains(&name)
}

/// The sources of a service without those that it `copies`, in the order of their paths. `stops` ends the search.
pub(crate) fn source_files(service: &Service, stops: &dyn Fn() -> bool) -> io::Result<Vec<SourceEntry>> {
    let folder = &service.source.folder;
    let mut entries: BTreeMap<PathBuf, SourceEntry> = BTreeMap::new();
    let mut add = |entry: Entry, from: &Path| -> io::Result<()> {
        let place = from.join(&entry.path);
        let is_own =
            place == service.folder.join(SERVICE_FILE) || place == service.project.join(PROJECT_FILE);
        let is_measured = !is_own && !service.source.ignore.has(&entry.path);
        if is_measured {
            entry.refuse_special(from)?;
            entry.refuse_outward(from)?;
        }
        entries.entry(entry.path.clone()).or_insert(SourceEntry {
            from: place,
            path: entry.path,
            kind: entry.kind,
            is_measured,
        });
        Ok(())
    };
    match found(service, stops)? {
        Some(paths) => {
            for path in paths {
                if stops() {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                if let Some(entry) = Entry::at(folder, &path)? {
                    add(entry, folder)?;
                }
            }
        }
        None => walked(service, stops, &mut |entry| add(entry, folder))?,
    }
    if !service.source.include.texts().is_empty() {
        let from = include_folder(service);
        let skips = |path: &Path| is_internal(path);
        Walk::new(&from).skip(&skips).stop(stops).each(|entry| {
            if entry.kind != EntryKind::Folder && service.source.include.has(&entry.path) {
                add(entry, &from)?;
            }
            Ok(())
        })?;
    }
    Ok(entries.into_values().collect())
}

/// The paths of the sources, relative to their folder; `None`: all files of the folder are, apart from those left behind by builds.
fn found(service: &Service, stops: &dyn Fn() -> bool) -> io::Result<Option<Vec<PathBuf>>> {
    let folder = &service.source.folder;
    if service.source.files == SourceFiles::All {
        return Ok(None);
    }
    let list = list_file(&service.project, service);
    if list.is_file() {
        return Ok(Some(git::paths(&fs::read(list)?).collect()));
    }
    if folder.ancestors().any(|folder| folder.join(WHOLE).is_file()) {
        let mut paths = Vec::new();
        let skips = |path: &Path| is_internal(path);
        Walk::new(folder).skip(&skips).stop(stops).each(|entry| {
            if entry.kind != EntryKind::Folder {
                paths.push(entry.path);
            }
            Ok(())
        })?;
        return Ok(Some(paths));
    }
    not_ignored::files(folder)
}

/// Gives each file and folder of the source to `each`, apart from those left behind by builds.
fn walked(
    service: &Service,
    stops: &dyn Fn() -> bool,
    each: &mut dyn FnMut(Entry) -> io::Result<()>,
) -> io::Result<()> {
    let skips = |path: &Path| is_left_behind(&path.file_name().unwrap_or_default().to_string_lossy());
    let walk = Walk::new(&service.source.folder).skip(&skips).stop(stops);
    walk.each(each)
}

/// The list of the sources of a service in a project that was sent to another host.
pub(crate) fn list_file(project: &Path, service: &Service) -> PathBuf {
    project.join(LISTS).join(&service.name).join(&service.variant)
}

/// The folder with the files that `include` names. A revision has none of them, since git ignores them: it takes those of the work tree.
fn include_folder(service: &Service) -> PathBuf {
    let folder = &service.source.folder;
    let of_revision = service.revision.as_ref().and_then(|revision| {
        let below = folder.strip_prefix(&revision.checkout).ok()?;
        Some(revision.work_tree.join(below))
    });
    of_revision.unwrap_or_else(|| folder.clone())
}

/// Whether a path belongs to git or prony.
fn is_internal(path: &Path) -> bool {
    path.iter()
        .any(|name| name == OsStr::new(".git") || name == OsStr::new(STATE_FOLDER))
}

/// Whether a file of a work tree that git does not ignore is a source. A tracked one is, also in a folder with the name of build output.
fn is_source(path: &Path, is_tracked: bool) -> bool {
    let is_output = || path.iter().any(|name| is_left_behind(&name.to_string_lossy()));
    !is_internal(path) && (is_tracked || !is_output())
}

/// The commit of a service's sources, `…+dirty` if they differ from it; `None` if they are in no repository.
pub(crate) fn version(service: &Service) -> Option<String> {
    const DIGITS: usize = 12;
    if let Some(revision) = &service.revision {
        return Some(revision.commit.chars().take(DIGITS).collect());
    }
    let folder = &service.source.folder;
    git::work_tree(folder)?;
    let commit = git::line(folder, &["rev-parse", &format!("--short={DIGITS}"), "HEAD"])?;
    let dirt = if is_uncommitted(service) { "+dirty" } else { "" };
    Some(format!("{commit}{dirt}"))
}

/// Whether the sources of a service have changes that are not committed.
pub(crate) fn is_uncommitted(service: &Service) -> bool {
    if service.revision.is_some() {
        return false;
    }
    let source = &service.source;
    let counts = |path: &Path, is_tracked: bool| is_source(path, is_tracked) && !source.ignore.has(path);
    git::is_changed(&source.folder, &counts).unwrap_or(false)
}
