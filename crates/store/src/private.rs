//! Only the owner of a store reads it: replies and logs in it may contain what others must not see.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The modes of all other users.
const OTHERS: u32 = 0o077;

/// Creates the file for its owner alone. SQLite gives the mode of a store to the files next to it, and reports a file that cannot be
/// created.
pub(crate) fn create(path: &Path) {
    let mut options = File::options();
    let _ = options.write(true).create_new(true).mode(0o600).open(path);
}

/// Takes the access of other users away that an earlier version gave them. The file of another user stays as it is.
pub(crate) fn restrict(path: &Path) {
    let beside = |ending: &str| {
        let mut name = OsString::from(path);
        name.push(ending);
        PathBuf::from(name)
    };
    for file in [path.to_owned(), beside("-wal"), beside("-shm")] {
        let Ok(mode) = file.metadata().map(|data| data.permissions().mode()) else {
            continue;
        };
        if mode & OTHERS != 0 {
            let _ = fs::set_permissions(&file, Permissions::from_mode(mode & !OTHERS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    fn mode(path: &Path) -> u32 {
        path.metadata().expect("a file").permissions().mode() & 0o777
    }

    #[test]
    fn only_its_owner_reads_a_store() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store.db");
        let files = ["store.db", "store.db-wal", "store.db-shm"].map(|name| folder.path().join(name));
        let store = Store::open(&path).expect("a store");
        assert_eq!(files.each_ref().map(|file| mode(file)), [0o600; 3]);
        drop(store);
        fs::set_permissions(&path, Permissions::from_mode(0o664)).expect("set");
        let _store = Store::open_existing(&path).expect("a store");
        assert_eq!(mode(&path), 0o600);
    }
}
