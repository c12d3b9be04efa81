//! Stores every run, and every trial as soon as it ends, in one SQLite file, and finds them again at any time.
//!
//! The raw record is stored, including histograms, so that a later analysis loses nothing; it is compressed to a fourth
//! of its size. The file is in WAL mode: readers never wait for a writer, and appended records survive a kill. This crate
//! must never remove a trial from a run that stays, and never compute a number: estimates are recomputed from the
//! records. Start at [`Store`].

mod changes;
mod checks;
mod error;
mod lock;
mod packing;
mod private;
mod runs;
mod schema;
mod transfer;
mod trials;

pub use changes::AcceptedChange;
pub use checks::Calibration;
pub use error::StoreError;
pub use lock::RunLock;
pub use runs::{Progress, RunEntry};
pub use transfer::{ExportSummary, ImportSummary};
pub use trials::StoredTrial;

use prony_records::bounded_json;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long a statement waits for another process that writes.
const BUSY: Duration = Duration::from_secs(20);

/// Upper limit for a value in a row, bytes: a record, which may grow a little when it is compressed.
const LONGEST_VALUE: i32 = bounded_json::LONGEST as i32 + (1 << 20);
/// How SQLite calls a copy in one step.
const ALL_PAGES: i32 = -1;

/// A store of runs in one file. Any number of processes may open it any number of times.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store at `path` for reading and writing; creates it and its parent folders if they do not exist.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|source| StoreError::Folder {
                folder: folder.to_owned(),
                source,
            })?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        match Self::connect(path, flags) {
            Err(StoreError::Open { source, .. }) if is_write_protected(&source) => {
                Err(StoreError::ReadOnly(path.to_owned()))
            }
            other => other,
        }
    }

    /// Opens an existing store at `path`, for commands that only read. Nothing needs to be writable.
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        if !path.is_file() {
            return Err(StoreError::Missing(path.to_owned()));
        }
        // Opened for writing if possible: a reader in WAL mode shares an index file with the writer, and may upgrade an
        // old store.
        match Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE) {
            Err(StoreError::Open { source, .. }) if is_write_protected(&source) => Self::open_read_only(path),
            other => other,
        }
    }

    /// Opens a store that is not writable.
    fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        let shared = Self::read(path, path.as_os_str(), OpenFlags::empty());
        let Err(StoreError::Open { source, .. }) = &shared else {
            return shared;
        };
        // The index file that readers share cannot be created here. Without it the file can be read only if no process
        // writes it and the last writer left no log.
        let log = std::fs::metadata(beside(path, "-wal"));
        if !is_write_protected(source) || log.is_ok_and(|data| data.len() > 0) {
            return shared;
        }
        Self::read(path, address(path).as_ref(), OpenFlags::SQLITE_OPEN_URI)
    }

    /// Opens a private copy of the store at `path`, upgraded to the current schema. The store itself is only read, and may come
    /// from anyone. The copy goes when it is closed.
    pub fn open_copy(path: &Path) -> Result<Self, StoreError> {
        if !path.is_file() {
            return Err(StoreError::Missing(path.to_owned()));
        }
        let failed = |source| StoreError::Open {
            path: path.to_owned(),
            source,
        };
        let before = stamp(path);
        // Without a log no process writes it. A connection that shares it would leave files next to it.
        let source = if beside(path, "-wal").exists() {
            read_only(path.as_os_str(), OpenFlags::empty())
        } else {
            read_only(address(path).as_ref(), OpenFlags::SQLITE_OPEN_URI)
        };
        let source = source.map_err(failed)?;
        schema::is_current(&source, path)?;
        let mut copy = Connection::open("").map_err(failed)?;
        copy_all(&source, &mut copy).map_err(|source| StoreError::Copy {
            path: path.to_owned(),
            source,
        })?;
        drop(source);
        if stamp(path) != before {
            return Err(StoreError::Changed(path.to_owned()));
        }
        configure(&copy).map_err(failed)?;
        schema::prepare(&mut copy, path)?;
        Ok(Self {
            connection: copy,
            path: path.to_owned(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Open {
            path: path.to_owned(),
            source,
        };
        if flags.contains(OpenFlags::SQLITE_OPEN_CREATE) {
            private::create(path);
        }
        let connection =
            Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed)?;
        private::restrict(path);
        configure(&connection).map_err(failed)?;
        let mut store = Self {
            connection,
            path: path.to_owned(),
        };
        schema::prepare(&mut store.connection, path)?;
        Ok(store)
    }

    /// Opens the file at `address`, which is `path` or a URI for it, without upgrading it.
    fn read(path: &Path, address: &OsStr, flags: OpenFlags) -> Result<Self, StoreError> {
        let connection = read_only(address, flags).map_err(|source| StoreError::Open {
            path: path.to_owned(),
            source,
        })?;
        if !schema::is_current(&connection, path)? {
            return Err(StoreError::Outdated(path.to_owned()));
        }
        Ok(Self {
            connection,
            path: path.to_owned(),
        })
    }

    /// Adds the action and the store to an error of SQLite.
    fn failed(&self, what: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError + '_ {
        move |source| StoreError::Statement {
            what,
            path: self.path.clone(),
            source,
        }
    }
}

fn read_only(address: &OsStr, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = flags | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(address, flags)?;
    configure(&connection)?;
    Ok(connection)
}

/// A store may have been made by anyone: its schema runs no functions, its values have a bound, and damaged pages are noticed.
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
    connection.execute_batch("PRAGMA cell_size_check = ON")
}

/// Copies one state of the database: no other process can change it meanwhile.
fn copy_all(source: &Connection, copy: &mut Connection) -> rusqlite::Result<()> {
    let is_locked = match Backup::new(source, copy)?.step(ALL_PAGES)? {
        StepResult::Done => return Ok(()),
        _ => ffi::SQLITE_BUSY,
    };
    Err(rusqlite::Error::SqliteFailure(ffi::Error::new(is_locked), None))
}

/// What differs after a file was written.
fn stamp(path: &Path) -> Option<(u64, SystemTime)> {
    let data = std::fs::metadata(path).ok()?;
    Some((data.len(), data.modified().ok()?))
}

/// The file of SQLite next to a store.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Whether SQLite failed because the file or its folder is not writable.
fn is_write_protected(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen)
    )
}

/// A URI for the file which promises SQLite that no process writes it.
fn address(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let mut address = "file:".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            address.push(char::from(byte));
        } else {
            let _ = write!(address, "%{byte:02X}");
        }
    }
    address + "?immutable=1"
}

fn to_json<T: serde::Serialize>(what: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Record {
        what,
        which: "to be stored".to_owned(),
        source,
    })
}

fn to_value<T: serde::Serialize>(what: &'static str, value: &T) -> Result<serde_json::Value, StoreError> {
    serde_json::to_value(value).map_err(|source| StoreError::Record {
        what,
        which: "to be stored".to_owned(),
        source,
    })
}

/// `which` names the record in the error.
fn from_json<T: serde::de::DeserializeOwned>(
    what: &'static str,
    which: &str,
    text: &str,
) -> Result<T, StoreError> {
    bounded_json::parse(text.as_bytes()).map_err(|source| StoreError::Record {
        what,
        which: which.to_owned(),
        source,
    })
}
