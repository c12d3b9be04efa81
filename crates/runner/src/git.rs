//! Runs git.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Variables of a git that runs prony in a hook. They name its repository instead of the one of the folder.
const OF_HOOKS: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"];

/// Why git did not answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    #[error("cannot start git, which lists the files of a repository ({0}) → Install it.")]
    Absent(io::Error),
    #[error("{0}")]
    Failed(String),
}

/// A git that works in a folder.
pub(crate) fn command(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).stdin(Stdio::null());
    for name in OF_HOOKS {
        git.env_remove(name);
    }
    git
}

/// What git prints in a folder.
pub(crate) fn output(folder: &Path, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
    run(command(folder).args(arguments))
}

/// What a git prints. Its outputs are read at the same time: neither can fill up while the other is awaited.
pub(crate) fn run(git: &mut Command) -> Result<Vec<u8>, GitError> {
    let output = git.output().map_err(GitError::Absent)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(GitError::Failed(said.trim().to_owned()))
}

/// The first line that git prints in a folder; `None` if it fails.
pub(crate) fn line(folder: &Path, arguments: &[&str]) -> Option<String> {
    let printed = output(folder, arguments).ok()?;
    Some(String::from_utf8_lossy(&printed).lines().next()?.to_owned())
}

/// The paths of a list that git ends with NULs.
pub(crate) fn paths(listed: &[u8]) -> impl Iterator<Item = PathBuf> {
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(OsStr::from_bytes(name)))
}

/// The top folder of the work tree that contains a folder; `None`: it is in no repository. A file `.git` is that of a submodule or of
/// another work tree.
pub(crate) fn work_tree(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| folder.join(".git").exists())
}

/// Whether a file below a folder differs from the last commit. `counts` gets its path, and whether git tracks it. `None`: git reports
/// nothing.
pub(crate) fn is_changed(folder: &Path, counts: &dyn Fn(&Path, bool) -> bool) -> Option<bool> {
    work_tree(folder)?;
    let status = [
        "status",
        "--porcelain",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        "--",
        ".",
    ];
    let listed = output(folder, &status).ok()?;
    // Paths are relative to the top folder, also in a folder below it.
    let prefix = output(folder, &["rev-parse", "--show-prefix"]).ok()?;
    let prefix = Path::new(OsStr::from_bytes(prefix.trim_ascii_end()));
    let mut changed = listed.split(|byte| *byte == 0).filter(|line| line.len() > 3);
    Some(changed.any(|line| {
        let path = Path::new(OsStr::from_bytes(&line[3..]));
        counts(
            path.strip_prefix(prefix).unwrap_or(path),
            !line.starts_with(b"??"),
        )
    }))
}

/// Those of these paths that git ignores.
pub fn ignored_by_git(root: &Path, paths: &[String]) -> Vec<String> {
    let mut arguments = vec!["check-ignore", "--no-index", "--"];
    arguments.extend(paths.iter().map(String::as_str));
    let ignored = output(root, &arguments).unwrap_or_default();
    String::from_utf8_lossy(&ignored)
        .lines()
        .map(str::to_owned)
        .collect()
}

/// A name for the service of a repository that a contract may have, too: the name of its origin, or else of its folder.
pub fn repository_name(root: &Path) -> String {
    let origin = line(root, &["config", "--get", "remote.origin.url"]);
    let of_origin = origin
        .as_deref()
        .and_then(|url| url.trim_end_matches('/').rsplit(['/', ':']).next());
    let of_folder = root.file_name().unwrap_or_default().to_string_lossy();
    let text = of_origin.map_or(&*of_folder, |name| name.trim_end_matches(".git"));
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let name: String = text.chars().map(plain).collect();
    let name = name.trim_matches(|letter: char| !letter.is_ascii_lowercase() && !letter.is_ascii_digit());
    if name.starts_with(|letter: char| letter.is_ascii_lowercase()) {
        name.to_owned()
    } else {
        format!("api-{name}").trim_end_matches('-').to_owned()
    }
}
