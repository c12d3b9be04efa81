//! The files of a work tree that git does not ignore.

use super::is_source;
use crate::git;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files that are tracked, and those that are not but that git does not ignore, relative to the folder. `None`: git does not know the
/// folder, or ignores it as a whole.
pub(super) fn files(folder: &Path) -> io::Result<Option<Vec<PathBuf>>> {
    if git::work_tree(folder).is_none() {
        return Ok(None);
    }
    let mut files = BTreeSet::new();
    add(folder, Path::new(""), &mut files)?;
    Ok((!files.is_empty()).then(|| files.into_iter().collect()))
}

/// Adds the files of the repository that has `below` in its work tree, and of its submodules.
fn add(folder: &Path, below: &Path, files: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    for (which, is_tracked) in [("--cached", true), ("--others", false)] {
        let list = ["ls-files", "-z", which, "--exclude-standard"];
        let listed = git::output(&folder.join(below), &list).map_err(io::Error::other)?;
        for path in git::paths(&listed).map(|path| below.join(path)) {
            if !is_source(&path, is_tracked) {
                continue;
            }
            // One that was deleted is still in the index.
            let Ok(metadata) = fs::symlink_metadata(folder.join(&path)) else {
                continue;
            };
            if !metadata.is_dir() {
                files.insert(path);
            } else if folder.join(&path).join(".git").exists() {
                add(folder, &path, files)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(folder: &Path, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.arg("-C").arg(folder);
        git.args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "-c",
            "protocol.file.allow=always",
        ]);
        let done = git.args(arguments).output().expect("git runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn write(folder: &Path, names: &[&str]) {
        for name in names {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, *name).expect("written");
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let found = files(folder).expect("git lists them").unwrap_or_default();
        found.iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn tracked_and_new_files_are_sources_and_ignored_ones_are_not() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("shop");
        write(
            &folder,
            &[
                "src/main.c",
                "src/gone.c",
                "dist/kept.js",
                ".prony/contracts/shop/contract.toml",
                "sub/a.c",
            ],
        );
        git(&folder, &["init", "-q"]);
        git(&folder, &["add", "-A"]);
        git(&folder, &["commit", "-qm", "all"]);
        fs::write(folder.join(".gitignore"), "dist/\n*.log\n/out\n").expect("written");
        write(
            &folder,
            &[
                "dist/new.js",
                "a.log",
                "src/new.c",
                "node_modules/x/index.js",
                "out/a.c",
            ],
        );
        fs::remove_file(folder.join("src/gone.c")).expect("it is there");
        assert_eq!(
            names(&folder),
            [".gitignore", "dist/kept.js", "src/main.c", "src/new.c", "sub/a.c"],
            "what git tracks is a source, also if a rule would ignore it"
        );
        assert_eq!(names(&folder.join("src")), ["main.c", "new.c"]);
        assert_eq!(names(place.path()), [""; 0], "outside of the repository");
        assert_eq!(names(&folder.join("out")), [""; 0], "ignored as a whole");
    }

    #[test]
    fn files_of_submodules_are_sources() {
        let place = tempfile::tempdir().expect("a folder");
        let (lib, folder) = (place.path().join("lib"), place.path().join("shop"));
        for (repository, files) in [(&lib, &["lib.c"][..]), (&folder, &["main.c"][..])] {
            write(repository, files);
            git(repository, &["init", "-q"]);
            git(repository, &["add", "-A"]);
            git(repository, &["commit", "-qm", "all"]);
        }
        git(&folder, &["submodule", "--quiet", "add", "../lib", "vendor/lib"]);
        write(&folder, &["vendor/lib/new.c"]);
        assert_eq!(
            names(&folder),
            [".gitmodules", "main.c", "vendor/lib/lib.c", "vendor/lib/new.c"]
        );
    }
}
