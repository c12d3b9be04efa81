//! Folders that only this user can write to. What lies in them may be executed.

use nix::unistd::geteuid;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// The ID of the user of this process.
pub fn user() -> u32 {
    geteuid().as_raw()
}

/// Creates a folder that only this user can access. One that exists must belong to this user and be no symbolic link, because
/// another user may have prepared it; others lose the right to write to it.
pub fn own_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    let data = fs::symlink_metadata(path)?;
    if !data.is_dir() {
        return refused("it is a symbolic link");
    }
    if data.uid() != user() {
        return refused("it belongs to another user");
    }
    let mode = data.permissions().mode();
    if mode & 0o022 != 0 {
        fs::set_permissions(path, Permissions::from_mode(mode & 0o7755))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, symlink};

    #[test]
    fn a_folder_that_others_prepared_or_can_write_to_is_not_used_as_it_is() {
        let place = tempfile::tempdir().expect("a folder");
        let path = |name: &str| place.path().join(name);
        let mode = |name: &str| fs::metadata(path(name)).expect("there").mode() & 0o777;
        own_folder(&path("new/inner")).expect("made");
        assert_eq!(mode("new/inner"), 0o700);
        fs::set_permissions(path("new"), Permissions::from_mode(0o777)).expect("set");
        own_folder(&path("new")).expect("mine");
        assert_eq!(mode("new"), 0o755);
        symlink(path("new"), path("link")).expect("linked");
        let refused = own_folder(&path("link")).expect_err("a link").to_string();
        assert!(refused.contains("symbolic link"), "{refused}");
        if !geteuid().is_root() {
            crate::skip::skipped("giving a folder to another user needs root");
            return;
        }
        chown(path("new"), Some(65_534), None).expect("given");
        let refused = own_folder(&path("new")).expect_err("of another user").to_string();
        assert!(refused.contains("another user"), "{refused}");
    }
}
