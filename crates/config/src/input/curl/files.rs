//! Reads the files that commands name.

use std::fs::File;
use std::io::Read as _;

/// The largest file, bytes: a draft has no room for more.
const LARGEST: u64 = 16 << 20;

/// Reads a file that a command names as the source of a body. Pipes and devices, which may never end, are refused.
pub fn read_file(path: &str) -> Result<Vec<u8>, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("it is larger than {} MiB", LARGEST >> 20));
    }
    Ok(bytes)
}
