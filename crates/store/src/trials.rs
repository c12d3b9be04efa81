//! Trials, which are appended as they end and can be read at any time.

use crate::packing::{self, PackedTrial, UnpackError, pack};
use crate::{Store, StoreError, to_value};
use prony_records::{ServiceId, TrialRecord};
use rusqlite::{Row, params};
use serde_json::Value;

/// The trials of the variant ?2 of the service ?1 under the contract ?3. The newest run of each variant of the service records the
/// earlier names of that variant in its plan. Only these runs are read: an index finds them, and the trials.
const HISTORY: &str = "
    WITH newest AS (
        SELECT variant, max(sequence) AS sequence FROM trial WHERE service = ?1 GROUP BY variant
    ),
    renamed AS (
        SELECT newest.variant AS variant, former.value AS former
        FROM newest
        JOIN trial ON trial.sequence = newest.sequence
        JOIN run ON run.id = trial.run
        JOIN json_each(run.record, '$.plan.services') AS info
            ON info.value ->> 'service' = ?1 AND info.value ->> 'variant' = newest.variant
        JOIN json_each(info.value, '$.formerly') AS former
    ),
    names AS (
        SELECT ?2 AS variant
        UNION SELECT variant FROM renamed WHERE former = ?2
        UNION SELECT former FROM renamed
            WHERE variant = ?2 OR variant IN (SELECT variant FROM renamed WHERE former = ?2)
    )
    SELECT sequence, run, head FROM trial
    WHERE service = ?1 AND variant IN (SELECT variant FROM names) AND contract = ?3
    ORDER BY sequence";

/// Upper limit for the trials of a run together, bytes of JSON: commands read them at once.
pub(crate) const LONGEST_RUN: u64 = 1 << 32;
/// All trials of a run.
const WHOLE_RUN: &str = "SELECT sequence, run, head, series FROM trial WHERE run = ?1 ORDER BY sequence";

/// A trial and its position in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTrial {
    /// Later trials have higher numbers.
    pub sequence: i64,
    pub run: String,
    pub trial: TrialRecord,
}

impl Store {
    /// Appends a trial to an existing run; returns its number.
    pub fn append_trial(&self, run: &str, trial: &TrialRecord) -> Result<i64, StoreError> {
        self.append_packed(run, &PackedRow::of(trial, to_value("trial", trial)?)?)
    }

    /// Appends a trial in the place of the one with this number, which goes: of a provisional trial only the last state counts. A
    /// reader sees one of the two at any time, and the new one has a higher number.
    pub fn replace_trial(&self, run: &str, replaced: i64, trial: &TrialRecord) -> Result<i64, StoreError> {
        let failed = self.failed("replace a trial");
        let transaction = self.connection.unchecked_transaction().map_err(failed)?;
        let sequence = self.append_trial(run, trial)?;
        self.remove_trial(run, replaced)?;
        transaction.commit().map_err(self.failed("replace a trial"))?;
        Ok(sequence)
    }

    /// Removes the trial of a run with this number.
    pub fn remove_trial(&self, run: &str, sequence: i64) -> Result<(), StoreError> {
        self.connection
            .execute(
                "DELETE FROM trial WHERE run = ?1 AND sequence = ?2",
                params![run, sequence],
            )
            .map_err(self.failed("remove a trial"))?;
        Ok(())
    }

    pub(crate) fn append_packed(&self, run: &str, row: &PackedRow) -> Result<i64, StoreError> {
        self.connection
            .execute(
                "INSERT INTO trial
                     (run, place, round, service, variant, contract, workload, started_at, excluded, head, series)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                params![
                    run,
                    row.number,
                    row.round,
                    row.service.service,
                    row.service.variant,
                    row.contract,
                    row.workload,
                    row.started_at,
                    row.excluded,
                    row.packed.head,
                    row.packed.series
                ],
            )
            .map_err(self.failed("append a trial"))?;
        Ok(self.connection.last_insert_rowid())
    }

    /// The trials of a run, in the order in which they ended.
    pub fn trials(&self, run: &str) -> Result<Vec<TrialRecord>, StoreError> {
        let trials = self.trials_after(run, 0)?;
        Ok(trials.into_iter().map(|stored| stored.trial).collect())
    }

