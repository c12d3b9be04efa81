//! Data that stays on a host between connections: prony's binaries, and content stored under its hash. Both are limited in size.

use super::folders::Folders;
use prony_files::{LockFile, Walk, remove, sync_file_system};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, SystemTime};

/// Number of binaries that are kept.
const BINARIES: usize = 4;
/// Maximum size of the cached content, bytes.
const BYTES: u64 = 8 << 30;
/// An upload that is still incomplete after this time is abandoned.
const GIVEN_UP: Duration = Duration::from_hours(24);

/// Finds content by its hash. From now on it is kept until this agent ends.
pub(super) fn find(folders: &Folders, hash: &str) -> io::Result<Option<PathBuf>> {
    let Some(folder) = place(folders, hash) else {
        return Ok(None);
    };
    let lock = match LockFile::open_folder(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    // An agent that removes content holds an exclusive lock on it.
    if !lock.try_shared()? || !lock.is_current()? {
        return Ok(None);
    }
    let Some(content) = fs::read_dir(&folder)?.flatten().next() else {
        return Ok(None);
    };
    touch(lock.file());
    folders
        .used
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(lock);
    Ok(Some(content.path()))
}

/// Moves received content into the cache, and evicts old content.
pub(super) fn keep(folders: &Folders, part: &Path, name: &Path, hash: &str) -> io::Result<PathBuf> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "not a valid name or hash");
    let folder = place(folders, hash).ok_or_else(invalid)?;
    let name = name.file_name().ok_or_else(invalid)?;
    let whole = folders.fresh();
    fs::create_dir(&whole)?;
    fs::rename(part, whole.join(name))?;
    fs::create_dir_all(folders.cache().join("kept"))?;
    // After a power cut, its name must not stand for content that was lost.
    sync_file_system(&whole)?;
    // If another agent was faster, its copy is equally good.
    let moved = fs::rename(&whole, &folder);
    if moved.is_err() {
        remove(&whole)?;
    }
    match find(folders, hash)? {
        Some(content) => {
            bound(&folders.cache().join("kept"), BYTES);
            Ok(content)
        }
        None => Err(moved
            .err()
            .unwrap_or_else(|| io::Error::other("another agent has removed it: try again"))),
    }
}

fn place(folders: &Folders, hash: &str) -> Option<PathBuf> {
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| folders.cache().join("kept").join(hash))
}

fn touch(file: &File) {
    let _ = file.set_modified(SystemTime::now());
}

/// Removes the least recently used content until the rest is within the limit. Content used by a running agent stays.
fn bound(kept: &Path, most: u64) {
    let mut contents: Vec<(SystemTime, PathBuf, u64)> = fs::read_dir(kept)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let used = entry.metadata().ok()?.modified().ok()?;
            let bytes = size(&entry.path());
            Some((used, entry.path(), bytes))
        })
        .collect();
    contents.sort_unstable();
    let mut bytes: u64 = contents.iter().map(|(.., bytes)| bytes).sum();
    for (_, folder, size) in contents {
        if bytes <= most {
            return;
        }
        let unused = LockFile::open_folder(&folder)
            .and_then(|lock| Ok(lock.try_exclusive()? && remove(&folder).is_ok()));
        if unused.unwrap_or(false) {
            bytes = bytes.saturating_sub(size);
        }
    }
}

fn size(path: &Path) -> u64 {
    let walk = Walk::new(path);
    let files = walk.readable().filter(|entry| !entry.metadata.is_dir());
    files.map(|entry| entry.metadata.len()).sum()
}

/// Keeps the most recently used binaries, including the running one. Removes abandoned uploads.
pub(super) fn tidy(cache: &Path) {
    let folder = cache.join("agent");
    let own = fs::read_link("/proc/self/exe").unwrap_or_default();
    if own.starts_with(&folder)
        && let Ok(file) = File::open(&own)
    {
        touch(&file);
    }
    let now = SystemTime::now();
    let mut whole = Vec::new();
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let Some(used) = entry.metadata().ok().and_then(|data| data.modified().ok()) else {
            continue;
        };
        let is_part = entry.file_name().to_string_lossy().contains(".part.");
        if !is_part {
            whole.push((used, entry.path()));
        } else if now.duration_since(used).is_ok_and(|age| age > GIVEN_UP) {
            let _ = fs::remove_file(entry.path());
        }
    }
    whole.sort_unstable_by(|one, other| other.cmp(one));
    for (_, path) in whole.into_iter().skip(BINARIES).filter(|(_, path)| *path != own) {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_used_entry_is_removed_and_entries_in_use_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let content = |name: &str, age: u64| {
            let path = folder.path().join(name);
            fs::create_dir(&path).expect("made");
            fs::write(path.join("file"), [0; 100]).expect("written");
            let file = File::open(&path).expect("there");
            file.set_modified(SystemTime::now() - Duration::from_secs(age))
                .expect("set");
            path
        };
        let used = LockFile::open_folder(&content("a-used", 300)).expect("there");
        assert!(used.try_shared().expect("locked"));
        content("b-old", 200);
        content("c-new", 100);
        bound(folder.path(), 250);
        let left = |name: &str| folder.path().join(name).exists();
        assert!(left("a-used") && !left("b-old") && left("c-new"));
    }

    #[test]
    fn the_newest_binaries_stay() {
        let cache = tempfile::tempdir().expect("a folder");
        let folder = cache.path().join("agent");
        fs::create_dir(&folder).expect("made");
        let binary = |name: &str, age: u64| {
            let file = File::create(folder.join(name)).expect("made");
            file.set_modified(SystemTime::now() - Duration::from_secs(age))
                .expect("set");
        };
        for age in 1..=6_u64 {
            binary(&format!("{age}"), age * 100);
        }
        binary("7.part.12", 10);
        binary("8.part.12", 100_000);
        tidy(cache.path());
        let mut left: Vec<String> = fs::read_dir(&folder)
            .expect("there")
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        left.sort();
        assert_eq!(left, ["1", "2", "3", "4", "7.part.12"]);
    }
}
