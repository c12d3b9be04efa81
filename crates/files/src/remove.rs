//! Removes what others have written, whatever its permissions.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use walkdir::WalkDir;

/// Removes whatever exists at a path; nothing is no error. Some package managers write-protect their caches even from the owner:
/// then the permissions of folders are changed first.
pub fn remove(path: &Path) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    if !metadata.is_dir() {
        return fs::remove_file(path);
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            allow(path);
            fs::remove_dir_all(path)
        }
        other => other,
    }
}

/// Makes all folders of a tree writable for the owner. A folder is made accessible before the walk enters it.
fn allow(folder: &Path) {
    let walk = WalkDir::new(folder).into_iter();
    for entry in walk.filter_entry(|entry| entry.file_type().is_dir()).flatten() {
        if let Ok(data) = entry.metadata() {
            let mode = data.permissions().mode() | 0o700;
            let _ = fs::set_permissions(entry.path(), Permissions::from_mode(mode));
        }
    }
}
