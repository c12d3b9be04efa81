//! The key for digests of values that may be secret.

use crate::CommandError;
use crate::digest::short;
use crate::error::ErrorContext as _;
use rand::random;
use sha2::{Digest as _, Sha256};
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// A key of the project. Without it, a value cannot be found by trying which one has a published digest.
#[derive(Clone)]
pub(crate) struct FingerprintKey([u8; 32]);

impl FingerprintKey {
    /// The key in a folder. It is created by the first caller.
    pub(crate) fn of(state: &Path) -> Result<Self, CommandError> {
        let path = state.join("fingerprint.key");
        let key = read(&path).or_else(|error| match error.kind() {
            ErrorKind::NotFound => create(state, &path),
            _ => Err(error),
        });
        key.failed(|| format!("cannot read or create the key {}", path.display()))
    }

    /// The digest of the value of a variable of this process; `None` if it is not set.
    pub(super) fn digest_of_variable(&self, name: &str) -> Option<String> {
        let value = std::env::var_os(name)?;
        let mut digest = Sha256::new();
        digest.update(self.0);
        digest.update(value.as_encoded_bytes());
        Some(short(&digest.finalize()))
    }
}

fn read(path: &Path) -> std::io::Result<FingerprintKey> {
    let bytes = fs::read(path)?;
    let key = bytes
        .try_into()
        .map_err(|_| std::io::Error::from(ErrorKind::InvalidData))?;
    Ok(FingerprintKey(key))
}

/// Writes the key aside first, so that no process reads half of it. The first one of several processes wins.
fn create(state: &Path, path: &Path) -> std::io::Result<FingerprintKey> {
    fs::create_dir_all(state)?;
    let aside = state.join(format!(".fingerprint.key.{}", std::process::id()));
    let mut file: File = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&aside)?;
    file.write_all(&random::<[u8; 32]>())?;
    let linked = fs::hard_link(&aside, path);
    let _ = fs::remove_file(&aside);
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => read(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_project_has_one_key_that_only_its_user_reads() {
        let place = tempfile::tempdir().expect("a folder");
        let digest = || {
            FingerprintKey::of(place.path())
                .expect("a key")
                .digest_of_variable("PATH")
        };
        assert!(digest().is_some());
        assert_eq!(digest(), digest());
        let data = fs::metadata(place.path().join("fingerprint.key")).expect("there");
        assert_eq!(data.permissions().mode() & 0o777, 0o600);
        let other = tempfile::tempdir().expect("a folder");
        let other = FingerprintKey::of(other.path()).expect("a key");
        assert_ne!(other.digest_of_variable("PATH"), digest());
        assert_eq!(other.digest_of_variable("PRONY_NO_SUCH_VARIABLE"), None);
    }
}
