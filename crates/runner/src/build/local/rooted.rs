//! Finds builds that cannot be moved: tools such as Python's `venv` write their own path into their output.

use crate::Failure;
use prony_records::TrialStage;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Bytes at the start of a script that may name its interpreter.
const HEAD: u64 = 1024;

/// The first link or script of a build that refers to one of these folders of this machine.
pub(super) fn first(build: &Path, folders: &[&Path]) -> Result<Option<PathBuf>, Failure> {
    let unread = |error: io::Error| {
        let reason = format!("cannot read the build in {}: {error}", build.display());
        Failure::infrastructure(TrialStage::Build, reason)
    };
    for entry in WalkDir::new(build).min_depth(1) {
        let entry = entry.map_err(|error| unread(error.into()))?;
        let (path, kind) = (entry.path(), entry.file_type());
        if (kind.is_symlink() && leads(path, folders).map_err(unread)?)
            || (kind.is_file() && is_run_by(path, folders).map_err(unread)?)
        {
            return Ok(Some(path.strip_prefix(build).unwrap_or(path).to_owned()));
        }
    }
    Ok(None)
}

/// Whether a link has an absolute target in one of the folders.
fn leads(link: &Path, folders: &[&Path]) -> io::Result<bool> {
    let target = fs::read_link(link)?;
    Ok(folders.iter().any(|folder| target.starts_with(folder)))
}

/// Whether the interpreter of a script is in one of the folders.
fn is_run_by(file: &Path, folders: &[&Path]) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(file)?.take(2).read_to_end(&mut head)?;
    if head != b"#!" {
        return Ok(false);
    }
    head.clear();
    File::open(file)?.take(HEAD).read_to_end(&mut head)?;
    let head = String::from_utf8_lossy(&head);
    // If the path is too long for the first line, it is in the second one.
    let mut lines = head.lines().take(2);
    Ok(lines.any(|line| {
        folders
            .iter()
            .any(|folder| line.contains(&*folder.to_string_lossy()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_build_that_names_its_own_folder_is_found() {
        let place = tempfile::tempdir().expect("a folder");
        let builds = place.path().join("build");
        let build = builds.join("mine");
        fs::create_dir_all(build.join("bin")).expect("a folder");
        symlink("../lib", build.join("bin/lib")).expect("a link");
        symlink("/bin/sh", build.join("bin/sh")).expect("a link");
        fs::write(build.join("bin/run"), "#!/bin/sh\nexec ./server\n").expect("a file");
        fs::write(build.join("bin/log"), format!("{}\n", build.display())).expect("a file");
        let found = || first(&build, &[&builds]).expect("it is read");
        assert_eq!(found(), None);
        let script = build.join("bin/pip");
        fs::write(&script, format!("#!{}/bin/python3\n", build.display())).expect("a file");
        assert_eq!(found(), Some("bin/pip".into()));
        fs::write(
            &script,
            format!("#!/bin/sh\n'''exec' {}/bin/python3\n", build.display()),
        )
        .expect("a file");
        assert_eq!(found(), Some("bin/pip".into()));
        fs::remove_file(&script).expect("it is there");
        symlink(build.join("bin/sh"), build.join("bin/python")).expect("a link");
        assert_eq!(found(), Some("bin/python".into()));
    }
}
