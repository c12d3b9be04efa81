//! Hashes of files.

use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Device, inode, size and change time: they identify one state of a file.
type State = (u64, u64, u64, (i64, i64));

/// Cache of the hashes of binaries, which are large and needed once per host.
static BINARIES: Mutex<Option<HashMap<State, String>>> = Mutex::new(None);

/// Like [`of_file`], but reads an unchanged file only once.
pub(crate) fn of_binary(path: &Path) -> io::Result<String> {
    let data = path.metadata()?;
    let changed = (data.mtime(), data.mtime_nsec());
    let state = (data.dev(), data.ino(), data.len(), changed);
    let mut known = BINARIES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some(hash) = known.get(&state) {
        return Ok(hash.clone());
    }
    let hash = of_file(path)?;
    known.insert(state, hash.clone());
    Ok(hash)
}

/// SHA-256 of a file's content, hexadecimal.
pub(crate) fn of_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            length => hash.update(&buffer[..length]),
        }
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
