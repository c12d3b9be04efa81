//! An empty home folder for a process.

use nix::unistd::mkdtemp;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A folder in which only this user can write, and which is removed when this value is dropped.
#[derive(Debug)]
pub(super) struct EmptyHome(PathBuf);

impl EmptyHome {
    pub(super) fn make() -> io::Result<Self> {
        let home = Self(mkdtemp(&std::env::temp_dir().join("prony-home-XXXXXX"))?);
        // Some software gives up its user, and then looks for files in its home.
        std::fs::set_permissions(&home.0, Permissions::from_mode(0o711))?;
        Ok(home)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for EmptyHome {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
