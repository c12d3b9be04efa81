//! The folder of one build, locked exclusively while a process builds in it and shared while processes run from it.

use super::sources::Sources;
use super::{BuildOutput, MARK};
use crate::{Cancel, Failure};
use prony_files::{LockFile, sync_file_system, sync_folder};
use prony_host::ExitReport;
use prony_records::{TrialStage, Warning, WarningKind};
use std::any::Any;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Interval at which a folder is checked while another process builds in it.
const LOOK: Duration = Duration::from_millis(50);
/// Shorter waits are not reported.
const WORTH_SAYING: Duration = Duration::from_millis(500);

pub(super) struct CacheKey<'a> {
    /// The folder of all builds.
    pub(super) builds: &'a Path,
    /// The name of the folder of this build.
    pub(super) name: &'a str,
    /// Build again even if a complete build exists.
    pub(super) fresh: bool,
    /// Ends the wait.
    pub(super) cancel: &'a Cancel,
    /// Called once if another process is building it, with the process ID if the lock file contains one.
    pub(super) waits: &'a dyn Fn(Option<u32>),
}

pub(super) enum CacheLookup {
    Complete(PathBuf, BuildLock),
    /// A folder to build in, which no other process builds in or runs from.
    Empty(Entry),
}

pub(super) struct Entry {
    folder: PathBuf,
    lock: LockFile,
}

/// Protects the folder of a build: no process rebuilds in it while a clone of this value exists.
#[derive(Clone, Default)]
pub struct BuildLock {
    _lock: Option<Arc<LockFile>>,
    /// Protects a folder on another host.
    _keeper: Option<Arc<dyn Any + Send + Sync>>,
}

impl BuildLock {
    /// A build that another process protects.
    pub(super) fn kept_by(keeper: impl Any + Send + Sync) -> Self {
        Self {
            _lock: None,
            _keeper: Some(Arc::new(keeper)),
        }
    }
}

impl fmt::Debug for BuildLock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("InUse")
    }
}

impl PartialEq for BuildLock {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for BuildLock {}

impl CacheKey<'_> {
    /// Finds a complete build or a folder to build in. Waits while another process builds the same. A fresh build does not wait
    /// but takes the next free folder, because a process may run from the first one for hours.
    pub(super) fn find(&self) -> Result<CacheLookup, Failure> {
        fs::create_dir_all(self.builds).map_err(|error| failed("create", self.builds, &error))?;
        let mut names = (1_u32..).map(|number| match number {
            1 => self.name.to_owned(),
            _ => format!("{}~{number}", self.name),
        });
        loop {
            let name = names.next().unwrap_or_default();
            let (folder, path) = (self.builds.join(&name), self.builds.join(format!("{name}.lock")));
            let lock = LockFile::open(&path).map_err(|error| failed("lock", &path, &error))?;
            if !self.fresh {
                return self.wait(folder, lock);
            }
            if taken(lock.try_exclusive(), &lock)? {
                return Entry::new(folder, lock).map(CacheLookup::Empty);
            }
        }
    }

    fn wait(&self, folder: PathBuf, lock: LockFile) -> Result<CacheLookup, Failure> {
        let began = Instant::now();
        let mut said = false;
        let unlock = |lock: &LockFile| {
            lock.unlock()
                .map_err(|error| failed("unlock", lock.path(), &error))
        };
        loop {
            if taken(lock.try_exclusive(), &lock)? {
                if !is_complete(&folder) {
                    return Entry::new(folder, lock).map(CacheLookup::Empty);
                }
                unlock(&lock)?;
            }
            if taken(lock.try_shared(), &lock)? {
                if is_complete(&folder) {
                    return Ok(CacheLookup::Complete(folder, BuildLock::of(lock)));
                }
                unlock(&lock)?;
            }
            if self.cancel.is_asked() {
                return Err(Failure::interrupted(TrialStage::Build));
            }
            if !said && began.elapsed() > WORTH_SAYING {
                said = true;
                (self.waits)(lock.holder().map(|(process, _)| process));
            }
            thread::sleep(LOOK);
        }
    }
}

/// Waits until no other process has this lock.
pub(super) fn alone(path: &Path, cancel: &Cancel) -> Result<LockFile, Failure> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| failed("create", folder, &error))?;
    let lock = LockFile::open(path).map_err(|error| failed("lock", path, &error))?;
    while !taken(lock.try_exclusive(), &lock)? {
        if cancel.is_asked() {
            return Err(Failure::interrupted(TrialStage::Build));
        }
        thread::sleep(LOOK);
    }
    Ok(lock)
}

impl Entry {
    /// Writes the ID of this process into the lock file.
    fn new(folder: PathBuf, mut lock: LockFile) -> Result<Self, Failure> {
        lock.note("")
            .map_err(|error| failed("write", lock.path(), &error))?;
        Ok(Self { folder, lock })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes the old contents and copies the sources, including files that several services share. A build must not be moved
    /// afterwards: many tools write their own path into their output.
    pub(super) fn renew(&self, sources: &Sources<'_>) -> Result<(), Failure> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(|error| failed("remove", &self.folder, &error))?;
        }
        sources.copy_to(&self.folder)
    }

    /// Marks the build as complete. From now on other processes may run from it, too. After a power cut, a mark must not stand
    /// for files whose content was lost, so the build is written to the disk before the mark.
    pub(super) fn complete(self, version: Option<&str>) -> Result<(PathBuf, BuildLock), Failure> {
        let mark = self.folder.join(MARK);
        let marked = sync_file_system(&self.folder)
            .and_then(|()| fs::write(&mark, version.unwrap_or_default()))
            .and_then(|()| fs::File::open(&mark)?.sync_all())
            .and_then(|()| sync_folder(&self.folder));
        marked.map_err(|error| failed("write", &mark, &error))?;
        // The kernel converts a lock that this process already holds into a shared one.
        self.lock
            .wait_shared()
            .map_err(|error| failed("lock", self.lock.path(), &error))?;
        Ok((self.folder, BuildLock::of(self.lock)))
    }
}

impl BuildLock {
    fn of(lock: LockFile) -> Self {
        Self {
            _lock: Some(Arc::new(lock)),
            _keeper: None,
        }
    }
}

impl BuildOutput {
    /// The warning about a service that changed its build, which is built again before the next start of prony.
    pub(crate) fn changed_by_service(&self, ending: &ExitReport) -> Option<Warning> {
        let changed = ending.changed.as_ref()?;
        // On another host it stays: prony there does not know.
        let _ = fs::remove_file(self.folder.join(MARK));
        let text = format!(
            "The service changed `{}` in the folder of its build, which later starts see: this machine permits neither overlays nor copies \
             that share their blocks.",
            changed.display()
        );
        let advice = "Let prony create user namespaces, or run it as root.";
        Some(Warning::new(WarningKind::Note, text).advise(advice))
    }
}

fn is_complete(folder: &Path) -> bool {
    folder.join(MARK).is_file()
}

/// The version that the build reported; it is stored in the mark.
pub(super) fn version(folder: &Path) -> Option<String> {
    let version = fs::read_to_string(folder.join(MARK)).ok()?;
    (!version.is_empty()).then_some(version)
}

/// Whether the lock was acquired.
fn taken(locked: std::io::Result<bool>, lock: &LockFile) -> Result<bool, Failure> {
    locked.map_err(|error| failed("lock", lock.path(), &error))
}

/// An error of the disk is an infrastructure failure; the service is not to blame.
fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::infrastructure(
        TrialStage::Build,
        format!("cannot {what} {}: {error}", path.display()),
    )
}
