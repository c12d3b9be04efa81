//! The contracts, backing services, suites and toolchains that are shipped with prony, so that it works in any folder. They are
//! embedded in the binary and written once into the user's cache, from where they are read like files of a project.

use crate::CommandError;
use crate::digest::hex;
use crate::error::ErrorContext as _;
use include_dir::{Dir, include_dir};
use prony_files::{own_folder, sync_file_system, user};
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

// Symbolic links to the top-level folders of the checkout: only files inside the crate can be packaged.
static CONTRACTS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/contracts");
static BACKING_SERVICES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/backing-services");
static SUITES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/suites");
static TOOLCHAINS: &str = include_str!("../../toolchains.toml");

/// The folder of the shipped files. It has the structure of a project.
pub fn shipped() -> Result<PathBuf, CommandError> {
    let mut files = vec![(PathBuf::from("services/toolchains.toml"), TOOLCHAINS.as_bytes())];
    for (folder, dir) in [
        ("backing-services", &BACKING_SERVICES),
        ("contracts", &CONTRACTS),
        ("suites", &SUITES),
    ] {
        collect(dir, Path::new(folder), &mut files);
    }
    files.sort();
    let mut digest = Sha256::new();
    for (path, content) in &files {
        digest.update(path.to_string_lossy().as_bytes());
        digest.update((content.len() as u64).to_le_bytes());
        digest.update(content);
    }
    let name = format!("shipped-{}", hex(&digest.finalize()[..8]));
    let cache = cache()?;
    let place = cache.join(name);
    if !place.is_dir() {
        // Written to a temporary folder and then renamed: another prony process may do the same now.
        let aside = place.with_extension(std::process::id().to_string());
        // After a power cut, its name must not stand for files whose content was lost.
        let written = write(&aside, &files).and_then(|()| sync_file_system(&aside));
        let written = written.and_then(|()| match std::fs::rename(&aside, &place) {
            Err(_) if place.is_dir() => Ok(()),
            result => result,
        });
        let _ = std::fs::remove_dir_all(&aside);
        written.failed(|| {
            format!(
                "cannot write the shipped contracts to {}: set XDG_CACHE_HOME to a writable folder",
                place.display()
            )
        })?;
    }
    Ok(place)
}

/// The folder of the shipped contracts.
pub fn shipped_contracts() -> Result<PathBuf, CommandError> {
    Ok(shipped()?.join("contracts"))
}

fn collect(dir: &Dir<'static>, folder: &Path, files: &mut Vec<(PathBuf, &'static [u8])>) {
    for file in dir.files() {
        files.push((folder.join(file.path()), file.contents()));
    }
    dir.dirs().for_each(|below| collect(below, folder, files));
}

fn write(root: &Path, files: &[(PathBuf, &[u8])]) -> std::io::Result<()> {
    for (path, content) in files {
        let path = root.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, content)?;
    }
    Ok(())
}

/// The user's cache folder. Without a home, one in the folder for temporary files, where another user may have prepared it: its
/// scripts are executed.
fn cache() -> Result<PathBuf, CommandError> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let own = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    if let Some(own) = own {
        return Ok(own.join("prony"));
    }
    let place = std::env::temp_dir().join(format!("prony-{}", user()));
    own_folder(&place).failed(|| {
        format!(
            "cannot use {} for the shipped contracts: set XDG_CACHE_HOME to a folder of yours",
            place.display()
        )
    })?;
    Ok(place)
}
