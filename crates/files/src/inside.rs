//! Files that another file names: they must be inside of folders that belong to it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file cannot be used.
#[derive(Debug)]
pub enum InsideError {
    /// It is in none of the folders, after symbolic links are resolved.
    Outside,
    /// It is a folder, a FIFO or a device.
    NoFile,
    /// It does not exist or may not be looked at.
    Unreadable(io::Error),
}

/// The file `name`, relative to the first of these folders, if it is in one of them. Symbolic links are resolved first.
pub fn inside(folders: &[&Path], name: &Path) -> Result<PathBuf, InsideError> {
    let base = folders.first().copied().unwrap_or(Path::new(""));
    let path = base.join(name).canonicalize().map_err(InsideError::Unreadable)?;
    let holds = |folder: &&Path| {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            *folder
        };
        folder.canonicalize().is_ok_and(|folder| path.starts_with(folder))
    };
    if !folders.iter().any(holds) {
        return Err(InsideError::Outside);
    }
    match fs::metadata(&path) {
        Ok(data) if data.is_file() => Ok(path),
        Ok(_) => Err(InsideError::NoFile),
        Err(error) => Err(InsideError::Unreadable(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_and_dots_do_not_lead_out() {
        let place = tempfile::tempdir().expect("a folder");
        let project = place.path().join("project");
        let contract = project.join("contracts/shop");
        fs::create_dir_all(&contract).expect("made");
        for file in ["secret", "project/shared.csv", "project/contracts/shop/own.csv"] {
            fs::write(place.path().join(file), "x").expect("written");
        }
        symlink("../../../secret", contract.join("link")).expect("linked");
        symlink("own.csv", contract.join("alias")).expect("linked");
        let find = |name: &str| inside(&[&contract, &project], Path::new(name));
        for name in ["own.csv", "alias", "../../shared.csv"] {
            assert!(find(name).is_ok(), "{name}");
        }
        for name in ["link", "../../../secret", "/etc/hostname"] {
            assert!(matches!(find(name), Err(InsideError::Outside)), "{name}");
        }
        assert!(matches!(find("../.."), Err(InsideError::NoFile)));
        assert!(matches!(find("absent"), Err(InsideError::Unreadable(_))));
        assert!(inside(&[&contract], Path::new("../../shared.csv")).is_err());
    }
}
