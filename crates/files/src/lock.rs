//! Locks that exclude other processes. The kernel releases them however the process ends, so there are no stale ones.
//!
//! A lock file may lie where other users can create files. So it is never followed as a symbolic link, and before it is locked
//! or written it must turn out to be a regular file with one name that belongs to someone who is trusted.

use nix::libc::{ELOOP, ENXIO, O_DIRECTORY, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, S_ISVTX};
use nix::unistd::geteuid;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

/// A symbolic link is an error; a FIFO does not block. Rust's standard library adds `O_CLOEXEC`.
const FLAGS: i32 = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
/// Everyone may open the file, which is enough to lock it, and only its owner may write to it.
const FOR_ALL: u32 = 0o644;
const FOR_OWNER: u32 = 0o600;
/// Longest note, bytes.
const NOTE: u64 = 256;

/// An open lock file. Dropping it releases the lock. Its errors are reasons, without the path.
#[derive(Debug)]
pub struct LockFile {
    file: File,
    path: PathBuf,
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // Closing the file is not enough: a child process that is being started has a copy of the descriptor until it executes
        // its program.
        let _ = self.file.unlock();
    }
}

impl LockFile {
    /// Opens the lock file of one user, or creates it. The folder must belong to this user or root.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_with(path, FOR_OWNER, true)
    }

    /// The same, but the file must exist.
    pub fn open_existing(path: &Path) -> io::Result<Self> {
        Self::open_with(path, FOR_OWNER, false)
    }

    /// Opens a lock file that all users of the machine share, or creates it. The folder must belong to root or this user and be
    /// sticky, so that no user can replace the file of another. `flock` needs no right to write: users exclude each other on a
    /// file that only its owner may write to. An abstract socket would do the same, but only within one network namespace.
    pub fn open_for_all(path: &Path) -> io::Result<Self> {
        Self::open_with(path, FOR_ALL, true)
    }

    /// Opens a folder to lock it. It must belong to this user.
    pub fn open_folder(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(FLAGS | O_DIRECTORY);
        let file = options.open(path).map_err(explained)?;
        if !is_trusted(file.metadata()?.uid(), None) {
            return Err(refused("it belongs to another user"));
        }
        Ok(Self {
            file,
            path: path.to_owned(),
        })
    }

    fn open_with(path: &Path, mode: u32, creates: bool) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::metadata(folder.unwrap_or(Path::new(".")))?;
        // Root may work in the folder of any user, who then may also own the lock file.
        if !is_trusted(folder.uid(), None) && !geteuid().is_root() {
            let why = format!("its folder belongs to another user ({})", folder.uid());
            return Err(refused(&why));
        }
        let sticky = folder.mode() & S_ISVTX != 0;
        if mode == FOR_ALL && folder.mode() & 0o022 != 0 && !sticky {
            return Err(refused("others may replace files in its folder: chmod +t"));
        }
        let file = open(path, mode, creates)?;
        if mode != FOR_ALL && geteuid().is_root() && file.metadata()?.uid() == 0 && folder.uid() != 0 {
            // Otherwise the user whose project this is could not use it after root did.
            fchown(&file, Some(folder.uid()), Some(folder.gid()))?;
        }
        let own = file.metadata()?;
        if !own.is_file() || own.nlink() > 1 {
            return Err(refused("it is not a regular file with one name: remove it"));
        }
        if mode != FOR_ALL && !is_trusted(own.uid(), Some(folder.uid())) {
            let why = format!("it belongs to another user ({}): remove it", own.uid());
            return Err(refused(&why));
        }
        Ok(Self {
            file,
            path: path.to_owned(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file itself, for its time of change.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Locks the file for this process alone. `false`: another one has it.
    pub fn try_exclusive(&self) -> io::Result<bool> {
        outcome(self.file.try_lock())
    }

    /// Locks the file for several processes. `false`: one has it for itself.
    pub fn try_shared(&self) -> io::Result<bool> {
        outcome(self.file.try_lock_shared())
    }

    /// Waits for a shared lock. It replaces a lock that this process already has.
    pub fn wait_shared(&self) -> io::Result<()> {
        let locked = self.file.lock_shared();
        locked.map_err(|error| unsupported(&error))
    }

    pub fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }

    /// Whether the path still leads to this file. The previous holder may have removed it after it was opened here.
    pub fn is_current(&self) -> io::Result<bool> {
        let own = self.file.metadata()?;
        match fs::symlink_metadata(&self.path) {
            Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes who holds the lock: the process ID and `what`, which others may read, so it must not contain arguments.
    pub fn note(&mut self, what: &str) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        let text = format!("{} {what}", std::process::id());
        writeln!(self.file, "{}", text.trim_end())
    }

    /// The process that noted that it holds the lock, if it still exists, and what it noted.
    pub fn holder(&self) -> Option<(u32, String)> {
        let mut text = String::new();
        let mut file = &self.file;
        file.rewind().ok()?;
        file.take(NOTE).read_to_string(&mut text).ok()?;
        let (pid, what) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let pid = pid.parse().ok()?;
        // The note of a process that was killed stays.
        let lives = Path::new("/proc").join(format!("{pid}")).exists();
        lives.then(|| (pid, what.chars().filter(|letter| !letter.is_control()).collect()))
    }
}

/// Opens a file that exists, or creates it.
fn open(path: &Path, mode: u32, creates: bool) -> io::Result<File> {
    loop {
        let existing = |writes: bool| {
            let mut options = OpenOptions::new();
            options.read(true).write(writes).custom_flags(FLAGS).open(path)
        };
        // Not with O_CREAT, which the kernel denies for files of others in a sticky folder (fs.protected_regular).
        let opened = match existing(true) {
            Err(error) if mode == FOR_ALL && error.kind() == io::ErrorKind::PermissionDenied => {
                existing(false)
            }
            other => other,
        };
        match opened {
            Err(error) if creates && error.kind() == io::ErrorKind::NotFound => {}
            other => return other.map_err(explained),
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(mode);
        match options.custom_flags(FLAGS).open(path) {
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Ok(file) => {
                // A umask must not keep other users from opening it.
                file.set_permissions(Permissions::from_mode(mode))?;
                return Ok(file);
            }
            Err(error) => return Err(explained(error)),
        }
    }
}

/// Whether files of this user are trusted: those of root, of this user, and for root those of the owner of the folder.
fn is_trusted(owner: u32, folder: Option<u32>) -> bool {
    let own = geteuid();
    owner == 0 || owner == own.as_raw() || (own.is_root() && Some(owner) == folder)
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why.to_owned())
}

fn explained(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(ELOOP) => refused("it is a symbolic link: remove it"),
        Some(ENXIO) => refused("it is not a regular file: remove it"),
        _ => error,
    }
}

/// A lock that cannot be had is an error, never a lock that counts as had.
fn outcome(locked: Result<(), TryLockError>) -> io::Result<bool> {
    match locked {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(unsupported(&error)),
    }
}

fn unsupported(error: &io::Error) -> io::Error {
    let text = format!(
        "{error}, so other processes cannot be excluded: use a folder on a file system with locks (flock)"
    );
    io::Error::new(error.kind(), text)
}

#[cfg(test)]
mod tests;
