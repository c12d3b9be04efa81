//! Finds toolchains on this machine.

use super::programs;
use prony_config::{System, Toolchain, Version};
use prony_host::InheritedVariables;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A toolchain that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledToolchain {
    pub version: Version,
    /// The variable that contains its folder for builds and runs, if the toolchain has one.
    pub located: Option<(String, String)>,
    /// The folder at the start of the PATH of builds and runs, if the toolchain has one.
    pub path: Option<PathBuf>,
    /// The digest of each program that its probe runs, by its path.
    pub programs: BTreeMap<String, String>,
}

/// The system whose package manager exists on this machine.
pub fn system() -> Option<System> {
    let path = std::env::var_os("PATH")?;
    let has =
        |system: &System| std::env::split_paths(&path).any(|folder| folder.join(system.manager()).is_file());
    System::ALL.into_iter().find(has)
}

/// Looks for a toolchain on this machine; `cache` is the folder of toolchains that were installed by package name. The error is
/// one sentence about what is missing, without a remedy.
pub fn probe(toolchain: &Toolchain, cache: &Path) -> Result<InstalledToolchain, String> {
    let missing = || format!("{} is not installed on this machine", toolchain.title);
    let located = match &toolchain.locate {
        None => None,
        Some((command, variable)) => {
            let folder = text(&command_line(command, cache).output().map_err(|_| missing())?);
            let folder = folder
                .lines()
                .last()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .map(str::to_owned);
            Some((variable.clone(), folder.ok_or_else(missing)?))
        }
    };
    let folder = located.as_ref().map(|(_, folder)| Path::new(folder));
    let path = folder
        .zip(toolchain.path.as_ref())
        .map(|(folder, below)| folder.join(below));
    let output = probed(toolchain, cache, located.as_ref(), path.as_deref()).map_err(|_| missing())?;
    let printed = text(&output);
    match toolchain.version_in(&printed) {
        // A probe that prints a version and then fails has found that a part which builds need is missing.
        Some(version) if !output.status.success() => {
            let reason = String::from_utf8_lossy(&output.stderr);
            let reason = reason.lines().map(str::trim).rfind(|line| !line.is_empty());
            Err(format!(
                "{} {version} is installed, but incomplete{}",
                toolchain.title,
                reason.map(|reason| format!(" ({reason})")).unwrap_or_default()
            ))
        }
        Some(version) => Ok(InstalledToolchain {
            version,
            programs: programs::of_probe(&toolchain.probe, located.as_ref(), path.as_deref()),
            located,
            path,
        }),
        None if output.status.success() => Err(format!(
            "cannot find the version of {} in the output of `{}`: {}",
            toolchain.title,
            toolchain.probe,
            printed.lines().next().unwrap_or("nothing")
        )),
        None => Err(missing()),
    }
}

fn probed(
    toolchain: &Toolchain,
    cache: &Path,
    variable: Option<&(String, String)>,
    path: Option<&Path>,
) -> io::Result<Output> {
    let mut command = command_line(&toolchain.probe, cache);
    command.envs(variable.map(|(name, value)| (name, value)));
    if let Some(path) = path {
        command.env("PATH", before_path(&[path.to_owned()]));
    }
    command.output()
}

/// The PATH of this process, preceded by those folders that it does not contain yet. Folders that it contains keep their order,
/// because their programs were found in that order.
pub(crate) fn before_path(folders: &[PathBuf]) -> String {
    let inherited = std::env::var("PATH").unwrap_or_default();
    let is_new = |folder: &&PathBuf| !std::env::split_paths(&inherited).any(|known| known == **folder);
    let new = folders
        .iter()
        .filter(is_new)
        .map(|folder| folder.display().to_string());
    new.chain([inherited.clone()]).collect::<Vec<_>>().join(":")
}

fn command_line(command: &str, cache: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .stdin(Stdio::null())
        .env_clear()
        .envs(InheritedVariables::of_builds(&[]).values())
        .env("PRONY_CACHE", cache);
    shell
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(toolchain: &Toolchain) -> Result<InstalledToolchain, String> {
        super::probe(toolchain, Path::new("/no/cache"))
    }

    fn toolchain(probe: &str, locate: Option<&str>) -> Toolchain {
        Toolchain {
            name: "toy".to_owned(),
            title: "Toy".to_owned(),
            locate: locate.map(|command| (command.to_owned(), "TOY".to_owned())),
            probe: probe.to_owned(),
            version: regex::Regex::new(r"toy (\d+(?:\.\d+)*)").expect("a regex"),
            path: None,
            packages: BTreeMap::new(),
            install: None,
            needs: Vec::new(),
            code_layout: None,
            is_own: false,
        }
    }

    #[test]
    fn a_version_is_found_in_what_is_printed() {
        let found = probe(&toolchain("echo toy 1.20.3, release", None)).expect("there");
        assert_eq!(found.version, Version(vec![1, 20, 3]));
    }

    #[test]
    fn what_is_not_there_is_missing() {
        let error = probe(&toolchain("no-such-toy --version", None)).expect_err("missing");
        assert_eq!(error, "Toy is not installed on this machine");
        let error = probe(&toolchain("echo toy 1", Some("ls -d /no/such/toy"))).expect_err("missing");
        assert_eq!(error, "Toy is not installed on this machine");
    }

    #[test]
    fn an_unreadable_version_says_what_was_printed() {
        let error = probe(&toolchain("echo play", None)).expect_err("unreadable");
        assert!(error.contains("play") && error.contains("Toy"), "{error}");
    }

    #[test]
    fn a_located_toolchain_is_probed_where_it_is() {
        let found = probe(&toolchain("echo toy $TOY", Some("printf '4\\n5\\n'"))).expect("there");
        assert_eq!(found.version, Version(vec![5]));
        assert_eq!(found.located, Some(("TOY".to_owned(), "5".to_owned())));
    }

    #[test]
    fn a_probe_that_fails_after_the_version_names_what_it_tried() {
        let error =
            probe(&toolchain("echo toy 3.1; echo 'no toy box' >&2; exit 1", None)).expect_err("not all");
        assert_eq!(error, "Toy 3.1 is installed, but incomplete (no toy box)");
    }

    #[test]
    fn what_was_installed_into_the_cache_is_found_on_the_path() {
        let cache = tempfile::tempdir().expect("a folder");
        let bin = cache.path().join("toy/bin");
        std::fs::create_dir_all(&bin).expect("made");
        std::fs::write(bin.join("toy"), "#!/bin/sh\necho toy 7\n").expect("written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(bin.join("toy"), mode).expect("executable");
        let toy = Toolchain {
            path: Some("bin".to_owned()),
            ..toolchain("toy", Some("ls -d \"$PRONY_CACHE/toy\""))
        };
        let found = super::probe(&toy, cache.path()).expect("there");
        assert_eq!((found.version, found.path), (Version(vec![7]), Some(bin)));
        super::probe(&toy, Path::new("/no/cache")).expect_err("missing");
    }
}
