//! Files that a process gets from prony, in a folder of their own.

use nix::unistd::mkdtemp;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Where a container sees the folder.
pub(super) const IN_CONTAINER: &str = "/run/prony";

/// A folder with the files, which is removed when this value is dropped.
#[derive(Debug)]
pub(super) struct PrivateFiles {
    folder: PathBuf,
    names: Vec<String>,
}

impl PrivateFiles {
    /// Writes each content to a file with the name of its variable; `None` if there are none.
    pub(super) fn write(contents: &BTreeMap<String, String>) -> io::Result<Option<Self>> {
        if contents.is_empty() {
            return Ok(None);
        }
        let folder = mkdtemp(&std::env::temp_dir().join("prony-files-XXXXXX"))?;
        let names = contents.keys().cloned().collect();
        let this = Self { folder, names };
        // Some software gives up its user before it reads them, and the user of a container may be another one.
        fs::set_permissions(&this.folder, Permissions::from_mode(0o755))?;
        for (name, content) in contents {
            let path = this.folder.join(name);
            fs::write(&path, content)?;
            fs::set_permissions(&path, Permissions::from_mode(0o644))?;
        }
        Ok(Some(this))
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The variables, each with the path of its file, for a process that sees the folder in this place.
    pub(super) fn variables(&self, place: &Path) -> impl Iterator<Item = (String, String)> {
        let names = self.names.iter();
        names.map(move |name| (name.clone(), place.join(name).display().to_string()))
    }
}

impl Drop for PrivateFiles {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
