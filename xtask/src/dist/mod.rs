//! Builds the release files into .prony/dist: one static program, its manual and completions, licences, contracts, suites and services.
//!
//! ```text
//! prony-VERSION-x86_64-linux.tar.gz     unpack it anywhere; bin/prony runs from there
//! prony_VERSION_amd64.deb               for Debian and its relatives
//! SHA256SUMS
//! usr/                                  their content, for Containerfile
//! ```
//!
//! The same commit gives the same bytes on every machine with the same Rust: paths, times and owners are removed, and C is
//! compiled for both targets by a compiler from `PyPI` that supports both. `scripts/test-dist --twice` compares two builds.

mod archive;
mod install;
mod layout;
mod licences;
mod program;

use crate::root;
use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum;
use layout::{DEBIAN_SHELLS, Layout, SHELLS};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use xshell::{Shell, cmd};

/// A feature that is too large for ordinary builds: testbeds of pods.
const FEATURE: &str = "kubernetes";

/// Build the release files: a static program with its manual, completions, licences, contracts and services
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The target of the build; rustup installs Rust's library for it
    #[arg(long, value_enum, default_value_t = Target::X86_64)]
    target: Target,
    /// The output folder; it is emptied first
    #[arg(long, default_value = ".prony/dist")]
    out: PathBuf,
    /// Include files that are not committed: to test this command
    #[arg(long)]
    allow_changes: bool,
}

/// An architecture of Linux.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    #[value(name = "x86_64-unknown-linux-musl")]
    X86_64,
    #[value(name = "aarch64-unknown-linux-musl")]
    Aarch64,
}

impl Target {
    /// The architecture of this machine.
    fn here() -> Result<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Ok(Self::X86_64),
            "aarch64" => Ok(Self::Aarch64),
            other => bail!("there are no releases for {other}, so the manual cannot be written here"),
        }
    }

    /// Its name in file names.
    const fn machine(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Its name in Debian.
    const fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// Its name in Rust.
    fn triple(self) -> String {
        format!("{}-unknown-linux-musl", self.machine())
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let began = Instant::now();
    let shell = Shell::new()?;
    shell.change_dir(root());
    let out = root().join(&arguments.out);
    check(&shell, arguments, &out)?;
    cmd!(shell, "scripts/setup").run()?;
    let commit_time: u64 = cmd!(shell, "git log -1 --format=%ct").quiet().read()?.parse()?;
    let (target, here) = (arguments.target, Target::here()?);
    let version = env!("CARGO_PKG_VERSION");
    let built = program::build(&shell, target, commit_time)?;
    let runs_here = if target == here {
        built.clone()
    } else {
        program::build(&shell, here, commit_time)?
    };
    let layout = Layout {
        shell: &shell,
        program: &built,
        runs_here: &runs_here,
        licences: licences::text(&shell, &target.triple())?,
    };
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&out)?;
    let work = tempfile::tempdir()?;
    let name = format!("prony-{version}-{}-linux", target.machine());
    let folder = work.path().join(&name);
    layout.install(&folder, &SHELLS)?;
    let archive = out.join(format!("{name}.tar.gz"));
    fs::write(&archive, archive::tar_gz(&folder, &name, commit_time)?)?;
    let debian = work.path().join("deb");
    layout.install(&debian.join("usr"), &DEBIAN_SHELLS)?;
    let package = deb(&shell, &debian, (version, target.debian(), commit_time), &out)?;
    // Containerfile copies this folder.
    let usr = debian.join("usr");
    install::set_times(&usr, commit_time)?;
    cmd!(shell, "cp -a {usr} {out}").run()?;
    let sums = out.join("SHA256SUMS");
    fs::write(&sums, checksums(&[&archive, &package])?)?;
    for path in [archive, package, sums] {
        println!("{}", path.display());
    }
    eprintln!("dist: {:.1} minutes", began.elapsed().as_secs_f64() / 60.0);
    Ok(true)
}