    /// The trials of a run with a number above `sequence`: those that a reader has not seen yet.
    pub fn trials_after(&self, run: &str, sequence: i64) -> Result<Vec<StoredTrial>, StoreError> {
        self.read_trials(
            "SELECT sequence, run, head, series FROM trial WHERE run = ?1 AND sequence > ?2 ORDER BY sequence",
            params![run, sequence],
            unpacked,
        )
    }

    /// The trials of a run in the order in which they ended, without intervals, samples and histograms: those take most
    /// of the reading time, and only charts need them.
    pub fn heads(&self, run: &str) -> Result<Vec<TrialRecord>, StoreError> {
        let trials = self.read_trials(
            "SELECT sequence, run, head FROM trial WHERE run = ?1 ORDER BY sequence",
            params![run],
            head,
        )?;
        Ok(trials.into_iter().map(|stored| stored.trial).collect())
    }

    /// Every trial of a variant under a contract, over all runs, the oldest first, as [`Store::heads`] returns them. Trials under an
    /// earlier name of the variant, or under a later one, are included.
    pub fn history(&self, service: &ServiceId, contract: &str) -> Result<Vec<StoredTrial>, StoreError> {
        self.read_trials(HISTORY, params![service.service, service.variant, contract], head)
    }

    /// Gives the stored JSON of each trial of a run.
    pub(crate) fn each_record(
        &self,
        run: &str,
        mut take: impl FnMut(Value) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each_row(WHOLE_RUN, params![run], |sequence, row| {
            take(unpacked(row).map_err(|cause| self.unreadable(sequence, cause))?)
        })
    }

    /// Whether a run has exactly these trials.
    pub(crate) fn has_trials(&self, run: &str, trials: &[PackedRow]) -> Result<bool, StoreError> {
        let (mut trials, mut same) = (trials.iter(), true);
        self.each_row(WHOLE_RUN, params![run], |sequence, row| {
            let unreadable = |cause| self.unreadable(sequence, cause);
            let own = (
                blob(row, 2).map_err(unreadable)?,
                blob(row, 3).map_err(unreadable)?,
            );
            same = same
                && match trials.next().map(|trial| &trial.packed) {
                    None => false,
                    Some(other) if own == (&other.head, &other.series) => true,
                    // Another version may have packed it.
                    Some(other) => {
                        let other = packing::unpack(&other.head, &other.series);
                        unpacked(row).map_err(unreadable)?
                            == other.map_err(|cause| unreadable(cause.into()))?
                    }
                };
            Ok(())
        })?;
        Ok(same && trials.next().is_none())
    }

