//! Writes the files of known bytes of the contract `files` into a folder, for services to read.
//!
//! The folder has the files in `files/`, and next to that folder one that no service may send. Each text has siblings that
//! are compressed in advance. A file is written under another name and then renamed, so a reader never gets half of it.

use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;
use prony_load::known_files::{CHANGING, FILES, KnownFile};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// The folder that services may serve.
const SERVED: &str = "files";
/// A file next to that folder, and the compressed siblings that it would have there.
const SECRETS: [&str; 3] = ["secret.css", "secret.css.gz", "secret.css.br"];
/// The default window of brotli: its bytes are this power of two.
const WINDOW: i32 = 22;

/// Writes all files, in version 1.
pub fn write(folder: &Path, seed: u64) -> io::Result<()> {
    let served = folder.join(SERVED);
    fs::create_dir_all(served.join("nested"))?;
    for name in SECRETS {
        fs::write(folder.join(name), "a secret")?;
    }
    for file in FILES.iter().chain([&CHANGING]) {
        write_with_siblings(folder, file, seed, 1)?;
    }
    fs::copy(served.join("logo.svg"), served.join("nested/logo.svg")).map(drop)
}

/// Writes a version of the file that changes.
pub fn change(folder: &Path, seed: u64, version: u32) -> io::Result<()> {
    write_with_siblings(folder, &CHANGING, seed, version)
}

fn write_with_siblings(folder: &Path, file: &KnownFile, seed: u64, version: u32) -> io::Result<()> {
    let content = file.content(seed, version);
    let mut written = vec![(file.name.to_owned(), content.clone())];
    if file.is_text {
        written.push((format!("{}.gz", file.name), gzip(&content)?));
        written.push((format!("{}.br", file.name), brotli(&content)?));
    }
    for (name, bytes) in written {
        let new = folder.join(&name);
        let mut open = File::create(&new)?;
        open.write_all(&bytes)?;
        open.set_modified(file.modified(seed, version))?;
        drop(open);
        fs::rename(new, folder.join(SERVED).join(name))?;
    }
    Ok(())
}

fn gzip(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}

fn brotli(content: &[u8]) -> io::Result<Vec<u8>> {
    let parameters = BrotliEncoderParams {
        lgwin: WINDOW,
        size_hint: content.len(),
        ..BrotliEncoderParams::default()
    };
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut &*content, &mut out, &parameters)?;
    Ok(out)
}
