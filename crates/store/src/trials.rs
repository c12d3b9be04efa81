//! Trials: appended as they end, read at any time.

use crate::{Store, StoreError, from_json, to_json};
use prony_measurement::{ServiceId, TrialRecord};
use rusqlite::params;

/// A trial and where it lies in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTrial {
    /// Its number; later trials have higher ones.
    pub sequence: i64,
    /// The run that it belongs to.
    pub run: String,
    /// The trial.
    pub trial: TrialRecord,
}

impl Store {
    /// Appends a trial to a run that was begun; gives its number.
    pub fn append_trial(&self, run: &str, trial: &TrialRecord) -> Result<i64, StoreError> {
        let record = to_json("trial", trial)?;
        self.connection
            .execute(
                "INSERT INTO trial
                     (run, place, round, service, variant, contract, workload, started_at, excluded, record)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    run,
                    trial.place,
                    trial.round,
                    trial.service.service,
                    trial.service.variant,
                    trial.contract,
                    trial.workload,
                    trial.started_at,
                    trial.result.is_err(),
                    record
                ],
            )
            .map_err(self.failed("append a trial"))?;
        Ok(self.connection.last_insert_rowid())
    }

    /// The trials of a run in the order in which they ended.
    pub fn trials(&self, run: &str) -> Result<Vec<TrialRecord>, StoreError> {
        let trials = self.trials_after(run, 0)?;
        Ok(trials.into_iter().map(|stored| stored.trial).collect())
    }

    /// The trials of a run whose number is above `sequence`: what a reader has not seen yet.
    pub fn trials_after(&self, run: &str, sequence: i64) -> Result<Vec<StoredTrial>, StoreError> {
        self.read_trials(
            "SELECT sequence, run, record FROM trial WHERE run = ?1 AND sequence > ?2 ORDER BY sequence",
            params![run, sequence],
        )
    }

    /// Every trial of a service under a contract, over all runs, the oldest first: its history.
    pub fn history(&self, service: &ServiceId, contract: &str) -> Result<Vec<StoredTrial>, StoreError> {
        self.read_trials(
            "SELECT sequence, run, record FROM trial
             WHERE service = ?1 AND variant = ?2 AND contract = ?3 ORDER BY sequence",
            params![service.service, service.variant, contract],
        )
    }

    /// Every service that the store has trials of, with the contracts, in alphabetical order.
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

    /// The highest number of a trial of the run, and how many there are, a repeated one counting once: tells cheaply whether
    /// there is news.
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
    ) -> Result<Vec<StoredTrial>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(i64, String, String)>> {
            let mut statement = self.connection.prepare_cached(query)?;
            statement
                .query_map(values, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
                .collect()
        };
        read()
            .map_err(self.failed("read the trials"))?
            .into_iter()
            .map(|(sequence, run, text)| {
                let trial = from_json("trial", &sequence.to_string(), &text)?;
                Ok(StoredTrial { sequence, run, trial })
            })
            .collect()
    }
}
