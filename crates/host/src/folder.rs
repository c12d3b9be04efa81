//! The folder in which prony keeps its state: whether it is writable, and how much disk space is free.

use nix::errno::Errno;
use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, Uid, User, access, geteuid};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Checks that a folder and its direct entries are writable. The error says why not, and what to do.
pub fn writable(folder: &Path) -> Result<(), String> {
    let Ok(entries) = fs::read_dir(folder) else {
        // The folder does not exist yet: it can be created if its parent is writable.
        let existing = nearest(folder);
        return may_write(&existing).map_err(|error| sentence(folder, &existing, error));
    };
    let inside = entries.flatten().map(|entry| entry.path());
    for path in [folder.to_owned()].into_iter().chain(inside) {
        may_write(&path).map_err(|error| sentence(folder, &path, error))?;
    }
    Ok(())
}

/// Bytes that this user can still write at the (future) location of this folder. `None` if the system does not report it.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let room = statvfs(&nearest(folder)).ok()?;
    Some(room.blocks_available().saturating_mul(room.fragment_size()))
}

/// The folder itself, or its nearest ancestor that exists.
fn nearest(folder: &Path) -> PathBuf {
    let mut above = folder.ancestors();
    let found = above.find(|path| path.exists());
    found
        .filter(|path| !path.as_os_str().is_empty())
        .map_or_else(|| PathBuf::from("."), Path::to_owned)
}

fn may_write(path: &Path) -> Result<(), Errno> {
    access(path, AccessFlags::W_OK)
}

fn sentence(folder: &Path, path: &Path, error: Errno) -> String {
    let shown = path.display();
    match error {
        Errno::EROFS => format!(
            "{shown} is on a read-only file system, and prony keeps builds, logs and runs in {}: work in a writable copy of the \
             checkout",
            folder.display()
        ),
        Errno::EACCES | Errno::EPERM => {
            let (owner, me) = (fs::metadata(path).map(|data| data.uid()).ok(), geteuid());
            let owner = owner.map_or_else(|| "another user".to_owned(), |owner| name(Uid::from_raw(owner)));
            let me = name(me);
            format!(
                "{shown} belongs to {owner}, and {me} may not write there: `sudo chown -R {me} {}`, or work in a checkout \
                 of your own",
                folder.display()
            )
        }
        error => format!("{shown} cannot be written: {}", error.desc()),
    }
}

/// The name of a user, or the number if it has no name.
fn name(user: Uid) -> String {
    match User::from_uid(user) {
        Ok(Some(user)) => user.name,
        _ => user.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_ones_own_may_be_written_even_before_it_is_made() {
        let folder = tempfile::tempdir().expect("a folder");
        writable(folder.path()).expect("writable");
        writable(&folder.path().join("not/yet")).expect("writable");
        assert!(free_bytes(&folder.path().join("not/yet")).is_some_and(|bytes| bytes > 0));
    }

    #[test]
    fn the_message_names_the_remedy() {
        let (folder, path) = (Path::new("/here/.prony"), Path::new("/"));
        let read_only = sentence(folder, path, Errno::EROFS);
        assert!(
            read_only.contains("read-only")
                && read_only.contains("/here/.prony")
                && read_only.contains("copy"),
            "{read_only}"
        );
        let foreign = sentence(folder, path, Errno::EACCES);
        assert!(
            foreign.starts_with("/ belongs to root, and ") && foreign.contains("chown -R"),
            "{foreign}"
        );
        assert!(sentence(folder, path, Errno::EIO).starts_with("/ cannot be written: "));
    }
}
