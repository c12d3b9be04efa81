//! Reads format 2, which earlier versions wrote; nothing writes it. Stores keep such trials as they are.
//!
//! Each part is LZMA with a preset dictionary. Inside, tables are stored by column with numbers as differences, and
//! histograms without their base64 and deflate. The format must never change.

use super::UnpackError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use lzma_rust2::LzmaReader;
use prony_records::bounded_json::{self, LONGEST, MOST_MEMORY, OBJECT, VALUE};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::io::{Read as _, Write as _};

/// The first byte of both parts.
pub(super) const FORMAT: u8 = 2;
const DICTIONARY: &[u8] = include_bytes!("dictionary-2.txt");
/// How far back a repetition may lie, bytes.
const WINDOW: u32 = 1 << 15;
/// The only key of an object that represents a table. Objects that have this key themselves are wrapped in [`PLAIN`].
const TABLE: &str = "~";
const PLAIN: &str = "~~";
/// Prefix of a column name: its numbers are differences.
const DIFFERENCES: char = '+';
/// Prefix of a column name: its values are unchanged.
const VALUES: char = '=';
/// Bytes that identify the format of an `HdrHistogram`; the length of the deflated data follows in 4 bytes.
const COOKIE: usize = 4;

/// A series, in the format of [postcard](https://postcard.jamesmunns.com/wire-format).
#[derive(Deserialize)]
struct Series<'a> {
    /// JSON: tables by their path in the record, and the index of each histogram.
    tables: &'a str,
    #[serde(borrow)]
    histograms: Vec<&'a [u8]>,
}

/// `part` has no format byte.
pub(super) fn head(part: &[u8]) -> Result<Value, UnpackError> {
    let mut room = MOST_MEMORY;
    rows(
        bounded_json::parse(&decompress(part)?).map_err(UnpackError::new)?,
        &mut room,
    )
}

/// Bytes of the result that a part declares.
pub(super) fn length(part: &[u8]) -> Option<usize> {
    let length = part.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*length) as usize)
}

/// The series by their path in the record. `part` has no format byte.
pub(super) fn series(part: &[u8]) -> Result<Map<String, Value>, UnpackError> {
    let bytes = decompress(part)?;
    let series: Series<'_> = postcard::from_bytes(&bytes).map_err(UnpackError::new)?;
    let tables: Map<String, Value> =
        bounded_json::parse(series.tables.as_bytes()).map_err(UnpackError::new)?;
    let mut room = MOST_MEMORY;
    let histograms = series.histograms.into_iter().map(histogram);
    let histograms: Vec<String> = histograms.collect::<Result<_, _>>()?;
    let restore = |(path, table): (String, Value)| {
        let value = match table.as_u64() {
            // A number is the index of a histogram.
            Some(index) => {
                let text = histograms.get(index as usize);
                let text = text.ok_or_else(|| UnpackError::new("a histogram is missing"))?;
                take(&mut room, text.len() as u64)?;
                Value::String(text.clone())
            }
            None => rows(table, &mut room)?,
        };
        Ok((path, value))
    };
    tables.into_iter().map(restore).collect()
}

/// Expects the length of the result (u32, little endian) before the compressed data. Takes no more memory than the result
/// and the window, whatever the bytes say.
fn decompress(part: &[u8]) -> Result<Vec<u8>, UnpackError> {
    let length = length(part).ok_or_else(|| UnpackError::new("it is truncated"))?;
    if length > LONGEST {
        return Err(UnpackError::new("it is too long"));
    }
    let mut out = Vec::new();
    if length > 0 {
        let reader = LzmaReader::new(&part[4..], length as u64, 0, 0, 0, WINDOW, Some(DICTIONARY));
        let mut reader = reader.map_err(UnpackError::new)?;
        // Makes truncated data an error.
        reader.set_relaxed_end_condition(false);
        reader.read_to_end(&mut out).map_err(UnpackError::new)?;
    }
    Ok(out)
}

/// Takes the memory of what is restored, bytes, out of the room that is left: a few bytes can become many rows, and one
/// histogram can be that of many operations.
fn take(room: &mut u64, bytes: u64) -> Result<(), UnpackError> {
    let left = room
        .checked_sub(bytes)
        .ok_or_else(|| UnpackError::new("it is too long"))?;
    *room = left;
    Ok(())
}

/// The value with each table as a list of objects.
fn rows(value: Value, room: &mut u64) -> Result<Value, UnpackError> {
    match value {
        Value::Array(list) => {
            let list = list.into_iter().map(|value| rows(value, room));
            list.collect::<Result<_, _>>().map(Value::Array)
        }
        Value::Object(mut map) => {
            if let Some(columns) = map.remove(TABLE) {
                return table(columns, room);
            }
            let map = match map.remove(PLAIN) {
                Some(Value::Object(plain)) => plain,
                Some(_) => return Err(UnpackError::new("a plain value is not an object")),
                None => map,
            };
            let inner = map.into_iter().map(|(key, value)| Ok((key, rows(value, room)?)));
            inner.collect::<Result<_, _>>().map(Value::Object)
        }
        other => Ok(other),
    }
}

