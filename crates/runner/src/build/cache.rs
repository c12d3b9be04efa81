//! The folder of one build: locked while somebody builds in it, and while somebody runs from it.

use super::{MARK, copy};
use crate::{Cancel, Failure};
use prony_config::Service;
use prony_records::Stage;
use std::any::Any;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks at a folder in which somebody else builds.
const LOOK: Duration = Duration::from_millis(50);
/// A wait that is shorter is not worth a word.
const WORTH_SAYING: Duration = Duration::from_millis(500);

/// What is looked for.
pub(super) struct Wanted<'a> {
    /// Folder of all builds.
    pub(super) builds: &'a Path,
    /// Name of the folder of this one.
    pub(super) name: &'a str,
    /// Whether one that is there already will not do.
    pub(super) fresh: bool,
    /// Ends a wait.
    pub(super) cancel: &'a Cancel,
    /// Told once that somebody else builds it, with the number of that process.
    pub(super) waits: &'a dyn Fn(Option<u32>),
}

/// What was found.
pub(super) enum Found {
    /// A whole build.
    Complete(PathBuf, InUse),
    /// A folder to build in, which nobody else builds in or runs from.
    Empty(Entry),
}

/// A folder to build in.
pub(super) struct Entry {
    folder: PathBuf,
    path: PathBuf,
    lock: Lock,
}

/// The locked file of a folder. To close it is not enough: a process that is being started has a copy of it until it runs its
/// program.
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Keeps the folder of a build as it is: nobody builds anew in it as long as a clone of this lives.
#[derive(Clone, Default)]
pub struct InUse {
    _lock: Option<Arc<Lock>>,
    /// What keeps it so on another host.
    _keeper: Option<Arc<dyn Any + Send + Sync>>,
}

impl InUse {
    /// A build that somebody else keeps as it is.
    pub(super) fn kept_by(keeper: impl Any + Send + Sync) -> Self {
        Self {
            _lock: None,
            _keeper: Some(Arc::new(keeper)),
        }
    }
}

impl fmt::Debug for InUse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("InUse")
    }
}

impl PartialEq for InUse {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for InUse {}

impl Wanted<'_> {
    /// Finds a whole build or a folder to build in. Waits while somebody else builds the same. A fresh build waits for nobody: it
    /// takes the next folder, since who runs from one may do so for hours.
    pub(super) fn find(&self) -> Result<Found, Failure> {
        fs::create_dir_all(self.builds).map_err(|error| failed("make", self.builds, &error))?;
        let mut names = (1_u32..).map(|number| match number {
            1 => self.name.to_owned(),
            _ => format!("{}~{number}", self.name),
        });
        loop {
            let name = names.next().unwrap_or_default();
            let (folder, path) = (self.builds.join(&name), self.builds.join(format!("{name}.lock")));
            let lock = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path);
            let lock = lock.map_err(|error| failed("open", &path, &error))?;
            if !self.fresh {
                return self.wait(folder, lock, &path);
            }
            if take(lock.try_lock(), &path)? {
                return Entry::new(folder, lock, path).map(Found::Empty);
            }
        }
    }

    fn wait(&self, folder: PathBuf, lock: File, path: &Path) -> Result<Found, Failure> {
        let began = Instant::now();
        let mut said = false;
        loop {
            if take(lock.try_lock(), path)? {
                if !is_complete(&folder) {
                    return Entry::new(folder, lock, path.to_owned()).map(Found::Empty);
                }
                lock.unlock().map_err(|error| failed("unlock", path, &error))?;
            }
            if take(lock.try_lock_shared(), path)? {
                if is_complete(&folder) {
                    return Ok(Found::Complete(folder, InUse::of(Lock(lock))));
                }
                lock.unlock().map_err(|error| failed("unlock", path, &error))?;
            }
            if self.cancel.is_asked() {
                return Err(Failure::interrupted(Stage::Build));
            }
            if !said && began.elapsed() > WORTH_SAYING {
                said = true;
                (self.waits)(
                    fs::read_to_string(path)
                        .ok()
                        .and_then(|text| text.trim().parse().ok()),
                );
            }
            thread::sleep(LOOK);
        }
    }
}

impl Entry {
    /// Says in the lock who builds.
    fn new(folder: PathBuf, mut lock: File, path: PathBuf) -> Result<Self, Failure> {
        let said = lock.set_len(0).and_then(|()| lock.rewind());
        said.and_then(|()| writeln!(lock, "{}", std::process::id()))
            .map_err(|error| failed("write", &path, &error))?;
        Ok(Self {
            folder,
            path,
            lock: Lock(lock),
        })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes what was there and copies the sources, those too that several services share. A build must not move afterwards:
    /// many tools write their own path into what they make.
    pub(super) fn renew(&self, service: &Service) -> Result<(), Failure> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(|error| failed("remove", &self.folder, &error))?;
        }
        let copied = |from: &Path, error: &std::io::Error| {
            failed(&format!("copy {} to", from.display()), &self.folder, error)
        };
        copy::tree(&service.folder, &self.folder).map_err(|error| copied(&service.folder, &error))?;
        for (destination, source) in &service.copies {
            copy::file(source, &self.folder.join(destination)).map_err(|error| copied(source, &error))?;
        }
        Ok(())
    }

    /// Marks the build as whole. From here on others may run from it, too.
    pub(super) fn complete(self, version: Option<&str>) -> Result<(PathBuf, InUse), Failure> {
        let mark = self.folder.join(MARK);
        fs::write(&mark, version.unwrap_or_default()).map_err(|error| failed("write", &mark, &error))?;
        // The kernel turns a lock of one's own into a shared one.
        self.lock
            .0
            .lock_shared()
            .map_err(|error| failed("lock", &self.path, &error))?;
        Ok((self.folder, InUse::of(self.lock)))
    }
}

impl InUse {
    fn of(lock: Lock) -> Self {
        Self {
            _lock: Some(Arc::new(lock)),
            _keeper: None,
        }
    }
}

/// Whether a whole build is there.
fn is_complete(folder: &Path) -> bool {
    folder.join(MARK).is_file()
}

/// The version that a build told, kept in its mark.
pub(super) fn version(folder: &Path) -> Option<String> {
    let kept = fs::read_to_string(folder.join(MARK)).ok()?;
    (!kept.is_empty()).then_some(kept)
}

/// Whether the lock was free.
fn take(locked: Result<(), TryLockError>, path: &Path) -> Result<bool, Failure> {
    match locked {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(failed("lock", path, &error)),
    }
}

/// The disk's fault, not the service's.
fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::infrastructure(Stage::Build, format!("cannot {what} {}: {error}", path.display()))
}
