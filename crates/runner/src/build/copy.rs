//! Copying a service's folder to where it is built.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// What somebody's own build in the service's folder leaves there; it is no source.
const LEFT_BEHIND: [&str; 8] = [
    ".git",
    "node_modules",
    "target",
    "venv",
    "__pycache__",
    ".gradle",
    "bin.prony",
    ".DS_Store",
];

pub(crate) fn is_left_behind(name: &str) -> bool {
    LEFT_BEHIND.contains(&name)
}

/// Copies one file, into a folder that need not be there yet.
pub(super) fn file(from: &Path, to: &Path) -> io::Result<()> {
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::copy(from, to).map(|_| ())
}

/// Copies all but what a build left behind. Permissions come along; symbolic links stay links.
pub(super) fn tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if is_left_behind(&entry.file_name().to_string_lossy()) {
            continue;
        }
        let (source, copy) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            symlink(fs::read_link(&source)?, &copy)?;
        } else if kind.is_dir() {
            tree(&source, &copy)?;
        } else {
            fs::copy(&source, &copy)?;
        }
    }
    Ok(())
}
