//! Builds the page from `web/` into one file, in a private copy under `OUT_DIR`: the checkout stays unchanged, and
//! concurrent builds do not interfere.
//!
//! `PRONY_PAGE` names a prebuilt page; then Node.js is not needed.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sources of the page.
const SOURCES: [&str; 6] = [
    "src",
    "index.html",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "vite.config.ts",
];

fn main() {
    let out = PathBuf::from(env::var("OUT_DIR").expect("invariant: cargo sets OUT_DIR"));
    let page = out.join("page.html");
    println!("cargo:rerun-if-env-changed=PRONY_PAGE");
    println!("cargo:rerun-if-changed=build.rs");
    if let Ok(built) = env::var("PRONY_PAGE") {
        println!("cargo:rerun-if-changed={built}");
        must(
            fs::copy(&built, &page).map(drop),
            &format!("PRONY_PAGE names {built}, which cannot be copied"),
        );
        return;
    }
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("invariant: cargo sets it"));
    let web = manifest.join("web");
    for source in SOURCES {
        println!("cargo:rerun-if-changed={}", web.join(source).display());
    }
    let copy = out.join("web");
    must(fs::create_dir_all(&copy), "cannot create the folder of the page");
    let locked = fs::read(copy.join("package-lock.json")).ok();
    let _ = fs::remove_dir_all(copy.join("src"));
    for source in SOURCES {
        must(
            copied(&web.join(source), &copy.join(source)),
            &format!("cannot copy web/{source}"),
        );
    }
    must(
        copied(&web.join(".npmrc"), &copy.join(".npmrc")),
        "cannot copy web/.npmrc",
    );
    let unchanged = locked == fs::read(copy.join("package-lock.json")).ok();
    if !unchanged || !copy.join("node_modules/.bin/vite").exists() {
        run(
            &copy,
            "npm",
            &["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"],
        );
    }
    run(&copy, "npm", &["run", "build", "--silent"]);
    must(
        fs::copy(copy.join("dist/index.html"), &page).map(drop),
        "the build of the page produced no dist/index.html",
    );
}

fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let line = format!("{program} {}", arguments.join(" "));
    match Command::new(program).args(arguments).current_dir(folder).output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => fail(&format!(
            "`{line}` failed in {}:\n{}{}",
            folder.display(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )),
        Err(error) => fail(&format!(
            "the report page is built with Node.js 20.19 or newer, but `{program}` cannot be run: {error}.\n\
             Install Node.js (on Debian: apt-get install nodejs npm), or set PRONY_PAGE to a prebuilt page."
        )),
    }
}

fn copied(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copied(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

fn must(result: std::io::Result<()>, what: &str) {
    if let Err(error) = result {
        fail(&format!("{what}: {error}"));
    }
}

fn fail(text: &str) -> ! {
    for line in text.lines() {
        println!("cargo::error={line}");
    }
    std::process::exit(1);
}
