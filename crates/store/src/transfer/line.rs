//! Lines of an export.

use crate::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::Write;

pub(super) const FORMAT: &str = "prony-store";
/// Lines may gain keys, and new kinds of lines may be added; the meaning of a line never changes.
pub(super) const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExportLine {
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
pub(super) fn line(text: &str, number: usize) -> Result<ExportLine, StoreError> {
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

pub(super) fn at(line: usize, reason: String) -> StoreError {
    StoreError::Import { line, reason }
}

pub(super) fn put(out: &mut dyn Write, line: &ExportLine) -> Result<(), StoreError> {
    let text = crate::to_json("line", line)?;
    writeln!(out, "{text}").map_err(|source| StoreError::Transfer {
        what: "write",
        source,
    })
}
