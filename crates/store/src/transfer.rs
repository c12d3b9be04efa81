//! Exports runs to one file of JSON Lines and imports them into any store: to archive, to move and to merge them.
//!
//! The first line names the format and its version, the last one counts the lines in between. Each line is a run, a
//! trial of the run before it, a check or a calibration. Records are copied unchanged: a version that does not know a
//! key keeps it.

use crate::{Store, StoreError, to_value};
use prony_records::{CheckMatrix, RunRecord, TrialRecord};
use rusqlite::params;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{BufRead, Write};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ExportSummary {
    pub runs: u32,
    pub trials: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportSummary {
    /// Runs that are new in this store.
    pub runs: Vec<String>,
    /// Trials of the new runs.
    pub trials: u32,
    /// Number of runs that were already here, with the same contents.
    pub known: u32,
    /// Runs whose name belongs to a different run here, with their new name.
    pub renamed: Vec<(String, String)>,
    /// Runs whose name belongs to a different run here, and that were left out because no new name was requested.
    pub different: Vec<String>,
}

/// Key of the label in the exported record of a run. A version that does not know it still reads the run.
const LABEL: &str = "label";

/// A run with everything that belongs to it.
#[derive(Debug, Default)]
struct Block {
    /// The record of the run, with its label.
    run: Value,
    trials: Vec<Value>,
    /// Time and matrix of each check.
    checks: Vec<(String, Value)>,
}

impl Store {
    /// Writes the given runs, or all, with their trials and checks. If all are written, standalone checks and
    /// calibrations follow. Takes the memory of one run.
    pub fn export(
        &self,
        runs: Option<&[String]>,
        prony: &str,
        out: &mut dyn Write,
    ) -> Result<ExportSummary, StoreError> {
        let mut exported = ExportSummary::default();
        put(
            out,
            &ExportLine::Format {
                name: FORMAT.to_owned(),
                version: VERSION,
                prony: prony.to_owned(),
            },
        )?;
        let all: Vec<String> = self.runs()?.into_iter().rev().map(|run| run.id).collect();
        for run in runs.unwrap_or(&all) {
            let block = self.block(run)?;
            exported.runs += 1;
            exported.trials += block.trials.len() as u32;
            put(out, &ExportLine::Run(block.run))?;
            for trial in block.trials {
                put(out, &ExportLine::Trial(trial))?;
            }
            for (checked_at, record) in block.checks {
                put(
                    out,
                    &ExportLine::Check {
                        run: Some(run.clone()),
                        checked_at,
                        record,
                    },
                )?;
            }
        }
        if runs.is_none() {
            for (checked_at, record) in self.checks(None)? {
                put(
                    out,
                    &ExportLine::Check {
                        run: None,
                        checked_at,
                        record,
                    },
                )?;
            }
            for (machine, calibrated_at, record) in self.calibrations()? {
                put(
                    out,
                    &ExportLine::Calibration {
                        machine,
                        calibrated_at,
                        record,
                    },
                )?;
            }
        }
        put(
            out,
            &ExportLine::End {
                runs: exported.runs,
                trials: exported.trials,
            },
        )?;
        out.flush().map_err(|source| StoreError::Transfer {
            what: "write",
            source,
        })?;
        Ok(exported)
    }

    /// Imports an export of this version or an earlier one. A run that is already here is left out: importing twice is
    /// harmless. A run whose name belongs to a different run is left out and reported, or gets a new name with
    /// `rename`. Each run is imported completely or not at all.
    pub fn import(&self, input: &mut dyn BufRead, rename: bool) -> Result<ImportSummary, StoreError> {
        let mut imported = ImportSummary::default();
        let mut block: Option<Block> = None;
        let (mut number, mut ended) = (0, false);
        let mut text = String::new();
        loop {
            text.clear();
            let read = input.read_line(&mut text);
            if read.map_err(|source| StoreError::Transfer { what: "read", source })? == 0 {
                break;
            }
            number += 1;
            let line = line(&text, number)?;
            ended = matches!(line, ExportLine::End { .. });
            let whole = match line {
                ExportLine::Run(run) => block.replace(Block {
                    run,
                    ..Block::default()
                }),
                ExportLine::End { .. } => block.take(),
                other => {
                    self.take(other, &mut block)
                        .map_err(|reason| at(number, reason))?;
                    None
                }
            };
            self.keep(whole, rename, &mut imported)
                .map_err(|error| within(error, number))?;
        }
        if ended {
            return Ok(imported);
        }
        let reason = format!(
            "the file ends early, so its last run is left out; {} runs before it were imported: copy the file again",
            imported.runs.len()
        );
        Err(at(number + 1, reason))
    }

    /// Processes a line that does not end a run.
    fn take(&self, line: ExportLine, block: &mut Option<Block>) -> Result<(), String> {
        let kept = match line {
            ExportLine::Trial(trial) => {
                let block = block.as_mut().ok_or("a trial comes before any run")?;
                block.trials.push(trial);
                return Ok(());
            }
            ExportLine::Check {
                run: Some(_),
                checked_at,
                record,
            } => {
                let block = block.as_mut().ok_or("a check of a run comes before any run")?;
                block.checks.push((checked_at, record));
                return Ok(());
            }
            ExportLine::Check {
                run: None,
                checked_at,
                record,
            } => self.keep_check(&checked_at, &record),
            ExportLine::Calibration {
                machine,
                calibrated_at,
                record,
            } => self.keep_calibration(&machine, &calibrated_at, &record),
            ExportLine::Format { .. } | ExportLine::Run(_) | ExportLine::End { .. } => Ok(()),
        };
        kept.map_err(|error| error.to_string())
    }

    /// Imports all runs of another store; [`Store::import`] does the same from a file.
    pub fn merge(&self, other: &Self, rename: bool) -> Result<ImportSummary, StoreError> {
        let mut imported = ImportSummary::default();
        for run in other.runs()?.into_iter().rev() {
            self.keep(Some(other.block(&run.id)?), rename, &mut imported)?;
        }
        for (checked_at, record) in other.checks(None)? {
            self.keep_check(&checked_at, &record)?;
        }
        for (machine, calibrated_at, record) in other.calibrations()? {
            self.keep_calibration(&machine, &calibrated_at, &record)?;
        }
        Ok(imported)
    }

    fn block(&self, run: &str) -> Result<Block, StoreError> {
        let mut record = to_value("run", &self.run(run)?)?;
        if let (Some(label), Some(members)) = (self.label(run)?, record.as_object_mut()) {
            members.insert(LABEL.to_owned(), label.into());
        }
        Ok(Block {
            run: record,
            trials: self.records(run)?,
            checks: self.checks(Some(run))?,
        })
    }

    /// Stores a run that was read completely.
    fn keep(
        &self,
        block: Option<Block>,
        rename: bool,
        imported: &mut ImportSummary,
    ) -> Result<(), StoreError> {
        let Some(block) = block else { return Ok(()) };
        let mut run: RunRecord = read("run", "of the export", &block.run)?;
        let trials: Vec<TrialRecord> = block
            .trials
            .iter()
            .map(|trial| read("trial", &run.id, trial))
            .collect::<Result<_, _>>()?;
        let wanted = run.id.clone();
        for number in 1_u32.. {
            if number > 1 {
                run.id = format!("{wanted}-{number}");
            }
            match self.has(&run, &block.trials)? {
                None => break,
                Some(true) => {
                    imported.known += 1;
                    return Ok(());
                }
                Some(false) if !rename => {
                    imported.different.push(wanted);
                    return Ok(());
                }
                Some(false) => {}
            }
        }
        let transaction = self.connection.unchecked_transaction();
        let transaction = transaction.map_err(self.failed("import a run"))?;
        self.begin_run(&run)?;
        if let Some(label) = block.run[LABEL].as_str() {
            self.label_run(&run.id, label)?;
        }
        for (trial, record) in trials.iter().zip(block.trials) {
            self.append_record(&run.id, trial, record)?;
        }
        for (checked_at, record) in block.checks {
            let matrix: CheckMatrix = read("check matrix", &run.id, &record)?;
            self.append_check_matrix(Some(&run.id), &checked_at, &matrix)?;
        }
        transaction.commit().map_err(self.failed("import a run"))?;
        imported.trials += trials.len() as u32;
        if run.id != wanted {
            imported.renamed.push((wanted, run.id.clone()));
        }
        imported.runs.push(run.id);
        Ok(())
    }

    /// Whether a run of this name exists and, if so, whether it is the same.
    fn has(&self, run: &RunRecord, trials: &[Value]) -> Result<Option<bool>, StoreError> {
        let known = match self.run(&run.id) {
            Err(StoreError::NoSuchRun { .. }) => return Ok(None),
            known => known?,
        };
        let same = to_value("run", &known)? == to_value("run", run)? && self.records(&run.id)? == trials;
        Ok(Some(same))
    }

    fn checks(&self, run: Option<&str>) -> Result<Vec<(String, Value)>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(String, String)>> {
            let query = "SELECT checked_at, record FROM check_matrix WHERE run IS ?1 ORDER BY sequence";
            let mut statement = self.connection.prepare_cached(query)?;
            statement
                .query_map([run], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        };
        let rows = read().map_err(self.failed("read the checks"))?.into_iter();
        rows.map(|(at, text)| Ok((at, parse_stored("check matrix", &text)?)))
            .collect()
    }

    fn calibrations(&self) -> Result<Vec<(String, String, Value)>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(String, String, String)>> {
            let query = "SELECT machine, calibrated_at, record FROM calibration ORDER BY sequence";
            let mut statement = self.connection.prepare_cached(query)?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            rows.collect()
        };
        let rows = read().map_err(self.failed("read the calibrations"))?.into_iter();
        rows.map(|(machine, at, text)| Ok((machine, at, parse_stored("calibration", &text)?)))
            .collect()
    }

    fn keep_check(&self, checked_at: &str, record: &Value) -> Result<(), StoreError> {
        let query = "INSERT INTO check_matrix (run, checked_at, record) SELECT NULL, ?1, ?2
                     WHERE NOT EXISTS (SELECT 1 FROM check_matrix WHERE run IS NULL AND checked_at = ?1 AND record = ?2)";
        let matrix: CheckMatrix = read("check matrix", checked_at, record)?;
        let text = crate::to_json("check matrix", &matrix)?;
        let done = self.connection.execute(query, params![checked_at, text]);
        done.map(|_| ()).map_err(self.failed("import a check matrix"))
    }

    fn keep_calibration(&self, machine: &str, calibrated_at: &str, record: &Value) -> Result<(), StoreError> {
        // The latest calibration counts: one that is older than those here must not come after them.
        let query = "INSERT INTO calibration (machine, calibrated_at, record) SELECT ?1, ?2, ?3
                     WHERE NOT EXISTS (SELECT 1 FROM calibration WHERE machine = ?1 AND calibrated_at >= ?2)";
        let done = self
            .connection
            .execute(query, params![machine, calibrated_at, record.to_string()]);
        done.map(|_| ()).map_err(self.failed("import a calibration"))
    }
}

