//! The tables, and how an old store becomes a current one.

use crate::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// What brings schema N to N + 1, in order. Add a step; never change one that was released.
const STEPS: [&str; 1] = ["
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
"];

/// The newest schema that this version knows.
const KNOWN: u32 = STEPS.len() as u32;

/// Sets the connection up and brings the tables up to date.
pub(crate) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::Open {
        path: path.to_owned(),
        source,
    };
    // WAL with NORMAL: an append survives the death of the process without a disk flush beside a measurement; only a
    // power cut can take the last seconds.
    connection
        .query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))
        .map_err(failed)?;
    connection
        .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")
        .map_err(failed)?;
    if version(connection).map_err(failed)? == KNOWN {
        return Ok(());
    }
    // The lock comes before the second look: another process may bring the same store up to date.
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    let found = version(&transaction).map_err(failed)?;
    if found > KNOWN {
        return Err(StoreError::TooNew {
            path: path.to_owned(),
            found,
            known: KNOWN,
        });
    }
    for step in &STEPS[found as usize..] {
        transaction.execute_batch(step).map_err(failed)?;
    }
    transaction
        .pragma_update(None, "user_version", KNOWN)
        .map_err(failed)?;
    transaction.commit().map_err(failed)
}

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}
