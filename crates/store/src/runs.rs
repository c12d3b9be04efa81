//! Runs: begun, finished, found again.

use crate::{Store, StoreError, from_json, to_json};
use prony_measurement::{RunRecord, Warning};
use rusqlite::{OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

/// How many names a message about an unknown run gives.
const HINTS: usize = 3;

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEntry {
    /// Its name.
    pub id: String,
    /// The suite.
    pub suite: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// End; `None` while it runs or when it was killed.
    pub ended_at: Option<String>,
    /// Trials that its plan holds.
    pub planned_trials: u32,
    /// Trials stored so far; one that was repeated counts once.
    pub trials: u32,
    /// Those of them that gave no measurement, in the end.
    pub excluded_trials: u32,
}

impl Store {
    /// Stores a new run. Its trials may be appended from now on.
    pub fn begin_run(&self, run: &RunRecord) -> Result<(), StoreError> {
        let record = to_json("run", run)?;
        let inserted = self
            .connection
            .execute(
                "INSERT OR IGNORE INTO run (id, suite, started_at, ended_at, planned_trials, record)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    run.id,
                    run.suite,
                    run.started_at,
                    run.ended_at,
                    run.planned_trials,
                    record
                ],
            )
            .map_err(self.failed("begin a run"))?;
        if inserted == 0 {
            return Err(StoreError::RunExists(run.id.clone()));
        }
        Ok(())
    }

    /// Marks a run as ended at `ended_at` (RFC 3339 in UTC) and adds the warnings that came up on the way. A run that is
    /// continued later may be finished again.
    pub fn finish_run(&self, run: &str, ended_at: &str, warnings: &[Warning]) -> Result<(), StoreError> {
        let mut record = self.run(run)?;
        record.ended_at = Some(ended_at.to_owned());
        self.replace_run(record, warnings)
    }

    /// Adds reasons to doubt a run that has not ended.
    pub fn warn_of_run(&self, run: &str, warnings: &[Warning]) -> Result<(), StoreError> {
        self.replace_run(self.run(run)?, warnings)
    }

    /// Lets a run hold so many trials, of which the last has just ended: one that grows by a trial at a time.
    pub fn extend_run(&self, run: &str, trials: u32, ended_at: &str) -> Result<(), StoreError> {
        let mut record = self.run(run)?;
        record.planned_trials = trials;
        record.ended_at = Some(ended_at.to_owned());
        self.replace_run(record, &[])
    }

    fn replace_run(&self, mut record: RunRecord, warnings: &[Warning]) -> Result<(), StoreError> {
        for warning in warnings {
            if !record.warnings.contains(warning) {
                record.warnings.push(warning.clone());
            }
        }
        let text = to_json("run", &record)?;
        self.connection
            .execute(
                "UPDATE run SET ended_at = ?2, record = ?3, planned_trials = ?4 WHERE id = ?1",
                params![record.id, record.ended_at, text, record.planned_trials],
            )
            .map_err(self.failed("keep a run"))?;
        Ok(())
    }

    /// The run of that name.
    pub fn run(&self, run: &str) -> Result<RunRecord, StoreError> {
        let text: Option<String> = self
            .connection
            .query_row("SELECT record FROM run WHERE id = ?1", [run], |row| row.get(0))
            .optional()
            .map_err(self.failed("read a run"))?;
        match text {
            Some(text) => from_json("run", run, &text),
            None => Err(self.no_such_run(run)?),
        }
    }

    /// A name like `wanted` that no run has yet: two runs of one second, or a clock that was set back, would give the same.
    pub fn free_name(&self, wanted: &str) -> Result<String, StoreError> {
        let taken: Vec<String> = self.runs()?.into_iter().map(|run| run.id).collect();
        let others = (2_u32..).map(|number| format!("{wanted}-{number}"));
        let mut names = std::iter::once(wanted.to_owned()).chain(others);
        Ok(names.find(|name| !taken.contains(name)).unwrap_or_default())
    }

    /// The name of the run that a user means: `latest`, a whole name, or the start or end of exactly one.
    pub fn find_run(&self, wanted: &str) -> Result<String, StoreError> {
        let runs = self.runs()?;
        if wanted == "latest" {
            return match runs.into_iter().next() {
                Some(newest) => Ok(newest.id),
                None => Err(self.no_such_run(wanted)?),
            };
        }
        if runs.iter().any(|run| run.id == wanted) {
            return Ok(wanted.to_owned());
        }
        let mut matches: Vec<String> = runs
            .into_iter()
            .map(|run| run.id)
            .filter(|id| !wanted.is_empty() && (id.starts_with(wanted) || id.ends_with(wanted)))
            .collect();
        match matches.len() {
            0 => Err(self.no_such_run(wanted)?),
            1 => Ok(matches.remove(0)),
            _ => Err(StoreError::Ambiguous {
                run: wanted.to_owned(),
                matches,
            }),
        }
    }

    /// The run that began last.
    pub fn latest_run(&self) -> Result<Option<RunRecord>, StoreError> {
        match self.runs()?.first() {
            Some(newest) => self.run(&newest.id).map(Some),
            None => Ok(None),
        }
    }

    /// All runs, the newest first.
    pub fn runs(&self) -> Result<Vec<RunEntry>, StoreError> {
        let read = || -> rusqlite::Result<Vec<RunEntry>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT id, suite, started_at, ended_at, planned_trials,
                        (SELECT count(DISTINCT place) FROM trial WHERE trial.run = run.id),
                        (SELECT count(DISTINCT place) FROM trial WHERE trial.run = run.id AND NOT EXISTS (
                            SELECT 1 FROM trial AS valid WHERE valid.run = trial.run
                                AND valid.place = trial.place AND NOT valid.excluded))
                 FROM run ORDER BY started_at DESC, rowid DESC",
            )?;
            statement
                .query_map([], |row| {
                    Ok(RunEntry {
                        id: row.get(0)?,
                        suite: row.get(1)?,
                        started_at: row.get(2)?,
                        ended_at: row.get(3)?,
                        planned_trials: row.get(4)?,
                        trials: row.get(5)?,
                        excluded_trials: row.get(6)?,
                    })
                })?
                .collect()
        };
        read().map_err(self.failed("list the runs"))
    }

    fn no_such_run(&self, run: &str) -> Result<StoreError, StoreError> {
        let known = self.runs()?.into_iter().take(HINTS).map(|run| run.id).collect();
        Ok(StoreError::NoSuchRun {
            run: run.to_owned(),
            known,
        })
    }
}
