//! The right to add to a run: one process has it at a time.
//!
//! A file beside the store is locked as long as a run is measured. The kernel gives the lock back however the process ends;
//! the file that a killed one leaves is taken over by whoever continues its run.

use crate::{Store, StoreError};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The right to add to a run, until this is dropped.
#[derive(Debug)]
pub struct RunLock {
    file: File,
    path: PathBuf,
}

impl Drop for RunLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        // To close the file is not enough: a process that is being started has a copy of it until it runs its program.
        let _ = self.file.unlock();
    }
}

impl Store {
    /// Takes the right to add to a run, which nobody else may have. What is read of the run afterwards stays as it is.
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
            // Whoever had it may have removed the file after it was opened here: then another may lock a new one.
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
