//! The folders of an agent: a work folder, which is removed with the agent, and a cache, which stays.

use prony_files::{LockFile, own_folder, remove, user};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Environment variable that overrides the folder of the cache.
const VARIABLE: &str = "PRONY_AGENT_CACHE";

/// The folders of an agent. Dropping the value removes the work folder.
#[derive(Debug)]
pub(super) struct Folders {
    cache: PathBuf,
    work: PathBuf,
    /// Locked while this agent lives. The kernel releases it however the agent ends.
    _lock: LockFile,
    number: AtomicU32,
    /// Content of the cache that is in use, locked in the same way.
    pub(super) used: Mutex<Vec<LockFile>>,
}

impl Folders {
    /// Creates the folders where this user may write, and removes work folders of agents that were killed.
    pub(super) fn make() -> io::Result<Self> {
        let cache = place()?;
        let all = cache.join("work");
        own_folder(&all)?;
        sweep(&all);
        loop {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let work = all.join(format!("{}-{}", std::process::id(), now.as_nanos()));
            DirBuilder::new().mode(0o700).create(&work)?;
            // Another agent that is starting may have removed it before it was locked.
            let lock = match LockFile::open_folder(&work) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            if !lock.try_exclusive().map_err(|error| unlocked(&work, &error))? {
                continue;
            }
            // Or removed between opening and locking.
            if lock.is_current()? {
                return Ok(Self {
                    cache,
                    work,
                    _lock: lock,
                    number: AtomicU32::new(1),
                    used: Mutex::default(),
                });
            }
        }
    }

    pub(super) fn cache(&self) -> &Path {
        &self.cache
    }

    pub(super) fn work(&self) -> &Path {
        &self.work
    }

    /// Resolves a path from the controller: relative paths are below the work folder.
    pub(super) fn resolve(&self, path: &Path) -> PathBuf {
        self.work.join(path)
    }

    /// Like [`Self::resolve`], but the path must be inside one of the agent's folders.
    pub(super) fn inside(&self, path: &Path) -> Result<PathBuf, String> {
        let path = self.resolve(path);
        let plain = path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        let below = |folder: &Path| path != folder && path.starts_with(folder);
        let of_agents = ["agent", "work"].map(|own| path.starts_with(self.cache.join(own)));
        if plain && (below(&self.work) || (below(&self.cache) && of_agents == [false, false])) {
            return Ok(path);
        }
        Err(format!(
            "refused to remove {}: it is not below {} or {}",
            path.display(),
            self.work.display(),
            self.cache.display()
        ))
    }

    /// Removes the work folder.
    pub(super) fn clear(&self) {
        let _ = remove(&self.work);
    }

    /// An unused path in the work folder.
    pub(super) fn fresh(&self) -> PathBuf {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        self.work.join(format!(".part-{number}"))
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The first writable candidate for the cache, in the same order as in the script that brings the binary.
fn place() -> io::Result<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let own = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    let candidates = [
        variable(VARIABLE),
        own.map(|own| own.join("prony")),
        Some(std::env::temp_dir().join(format!("prony-{}", user()))),
    ];
    let mut failed = None;
    for place in candidates
        .into_iter()
        .flatten()
        .filter(|place| place.is_absolute())
    {
        // A folder that another user made must not be trusted.
        let own = own_folder(&place).and_then(|()| own_folder(&place.join("work")));
        match own {
            Ok(()) => return Ok(place),
            Err(error) => failed = Some(format!("{}: {error}", place.display())),
        }
    }
    Err(io::Error::other(format!(
        "cannot create a folder for its files: set {VARIABLE} to a folder that this user may write to ({})",
        failed.unwrap_or_default()
    )))
}

fn unlocked(folder: &Path, error: &io::Error) -> io::Error {
    let text = format!(
        "cannot lock {}: {error}; {VARIABLE} names another one",
        folder.display()
    );
    io::Error::new(error.kind(), text)
}

/// Removes the work folders of agents that have ended.
fn sweep(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let Ok(folder) = LockFile::open_folder(&entry.path()) else {
            continue;
        };
        if folder.try_exclusive().is_ok_and(|locked| locked) {
            let _ = remove(&entry.path());
        }
    }
}