fn read<T: serde::de::DeserializeOwned>(
    what: &'static str,
    which: &str,
    value: &Value,
) -> Result<T, StoreError> {
    T::deserialize(value).map_err(|source| StoreError::Record {
        what,
        which: which.to_owned(),
        source,
    })
}

fn parse_stored(what: &'static str, text: &str) -> Result<Value, StoreError> {
    crate::from_json(what, "of the store", text)
}

/// Adds the line at which a run ended to the error for that run.
fn within(error: StoreError, line: usize) -> StoreError {
    match error {
        StoreError::Record { .. } => StoreError::Import {
            line,
            reason: format!("the run before it: {error}"),
        },
        other => other,
    }
}

const FORMAT: &str = "prony-store";
/// Lines may gain keys, and new kinds of lines may be added; the meaning of a line never changes.
const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ExportLine {
    Format {
        name: String,
        version: u32,
        prony: String,
    },
    Run(Value),
    Trial(Value),
    Check {
        run: Option<String>,
        checked_at: String,
        record: Value,
    },
    Calibration {
        machine: String,
        calibrated_at: String,
        record: Value,
    },
    End {
        runs: u32,
        trials: u32,
    },
}

/// Parses a line; the first one, and no other, names the format.
fn line(text: &str, number: usize) -> Result<ExportLine, StoreError> {
    let line: ExportLine = serde_json::from_str(text).map_err(|error| {
        at(
            number,
            format!("{error}; create an export with `prony store export`"),
        )
    })?;
    match &line {
        ExportLine::Format { name, version, .. } if name != FORMAT || *version > VERSION => Err(at(
            number,
            format!(
                "it is `{name}` version {version}, but this prony reads `{FORMAT}` up to {VERSION}: use a newer prony"
            ),
        )),
        _ if (number == 1) != matches!(line, ExportLine::Format { .. }) => {
            let reason = "the first line, and no other, must name the format: is this an export of prony?";
            Err(at(number, reason.to_owned()))
        }
        _ => Ok(line),
    }
}

fn at(line: usize, reason: String) -> StoreError {
    StoreError::Import { line, reason }
}

fn put(out: &mut dyn Write, line: &ExportLine) -> Result<(), StoreError> {
    let text = crate::to_json("line", line)?;
    writeln!(out, "{text}").map_err(|source| StoreError::Transfer {
        what: "write",
        source,
    })
}
