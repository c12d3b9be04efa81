//! Claims CPUs of this machine for one run at a time.
//!
//! Each CPU has a lock file in a folder that all users of the machine share. A run holds the locks of its CPUs until it ends.
//! The kernel releases a lock however the process ends, so stale locks cannot exist. Runs on other CPUs are not affected.

use crate::{Cpus, HostError};
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Environment variable that overrides the folder of the lock files.
const VARIABLE: &str = "PRONY_LOCKS";

/// The lock files of a machine's CPUs.
#[derive(Debug, Clone)]
pub struct Locks {
    folder: PathBuf,
}

/// Claimed CPUs. Dropping the value releases them.
#[derive(Debug, Default)]
pub struct CpuLease(Vec<File>);

/// Why a CPU is not locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockError {
    /// Another run has it; the text names that run.
    Taken(String),
    /// This lock file cannot be opened, so other runs are not kept from using the CPU.
    Unopened(PathBuf),
}

impl Drop for CpuLease {
    fn drop(&mut self) {
        for file in &self.0 {
            // Closing the file is not enough: a child between fork and exec holds a copy of the descriptor.
            let _ = file.unlock();
        }
    }
}

impl CpuLease {
    /// Adds the CPUs of `more`.
    pub fn extend(&mut self, mut more: Self) {
        self.0.append(&mut more.0);
    }
}

impl Locks {
    /// The locks of this machine, in a folder that all users share. The error: that folder cannot be created.
    pub fn of_this_machine() -> io::Result<Self> {
        if let Some(named) = std::env::var_os(VARIABLE) {
            let folder = PathBuf::from(named);
            fs::create_dir_all(&folder)?;
            return Ok(Self::in_folder(folder));
        }
        let shared = PathBuf::from("/run/lock");
        make(&shared.join("prony"))
            .or_else(|_| make(&std::env::temp_dir().join("prony-locks")))
            .map(Self::in_folder)
    }

    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Locks one CPU for `what` if it is free. On a file system without locks the CPU counts as locked.
    pub fn lock(&self, cpu: usize, what: &str) -> Result<CpuLease, LockError> {
        let path = self.path(cpu);
        let Ok(mut file) = open(&path) else {
            return Err(LockError::Unopened(path));
        };
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(LockError::Taken(holder(&mut file)));
        }
        // The file of another user may be read-only. The lock holds without the note.
        let _ = note(&mut file, &format!("{} {what}", std::process::id()));
        Ok(CpuLease(vec![file]))
    }

    /// Locks all of these CPUs for `what`, or none: then [`HostError::Taken`] names the run that has one.
    pub fn claim(&self, cpus: &Cpus, what: &str) -> Result<CpuLease, HostError> {
        let mut held = CpuLease::default();
        for &cpu in cpus.as_slice() {
            match self.lock(cpu, what) {
                Ok(one) => held.extend(one),
                Err(LockError::Unopened(_)) => {}
                Err(LockError::Taken(holder)) => {
                    return Err(HostError::Taken {
                        host: String::new(),
                        cpu,
                        holder,
                    });
                }
            }
        }
        Ok(held)
    }

    /// The run that has one of these CPUs, if any.
    pub fn holder(&self, cpus: &Cpus) -> Option<String> {
        cpus.as_slice().iter().find_map(|&cpu| {
            // A shared lock, so that concurrent queries do not see each other.
            let mut file = File::open(self.path(cpu)).ok()?;
            let taken = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
            taken.then(|| holder(&mut file))
        })
    }

    fn path(&self, cpu: usize) -> PathBuf {
        self.folder.join(format!("cpu-{cpu}.lock"))
    }
}

fn make(folder: &Path) -> io::Result<PathBuf> {
    match fs::create_dir(folder) {
        // Sticky, like /tmp: everyone may add files, but only remove their own.
        Ok(()) => fs::set_permissions(folder, Permissions::from_mode(0o1777))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    Ok(folder.to_owned())
}

fn open(path: &Path) -> io::Result<File> {
    let made = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path);
    if let Ok(file) = made {
        file.set_permissions(Permissions::from_mode(0o666))?;
        return Ok(file);
    }
    let both = OpenOptions::new().read(true).write(true).open(path);
    both.or_else(|_| File::open(path))
}

fn note(file: &mut File, text: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{text}")
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
    match (read, text.trim().split_once(' ')) {
        (Ok(_), Some((pid, what))) => format!("`{what}` (process {pid})"),
        _ => "another run of prony".to_owned(),
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
                && error.to_string().contains("`prony run one`"),
            "{error}"
        );
        assert_eq!(locks.holder(&cpus(&[0])), None, "given back at once");
        assert!(
            locks
                .holder(&cpus(&[0, 1]))
                .is_some_and(|who| who.contains("prony run one"))
        );
        drop(one);
        locks
            .claim(&cpus(&[0, 1, 2]), "prony run two")
            .expect("free again");
    }
}
