//! The CPUs of a machine, claimed for one run at a time.
//!
//! A file for each CPU in a folder that all users of the machine share is locked as long as the run goes on. The kernel gives
//! the lock back however the process ends, so nobody has to clean up. Runs on other CPUs are not in the way.

use crate::BenchError;
use prony_host::{Cpus, Host as _, Local};
use prony_trial::Cancel;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time between two looks whether the CPUs are free.
const AGAIN: Duration = Duration::from_millis(200);
/// Names another folder for the locks.
const VARIABLE: &str = "PRONY_LOCKS";

/// Who claims CPUs, and whether it waits for them.
#[derive(Debug, Clone, Default)]
pub struct Claim {
    /// What it runs, for those who find the CPUs taken.
    pub what: String,
    /// Whether it waits until they are free.
    pub waits: bool,
}

/// CPUs that are claimed until this is dropped.
#[derive(Debug)]
pub(crate) struct Held(Vec<File>);

impl Drop for Held {
    fn drop(&mut self) {
        for file in &self.0 {
            // To close the file is not enough: a process that is being started has a copy of it until it runs its program.
            let _ = file.unlock();
        }
    }
}

impl Claim {
    /// Claims these CPUs; `tell` hears what it waits for.
    pub(crate) fn take(&self, cpus: &Cpus, cancel: &Cancel, tell: &dyn Fn(&str)) -> Result<Held, BenchError> {
        if let Ok(folder) = folder() {
            return self.take_in(&folder, cpus, cancel, tell);
        }
        tell("no folder for locks can be written: nothing keeps other runs of prony from these CPUs");
        Ok(Held(Vec::new()))
    }

    fn take_in(
        &self,
        folder: &Path,
        cpus: &Cpus,
        cancel: &Cancel,
        tell: &dyn Fn(&str),
    ) -> Result<Held, BenchError> {
        let mut files = Vec::new();
        // In ascending order, so that two who wait never wait for each other.
        for &cpu in cpus.as_slice() {
            let path = folder.join(format!("cpu-{cpu}.lock"));
            let Ok(mut file) = open(&path) else {
                tell(&format!(
                    "{} cannot be opened: nothing keeps other runs of prony from CPU {cpu}",
                    path.display()
                ));
                continue;
            };
            self.lock(&mut file, cpu, cancel, tell)?;
            // A file of another user cannot be written; the lock holds all the same.
            let _ = note(&mut file, &format!("{} {}", std::process::id(), self.what));
            files.push(file);
        }
        Ok(Held(files))
    }

    fn lock(
        &self,
        file: &mut File,
        cpu: usize,
        cancel: &Cancel,
        tell: &dyn Fn(&str),
    ) -> Result<(), BenchError> {
        let mut told = false;
        loop {
            match file.try_lock() {
                // A file system without locks is not worth failing for.
                Ok(()) | Err(TryLockError::Error(_)) => return Ok(()),
                Err(TryLockError::WouldBlock) => {}
            }
            let holder = holder(file);
            if !self.waits {
                return Err(BenchError::Input(format!(
                    "CPU {cpu} is taken by {holder}: two runs on the same CPUs spoil each other's numbers; wait for it with --wait, end it, or give each run its own CPUs (`taskset --cpu-list`)"
                )));
            }
            if !told {
                tell(&format!("waiting for CPU {cpu}, which is taken by {holder}"));
                told = true;
            }
            if cancel.is_asked() {
                return Err(BenchError::Interrupted(format!(
                    "ended while waiting for CPU {cpu}"
                )));
            }
            std::thread::sleep(AGAIN);
        }
    }
}

/// Who measures on a CPU of this process, if anybody does. A single load claims no CPU, and both spoil each other's numbers.
pub fn who_measures() -> Option<String> {
    who_measures_in(&folder().ok()?, &Local::new(Vec::new()).topology().cpus())
}

fn who_measures_in(folder: &Path, cpus: &Cpus) -> Option<String> {
    cpus.as_slice().iter().find_map(|cpu| {
        // A shared lock: two who only look do not see each other.
        let mut file = File::open(folder.join(format!("cpu-{cpu}.lock"))).ok()?;
        let taken = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        taken.then(|| holder(&mut file))
    })
}

/// The folder that all users of the machine share.
fn folder() -> io::Result<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        let folder = PathBuf::from(named);
        fs::create_dir_all(&folder)?;
        return Ok(folder);
    }
    let shared = PathBuf::from("/run/lock");
    make(&shared.join("prony")).or_else(|_| make(&std::env::temp_dir().join("prony-locks")))
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
    fn cpus_are_claimed_once_and_given_back() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let take = |what: &str, cpus: &[usize]| {
            let claim = Claim {
                what: what.to_owned(),
                waits: false,
            };
            claim.take_in(folder.path(), &Cpus::from(cpus.to_vec()), &Cancel::new(), &|_| {})
        };
        let one = take("prony run one", &[0, 1]).expect("free");
        let two = take("prony run two", &[2]).expect("another CPU");
        let seen = |cpus: &[usize]| who_measures_in(folder.path(), &Cpus::from(cpus.to_vec()));
        assert!(seen(&[1]).is_some_and(|who| who.contains("`prony run one`")));
        assert_eq!(seen(&[3]), None, "nobody claimed it");
        let refused = take("prony run three", &[1, 3]).expect_err("CPU 1 is taken");
        assert!(refused.is_bad_input());
        let text = refused.to_string();
        let pid = std::process::id().to_string();
        for part in ["CPU 1", "`prony run one`", &pid, "--wait"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        drop((one, two));
        assert_eq!(seen(&[0, 1, 2]), None, "given back");
        drop(take("prony run three", &[1, 2, 3]).expect("free again"));
    }

    #[test]
    fn waiting_ends_with_the_holder_or_with_the_user() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let cpus = Cpus::from(vec![0]);
        let claim = Claim {
            what: "prony run".to_owned(),
            waits: true,
        };
        let take = |cancel: &Cancel, tell: &dyn Fn(&str)| claim.take_in(folder.path(), &cpus, cancel, tell);
        let holder = std::sync::Mutex::new(Some(take(&Cancel::new(), &|_| {}).expect("free")));
        let cancel = Cancel::new();
        let asks = |_: &str| {
            cancel.ask();
        };
        assert!(take(&cancel, &asks).expect_err("asked to end").is_interrupted());
        let gives_back = |text: &str| {
            assert!(text.contains("waiting for CPU 0"), "{text}");
            holder.lock().expect("no panic").take();
        };
        take(&Cancel::new(), &gives_back).expect("given back");
    }
}
