//! How far a run is: one row a run, written over and over, for those who watch from another process.

use crate::{Store, StoreError, from_json, to_json};
use prony_records::{Phase, ServiceId, WorkerNow};
use rusqlite::{OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

/// How far a run is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// When this was written, RFC 3339 in UTC: old progress of a run without an end means that it was killed.
    pub at: String,
    /// Trials that ended.
    pub done: u32,
    /// Trials of the plan.
    pub planned: u32,
    /// Time left, s, where it can be told.
    pub eta_s: Option<f64>,
    /// The service whose trial runs now.
    pub service: Option<ServiceId>,
    /// The contract of that trial.
    pub contract: Option<String>,
    /// The workload of that trial.
    pub workload: Option<String>,
    /// The step of that trial, in a word: `build`, `start`, `check`, `warm_up`, `measurement`, `drain`, `stop`.
    pub step: Option<String>,
    /// The phase of its load, while there is one.
    pub phase: Option<Phase>,
    /// Replies per second in the last second.
    pub throughput_per_s: Option<f64>,
    /// 99th percentile of the response time in the last second, ns.
    pub response_time_ns_p99: Option<u64>,
    /// What each worker of a lab does; empty between two loads, and without a lab.
    #[serde(default)]
    pub workers: Vec<WorkerNow>,
    /// Why a host of the lab is lost, until load is made again.
    #[serde(default)]
    pub lost: Option<String>,
}

impl Store {
    /// Says how far a run is; the last word counts.
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

    /// How far a run is; `None` when it never said.
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
