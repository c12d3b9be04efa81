//! Identifies programs by their path and a digest of their content: two compilers may print the same version.

use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::digest::short;

/// The programs that the probe of a toolchain runs. `located`: the variable with its folder; `path`: a folder at the start of
/// its PATH.
pub(super) fn of_probe(
    probe: &str,
    located: Option<&(String, String)>,
    path: Option<&Path>,
) -> BTreeMap<String, String> {
    let path: Vec<PathBuf> = path.map(Path::to_owned).into_iter().collect();
    let commands = probe.split(['|', '&', ';', '\n']);
    let programs = commands.filter_map(first_program).map(|program| match located {
        Some((name, folder)) => program.replace(&format!("${name}"), folder),
        None => program,
    });
    programs
        .filter_map(|program| identified(&program, &path))
        .collect()
}

/// The program that a shell command runs, as written. `None` for a command of the shell itself.
pub(super) fn first_program(command: &str) -> Option<String> {
    let words = shlex::split(command.trim())?;
    let is_assignment = |word: &String| word.split_once('=').is_some_and(|(name, _)| !name.contains('/'));
    let mut words = words
        .into_iter()
        .skip_while(|word| is_assignment(word) || word == "exec");
    words.next()
}

/// The path of a program, with links resolved, and the digest of its content. `first`: folders at the start of the PATH.
/// `None` if there is no such program outside of the build.
pub(super) fn identified(program: &str, first: &[PathBuf]) -> Option<(String, String)> {
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let found = if program.starts_with('/') {
        PathBuf::from(program)
    } else if program.contains('/') {
        return None;
    } else {
        let folders = first.iter().cloned().chain(std::env::split_paths(&inherited));
        folders
            .map(|folder| folder.join(program))
            .find(|path| is_executable(path))?
    };
    let found = found.canonicalize().ok()?;
    let digest = digest_of(&found).ok()?;
    Some((found.to_string_lossy().into_owned(), digest))
}

/// The digest of this program; empty if it cannot be read.
pub(crate) fn own_program() -> String {
    let path = std::env::current_exe();
    path.and_then(|path| digest_of(&path)).unwrap_or_default()
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// The digest of a file. Each file is read once.
fn digest_of(path: &Path) -> io::Result<String> {
    static KNOWN: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(digest) = known().get(path) {
        return Ok(digest.clone());
    }
    let mut content = Sha256::new();
    let (mut file, mut piece) = (File::open(path)?, vec![0; 1 << 18]);
    loop {
        match file.read(&mut piece)? {
            0 => break,
            length => content.update(&piece[..length]),
        }
    }
    let digest = short(&content.finalize());
    known().insert(path.to_owned(), digest.clone());
    Ok(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(path: &Path, text: &str) {
        fs::write(path, text).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
    }

    #[test]
    fn the_program_of_a_command_is_its_first_word() {
        let programs = [
            "exec node server.js",
            "A=1 B=2 ./run --x",
            " \"$JDK/bin/java\" -version",
            "",
        ]
        .map(first_program);
        let expected = [Some("node"), Some("./run"), Some("$JDK/bin/java"), None];
        assert_eq!(programs, expected.map(|word| word.map(str::to_owned)));
    }

    #[test]
    fn another_program_of_the_same_version_has_another_digest() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().canonicalize().expect("there");
        let of = |name: &str| {
            let located = ("TOY".to_owned(), folder.display().to_string());
            of_probe(
                &format!("$TOY/{name} --version && toy-two | missing"),
                Some(&located),
                Some(&folder),
            )
        };
        program(&folder.join("toy-one"), "echo 1 # a");
        program(&folder.join("toy-two"), "echo 1 # b");
        std::os::unix::fs::symlink("toy-one", folder.join("link")).expect("a link");
        let found = of("toy-one");
        let names: Vec<&str> = found.keys().filter_map(|path| path.rsplit('/').next()).collect();
        assert_eq!(names, ["toy-one", "toy-two"]);
        let digests: std::collections::BTreeSet<&String> = found.values().collect();
        assert_eq!(digests.len(), 2);
        assert_eq!(of("link"), found, "links are resolved");
        assert_eq!(identified("./in-the-build", &[]), None);
    }
}
