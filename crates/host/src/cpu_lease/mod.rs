//! The CPUs of this machine, claimed for one run at a time.
//!
//! A file for each CPU in a folder that all users of the machine share is locked as long as the run goes on. The kernel gives
//! the lock back however the process ends, so nobody has to clean up. Runs on other CPUs are not in the way.

use crate::{Cpus, HostError};
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Names another folder for the locks.
const VARIABLE: &str = "PRONY_LOCKS";

/// The locks of a machine's CPUs.
#[derive(Debug, Clone)]
pub struct Locks {
    folder: PathBuf,
}

/// CPUs that are claimed until this is dropped.
#[derive(Debug, Default)]
pub struct Held(Vec<File>);

/// Why a CPU is not locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotLocked {
    /// Another run has it: who.
    Taken(String),
    /// This file of its lock cannot be opened, so nothing keeps other runs from it.
    Unopened(PathBuf),
}

impl Drop for Held {
    fn drop(&mut self) {
        for file in &self.0 {
            // To close the file is not enough: a process that is being started has a copy of it until it runs its program.
            let _ = file.unlock();
        }
    }
}

impl Held {
    /// Both together.
    pub fn extend(&mut self, mut more: Self) {
        self.0.append(&mut more.0);
    }
}

impl Locks {
    /// Those of this machine, in the folder that all its users share. The error: no folder for them can be written.
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

    /// Those in a folder.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Locks one CPU for `what`, if nobody has it. A file system without locks is not worth failing for.
    pub fn lock(&self, cpu: usize, what: &str) -> Result<Held, NotLocked> {
        let path = self.path(cpu);
        let Ok(mut file) = open(&path) else {
            return Err(NotLocked::Unopened(path));
        };
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(NotLocked::Taken(holder(&mut file)));
        }
        // A file of another user cannot be written; the lock holds all the same.
        let _ = note(&mut file, &format!("{} {what}", std::process::id()));
        Ok(Held(vec![file]))
    }

    /// Locks all of these for `what`, or none: then [`HostError::Taken`] says who has one.
    pub fn claim(&self, cpus: &Cpus, what: &str) -> Result<Held, HostError> {
        let mut held = Held::default();
        for &cpu in cpus.as_slice() {
            match self.lock(cpu, what) {
                Ok(one) => held.extend(one),
                Err(NotLocked::Unopened(_)) => {}
                Err(NotLocked::Taken(holder)) => {
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

    /// Who has one of these CPUs, if anybody does.
    pub fn holder(&self, cpus: &Cpus) -> Option<String> {
        cpus.as_slice().iter().find_map(|&cpu| {
            // A shared lock: two who only look do not see each other.
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
        // As for the temporary folder: everybody may add files, and take away none of another's.
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