fn table(columns: Value, room: &mut u64) -> Result<Value, UnpackError> {
    let Value::Object(columns) = columns else {
        return Err(UnpackError::new("a table is not an object"));
    };
    let mut table: Vec<Map<String, Value>> = Vec::new();
    for (marked, column) in columns {
        let Value::Array(column) = column else {
            return Err(UnpackError::new(format!("the column {marked} is not a list")));
        };
        if table.is_empty() {
            take(room, OBJECT.saturating_mul(column.len() as u64))?;
            table.resize_with(column.len(), Map::new);
        }
        if table.len() != column.len() {
            return Err(UnpackError::new(format!(
                "the column {marked} has a different length"
            )));
        }
        let mut sum = 0_i64;
        let (differences, name) = match marked.strip_prefix(DIFFERENCES) {
            Some(name) => (true, name),
            None => (false, marked.strip_prefix(VALUES).unwrap_or(&marked)),
        };
        let each = VALUE + name.len() as u64;
        take(room, each.saturating_mul(column.len() as u64))?;
        for (row, value) in table.iter_mut().zip(column) {
            let value = if differences {
                let step = value
                    .as_i64()
                    .ok_or_else(|| UnpackError::new("a difference is not a number"))?;
                sum = sum.wrapping_add(step);
                sum.into()
            } else {
                rows(value, room)?
            };
            row.insert(name.to_owned(), value);
        }
    }
    Ok(Value::Array(table.into_iter().map(Value::Object).collect()))
}

/// The text of a histogram.
fn histogram(bytes: &[u8]) -> Result<String, UnpackError> {
    let (cookie, counts) = bytes
        .split_at_checked(COOKIE)
        .ok_or_else(|| UnpackError::new("a histogram is truncated"))?;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(counts).and_then(|()| encoder.finish());
    let deflated = written.map_err(UnpackError::new)?;
    let length = (deflated.len() as u32).to_be_bytes();
    Ok(STANDARD.encode([cookie, &length, &deflated].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Head and series of a trial that an earlier version stored, without their format bytes.
    fn stored() -> (Vec<u8>, Vec<u8>) {
        let text = include_str!("../../tests/fixtures/schema-3.sql");
        let parts = text
            .lines()
            .filter(|line| line.starts_with("INSERT INTO \"trial\""));
        let parts = parts.map(|line| {
            let blobs: Vec<Vec<u8>> = line.split("X'").skip(1).map(bytes).collect();
            (
                blobs[0][1..].to_vec(),
                blobs[1].get(1..).unwrap_or_default().to_vec(),
            )
        });
        parts.max_by_key(|(_, series)| series.len()).expect("a trial")
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u32> = hex.chars().map_while(|digit| digit.to_digit(16)).collect();
        digits
            .chunks(2)
            .map(|pair| (pair[0] * 16 + pair[1]) as u8)
            .collect()
    }

    #[test]
    fn truncated_parts_are_refused() {
        let (first, second) = stored();
        assert!(head(&first).is_ok() && series(&second).is_ok_and(|series| !series.is_empty()));
        for length in 0..first.len() {
            assert!(head(&first[..length]).is_err(), "{length}");
        }
        for length in 0..second.len() {
            assert!(series(&second[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn tables_are_restored() {
        let stored = json!({ "~": { "+a": [i64::MAX, 1, -1], "=~": [1, { "~~": { "~": 2 } }, null], "==b": [[], {}, "t"] } });
        let expected = json!([
            { "a": i64::MAX, "~": 1, "=b": [] },
            { "a": i64::MIN, "~": { "~": 2 }, "=b": {} },
            { "a": i64::MAX, "~": null, "=b": "t" },
        ]);
        assert_eq!(rows(stored, &mut MOST_MEMORY.clone()).expect("a table"), expected);
    }

    /// A table has the name of a column once, and each row has it.
    #[test]
    fn few_bytes_do_not_become_many() {
        for (name, rows) in [("x".repeat(1 << 16), 1 << 16), ("x".to_owned(), 1 << 22)] {
            let stored = json!({ "~": { format!("={name}"): vec![0; rows] } });
            let error = super::rows(stored, &mut MOST_MEMORY.clone())
                .expect_err("too much")
                .to_string();
            assert!(error.contains("too long"), "{error}");
        }
    }

    #[test]
    fn an_excessive_length_is_refused() {
        let error = decompress(&[0xff; 20]).expect_err("4 GB").to_string();
        assert!(error.contains("too long"), "{error}");
    }

    proptest! {
        /// Arbitrary bytes cause no panic, and the result never exceeds its declared length.
        #[test]
        fn arbitrary_bytes_cause_no_panic(length in 0..100_000_u32, bytes: Vec<u8>) {
            let _ = histogram(&bytes);
            let bytes = [&length.to_le_bytes()[..], &[0], &bytes].concat();
            if let Ok(read) = decompress(&bytes) {
                prop_assert_eq!(read.len(), length as usize);
            }
        }
    }
}
