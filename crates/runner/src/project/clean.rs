//! Removes those contents of the state folder that can be created again. Runs, their reports, and everything that is in use
//! stay.

use crate::CommandError;
use crate::error::ErrorContext as _;
use prony_host::{Engine, sweep_containers};
use serde::Serialize;
use std::fs::{self, File, Metadata, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use walkdir::WalkDir;

/// Bytes of a block in the block count of a file, regardless of the file system.
const BLOCK: u64 = 512;
/// Number of hexadecimal digits at the end of the name of a build folder.
const DIGITS: usize = 12;
/// The name of a running prony process in `/proc`.
const NAME: &str = "prony";

/// The kinds of contents that can be created again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Builds,
    /// Services of earlier git revisions.
    Revisions,
    /// Toolchains and packages from registries, and generated data of backing services.
    Cache,
    /// Logs of finished commands.
    Logs,
    /// Left over from commands that were killed.
    Leftovers,
}

pub const KINDS: [Kind; 5] = [
    Kind::Builds,
    Kind::Revisions,
    Kind::Cache,
    Kind::Logs,
    Kind::Leftovers,
];

/// What to remove.
#[derive(Debug, Clone)]
pub struct CleanOptions<'a> {
    pub kinds: &'a [Kind],
    /// Only entries that have not changed for this long.
    pub unchanged_for: Duration,
    /// Report, but remove nothing.
    pub dry: bool,
}

/// The result for an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "fate", content = "reason")]
pub enum CleanOutcome {
    /// Removed, or to be removed if this is a dry run.
    Removed,
    /// In use.
    Kept(String),
    /// Removing failed.
    Failed(String),
}

/// An entry of the state folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub kind: Kind,
    pub path: PathBuf,
    /// Its size on the disk.
    pub bytes: u64,
    #[serde(flatten)]
    pub fate: CleanOutcome,
}

/// Removes the requested entries of a state folder and returns the result for each.
pub fn clean(state: &Path, options: &CleanOptions<'_>) -> Result<Vec<Entry>, CommandError> {
    let users = users(state)?;
    let mut entries = Vec::new();
    let engine = Engine::find().ok();
    for &kind in options.kinds {
        for path in paths(state, kind)? {
            let Ok(data) = fs::symlink_metadata(&path) else {
                continue;
            };
            if age(&data) < options.unchanged_for {
                continue;
            }
            let bytes = size(&path);
            let fate = forget(kind, &path, &users, options.dry);
            if kind == Kind::Builds && fate == CleanOutcome::Removed && !options.dry {
                forget_image(engine.as_ref(), name(&path));
            }
            entries.push(Entry {
                kind,
                path,
                bytes,
                fate,
            });
        }
    }
    Ok(entries)
}

/// Removes containers that a killed prony left on this machine, if leftovers are requested. They have no folder.
pub fn clean_containers(options: &CleanOptions<'_>) -> Vec<Entry> {
    let engine = Engine::find().ok();
    let engine = engine.filter(|_| options.kinds.contains(&Kind::Leftovers));
    let left = engine.map(|engine| sweep_containers(&engine, options.dry));
    let left = left.unwrap_or_default().into_iter();
    left.map(|container| Entry {
        kind: Kind::Leftovers,
        path: container.into(),
        bytes: 0,
        fate: CleanOutcome::Removed,
    })
    .collect()
}

/// Removes the image that was built in a build folder (`<service>-<digest>`), if there is one.
fn forget_image(engine: Option<&Engine>, folder: &str) {
    let whole = folder.split_once('~').map_or(folder, |(whole, _)| whole);
    let is_digest =
        |part: &str| part.len() == DIGITS && part.chars().all(|letter| letter.is_ascii_hexdigit());
    let mut parts = whole
        .rmatch_indices('-')
        .map(|(at, _)| (&whole[..at], &whole[at + 1..]));
    // The name of a repeated build has its number after the digest.
    let found = parts.find_map(|(service, rest)| {
        let digest = rest.split('-').next().unwrap_or_default();
        is_digest(digest).then_some((service, digest))
    });
    if let (Some(engine), Some((service, digest))) = (engine, found) {
        engine.forget_builds(service, digest);
    }
}

/// The entries of a kind, sorted by name.
fn paths(state: &Path, kind: Kind) -> Result<Vec<PathBuf>, CommandError> {
    let inside = |folder: &str| listed(&state.join(folder));
    Ok(match kind {
        // Lock files stay, because another process may be waiting for one.
        Kind::Builds => {
            let mut paths = inside("build")?;
            paths.retain(|path| !is_lock(path));
            paths
        }
        Kind::Revisions => inside("revisions")?,
        Kind::Cache => [inside("cache")?, inside("backing-services/kept")?].concat(),
        Kind::Logs => inside("log")?,
        Kind::Leftovers => {
            let mut paths = listed(state)?;
            paths.retain(|path| name(path) == "calibration" || is_lock(path));
            paths
        }
    })
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.failed(|| format!("cannot read the folder {}", folder.display()))?,
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "lock")
}

fn name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

/// The prony processes that work in this checkout: each has a log folder that ends in its process ID.
fn users(state: &Path) -> Result<Vec<u32>, CommandError> {
    let logs = listed(&state.join("log"))?;
    Ok(logs
        .iter()
        .filter_map(|log| process(log))
        .filter(|&process| lives(process))
        .collect())
}

