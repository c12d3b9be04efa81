//! Progress of a run: one row per run, overwritten again and again, for observers in other processes.

use crate::{Store, StoreError, from_json, to_json};
use prony_records::{Phase, ServiceId, WorkerNow};
use rusqlite::{OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

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
