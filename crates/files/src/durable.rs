//! Writes that survive a power cut. A file system may keep a name and lose the content, unless the content is written to the disk
//! first.

use std::fs::File;
use std::io;
use std::path::Path;

/// Writes everything to the disk that the file system of a folder has in memory. For a tree of many files this is faster than a
/// call for each.
pub fn sync_file_system(folder: &Path) -> io::Result<()> {
    nix::unistd::syncfs(File::open(folder)?).map_err(Into::into)
}

/// Writes the names in a folder to the disk, after a file in it was created or renamed.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
