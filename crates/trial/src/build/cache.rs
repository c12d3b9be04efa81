//! The folder of one build, locked while somebody builds in it.

use super::{MARK, copy};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A build folder that nobody else builds in.
pub(super) struct Entry {
    folder: PathBuf,
    _lock: File,
}

impl Entry {
    /// Waits until nobody else builds the same, in this process or another.
    pub(super) fn lock(builds: &Path, name: &str) -> Result<Self, String> {
        let path = builds.join(format!("{name}.lock"));
        let locked = fs::create_dir_all(builds)
            .and_then(|()| File::create(&path))
            .and_then(|file| {
                file.lock()?;
                Ok(file)
            });
        let lock = locked.map_err(|error| format!("cannot lock {}: {error}", path.display()))?;
        Ok(Self {
            folder: builds.join(name),
            _lock: lock,
        })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether a whole build is there.
    pub(super) fn is_complete(&self) -> bool {
        self.folder.join(MARK).is_file()
    }

    /// Removes what an interrupted build left and copies the sources. A build must not move afterwards: many tools write
    /// their own path into what they make.
    pub(super) fn renew(&self, sources: &Path) -> Result<(), String> {
        if self.folder.exists() {
            let failed = |error| format!("cannot remove {}: {error}", self.folder.display());
            fs::remove_dir_all(&self.folder).map_err(failed)?;
        }
        let failed = |error| {
            format!(
                "cannot copy {} to {}: {error}",
                sources.display(),
                self.folder.display()
            )
        };
        copy::tree(sources, &self.folder).map_err(failed)
    }

    pub(super) fn complete(&self) -> Result<(), String> {
        let mark = self.folder.join(MARK);
        fs::write(&mark, "").map_err(|error| format!("cannot write {}: {error}", mark.display()))
    }
}
