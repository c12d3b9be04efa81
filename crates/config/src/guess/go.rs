//! go.mod.

use super::Guess;
use super::folder::Folder;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Names of commands that usually are the server.
const SERVERS: [&str; 4] = ["server", "api", "app", "web"];

pub(super) fn guess(folder: &Folder) -> Option<Guess> {
    const FILE: &str = "go.mod";
    let module = folder.read(FILE)?;
    let mains: BTreeSet<PathBuf> = folder
        .with_extension("go")
        .filter(|path| is_main(folder, path))
        .map(|path| path.parent().unwrap_or(Path::new("")).to_owned())
        .collect();
    let Some(chosen) = chosen(&mains, &module) else {
        let example = "exec ./prony-server";
        let guess = Guess::unknown(FILE, "no `package main` is in it or in cmd/*", example);
        let build = "go build -o prony-server ./cmd/server";
        return Some(guess.with_toolchains(&["go"]).with_build(vec![build.to_owned()]));
    };
    let package = match chosen.display().to_string() {
        text if text.is_empty() => ".".to_owned(),
        text => format!("./{text}"),
    };
    let mut guess = Guess::run(FILE, "exec ./prony-server")
        .with_toolchains(&["go"])
        .with_build(vec![format!("go build -o prony-server {package}")]);
    let others: Vec<String> = mains
        .iter()
        .filter(|path| *path != chosen)
        .map(|path| path.display().to_string())
        .collect();
    if !others.is_empty() {
        guess = guess.remark(format!(
            "{package} is built; other programs are in {}.",
            others.join(", ")
        ));
    }
    Some(guess)
}

fn is_main(folder: &Folder, path: &Path) -> bool {
    let is_place = path.parent() == Some(Path::new("")) || path.starts_with("cmd");
    // An indented line is an example in a comment.
    let is_package = |text: String| text.lines().any(|line| line.trim_end() == "package main");
    is_place && folder.read(path).is_some_and(is_package)
}

/// The top folder, else a command with the name of a server or of the module, else the first one.
fn chosen<'a>(mains: &'a BTreeSet<PathBuf>, module: &str) -> Option<&'a PathBuf> {
    let named = module.lines().find_map(|line| line.strip_prefix("module "));
    let named = named.and_then(|module| module.trim().rsplit('/').next());
    let has_name = |path: &&PathBuf, name: &str| path.file_name().is_some_and(|found| found == name);
    mains
        .get(Path::new(""))
        .or_else(|| {
            SERVERS
                .iter()
                .find_map(|name| mains.iter().find(|path| has_name(path, name)))
        })
        .or_else(|| {
            mains
                .iter()
                .find(|path| named.is_some_and(|name| has_name(path, name)))
        })
        .or_else(|| mains.first())
}
