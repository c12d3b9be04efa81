//! The lock of a run: only one process at a time may add to it.
//!
//! A file next to the store is locked while a run is measured. The kernel releases the lock however the process ends.
//! If a process is killed, the one that continues its run takes over the file.

use crate::{Store, StoreError};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The exclusive right to add to a run, until this is dropped.
#[derive(Debug)]
pub struct RunLock {
    file: File,
    path: PathBuf,
}

impl Drop for RunLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        // Closing the file is not enough: a child process that is being started has a copy of it until it executes its
        // program.
        let _ = self.file.unlock();
    }
}

impl Store {
    /// Locks a run, so that no other process may add to it. Records of the run that are read afterwards do not change.
    pub fn lock_run(&self, run: &str) -> Result<RunLock, StoreError> {
        let path = self.lock_path(run);
        let failed = |source| StoreError::Lock {
            path: path.clone(),
            source,
        };
        loop {
            let mut file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .map_err(failed)?;
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                return Err(StoreError::RunBusy {
                    run: run.to_owned(),
                    holder: holder(&mut file),
                });
            }
            // The previous holder may have removed the file after it was opened here: then another process may lock a
            // new one.
            if is_at(&file, &path).map_err(failed)? {
                let noted = file
                    .set_len(0)
                    .and_then(|()| writeln!(file, "{}", std::process::id()));
                noted.map_err(failed)?;
                return Ok(RunLock { file, path });
            }
        }
    }

    fn lock_path(&self, run: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!("-{}.lock", run.replace('/', "_")));
        PathBuf::from(name)
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
