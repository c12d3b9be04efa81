//! Check matrices and calibrations, stored as rows of JSON and found by run or machine.

use crate::{Store, StoreError, from_json, to_json};
use prony_records::CheckMatrix;
use rusqlite::{OptionalExtension as _, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A calibration result and its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration<T> {
    /// RFC 3339, UTC.
    pub calibrated_at: String,
    pub value: T,
}

impl Store {
    /// Appends a check matrix of a run or, with `None`, of a standalone check.
    pub fn append_check_matrix(
        &self,
        run: Option<&str>,
        checked_at: &str,
        matrix: &CheckMatrix,
    ) -> Result<(), StoreError> {
        let record = to_json("check matrix", matrix)?;
        self.connection
            .execute(
                "INSERT INTO check_matrix (run, checked_at, record) VALUES (?1, ?2, ?3)",
                params![run, checked_at, record],
            )
            .map_err(self.failed("append a check matrix"))?;
        Ok(())
    }

    /// Stores the check matrix of a run in place of the previous one: it grows during the run.
    pub fn keep_check_matrix(
        &self,
        run: &str,
        checked_at: &str,
        matrix: &CheckMatrix,
    ) -> Result<(), StoreError> {
        let record = to_json("check matrix", matrix)?;
        let replaced = self
            .connection
            .execute(
                "UPDATE check_matrix SET checked_at = ?2, record = ?3 WHERE run = ?1",
                params![run, checked_at, record],
            )
            .map_err(self.failed("keep a check matrix"))?;
        if replaced == 0 {
            return self.append_check_matrix(Some(run), checked_at, matrix);
        }
        Ok(())
    }

    /// The latest check matrix of a run or, with `None`, of standalone checks.
    pub fn check_matrix(&self, run: Option<&str>) -> Result<Option<CheckMatrix>, StoreError> {
        let text: Option<String> = self
            .connection
            .query_row(
                "SELECT record FROM check_matrix WHERE run IS ?1 ORDER BY sequence DESC LIMIT 1",
                [run],
                |row| row.get(0),
            )
            .optional()
            .map_err(self.failed("read a check matrix"))?;
        text.map(|text| from_json("check matrix", run.unwrap_or("without a run"), &text))
            .transpose()
    }

    /// Appends a calibration of `machine`. The caller chooses the machine's name and finds the calibration by it.
    pub fn append_calibration<T: Serialize>(
        &self,
        machine: &str,
        calibrated_at: &str,
        value: &T,
    ) -> Result<(), StoreError> {
        let record = to_json("calibration", value)?;
        self.connection
            .execute(
                "INSERT INTO calibration (machine, calibrated_at, record) VALUES (?1, ?2, ?3)",
                params![machine, calibrated_at, record],
            )
            .map_err(self.failed("append a calibration"))?;
        Ok(())
    }

    /// The latest calibration of `machine`.
    pub fn calibration<T: DeserializeOwned>(
        &self,
        machine: &str,
    ) -> Result<Option<Calibration<T>>, StoreError> {
        let row: Option<(String, String)> = self
            .connection
            .query_row(
                "SELECT calibrated_at, record FROM calibration WHERE machine = ?1 ORDER BY sequence DESC LIMIT 1",
                [machine],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()
            .map_err(self.failed("read a calibration"))?;
        row.map(|(calibrated_at, text)| {
            let value = from_json("calibration", machine, &text)?;
            Ok(Calibration { calibrated_at, value })
        })
        .transpose()
    }
}
