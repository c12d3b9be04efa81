//! The files that a contract names: bodies, keys, tables, schemas, seeds. Contracts come from other people, and what these files
//! hold is sent to servers, so a contract reads only what belongs to it.

use crate::format::error::io_reason;
use crate::project::root_around;
use prony_files::{InsideError, inside};
use std::path::{Path, PathBuf};

/// Finds a file by its path relative to the contract's folder. It must be in that folder or in the project around it, also
/// after symbolic links. The error follows the name of the file.
pub(crate) fn find(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let project = std::path::absolute(folder)
        .ok()
        .and_then(|folder| root_around(&folder));
    let folders = [Some(folder), project.as_deref()];
    let folders: Vec<&Path> = folders.into_iter().flatten().collect();
    inside(&folders, Path::new(name)).map_err(|error| match error {
        InsideError::Outside => {
            "it is outside of the contract's folder and of the project: copy it into one of them".to_owned()
        }
        InsideError::NoFile if folder.join(name).is_dir() => "it is a folder".to_owned(),
        InsideError::NoFile => "it is not a regular file".to_owned(),
        InsideError::Unreadable(error) => io_reason(&error),
    })
}

/// The text of such a file.
pub(crate) fn read(folder: &Path, name: &str) -> Result<String, String> {
    std::fs::read_to_string(find(folder, name)?).map_err(|error| io_reason(&error))
}
