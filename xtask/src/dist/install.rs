//! Writes files with modes that do not depend on the builder.

use anyhow::{Context as _, Result};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};
use walkdir::WalkDir;

/// A file that is readable by all users.
pub(super) fn file(path: &Path, content: &[u8]) -> Result<()> {
    write(path, content, 0o644)
}

/// A file that is executable by all users.
pub(super) fn program(path: &Path, content: &[u8]) -> Result<()> {
    write(path, content, 0o755)
}

/// A symbolic link in a folder that exists.
pub(super) fn link(path: &Path, target: &str) -> Result<()> {
    std::os::unix::fs::symlink(target, path).with_context(|| format!("cannot write {}", path.display()))
}

/// A copy that is executable if the original is.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let content = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    if is_executable(from)? {
        program(to, &content)
    } else {
        file(to, &content)
    }
}

pub(super) fn is_executable(path: &Path) -> Result<bool> {
    Ok(fs::metadata(path)?.permissions().mode() & 0o111 != 0)
}

/// Total size of all files of a folder, bytes.
pub(super) fn size(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in WalkDir::new(folder) {
        let entry = entry?;
        if entry.file_type().is_file() {
            sum += entry.metadata()?.len();
        }
    }
    Ok(sum)
}

/// Sets the time of everything in a folder, in seconds since 1970.
pub(super) fn set_times(folder: &Path, time: u64) -> Result<()> {
    let time = UNIX_EPOCH + Duration::from_secs(time);
    for entry in WalkDir::new(folder) {
        File::open(entry?.path())?.set_modified(time)?;
    }
    Ok(())
}

fn write(path: &Path, content: &[u8], mode: u32) -> Result<()> {
    let folder = path.parent().context("a file is in a folder")?;
    // The umask of the builder must not affect users.
    let mut missing: Vec<&Path> = folder.ancestors().take_while(|one| !one.exists()).collect();
    while let Some(folder) = missing.pop() {
        fs::create_dir(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    }
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(fs::set_permissions(path, Permissions::from_mode(mode))?)
}