    /// Every service that has trials in the store, with its contracts, in alphabetical order.
    pub fn services(&self) -> Result<Vec<(ServiceId, String)>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(ServiceId, String)>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT DISTINCT service, variant, contract FROM trial ORDER BY service, variant, contract",
            )?;
            statement
                .query_map([], |row| {
                    let service = ServiceId {
                        service: row.get(0)?,
                        variant: row.get(1)?,
                    };
                    Ok((service, row.get(2)?))
                })?
                .collect()
        };
        read().map_err(self.failed("list the services"))
    }

    /// The highest trial number of the run, and its number of trials, where a repeated one counts once: a cheap check
    /// for new trials.
    pub fn trial_count(&self, run: &str) -> Result<(i64, u32), StoreError> {
        self.connection
            .query_row(
                "SELECT coalesce(max(sequence), 0), count(DISTINCT place) FROM trial WHERE run = ?1",
                [run],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .map_err(self.failed("count the trials"))
    }

    fn read_trials(
        &self,
        query: &str,
        values: impl rusqlite::Params,
        unpack: impl Fn(&Row<'_>) -> Result<Value, RowReadError>,
    ) -> Result<Vec<StoredTrial>, StoreError> {
        let mut found = Vec::new();
        self.each_row(query, values, |sequence, row| {
            let unreadable = |cause| self.unreadable(sequence, cause);
            let run = row.get(1).map_err(|error| unreadable(error.into()))?;
            found.push(parse_trial(sequence, run, unpack(row).map_err(unreadable)?)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Calls `take` with the number and the row of each trial. Trials of which a few bytes become many are refused.
    fn each_row(
        &self,
        query: &str,
        values: impl rusqlite::Params,
        mut take: impl FnMut(i64, &Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |source| self.failed("read the trials")(source);
        let mut statement = self.connection.prepare_cached(query).map_err(failed)?;
        let columns = statement.column_count();
        let mut rows = statement.query(values).map_err(failed)?;
        let mut length = 0;
        while let Some(row) = rows.next().map_err(failed)? {
            let sequence: i64 = row.get(0).map_err(failed)?;
            for column in 2..columns {
                let part = blob(row, column).map_err(|cause| self.unreadable(sequence, cause))?;
                length += packing::length(part);
            }
            if length > LONGEST_RUN {
                let reason = "it and the trials before it have more than 4 GiB".into();
                return Err(self.unreadable(sequence, RowReadError::TooLong(reason)));
            }
            take(sequence, row)?;
        }
        Ok(())
    }

    fn unreadable(&self, sequence: i64, cause: RowReadError) -> StoreError {
        let reason = match cause {
            RowReadError::Statement(source) => return self.failed("read the trials")(source),
            RowReadError::Damaged(damaged) => damaged.to_string(),
            RowReadError::TooLong(reason) => reason,
        };
        StoreError::Damaged {
            what: "trial",
            which: sequence.to_string(),
            reason,
        }
    }
}

/// The columns of a trial, with its record packed.
#[derive(Debug)]
pub(crate) struct PackedRow {
    number: u32,
    round: u32,
    service: ServiceId,
    contract: String,
    workload: String,
    started_at: String,
    excluded: bool,
    packed: PackedTrial,
}

impl PackedRow {
    /// `record` is the JSON of the trial, with what it holds beyond the words of this version.
    pub(crate) fn of(trial: &TrialRecord, record: Value) -> Result<Self, StoreError> {
        Ok(Self {
            number: trial.number,
            round: trial.round,
            service: trial.service.clone(),
            contract: trial.contract.clone(),
            workload: trial.workload.clone(),
            started_at: trial.started_at.clone(),
            excluded: trial.result.is_err(),
            packed: pack(record).map_err(|error| StoreError::TooLong {
                what: "trial",
                which: trial.number.to_string(),
                reason: error.to_string(),
            })?,
        })
    }

    /// Bytes of its record as JSON.
    pub(crate) const fn length(&self) -> u64 {
        self.packed.length
    }
}

fn blob<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a [u8], RowReadError> {
    Ok(row.get_ref(column)?.as_blob()?)
}

fn unpacked(row: &Row<'_>) -> Result<Value, RowReadError> {
    Ok(packing::unpack(blob(row, 2)?, blob(row, 3)?)?)
}

fn head(row: &Row<'_>) -> Result<Value, RowReadError> {
    Ok(packing::head(blob(row, 2)?)?)
}

fn parse_trial(sequence: i64, run: String, record: Value) -> Result<StoredTrial, StoreError> {
    let trial = serde_json::from_value(record).map_err(|source| StoreError::Record {
        what: "trial",
        which: sequence.to_string(),
        source,
    })?;
    Ok(StoredTrial { sequence, run, trial })
}

/// Why a row cannot be read.
enum RowReadError {
    Statement(rusqlite::Error),
    Damaged(UnpackError),
    TooLong(String),
}

impl From<rusqlite::Error> for RowReadError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Statement(error)
    }
}

impl From<rusqlite::types::FromSqlError> for RowReadError {
    fn from(error: rusqlite::types::FromSqlError) -> Self {
        Self::Statement(error.into())
    }
}

impl From<UnpackError> for RowReadError {
    fn from(damaged: UnpackError) -> Self {
        Self::Damaged(damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::HISTORY;
    use crate::Store;

    /// A store grows for years. The history of one variant must not read every run in it.
    #[test]
    fn the_history_of_a_variant_is_found_by_indexes() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("store.db")).expect("opens");
        let mut explain = store
            .connection
            .prepare(&format!("EXPLAIN QUERY PLAN {HISTORY}"))
            .expect("a query");
        let steps: Vec<String> = explain
            .query_map(["a", "current", "hello"], |row| row.get("detail"))
            .expect("explains")
            .collect::<Result<_, _>>()
            .expect("text");
        for table in ["trial", "run"] {
            let whole = format!("SCAN {table}");
            assert!(!steps.iter().any(|step| step.starts_with(&whole)), "{steps:#?}");
        }
    }
}
