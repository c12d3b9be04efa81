//! Removes those contents of the state folder that can be created again. Runs, their reports, and everything that is in use
//! stay.

use crate::CommandError;
use crate::error::ErrorContext as _;
use prony_files::{LockFile, Walk, remove};
use prony_host::{Engine, sweep_containers};
use serde::Serialize;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Bytes of a block in the block count of a file, regardless of the file system.
const BLOCK: u64 = 512;
/// Number of hexadecimal digits at the end of the name of a build folder.
const DIGITS: usize = 12;
/// In the state folder: shared by all commands that use it.
const IN_USE: &str = "in-use.lock";
/// In the folder of the logs of one command: held by that command.
const LOG_IN_USE: &str = ".in-use.lock";

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

/// Keeps `prony clean` from removing what this command uses, until it is dropped. Locks and not process IDs tell whether a command
/// still runs, because they hold for a binary of any name and for processes in other containers.
#[derive(Debug)]
pub(crate) struct StateUse {
    _state: LockFile,
    _logs: LockFile,
}

impl StateUse {
    /// Waits while `prony clean` removes something. `logs` is the folder of this command's logs.
    pub(crate) fn begin(state: &Path, logs: &Path) -> Result<Self, CommandError> {
        let used = |path: PathBuf| {
            let lock = LockFile::open(&path);
            lock.failed(|| format!("cannot lock {}", path.display()))
        };
        fs::create_dir_all(state).failed(|| format!("cannot create {}", state.display()))?;
        let shared = used(state.join(IN_USE))?;
        shared
            .wait_shared()
            .failed(|| format!("cannot lock {}", shared.path().display()))?;
        fs::create_dir_all(logs).failed(|| format!("cannot create {}", logs.display()))?;
        let mut own = used(logs.join(LOG_IN_USE))?;
        own.try_exclusive()
            .and_then(|_| own.note(""))
            .failed(|| format!("cannot lock {}", own.path().display()))?;
        Ok(Self {
            _state: shared,
            _logs: own,
        })
    }
}

/// The commands that use a state folder at present.
struct Users {
    /// Held while entries are removed, unless a command uses them.
    _alone: LockFile,
    any: bool,
}

impl Users {
    fn of(state: &Path) -> Result<Option<Self>, CommandError> {
        if !state.is_dir() {
            return Ok(None);
        }
        let path = state.join(IN_USE);
        let failed = || format!("cannot lock {}", path.display());
        let alone = LockFile::open(&path).failed(failed)?;
        let any = !alone.try_exclusive().failed(failed)?;
        Ok(Some(Self { _alone: alone, any }))
    }
}

