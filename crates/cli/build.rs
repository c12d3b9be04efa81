//! Sets `PRONY_SOURCES`: a digest of the sources from which this program is built, which tells builds of the same version apart,
//! whatever their architecture and C library.

use std::fs;
use std::path::{Path, PathBuf};

/// FNV-1a with 64 bits (Fowler, Noll, Vo): the same in every version of the compiler.
struct Digest(u64);

impl Digest {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn main() {
    let own = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let workspace = own.join("../..");
    let (crates, lock) = (workspace.join("crates"), workspace.join("Cargo.lock"));
    let mut files = Vec::new();
    // In a package of this crate alone there is no workspace.
    if crates.is_dir() && lock.is_file() {
        files.push(lock);
        for one in entries(&crates) {
            collect(&one.join("src"), &mut files);
            println!("cargo::rerun-if-changed={}", one.join("src").display());
        }
        println!(
            "cargo::rerun-if-changed={}",
            workspace.join("Cargo.lock").display()
        );
    } else {
        collect(&own.join("src"), &mut files);
        println!("cargo::rerun-if-changed=src");
    }
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    for file in files {
        let name = file.strip_prefix(&workspace).unwrap_or(&file);
        digest.add(name.as_os_str().as_encoded_bytes());
        digest.add(&fs::read(&file).expect("a source is readable"));
    }
    println!("cargo::rustc-env=PRONY_SOURCES={:016x}", digest.0);
}

/// The Rust files below a folder, in the order of their names.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in entries(folder) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