/// Fails early, before minutes of building, if the build cannot succeed.
fn check(shell: &Shell, arguments: &Arguments, out: &Path) -> Result<()> {
    ensure!(
        arguments.allow_changes || cmd!(shell, "git status --porcelain").quiet().read()?.is_empty(),
        "there are uncommitted changes, but a release names its commit: commit them, or add --allow-changes"
    );
    if let Some(foreign) = foreign_entry(out)? {
        bail!(
            "--out {} contains {foreign}, which is not a release file: give another folder",
            out.display()
        );
    }
    let mut missing = Vec::new();
    let mut targets = vec![arguments.target, Target::here()?];
    targets.dedup();
    for triple in targets.into_iter().map(Target::triple) {
        let library = cmd!(shell, "rustc --print target-libdir --target {triple}")
            .quiet()
            .read()?;
        if !Path::new(&library).is_dir() {
            // Without rustup, the message below lists what is missing.
            let _ = cmd!(shell, "rustup --quiet target add {triple}").run();
        }
        if !Path::new(&library).is_dir() {
            missing.push(format!("Rust's library for {triple}: rustup target add {triple}"));
        }
    }
    let sysroot = cmd!(shell, "rustc --print sysroot").quiet().read()?;
    let libraries = fs::read_dir(Path::new(&sysroot).join("lib/rustlib"))?;
    if !libraries
        .flatten()
        .any(|library| library.path().join("bin/rust-lld").exists())
    {
        missing.push("Rust's linker (rust-lld): install a toolchain from rustup".to_owned());
    }
    if cmd!(shell, "dpkg-deb --version")
        .quiet()
        .ignore_stdout()
        .run()
        .is_err()
    {
        missing.push("dpkg-deb, for the .deb: apt-get install dpkg, or build on Debian".to_owned());
    }
    ensure!(missing.is_empty(), "missing:\n  {}", missing.join("\n  "));
    Ok(())
}

/// An entry of the output folder that this command does not write, and would delete.
fn foreign_entry(out: &Path) -> Result<Option<String>> {
    if !out.exists() {
        return Ok(None);
    }
    for entry in fs::read_dir(out)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_package = (name.starts_with("prony-") && name.ends_with(".tar.gz"))
            || (name.starts_with("prony_") && Path::new(&name).extension().is_some_and(|end| end == "deb"));
        if !is_package && name != "SHA256SUMS" && name != "usr" {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// A Debian package of a folder. dpkg-deb reduces later times to `commit_time`.
fn deb(
    shell: &Shell,
    folder: &Path,
    (version, architecture, commit_time): (&str, &str, u64),
    out: &Path,
) -> Result<PathBuf> {
    let size_kib = install::size(&folder.join("usr"))? / 1024;
    let control = format!(
        "Package: prony\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: the prony developers <prony@localhost>\n\
         Installed-Size: {size_kib}\n\
         Section: net\n\
         Priority: optional\n\
         Recommends: openssh-client, ca-certificates\n\
         Description: says which API server is faster, by how much and at what cost\n \
         prony loads API servers, checks each reply, and compares them: with\n \
         intervals instead of bare numbers, the resources that a request costs,\n \
         and a generator that knows when it is the limit.\n"
    );
    install::file(&folder.join("DEBIAN/control"), control.as_bytes())?;
    let package = out.join(format!("prony_{version}_{architecture}.deb"));
    cmd!(
        shell,
        "dpkg-deb --root-owner-group -Zgzip --build {folder} {package}"
    )
    .env("SOURCE_DATE_EPOCH", commit_time.to_string())
    .ignore_stdout()
    .run()?;
    Ok(package)
}

/// Lines in the format of `sha256sum`.
fn checksums(paths: &[&Path]) -> Result<String> {
    let mut text = String::new();
    for path in paths {
        let digest = Sha256::digest(fs::read(path)?);
        for byte in digest {
            let _ = write!(text, "{byte:02x}");
        }
        let name = path.file_name().context("a file has a name")?;
        let _ = writeln!(text, "  {}", name.display());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_holds_something_else_is_not_emptied() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path();
        assert_eq!(foreign_entry(&out.join("absent")).expect("read"), None);
        for own in [
            "prony-0.2.0-x86_64-linux.tar.gz",
            "prony_0.2.0_amd64.deb",
            "SHA256SUMS",
        ] {
            fs::write(out.join(own), "").expect("written");
        }
        assert_eq!(foreign_entry(out).expect("read"), None);
        fs::write(out.join("thesis.txt"), "").expect("written");
        assert_eq!(foreign_entry(out).expect("read").as_deref(), Some("thesis.txt"));
    }

    #[test]
    fn checksums_are_those_of_sha256sum() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("one");
        fs::write(&path, "abc").expect("written");
        assert_eq!(
            checksums(&[&path]).expect("read"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  one\n"
        );
    }
}
