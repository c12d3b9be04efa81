//! Cargo.toml.

use super::Guess;
use super::folder::Folder;
use std::collections::BTreeSet;
use std::path::Path;
use toml::{Table, Value};

const FILE: &str = "Cargo.toml";
/// Names of programs that usually are the server.
const SERVERS: [&str; 4] = ["server", "api", "app", "web"];

pub(super) fn guess(folder: &Folder) -> Option<Guess> {
    let manifest = table(folder, Path::new(FILE))?;
    let mut programs = programs(folder, Path::new(""), &manifest);
    if manifest.contains_key("workspace") {
        for member in folder
            .files()
            .filter(|path| path.ends_with(FILE) && *path != Path::new(FILE))
        {
            let place = member.parent().unwrap_or(Path::new(""));
            programs.extend(
                table(folder, member)
                    .iter()
                    .flat_map(|table| self::programs(folder, place, table)),
            );
        }
    }
    let preferred = manifest
        .get("package")
        .and_then(|package| package.get("default-run")?.as_str());
    let preferred = preferred.and_then(|name| programs.get(name));
    let server = || {
        SERVERS
            .iter()
            .find_map(|server| programs.iter().find(|name| name.contains(server)))
    };
    let Some(name) = preferred.or_else(server).or_else(|| programs.first()) else {
        let guess = Guess::unknown(FILE, "it has no program, only libraries", "exec ./prony-server");
        return Some(guess.with_toolchains(&["rust"]));
    };
    let locked = if folder.has("Cargo.lock") { " --locked" } else { "" };
    let build = vec![
        format!("cargo build --release{locked} --bin {name}"),
        format!("cp \"$CARGO_TARGET_DIR/release/{name}\" prony-server"),
    ];
    let guess = Guess::run(FILE, "exec ./prony-server");
    let guess = guess.with_toolchains(&["rust"]).with_build(build);
    let others: Vec<&str> = programs
        .iter()
        .filter(|other| *other != name)
        .map(String::as_str)
        .collect();
    if others.is_empty() {
        return Some(guess);
    }
    Some(guess.remark(format!(
        "`{name}` is built; other programs are {}.",
        others.join(", ")
    )))
}

fn table(folder: &Folder, path: &Path) -> Option<Table> {
    folder.read(path)?.parse().ok()
}

/// The programs of a package.
fn programs(folder: &Folder, place: &Path, manifest: &Table) -> BTreeSet<String> {
    let Some(package) = manifest
        .get("package")
        .and_then(|package| package.get("name")?.as_str())
    else {
        return BTreeSet::new();
    };
    let written = manifest
        .get("bin")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let mut names: BTreeSet<String> = written
        .filter_map(|bin| bin.get("name")?.as_str().map(str::to_owned))
        .collect();
    if names.is_empty() && folder.root().join(place).join("src/main.rs").is_file() {
        names.insert(package.to_owned());
    }
    // Folders with this name are not listed: other languages put outputs there.
    let entries = std::fs::read_dir(folder.root().join(place).join("src/bin"));
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".rs").map(str::to_owned));
    }
    names
}