/// The process ID at the end of a name, after a hyphen or a dot.
fn process(path: &Path) -> Option<u32> {
    name(path).rsplit(['-', '.']).next()?.parse().ok()
}

fn lives(process: u32) -> bool {
    process != std::process::id()
        && fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|name| name.trim() == NAME)
}

fn age(data: &Metadata) -> Duration {
    let changed = data.modified().ok();
    let age = changed.and_then(|changed| SystemTime::now().duration_since(changed).ok());
    age.unwrap_or_default()
}

fn forget(kind: Kind, path: &Path, users: &[u32], dry: bool) -> CleanOutcome {
    let used_by = |process: u32| CleanOutcome::Kept(format!("in use by process {process}"));
    let user = match kind {
        Kind::Builds | Kind::Leftovers => None,
        Kind::Logs => process(path).filter(|process| users.contains(process)),
        Kind::Revisions | Kind::Cache => users.first().copied(),
    };
    if let Some(process) = user {
        return used_by(process);
    }
    // Held until the entry is removed.
    let lock = match kind {
        Kind::Builds => path.with_file_name(format!("{}.lock", name(path))),
        _ => path.to_owned(),
    };
    let lock = File::open(lock).ok().filter(|_| name(path) != "calibration");
    if let Some(lock) = &lock
        && matches!(kind, Kind::Builds | Kind::Leftovers)
        && matches!(lock.try_lock(), Err(TryLockError::WouldBlock))
    {
        return CleanOutcome::Kept("in use by another process".to_owned());
    }
    let removed = if dry { Ok(()) } else { remove(path) };
    if let Some(lock) = lock {
        // Closing it is not enough: a child process that is being started holds a copy of the file descriptor until it executes
        // its program.
        let _ = lock.unlock();
    }
    match removed {
        Ok(()) => CleanOutcome::Removed,
        Err(error) => CleanOutcome::Failed(error.to_string()),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_dir() {
        return fs::remove_file(path);
    }
    match fs::remove_dir_all(path) {
        // Some package managers write-protect their caches even from the owner.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open(path)?;
            fs::remove_dir_all(path)
        }
        other => other,
    }
}

/// Makes all folders of a tree writable for the owner.
fn open(folder: &Path) -> io::Result<()> {
    // A folder is made writable before the walk enters it.
    for entry in WalkDir::new(folder)
        .into_iter()
        .filter_entry(|entry| entry.file_type().is_dir())
    {
        let entry = entry?;
        let mode = entry.metadata()?.permissions().mode();
        fs::set_permissions(entry.path(), Permissions::from_mode(mode | 0o700))?;
    }
    Ok(())
}

/// The size of a tree on the disk; unreadable entries count as zero.
fn size(path: &Path) -> u64 {
    let entries = WalkDir::new(path).into_iter().flatten();
    entries
        .filter_map(|entry| Some(entry.metadata().ok()?.blocks() * BLOCK))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for file in [
            "build/go-0a1b/main",
            "build/go-2c3d/main",
            "cache/go/deep/module",
            "revisions/0a1b-go/WHOLE",
            "log/2026-11-21T08-30-00-4294967295/a.log",
            "reports/a/report.html",
            "store.db",
            "store.db-a.lock",
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, vec![1; 10_000]).expect("written");
        }
        fs::write(folder.path().join("build/go-0a1b.lock"), "1").expect("written");
        folder
    }

    #[test]
    fn what_can_be_made_again_goes_and_the_rest_stays() {
        let state = filled();
        let here = |path: &str| state.path().join(path).exists();
        let in_use = File::open(state.path().join("build/go-0a1b.lock")).expect("a lock");
        in_use.try_lock_shared().expect("free");
        let mut protected = fs::metadata(state.path().join("cache/go/deep"))
            .expect("there")
            .permissions();
        protected.set_mode(0o555);
        fs::set_permissions(state.path().join("cache/go/deep"), protected).expect("protected");
        let options = |dry, unchanged_for| CleanOptions {
            kinds: &KINDS,
            unchanged_for,
            dry,
        };
        let entries = clean(state.path(), &options(true, Duration::ZERO)).expect("looked");
        assert_eq!(entries.len(), 6, "{entries:?}");
        assert!(here("build/go-2c3d") && here("cache/go") && here("store.db-a.lock"));
        let young = clean(state.path(), &options(false, Duration::from_hours(1))).expect("looked");
        assert!(young.is_empty(), "{young:?}");
        let done = clean(state.path(), &options(false, Duration::ZERO)).expect("cleaned");
        assert_eq!(done, entries, "a dry run reports the same entries");
        let left: Vec<&Entry> = done
            .iter()
            .filter(|entry| entry.fate != CleanOutcome::Removed)
            .collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(left[0].path.ends_with("build/go-0a1b"));
        assert!(done.iter().all(|entry| entry.bytes >= 10_000), "{done:?}");
        for (path, stays) in [
            ("build/go-0a1b", true),
            ("build/go-2c3d", false),
            ("cache/go", false),
            ("revisions/0a1b-go", false),
            ("log/2026-11-21T08-30-00-4294967295", false),
            ("store.db-a.lock", false),
            ("store.db", true),
            ("reports/a/report.html", true),
        ] {
            assert_eq!(here(path), stays, "{path}");
        }
    }
}
