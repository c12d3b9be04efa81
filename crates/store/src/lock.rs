//! The lock of a run: only one process at a time may add to it.
//!
//! A file next to the store is locked while a run is measured. The kernel releases the lock however the process ends.
//! If a process is killed, the one that continues its run takes over the file.

use crate::{Store, StoreError};
use prony_files::LockFile;
use std::fs;
use std::path::PathBuf;

/// The exclusive right to add to a run, until this is dropped.
#[derive(Debug)]
pub struct RunLock(LockFile);

impl Drop for RunLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.0.path());
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
            let mut file = LockFile::open(&path).map_err(failed)?;
            if !file.try_exclusive().map_err(failed)? {
                return Err(StoreError::RunBusy {
                    run: run.to_owned(),
                    holder: file.holder().map(|(process, _)| process),
                });
            }
            // The previous holder may have removed the file after it was opened here: then another process may lock a
            // new one.
            if file.is_current().map_err(failed)? {
                file.note("").map_err(failed)?;
                return Ok(RunLock(file));
            }
        }
    }

    fn lock_path(&self, run: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!("-{}.lock", run.replace('/', "_")));
        PathBuf::from(name)
    }
}
