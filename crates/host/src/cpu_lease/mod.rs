//! Claims CPUs of this machine for one run at a time.
//!
//! Each CPU has a lock file in a folder that all users of the machine share. A run holds the locks of its CPUs until it ends.
//! The kernel releases a lock however the process ends, so stale locks cannot exist. Runs on other CPUs are not affected.

use crate::{Cpus, HostError};
use nix::unistd::{AccessFlags, access, geteuid};
use prony_files::LockFile;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Environment variable that overrides the folder of the lock files.
const VARIABLE: &str = "PRONY_LOCKS";
/// Folders that all users share on every Linux. The lock files lie directly in one of them: a folder below it would belong to
/// the user that creates it first, and its owner could replace the files of others.
const SHARED: [&str; 3] = ["/run/lock", "/tmp", "/dev/shm"];
/// Everyone may create files, but only remove their own.
const STICKY: u32 = 0o1002;

/// The lock files of a machine's CPUs.
#[derive(Debug, Clone)]
pub struct Locks {
    folder: PathBuf,
}

/// Claimed CPUs. Dropping the value releases them.
#[derive(Debug, Default)]
pub struct CpuLease(Vec<LockFile>);

impl CpuLease {
    /// Adds the CPUs of `more`.
    pub fn extend(&mut self, mut more: Self) {
        self.0.append(&mut more.0);
    }
}

impl Locks {
    /// The locks of this machine, in a folder that all users share. The error: there is none.
    pub fn of_this_machine() -> Result<Self, HostError> {
        if let Some(named) = std::env::var_os(VARIABLE) {
            let folder = PathBuf::from(named);
            fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
            return Ok(Self::in_folder(folder));
        }
        let shared = SHARED.map(Path::new).into_iter().find(|folder| is_shared(folder));
        shared.map(Self::in_folder).ok_or_else(|| {
            let text = format!(
                "none of {} is a sticky folder of root in which everyone may create files: set {VARIABLE} to a folder for locks",
                SHARED.join(", ")
            );
            failed(Path::new(SHARED[0]), io::Error::other(text))
        })
    }

    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Locks one CPU for `what`, a command line, if it is free. Otherwise [`HostError::Taken`] names the run that has it. A lock
    /// that cannot be had is another error.
    pub fn lock(&self, cpu: usize, what: &str) -> Result<CpuLease, HostError> {
        let path = self.path(cpu);
        let mut file = LockFile::open_for_all(&path).map_err(|error| failed(&path, error))?;
        if !file.try_exclusive().map_err(|error| failed(&path, error))? {
            return Err(HostError::Taken {
                host: String::new(),
                cpu,
                holder: holder(&file),
            });
        }
        // The file of another user is read-only. The lock holds without the note.
        let _ = file.note(&without_arguments(what));
        Ok(CpuLease(vec![file]))
    }

    /// Locks all of these CPUs for `what`, or none.
    pub fn claim(&self, cpus: &Cpus, what: &str) -> Result<CpuLease, HostError> {
        let mut held = CpuLease::default();
        for &cpu in cpus.as_slice() {
            held.extend(self.lock(cpu, what)?);
        }
        Ok(held)
    }

    /// The run that has one of these CPUs, if any.
    pub fn holder(&self, cpus: &Cpus) -> Option<String> {
        cpus.as_slice().iter().find_map(|&cpu| {
            let path = self.path(cpu);
            // A CPU that was never claimed has no file.
            let file = path.exists().then(|| LockFile::open_for_all(&path))?.ok()?;
            // A shared lock, so that concurrent queries do not see each other.
            let free = file.try_shared().ok()?;
            (!free).then(|| holder(&file))
        })
    }

    fn path(&self, cpu: usize) -> PathBuf {
        self.folder.join(format!("prony-cpu-{cpu}.lock"))
    }
}

/// Whether all users may create files in a folder and none can replace those of others.
fn is_shared(folder: &Path) -> bool {
    let sticky = fs::symlink_metadata(folder).is_ok_and(|data| {
        data.is_dir() && data.mode() & STICKY == STICKY && [0, geteuid().as_raw()].contains(&data.uid())
    });
    // A read-only file system is no place for locks.
    sticky && access(folder, AccessFlags::W_OK).is_ok()
}

/// The program and its command. All users may read the file, and arguments may hold anything.
fn without_arguments(what: &str) -> String {
    let mut words = what.split_whitespace();
    let program = words.next().unwrap_or_default();
    let is_command = |word: &&str| {
        word.bytes()
            .all(|letter| letter.is_ascii_lowercase() || letter == b'-')
    };
    match words
        .next()
        .filter(|word| !word.starts_with('-'))
        .filter(is_command)
    {
        Some(command) => format!("{program} {command}"),
        None => program.to_owned(),
    }
}

fn failed(path: &Path, error: io::Error) -> HostError {
    HostError::File {
        what: "lock",
        path: path.to_owned(),
        error,
    }
}

fn holder(file: &LockFile) -> String {
    match file.holder() {
        Some((pid, what)) if !what.is_empty() => format!("`{what}` (process {pid})"),
        Some((pid, _)) => format!("process {pid}"),
        None => "another run of prony".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_or_none_is_claimed_and_given_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let locks = Locks::in_folder(folder.path());
        let cpus = |cpus: &[usize]| Cpus::from(cpus.to_vec());
        let one = locks.claim(&cpus(&[1, 2]), "prony run one").expect("free");
        let error = locks.claim(&cpus(&[0, 2]), "prony run two").expect_err("taken");
        assert!(
            matches!(&error, HostError::Taken { cpu: 2, .. })
                && error.to_string().contains("`prony run` (process"),
            "{error}"
        );
        assert_eq!(locks.holder(&cpus(&[0])), None, "given back at once");
        assert!(
            locks
                .holder(&cpus(&[0, 1]))
                .is_some_and(|who| who.contains("`prony run`"))
        );
        drop(one);
        locks
            .claim(&cpus(&[0, 1, 2]), "prony run two")
            .expect("free again");
    }

    /// The locks of all users are in one folder, which others can read.
    #[test]
    fn a_lock_names_the_command_without_its_arguments() {
        let folder = tempfile::tempdir().expect("a folder");
        let locks = Locks::in_folder(folder.path());
        let _held = locks.lock(7, "prony run quick --header token").expect("free");
        let written = fs::read_to_string(folder.path().join("prony-cpu-7.lock")).expect("a note");
        assert_eq!(written, format!("{} prony run\n", std::process::id()));
        for (what, noted) in [
            ("prony", "prony"),
            ("prony -C /home/me run", "prony"),
            ("prony Secret", "prony"),
            ("", ""),
        ] {
            assert_eq!(without_arguments(what), noted);
        }
    }

    /// A link of another user would otherwise make prony truncate its target.
    #[test]
    fn a_lock_file_that_is_a_link_is_an_error_and_its_target_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let victim = folder.path().join("victim.txt");
        fs::write(&victim, "precious").expect("written");
        std::os::unix::fs::symlink(&victim, folder.path().join("prony-cpu-0.lock")).expect("linked");
        let error = Locks::in_folder(folder.path())
            .lock(0, "prony run")
            .expect_err("refused");
        let text = error.to_string();
        assert!(text.contains("symbolic link: remove it"), "{text}");
        assert_eq!(fs::read_to_string(victim).expect("there"), "precious");
    }
}