/// Removes the requested entries of a state folder and returns the result for each.
pub fn clean(state: &Path, options: &CleanOptions<'_>) -> Result<Vec<Entry>, CommandError> {
    let mut entries = Vec::new();
    let Some(users) = Users::of(state)? else {
        return Ok(entries);
    };
    let engine = Engine::find().ok();
    for &kind in options.kinds {
        for path in paths(state, kind)? {
            if fs::symlink_metadata(&path).is_err() {
                continue;
            }
            let contents = Contents::of(&path);
            if contents.age() < options.unchanged_for {
                continue;
            }
            let bytes = contents.bytes;
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
            paths.retain(|path| name(path) == "calibration" || (is_lock(path) && name(path) != IN_USE));
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

fn forget(kind: Kind, path: &Path, users: &Users, dry: bool) -> CleanOutcome {
    let in_use = |process: Option<u32>| {
        let by = process.map_or("another process".to_owned(), |process| {
            format!("process {process}")
        });
        CleanOutcome::Kept(format!("in use by {by}"))
    };
    let lock = match kind {
        Kind::Revisions | Kind::Cache if users.any => return in_use(None),
        Kind::Revisions | Kind::Cache => None,
        Kind::Builds => Some(path.with_file_name(format!("{}.lock", name(path)))),
        Kind::Logs => Some(path.join(LOG_IN_USE)),
        Kind::Leftovers => Some(path.to_owned()).filter(|path| is_lock(path)),
    };
    // Held until the entry is removed.
    let lock = match lock.map(|lock| LockFile::open_existing(&lock)) {
        Some(Ok(lock)) => Some(lock),
        Some(Err(error))
            if !matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return CleanOutcome::Kept(format!("its lock cannot be opened: {error}"));
        }
        Some(Err(_)) | None => None,
    };
    match lock.as_ref().map_or(Ok(true), LockFile::try_exclusive) {
        Ok(true) => {}
        Ok(false) => {
            let holder = lock.as_ref().and_then(LockFile::holder);
            return in_use(holder.map(|(process, _)| process));
        }
        Err(error) => return CleanOutcome::Kept(error.to_string()),
    }
    let removed = if dry { Ok(()) } else { remove(path) };
    match removed {
        Ok(()) => CleanOutcome::Removed,
        Err(error) => CleanOutcome::Failed(error.to_string()),
    }
}

/// A tree on the disk; unreadable entries count as nothing.
#[derive(Debug, Default)]
struct Contents {
    bytes: u64,
    /// The last change of anything in it: that of a folder says nothing about files further inside.
    changed: Option<SystemTime>,
}

impl Contents {
    fn of(path: &Path) -> Self {
        let mut contents = Self::default();
        if let Ok(own) = fs::symlink_metadata(path) {
            contents.add(&own);
        }
        for entry in Walk::new(path).readable() {
            contents.add(&entry.metadata);
        }
        contents
    }

    fn add(&mut self, data: &Metadata) {
        self.bytes += data.blocks() * BLOCK;
        self.changed = self.changed.max(data.modified().ok());
    }

    fn age(&self) -> Duration {
        let age = self
            .changed
            .and_then(|changed| SystemTime::now().duration_since(changed).ok());
        age.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

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
        let in_use = LockFile::open(&state.path().join("build/go-0a1b.lock")).expect("a lock");
        assert!(in_use.try_shared().expect("locked"));
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

    /// A file deep inside a folder does not change the time of the folder.
    #[test]
    fn a_folder_is_as_old_as_its_newest_file() {
        let state = filled();
        let old = SystemTime::now() - Duration::from_hours(240);
        for folder in [
            "cache/go",
            "cache/go/deep",
            "revisions/0a1b-go",
            "revisions/0a1b-go/WHOLE",
        ] {
            let file = fs::File::open(state.path().join(folder)).expect("opens");
            file.set_modified(old).expect("an earlier time");
        }
        let options = CleanOptions {
            kinds: &[Kind::Revisions, Kind::Cache],
            unchanged_for: Duration::from_hours(168),
            dry: false,
        };
        let entries = clean(state.path(), &options).expect("cleaned");
        let removed: Vec<&str> = entries.iter().map(|entry| name(&entry.path)).collect();
        assert_eq!(removed, ["0a1b-go"], "{entries:?}");
        assert!(state.path().join("cache/go/deep/module").exists());
    }

    /// The name of the binary and its process ID do not matter: other containers have other ones.
    #[test]
    fn what_a_running_command_uses_stays() {
        let state = filled();
        let logs = state.path().join("log/2026-11-21T08-30-00-4294967295");
        let running = StateUse::begin(state.path(), &logs).expect("locked");
        let options = CleanOptions {
            kinds: &[Kind::Revisions, Kind::Cache, Kind::Logs, Kind::Leftovers],
            unchanged_for: Duration::ZERO,
            dry: false,
        };
        let kept = |entries: Vec<Entry>| {
            let kept = entries
                .into_iter()
                .filter(|entry| matches!(entry.fate, CleanOutcome::Kept(_)));
            kept.map(|entry| name(&entry.path).to_owned()).collect::<Vec<_>>()
        };
        let entries = clean(state.path(), &options).expect("cleaned");
        let own = name(&logs).to_owned();
        assert_eq!(kept(entries), ["0a1b-go".to_owned(), "go".to_owned(), own]);
        assert!(logs.join("a.log").exists() && state.path().join("cache/go/deep/module").exists());
        drop(running);
        let entries = clean(state.path(), &options).expect("cleaned");
        assert_eq!(kept(entries), Vec::<String>::new());
        assert!(!logs.exists() && !state.path().join("cache/go").exists());
    }
}
