//! Says what the embedded contracts and suites are read from: a file that is new is no change of one that is known.

use std::path::Path;

fn main() {
    let root = Path::new("../..");
    for folder in ["contracts", "suites"] {
        watch(&root.join(folder));
    }
    println!(
        "cargo:rerun-if-changed={}",
        root.join("services/toolchains.toml").display()
    );
}

fn watch(folder: &Path) {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            watch(&entry.path());
        }
    }
}
