//! Builds the static program.

use super::{FEATURE, Target, install};
use crate::root;
use anyhow::{Context as _, Result, ensure};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

const PROFILE: &str = "dist";
/// Compiles SQLite and ring for any target, against musl's headers.
const ZIG: &str = "ziglang==0.17.1";
/// The size limit of the program.
const MOST_MIB: f64 = 30.0;

/// Builds the program. Paths of this machine do not get into it.
pub(super) fn build(shell: &Shell, target: Target, commit_time: u64) -> Result<PathBuf> {
    let home = std::env::var_os("HOME").context("HOME is not set")?;
    let cargo = std::env::var_os("CARGO_HOME").map_or_else(|| Path::new(&home).join(".cargo"), PathBuf::from);
    let sysroot = cmd!(shell, "rustc --print sysroot").quiet().read()?;
    let prefixes = [
        (root().display().to_string(), "/prony"),
        (cargo.display().to_string(), "/cargo"),
        (sysroot, "/rust"),
    ];
    let mut flags: Vec<String> = [
        // Rust contains musl, so its own linker suffices for either target.
        "-Ctarget-feature=+crt-static",
        "-Clink-self-contained=yes",
        "-Clinker=rust-lld",
        // These options save a megabyte of relocations, another one of duplicate functions, and seven of symbol names.
        "-Clink-arg=--pack-dyn-relocs=relr",
        "-Clink-arg=--icf=all",
        "-Clink-arg=--strip-all",
    ]
    .map(str::to_owned)
    .into();
    flags.extend(
        prefixes
            .iter()
            .map(|(old, new)| format!("--remap-path-prefix={old}={new}")),
    );
    let c_flags: Vec<String> = prefixes
        .iter()
        .map(|(old, new)| format!("-ffile-prefix-map={old}={new}"))
        .collect();
    let tools = c_compiler(shell, target)?;
    let objects = root().join(".prony/cache/zig/objects");
    let triple = target.triple();
    let name = triple.replace('-', "_");
    cmd!(
        shell,
        "cargo build --locked --profile {PROFILE} --target {triple} --package prony --bin prony --features {FEATURE}"
    )
    .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
    .env(format!("CC_{name}"), tools.join("cc"))
    .env(format!("AR_{name}"), tools.join("ar"))
    .env(format!("CFLAGS_{name}"), c_flags.join(" "))
    .env("ZIG_GLOBAL_CACHE_DIR", &objects)
    .env("ZIG_LOCAL_CACHE_DIR", &objects)
    .env("SOURCE_DATE_EPOCH", commit_time.to_string())
    .env("CARGO_INCREMENTAL", "0")
    .run()?;
    let builds = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let program = builds.join(triple).join(PROFILE).join("prony");
    let mib = fs::metadata(&program)?.len() as f64 / f64::from(1 << 20);
    eprintln!("dist: the program has {mib:.1} MiB");
    ensure!(
        mib <= MOST_MIB,
        "{} has {mib:.1} MiB, more than {MOST_MIB}",
        program.display()
    );
    Ok(program)
}

/// The folder of `cc` and `ar`. Rust's build scripts pass Rust's name of the target, which zig does not understand.
fn c_compiler(shell: &Shell, target: Target) -> Result<PathBuf> {
    let zig = zig(shell)?;
    let zig = zig.display();
    let machine = target.machine();
    let folder = root().join(".prony/cache/zig").join(target.triple());
    let cc = format!(
        "#!/usr/bin/env bash\n\
         words=()\n\
         for word in \"$@\"; do case $word in --target=*) ;; *) words+=(\"$word\") ;; esac; done\n\
         exec '{zig}' cc -target {machine}-linux-musl -fno-sanitize=all \"${{words[@]}}\"\n"
    );
    install::program(&folder.join("cc"), cc.as_bytes())?;
    let ar = format!("#!/bin/sh\nexec '{zig}' ar \"$@\"\n");
    install::program(&folder.join("ar"), ar.as_bytes())?;
    Ok(folder)
}

/// The C compiler, downloaded once.
fn zig(shell: &Shell) -> Result<PathBuf> {
    let folder = root()
        .join(".prony/cache/toolchains")
        .join(ZIG.replace("==", "-"));
    let python = folder.join("bin/python");
    let ready = folder.join("ready");
    if !ready.exists() {
        cmd!(shell, "python3 -m venv --clear {folder}").run()?;
        cmd!(shell, "{python} -m pip install --quiet {ZIG}").run()?;
        File::create(&ready)?;
    }
    let find = "import ziglang; print(ziglang.__path__[0])";
    Ok(Path::new(&cmd!(shell, "{python} -c {find}").quiet().read()?).join("zig"))
}
