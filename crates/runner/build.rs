//! Says what the embedded contracts and suites are read from: a file that is new is no change of one that is known.

use std::path::Path;

fn main() {
    for folder in ["backing-services", "contracts", "suites"] {
        watch(Path::new(folder));
    }
    println!("cargo:rerun-if-changed=toolchains.toml");
}

fn watch(folder: &Path) {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            watch(&entry.path());
        }
    }
}
