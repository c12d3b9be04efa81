//! Creates, finishes, labels, finds and deletes runs, and stores their progress.

use crate::{RunLock, Store, StoreError, from_json, to_json};
use prony_records::{Phase, RunRecord, ServiceId, Warning, WorkerNow, check_run_name};
use rusqlite::{OptionalExtension as _, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Number of run names that the error for an unknown run suggests.
const HINTS: usize = 3;

/// A run, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEntry {
    pub id: String,
    pub suite: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC; `None` while it runs, or if it was killed.
    pub ended_at: Option<String>,
    /// Trials in its plan.
    pub planned_trials: u32,
    /// Trials stored so far; a repeated one counts once.
    pub trials: u32,
    /// Trials without a measurement, even after repetitions.
    pub excluded_trials: u32,
    pub label: Option<String>,
    /// Whether it came from another store.
    pub imported: bool,
}

/// The order of runs, the newest first. Runs of this store are in the order in which they began, whatever the clock said. Imported
/// ones are older than all of them: what is imported never becomes `latest` while there are others. Among themselves their time
/// decides, but none began after it was imported.
const NEWEST_FIRST: &str = "imported_at IS NOT NULL, CASE WHEN imported_at IS NULL THEN sequence END DESC,
    min(started_at, imported_at) DESC, sequence DESC";

