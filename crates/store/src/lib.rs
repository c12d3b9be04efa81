//! Keeps every run, and every trial of it as it ends, in one SQLite file; finds them again at any time.
//!
//! The raw record is stored, histograms included, so that a later analysis loses nothing. The file is in WAL mode: readers
//! never wait for a writer, and what was appended survives a kill. This crate must never delete a trial, and never compute
//! a number: estimates are made anew from the records. Start at [`Store`].

mod checks;
mod error;
mod progress;
mod runs;
mod schema;
mod trials;

pub use checks::Calibration;
pub use error::StoreError;
pub use progress::Progress;
pub use runs::RunEntry;
pub use trials::StoredTrial;

use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a statement waits for another process that writes.
const BUSY: Duration = Duration::from_secs(20);

/// A store of runs in one file. Open it as often as you like, from as many processes as you like.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store at `path` for reading and writing; makes it, and the folders above it, when there is none.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|source| StoreError::Folder {
                folder: folder.to_owned(),
                source,
            })?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        Self::connect(path, flags)
    }

    /// Opens the store at `path`, which must be there: for commands that only read.
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        if !path.is_file() {
            return Err(StoreError::Missing(path.to_owned()));
        }
        // Writable all the same: a reader in WAL mode shares an index file with the writer, and may bring an old store
        // up to date.
        Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Where the store lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Open {
            path: path.to_owned(),
            source,
        };
        let connection =
            Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed)?;
        connection.busy_timeout(BUSY).map_err(failed)?;
        let mut store = Self {
            connection,
            path: path.to_owned(),
        };
        schema::prepare(&mut store.connection, path)?;
        Ok(store)
    }

    /// Names the store in an error of SQLite.
    fn failed(&self, what: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError + '_ {
        move |source| StoreError::Statement {
            what,
            path: self.path.clone(),
            source,
        }
    }
}

/// Writes a record as JSON text.
fn to_json<T: serde::Serialize>(what: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Record {
        what,
        which: "to be stored".to_owned(),
        source,
    })
}

/// Reads a record from JSON text; `which` names it in the error.
fn from_json<T: serde::de::DeserializeOwned>(
    what: &'static str,
    which: &str,
    text: &str,
) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|source| StoreError::Record {
        what,
        which: which.to_owned(),
        source,
    })
}
