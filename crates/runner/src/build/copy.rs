//! Copies the folder of a service to the place where it is built.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use walkdir::WalkDir;

/// Left in the folder of the service by manual builds; these are not sources.
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

/// Copies one file and creates the destination folder if necessary.
pub(super) fn file(from: &Path, to: &Path) -> io::Result<()> {
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::copy(from, to).map(|_| ())
}

/// Copies everything except the output of manual builds. Keeps permissions and symbolic links.
pub(super) fn tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    // The folder itself may be a symbolic link, whose content is copied.
    let entries = WalkDir::new(from)
        .min_depth(1)
        .into_iter()
        .filter_entry(|entry| !is_left_behind(&entry.file_name().to_string_lossy()));
    for entry in entries {
        let entry = entry?;
        let copy = to.join(entry.path().strip_prefix(from).unwrap_or(entry.path()));
        let kind = entry.file_type();
        if kind.is_symlink() {
            symlink(fs::read_link(entry.path())?, &copy)?;
        } else if kind.is_dir() {
            fs::create_dir_all(&copy)?;
        } else {
            fs::copy(entry.path(), &copy)?;
        }
    }
    Ok(())
}
