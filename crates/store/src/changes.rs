//! Notes on changes of a service's results that someone looked at and accepted.

use crate::{Store, StoreError};
use prony_records::ServiceId;
use rusqlite::params;
use serde::{Deserialize, Serialize};

/// Maximum length of a note in letters: a chart shows it on one line.
const LONGEST: usize = 200;

/// A change of one metric of a service, from a run on, with the reason why it is accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedChange {
    /// The first run after the change.
    pub run: String,
    #[serde(flatten)]
    pub service: ServiceId,
    pub contract: String,
    pub workload: String,
    /// Identity of the load.
    pub load_id: String,
    /// Key of the metric.
    pub metric: String,
    pub note: String,
}

impl Store {
    /// Accepts a change, or replaces the note of an accepted one. With an empty note it is no longer accepted.
    pub fn accept_change(&self, change: &AcceptedChange) -> Result<(), StoreError> {
        let note = change.note.trim();
        if note.chars().count() > LONGEST || note.chars().any(char::is_control) {
            return Err(StoreError::Note { longest: LONGEST });
        }
        self.run(&change.run)?;
        let AcceptedChange {
            service: ServiceId { service, variant },
            ..
        } = change;
        let key = params![
            change.run,
            service,
            variant,
            change.contract,
            change.workload,
            change.load_id,
            change.metric
        ];
        let removed = self.connection.execute(
            "DELETE FROM accepted_change WHERE run = ?1 AND service = ?2 AND variant = ?3 AND contract = ?4
                AND workload = ?5 AND load_id = ?6 AND metric = ?7",
            key,
        );
        removed.map_err(self.failed("change a note"))?;
        if note.is_empty() {
            return Ok(());
        }
        let added = self.connection.execute(
            "INSERT INTO accepted_change (run, service, variant, contract, workload, load_id, metric, note)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                change.run,
                service,
                variant,
                change.contract,
                change.workload,
                change.load_id,
                change.metric,
                note
            ],
        );
        added.map(|_| ()).map_err(self.failed("keep a note"))
    }

    /// The accepted changes of a service.
    pub fn accepted_changes(
        &self,
        service: &ServiceId,
        contract: &str,
    ) -> Result<Vec<AcceptedChange>, StoreError> {
        let read = || -> rusqlite::Result<Vec<AcceptedChange>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT run, workload, load_id, metric, note FROM accepted_change
                 WHERE service = ?1 AND variant = ?2 AND contract = ?3 ORDER BY run, workload, load_id, metric",
            )?;
            statement
                .query_map(params![service.service, service.variant, contract], |row| {
                    Ok(AcceptedChange {
                        run: row.get(0)?,
                        service: service.clone(),
                        contract: contract.to_owned(),
                        workload: row.get(1)?,
                        load_id: row.get(2)?,
                        metric: row.get(3)?,
                        note: row.get(4)?,
                    })
                })?
                .collect()
        };
        read().map_err(self.failed("read the notes"))
    }
}