impl Store {
    /// Stores a new run. Trials may be appended to it from now on.
    pub fn begin_run(&self, run: &RunRecord) -> Result<(), StoreError> {
        check_run_name(&run.id)?;
        let record = to_json("run", run)?;
        let inserted = self
            .connection
            .execute(
                "INSERT OR IGNORE INTO run (id, suite, started_at, ended_at, planned_trials, record, sequence)
                 SELECT ?1, ?2, ?3, ?4, ?5, ?6, coalesce(max(sequence), 0) + 1 FROM run",
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

    /// Stores a new run under its name or, if that is taken, under the next free one like it: two runs in the same
    /// second, or a clock that was set back, would get the same name. No other process may add to the run while its
    /// lock lives. Each name is locked before it is written, so that runs that start at the same time get different
    /// names.
    pub fn begin_new_run(&self, mut run: RunRecord) -> Result<(RunRecord, RunLock), StoreError> {
        let wanted = run.id.clone();
        let mut number = 1_u32;
        loop {
            if !self.has_run(&run.id)? {
                let begun = self.lock_run(&run.id).and_then(|lock| {
                    self.begin_run(&run)?;
                    Ok(lock)
                });
                match begun {
                    Ok(lock) => return Ok((run, lock)),
                    Err(StoreError::RunBusy { .. } | StoreError::RunExists(_)) => {}
                    Err(other) => return Err(other),
                }
            }
            number += 1;
            run.id = format!("{wanted}-{number}");
        }
    }

    /// Marks a run as one that came from another store.
    pub(crate) fn mark_as_imported(&self, run: &str) -> Result<(), StoreError> {
        let mark = "UPDATE run SET imported_at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now') WHERE id = ?1";
        let done = self.connection.execute(mark, [run]);
        done.map(|_| ()).map_err(self.failed("import a run"))
    }

    fn has_run(&self, run: &str) -> Result<bool, StoreError> {
        let found = self
            .connection
            .query_row("SELECT 1 FROM run WHERE id = ?1", [run], |_| Ok(()));
        Ok(found.optional().map_err(self.failed("look for a run"))?.is_some())
    }

    /// Marks a run as ended at `ended_at` (RFC 3339, UTC) and adds the warnings that came up during it. A run that is
    /// continued later may be finished again: its previous ending is then forgotten.
    pub fn finish_run(&self, run: &str, ended_at: &str, warnings: &[Warning]) -> Result<(), StoreError> {
        let mut record = self.run(run)?;
        record.warnings.retain(|warning| !warning.kind.facts().of_ending);
        record.ended_at = Some(ended_at.to_owned());
        record.spent_s = self.progress(run)?.map(|progress| progress.spent_s);
        self.replace_run(record, warnings)
    }

    /// Adds warnings to a run that has not ended.
    pub fn warn_of_run(&self, run: &str, warnings: &[Warning]) -> Result<(), StoreError> {
        self.replace_run(self.run(run)?, warnings)
    }

    /// Replaces the plan of a run.
    pub fn set_plan(&self, run: &str, plan: Value) -> Result<(), StoreError> {
        let mut record = self.run(run)?;
        record.plan = plan;
        self.replace_run(record, &[])
    }

    /// Sets the number of planned trials of a run whose last trial has just ended: for runs that grow one trial at a
    /// time.
    pub fn extend_run(&self, run: &str, trials: u32, ended_at: &str) -> Result<(), StoreError> {
        let mut record = self.run(run)?;
        record.planned_trials = trials;
        record.ended_at = Some(ended_at.to_owned());
        self.replace_run(record, &[])
    }

    /// Deletes a run with its trials, checks, label and notes. A run that is being measured stays.
    pub fn remove_run(&self, run: &str) -> Result<(), StoreError> {
        self.run(run)?;
        let _lock = self.lock_run(run)?;
        let remove = || -> rusqlite::Result<()> {
            let transaction = self.connection.unchecked_transaction()?;
            for table in ["trial", "progress", "check_matrix", "label", "accepted_change"] {
                transaction.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [run])?;
            }
            transaction.execute("DELETE FROM run WHERE id = ?1", [run])?;
            transaction.commit()
        };
        remove().map_err(self.failed("delete a run"))
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

    /// Resolves a run name from a user: `latest`, a whole name, or the start or end of exactly one.
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

    /// The run that began last in this store; of a store with nothing but imported runs, the newest of those.
    pub fn latest_run(&self) -> Result<Option<RunRecord>, StoreError> {
        match self.runs()?.first() {
            Some(newest) => self.run(&newest.id).map(Some),
            None => Ok(None),
        }
    }

    /// All runs, the newest first: those of this store, then imported ones.
    pub fn runs(&self) -> Result<Vec<RunEntry>, StoreError> {
        let read = || -> rusqlite::Result<Vec<RunEntry>> {
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT id, suite, started_at, ended_at, planned_trials,
                        (SELECT count(DISTINCT place) FROM trial WHERE trial.run = run.id),
                        (SELECT count(DISTINCT place) FROM trial WHERE trial.run = run.id AND NOT EXISTS (
                            SELECT 1 FROM trial AS valid WHERE valid.run = trial.run
                                AND valid.place = trial.place AND NOT valid.excluded)),
                        (SELECT text FROM label WHERE label.run = run.id), imported_at IS NOT NULL
                 FROM run ORDER BY {NEWEST_FIRST}",
            ))?;
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
                        label: row.get(7)?,
                        imported: row.get(8)?,
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

/// Maximum length of a label in letters: a list shows it on one line.
const LONGEST: usize = 80;

impl Store {
    /// Sets or replaces the label of a run. An empty label removes it.
    pub fn label_run(&self, run: &str, label: &str) -> Result<(), StoreError> {
        let label = label.trim();
        if label.chars().count() > LONGEST || label.chars().any(char::is_control) {
            return Err(StoreError::Label { longest: LONGEST });
        }
        self.run(run)?;
        let done = if label.is_empty() {
            self.connection.execute("DELETE FROM label WHERE run = ?1", [run])
        } else {
            self.connection.execute(
                "INSERT INTO label (run, text) VALUES (?1, ?2)
                 ON CONFLICT (run) DO UPDATE SET text = excluded.text",
                params![run, label],
            )
        };
        done.map(|_| ()).map_err(self.failed("label a run"))
    }

    /// The label of a run; `None` if it has none.
    pub fn label(&self, run: &str) -> Result<Option<String>, StoreError> {
        self.connection
            .query_row("SELECT text FROM label WHERE run = ?1", [run], |row| row.get(0))
            .optional()
            .map_err(self.failed("read a label"))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Time of this update, RFC 3339 in UTC. Old progress of a run without an end means that the run was killed.
    pub at: String,
    /// Trials that have ended.
    pub done: u32,
    /// Trials in the plan.
    pub planned: u32,
    /// Estimated time left, s, if it is known.
    pub eta_s: Option<f64>,
    /// The service whose trial is running.
    pub service: Option<ServiceId>,
    pub contract: Option<String>,
    pub workload: Option<String>,
    /// The step of that trial: `build`, `start`, `check`, `warm_up`, `measurement`, `drain`, `stop`.
    pub step: Option<String>,
    /// The phase of its load, while there is one.
    pub phase: Option<Phase>,
    /// Replies per second in the last second.
    pub throughput_per_s: Option<f64>,
    /// 99th percentile of the response time in the last second, ns.
    pub response_time_ns_p99: Option<u64>,
    /// State of each worker of a testbed; empty between two loads, and without a testbed.
    #[serde(default)]
    pub workers: Vec<WorkerNow>,
    /// Why a host of the testbed is lost, until the load starts again.
    #[serde(default)]
    pub lost: Option<String>,
    /// The time that the run took so far, s, in all its parts if it was continued: what its budget has left.
    #[serde(default)]
    pub spent_s: f64,
}

impl Store {
    /// Overwrites the progress of a run.
    pub fn set_progress(&self, run: &str, progress: &Progress) -> Result<(), StoreError> {
        let record = to_json("progress", progress)?;
        self.connection
            .execute(
                "INSERT INTO progress (run, record) VALUES (?1, ?2)
                 ON CONFLICT (run) DO UPDATE SET record = excluded.record",
                params![run, record],
            )
            .map_err(self.failed("note the progress"))?;
        Ok(())
    }

    /// The progress of a run; `None` if it never reported any.
    pub fn progress(&self, run: &str) -> Result<Option<Progress>, StoreError> {
        let text: Option<String> = self
            .connection
            .query_row("SELECT record FROM progress WHERE run = ?1", [run], |row| {
                row.get(0)
            })
            .optional()
            .map_err(self.failed("read the progress"))?;
        text.map(|text| from_json("progress", run, &text)).transpose()
    }
}
