//! The tables, and the migrations that upgrade an old store.

use crate::StoreError;
use crate::packing::pack;
use prony_records::bounded_json;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, params};
use std::path::Path;

/// Migrates a schema to the next one. Must never change after its release.
enum Step {
    Sql(&'static str),
    /// Statements, then a function that rewrites rows, then statements.
    Rows(
        &'static str,
        fn(&Transaction<'_>) -> rusqlite::Result<()>,
        &'static str,
    ),
}

/// Migrations from schema N to N + 1, in order. Add a step; never change one that was released.
const STEPS: [Step; 5] = [
    Step::Sql(FIRST),
    Step::Rows(PACKED, pack_trials, PACKED_ALL),
    Step::Sql(LABELS),
    Step::Sql(ORDER),
    Step::Sql(ACCEPTED_CHANGES),
];

const FIRST: &str = "
    CREATE TABLE run (
        id TEXT PRIMARY KEY,
        suite TEXT NOT NULL,
        started_at TEXT NOT NULL,
        ended_at TEXT,
        planned_trials INTEGER NOT NULL,
        record TEXT NOT NULL
    ) STRICT;
    CREATE INDEX run_by_start ON run (started_at);

    CREATE TABLE trial (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT,
        run TEXT NOT NULL REFERENCES run (id),
        place INTEGER NOT NULL,
        round INTEGER NOT NULL,
        service TEXT NOT NULL,
        variant TEXT NOT NULL,
        contract TEXT NOT NULL,
        workload TEXT NOT NULL,
        started_at TEXT NOT NULL,
        excluded INTEGER NOT NULL,
        record TEXT NOT NULL
    ) STRICT;
    CREATE INDEX trial_by_run ON trial (run, sequence);
    CREATE INDEX trial_by_service ON trial (service, variant, contract, sequence);

    CREATE TABLE progress (
        run TEXT PRIMARY KEY REFERENCES run (id),
        record TEXT NOT NULL
    ) STRICT;

    CREATE TABLE check_matrix (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT,
        run TEXT REFERENCES run (id),
        checked_at TEXT NOT NULL,
        record TEXT NOT NULL
    ) STRICT;
    CREATE INDEX check_matrix_by_run ON check_matrix (run, sequence);

    CREATE TABLE calibration (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT,
        machine TEXT NOT NULL,
        calibrated_at TEXT NOT NULL,
        record TEXT NOT NULL
    ) STRICT;
    CREATE INDEX calibration_by_machine ON calibration (machine, sequence);
";

/// Trials as a packed head and series; listing runs needs only an index.
const PACKED: &str = "
    CREATE TABLE packed_trial (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT,
        run TEXT NOT NULL REFERENCES run (id),
        place INTEGER NOT NULL,
        round INTEGER NOT NULL,
        service TEXT NOT NULL,
        variant TEXT NOT NULL,
        contract TEXT NOT NULL,
        workload TEXT NOT NULL,
        started_at TEXT NOT NULL,
        excluded INTEGER NOT NULL,
        head BLOB NOT NULL,
        series BLOB NOT NULL
    ) STRICT;
";
const PACKED_ALL: &str = "
    DROP TABLE trial;
    ALTER TABLE packed_trial RENAME TO trial;
    CREATE INDEX trial_by_run ON trial (run, sequence);
    CREATE INDEX trial_by_place ON trial (run, place, excluded);
    CREATE INDEX trial_by_service ON trial (service, variant, contract, sequence);
";

/// Labels of runs.
const LABELS: &str = "
    CREATE TABLE label (
        run TEXT PRIMARY KEY REFERENCES run (id),
        text TEXT NOT NULL
    ) STRICT;
";

/// The order of runs: a clock that ran ahead does not decide it. Runs of before keep the order of their times.
const ORDER: &str = "
    ALTER TABLE run ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE run ADD COLUMN imported_at TEXT;
    UPDATE run SET sequence = ranked.sequence FROM (
        SELECT id, row_number() OVER (ORDER BY started_at, rowid) AS sequence FROM run
    ) AS ranked WHERE ranked.id = run.id;
    DROP INDEX run_by_start;
";

/// Changes in the history of a service that someone accepted.
const ACCEPTED_CHANGES: &str = "
    CREATE TABLE accepted_change (
        run TEXT NOT NULL REFERENCES run (id),
        service TEXT NOT NULL,
        variant TEXT NOT NULL,
        contract TEXT NOT NULL,
        workload TEXT NOT NULL,
        load_id TEXT NOT NULL,
        metric TEXT NOT NULL,
        note TEXT NOT NULL,
        PRIMARY KEY (run, service, variant, contract, workload, load_id, metric)
    ) STRICT;
";

fn pack_trials(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut read = transaction.prepare("SELECT sequence, record FROM trial ORDER BY sequence")?;
    let mut write = transaction.prepare(
        "INSERT INTO packed_trial
         SELECT sequence, run, place, round, service, variant, contract, workload, started_at, excluded, ?2, ?3
         FROM trial WHERE sequence = ?1",
    )?;
    let mut rows = read.query([])?;
    while let Some(row) = rows.next()? {
        let (sequence, record): (i64, String) = (row.get(0)?, row.get(1)?);
        let refused =
            |error| rusqlite::Error::FromSqlConversionFailure(1, rusqlite::types::Type::Text, error);
        let record = bounded_json::parse(record.as_bytes()).map_err(|error| refused(error.into()))?;
        let packed = pack(record).map_err(|error| refused(error.into()))?;
        write.execute(params![sequence, packed.head, packed.series])?;
    }
    Ok(())
}

/// Marks a file as a store of prony: `PRON`.
const APPLICATION: i32 = 0x5052_4F4E;
/// The newest schema that this version supports.
const KNOWN: u32 = STEPS.len() as u32;

/// Configures the connection and migrates the tables.
pub(crate) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::Open {
        path: path.to_owned(),
        source,
    };
    refuse_foreign(connection, path)?;
    if connection.is_readonly(rusqlite::MAIN_DB).map_err(failed)? {
        return Err(failed(write_protected()));
    }
    // WAL with NORMAL: an append survives the death of the process without a disk flush during a measurement; only a
    // power failure can lose the last seconds.
    connection
        .query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))
        .map_err(failed)?;
    connection
        .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")
        .map_err(failed)?;
    if version(connection).map_err(failed)? == KNOWN {
        return Ok(());
    }
    // The lock is taken before the second check: another process may be migrating the same store.
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    let found = version(&transaction).map_err(failed)?;
    refuse_newer(found, path)?;
    let steps = &STEPS[found as usize..];
    for step in steps {
        take(step, &transaction).map_err(failed)?;
    }
    transaction
        .pragma_update(None, "application_id", APPLICATION)
        .map_err(failed)?;
    transaction
        .pragma_update(None, "user_version", KNOWN)
        .map_err(failed)?;
    transaction.commit().map_err(failed)?;
    if found > 0 && steps.iter().any(|step| matches!(step, Step::Rows(..))) {
        // Releases the space of the old tables, unless another process uses the store: then the next rows reuse it.
        let _ = connection.execute_batch("VACUUM");
    }
    Ok(())
}

