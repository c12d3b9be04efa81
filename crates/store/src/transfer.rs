//! Exports runs to one file of JSON Lines and imports them into any store: to archive, to move and to merge them.
//!
//! The first line names the format and its version, the last one counts the lines in between. Each line is a run, a
//! trial of the run before it, a check or a calibration. Records are copied unchanged: a version that does not know a
//! key keeps it.

use crate::trials::{LONGEST_RUN, PackedRow};
use crate::{Store, StoreError, to_value};
use prony_records::bounded_json::{self, LONGEST};
use prony_records::{CheckMatrix, RunRecord, TrialRecord, check_run_name};
use rusqlite::params;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{BufRead, Read as _, Write};

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

/// A run with everything that belongs to it, as small as the store keeps it.
#[derive(Debug)]
struct Block {
    run: RunRecord,
    label: Option<String>,
    trials: Vec<PackedRow>,
    /// Time and matrix of each check.
    checks: Vec<(String, CheckMatrix)>,
    /// Bytes of JSON of all of these.
    length: u64,
}

impl Block {
    /// `record` is that of the run, with its label.
    fn new(record: &Value) -> Result<Self, StoreError> {
        let run: RunRecord = read("run", "of the export", record)?;
        check_run_name(&run.id)?;
        Ok(Self {
            run,
            label: record[LABEL].as_str().map(str::to_owned),
            trials: Vec::new(),
            checks: Vec::new(),
            length: 0,
        })
    }

    fn add_trial(&mut self, record: Value) -> Result<(), StoreError> {
        let trial: TrialRecord = read("trial", &self.run.id, &record)?;
        let row = PackedRow::of(&trial, record)?;
        self.grow(row.length())?;
        self.trials.push(row);
        Ok(())
    }

    fn add_check(&mut self, checked_at: String, record: &Value) -> Result<(), StoreError> {
        let matrix: CheckMatrix = read("check matrix", &self.run.id, record)?;
        self.grow(crate::to_json("check matrix", &matrix)?.len() as u64)?;
        self.checks.push((checked_at, matrix));
        Ok(())
    }

    /// Refuses a run that could not be read again: a run must fit into memory.
    fn grow(&mut self, bytes: u64) -> Result<(), StoreError> {
        self.length += bytes;
        if self.length <= LONGEST_RUN {
            return Ok(());
        }
        Err(StoreError::TooLong {
            what: "run",
            which: self.run.id.clone(),
            reason: "it has more than 4 GiB as JSON".to_owned(),
        })
    }
}

impl Store {
    /// Writes the given runs, or all, with their trials and checks. If all are written, standalone checks and
    /// calibrations follow. Takes the memory of one trial.
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
            exported.runs += 1;
            put(out, &ExportLine::Run(self.labelled(run)?))?;
            self.each_record(run, |trial| {
                exported.trials += 1;
                put(out, &ExportLine::Trial(trial))
            })?;
            for (checked_at, record) in self.checks(Some(run))? {
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
        let mut text = Vec::new();
        loop {
            text.clear();
            // One byte more than a record may have: then it is refused.
            let read = input.take(LONGEST as u64 + 1).read_until(b'\n', &mut text);
            if read.map_err(|source| StoreError::Transfer { what: "read", source })? == 0 {
                break;
            }
            number += 1;
            let line = line(&text, number)?;
            ended = matches!(line, ExportLine::End { .. });
            if matches!(line, ExportLine::Run(_) | ExportLine::End { .. }) {
                self.keep(block.take(), rename, &mut imported)
                    .map_err(|error| within(error, number))?;
            }
            self.take(line, number, &mut block)
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

    fn take(&self, line: ExportLine, number: usize, block: &mut Option<Block>) -> Result<(), StoreError> {
        let no_run = || at(number, "it comes before any run".to_owned());
        match line {
            ExportLine::Run(run) => *block = Some(Block::new(&run)?),
            ExportLine::Trial(trial) => block.as_mut().ok_or_else(no_run)?.add_trial(trial)?,
            ExportLine::Check {
                run: Some(_),
                checked_at,
                record,
            } => block
                .as_mut()
                .ok_or_else(no_run)?
                .add_check(checked_at, &record)?,
            ExportLine::Check {
                run: None,
                checked_at,
                record,
            } => self.keep_check(&checked_at, &record)?,
            ExportLine::Calibration {
                machine,
                calibrated_at,
                record,
            } => self.keep_calibration(&machine, &calibrated_at, &record)?,
            ExportLine::Format { .. } | ExportLine::End { .. } => {}
        }
        Ok(())
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

    /// The record of a run, with its label.
    fn labelled(&self, run: &str) -> Result<Value, StoreError> {
        let mut record = to_value("run", &self.run(run)?)?;
        if let (Some(label), Some(members)) = (self.label(run)?, record.as_object_mut()) {
            members.insert(LABEL.to_owned(), label.into());
        }
        Ok(record)
    }

    fn block(&self, run: &str) -> Result<Block, StoreError> {
        let mut block = Block::new(&self.labelled(run)?)?;
        self.each_record(run, |trial| block.add_trial(trial))?;
        for (checked_at, record) in self.checks(Some(run))? {
            block.add_check(checked_at, &record)?;
        }
        Ok(block)
    }

    /// Stores a run that was read completely.
    fn keep(
        &self,
        block: Option<Block>,
        rename: bool,
        imported: &mut ImportSummary,
    ) -> Result<(), StoreError> {
        let Some(mut block) = block else { return Ok(()) };
        let wanted = block.run.id.clone();
        for number in 1_u32.. {
            if number > 1 {
                block.run.id = format!("{wanted}-{number}");
            }
            match self.has(&block)? {
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
        self.insert(&block)?;
        imported.trials += block.trials.len() as u32;
        if block.run.id != wanted {
            imported.renamed.push((wanted, block.run.id.clone()));
        }
        imported.runs.push(block.run.id);
        Ok(())
    }

    fn insert(&self, block: &Block) -> Result<(), StoreError> {
        let run = &block.run.id;
        let transaction = self.connection.unchecked_transaction();
        let transaction = transaction.map_err(self.failed("import a run"))?;
        self.begin_run(&block.run)?;
        self.mark_as_imported(run)?;
        if let Some(label) = &block.label {
            self.label_run(run, label)?;
        }
        for trial in &block.trials {
            self.append_packed(run, trial)?;
        }
        for (checked_at, matrix) in &block.checks {
            self.append_check_matrix(Some(run), checked_at, matrix)?;
        }
        transaction.commit().map_err(self.failed("import a run"))
    }

    /// Whether a run of this name exists and, if so, whether it is the same.
    fn has(&self, block: &Block) -> Result<Option<bool>, StoreError> {
        let known = match self.run(&block.run.id) {
            Err(StoreError::NoSuchRun { .. }) => return Ok(None),
            known => known?,
        };
        let is_same = to_value("run", &known)? == to_value("run", &block.run)?;
        Ok(Some(is_same && self.has_trials(&block.run.id, &block.trials)?))
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

/// Adds the line to an error of what the line says.
fn within(error: StoreError, line: usize) -> StoreError {
    match error {
        StoreError::Record { .. }
        | StoreError::TooLong { .. }
        | StoreError::RunName(_)
        | StoreError::Label { .. } => at(line, error.to_string()),
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
fn line(text: &[u8], number: usize) -> Result<ExportLine, StoreError> {
    let line: ExportLine = bounded_json::parse(text).map_err(|error| {
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