fn take(step: &Step, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    match step {
        Step::Sql(text) => transaction.execute_batch(text),
        Step::Rows(before, rows, after) => {
            transaction.execute_batch(before)?;
            rows(transaction)?;
            transaction.execute_batch(after)
        }
    }
}

/// Whether the store has the current schema. One of a later version or of another program is refused.
pub(crate) fn is_current(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    refuse_foreign(connection, path)?;
    let found = version(connection).map_err(|source| StoreError::Open {
        path: path.to_owned(),
        source,
    })?;
    refuse_newer(found, path)?;
    Ok(found == KNOWN)
}

fn refuse_newer(found: u32, path: &Path) -> Result<(), StoreError> {
    if found <= KNOWN {
        return Ok(());
    }
    Err(StoreError::TooNew {
        path: path.to_owned(),
        found,
        known: KNOWN,
    })
}

/// The error of SQLite at the first attempt to write a file that it could open only for reading.
fn write_protected() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY), None)
}

/// Prevents that a database of another program gets tables of prony. Early stores have no application ID, only their
/// tables. No store has views, triggers or virtual tables, which would run statements of the file's author.
fn refuse_foreign(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let number = |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0));
    let found = || -> rusqlite::Result<bool> {
        if number("SELECT count(*) FROM sqlite_master WHERE coalesce(rootpage, 0) = 0")? > 0 {
            return Ok(true);
        }
        let mark = number("PRAGMA application_id")?;
        if mark != 0 {
            return Ok(mark != i64::from(APPLICATION));
        }
        let tables = number("SELECT count(*) FROM sqlite_master WHERE type = 'table'")?;
        let own = number(
            "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('run', 'trial', 'check_matrix')",
        )?;
        Ok(tables > 0 && own < 3)
    };
    match found() {
        Ok(false) => Ok(()),
        Ok(true) => Err(StoreError::Foreign(path.to_owned())),
        Err(source) if source.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            Err(StoreError::NoStore(path.to_owned()))
        }
        Err(source) => Err(StoreError::Open {
            path: path.to_owned(),
            source,
        }),
    }
}

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}
