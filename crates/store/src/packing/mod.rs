//! Packs trials into few bytes: a head, which statistics need, and a series, which only charts need.
//!
//! Each part is JSON, compressed by zstd with a dictionary of what trials have in common, and starts with the byte
//! [`FORMAT`]. Packing is lossless. `research/trial-format.md` has the figures behind the format.

mod format_2;

use prony_records::bounded_json::{self, LONGEST};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::LazyLock;
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};

/// Format of both parts. Format 1 was never released; [`format_2`] is only read.
const FORMAT: u8 = 3;
/// Trained by `cargo xtask bench-store --train`. It must never change: what was compressed with it could no longer be
/// read. Another dictionary needs another format.
const DICTIONARY: &[u8] = include_bytes!("dictionary-3.bin");
/// Higher levels save 1 % more and take twice as long. May change at any time.
const LEVEL: i32 = 15;
/// What an export adds to a record on a line, at most, bytes.
const ENVELOPE: usize = 64;
/// Keys of tables that only charts need.
const SERIES: [&str; 4] = ["intervals", "distributions", "samples", "warm_up_samples"];
/// Key of a histogram in text form.
const HISTOGRAM: &str = "histogram";

static ENCODER: LazyLock<EncoderDictionary<'_>> =
    LazyLock::new(|| EncoderDictionary::copy(DICTIONARY, LEVEL));
static DECODER: LazyLock<DecoderDictionary<'_>> = LazyLock::new(|| DecoderDictionary::copy(DICTIONARY));

/// A trial as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackedTrial {
    /// Everything but the series; a valid trial by itself.
    pub(crate) head: Vec<u8>,
    /// Intervals, samples and histograms.
    pub(crate) series: Vec<u8>,
    /// Bytes of JSON of both.
    pub(crate) length: u64,
}

/// Bytes that are not a packed trial.
#[derive(Debug, thiserror::Error)]
#[error("the packed record is damaged: {0}")]
pub(crate) struct UnpackError(String);

impl UnpackError {
    #[allow(clippy::needless_pass_by_value, reason = "it takes errors as they come")]
    fn new(what: impl ToString) -> Self {
        Self(what.to_string())
    }
}

/// A record that is too long to be read again, from the store or from an export.
#[derive(Debug, thiserror::Error)]
#[error("it has {0} bytes as JSON, and a store accepts 256 MiB: measure for a shorter time")]
pub(crate) struct TooLong(usize);

/// Takes about 2 ms, mostly to find repetitions.
pub(crate) fn pack(mut record: Value) -> Result<PackedTrial, TooLong> {
    let mut taken = Map::new();
    take_series(&mut record, &mut String::new(), &mut taken);
    let head = record.to_string();
    let series = if taken.is_empty() {
        String::new()
    } else {
        Value::Object(taken).to_string()
    };
    let length = head.len() + series.len();
    if length > LONGEST - ENVELOPE {
        return Err(TooLong(length));
    }
    Ok(PackedTrial {
        head: part(&head),
        series: if series.is_empty() {
            Vec::new()
        } else {
            part(&series)
        },
        length: length as u64,
    })
}

fn part(json: &str) -> Vec<u8> {
    let compressed = || {
        let mut compressor = Compressor::with_prepared_dictionary(&ENCODER)?;
        compressor.include_checksum(true)?;
        compressor.compress(json.as_bytes())
    };
    let compressed = compressed().expect("invariant: compression in memory does not fail");
    [&[FORMAT], &compressed[..]].concat()
}

/// The trial without its series: tables are empty lists, histograms are empty strings.
pub(crate) fn head(bytes: &[u8]) -> Result<Value, UnpackError> {
    match format(bytes)? {
        (format_2::FORMAT, part) => format_2::head(part),
        (_, part) => parse(part),
    }
}

/// The trial with its series.
pub(crate) fn unpack(bytes: &[u8], series: &[u8]) -> Result<Value, UnpackError> {
    let mut record = head(bytes)?;
    if series.is_empty() {
        return Ok(record);
    }
    let series: Map<String, Value> = match format(series)? {
        (format_2::FORMAT, part) => format_2::series(part)?,
        (_, part) => parse(part)?,
    };
    for (path, value) in series {
        *record
            .pointer_mut(&path)
            .ok_or_else(|| UnpackError::new(format!("it has no {path}")))? = value;
    }
    Ok(record)
}

/// The format of a part, which is a known one, and the rest.
fn format(part: &[u8]) -> Result<(u8, &[u8]), UnpackError> {
    match part.split_first() {
        Some((&format @ (format_2::FORMAT | FORMAT), rest)) => Ok((format, rest)),
        Some((other, _)) => Err(UnpackError::new(format!(
            "its format is {other}, this prony supports {} to {FORMAT}",
            format_2::FORMAT
        ))),
        None => Err(UnpackError::new("it is empty")),
    }
}

/// Bytes of JSON that a part declares.
pub(crate) fn length(part: &[u8]) -> u64 {
    let declared = match format(part) {
        Ok((format_2::FORMAT, part)) => format_2::length(part),
        Ok((_, part)) => Decompressor::upper_bound(part),
        Err(_) => None,
    };
    declared.unwrap_or_default() as u64
}

fn parse<T: DeserializeOwned>(part: &[u8]) -> Result<T, UnpackError> {
    // Checked first, since it is allocated at once.
    let size = Decompressor::upper_bound(part)
        .filter(|&size| size <= LONGEST)
        .ok_or_else(|| UnpackError::new("it is truncated or too long"))?;
    let decompressed = Decompressor::with_prepared_dictionary(&DECODER)
        .and_then(|mut decompressor| decompressor.decompress(part, size))
        .map_err(UnpackError::new)?;
    bounded_json::parse(&decompressed).map_err(UnpackError::new)
}

/// Moves the series out of a record into `taken`, by their path.
fn take_series(value: &mut Value, path: &mut String, taken: &mut Map<String, Value>) {
    let parent = path.len();
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                path.push('/');
                path.push_str(&key.replace('~', "~0").replace('/', "~1"));
                let left = match inner {
                    Value::Array(rows) if SERIES.contains(&key.as_str()) && !rows.is_empty() => {
                        Some(Value::Array(Vec::new()))
                    }
                    Value::String(text) if key == HISTOGRAM && !text.is_empty() => {
                        Some(Value::String(String::new()))
                    }
                    _ => None,
                };
                match left {
                    Some(left) => {
                        taken.insert(path.clone(), std::mem::replace(inner, left));
                    }
                    None => take_series(inner, path, taken),
                }
                path.truncate(parent);
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter_mut().enumerate() {
                path.push('/');
                path.push_str(&index.to_string());
                take_series(inner, path, taken);
                path.truncate(parent);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_records::Histogram;
    use serde_json::json;

    fn record() -> Value {
        let mut histogram = Histogram::new();
        for step in 0..50_000_u64 {
            histogram.record(20_000 + step * step % 70_001);
        }
        let text = histogram.encode();
        let interval = |index: u64| {
            json!({ "start_s": index as f64 / 10.0, "length_s": 0.1, "completed": 1000 + index * 7 % 13, "errors": 0,
                    "response_time_ns_p99": if index == 3 { Value::Null } else { (90_000 + index * 17 % 900).into() } })
        };
        let intervals: Vec<Value> = (0..100).map(interval).collect();
        json!({
            "place": 3,
            "load": { "kind": "closed", "~": [1, 2, 3, 4] },
            "result": { "Ok": {
                "recording": {
                    "histogram": text, "intervals": intervals,
                    "operations": [{ "name": "a/b~c", "histogram": text }, { "name": "b", "histogram": "no histogram" }],
                },
                "service": { "samples": [{ "at_s": 1e-7, "cpu_ns": u64::MAX }, { "at_s": 2.0, "cpu_ns": null }] },
                "warm_up_samples": [],
            } },
        })
    }

    #[test]
    fn nothing_is_lost() {
        let packed = pack(record()).expect("short");
        let read = unpack(&packed.head, &packed.series).expect("own bytes");
        assert_eq!(read, record());
        let json = record().to_string().len();
        let all = packed.head.len() + packed.series.len();
        assert!(4 * all < json, "{json} bytes of JSON became {all}");
    }

    #[test]
    fn the_head_is_a_record_without_its_series() {
        let head = head(&pack(record()).expect("short").head).expect("own bytes");
        let recording = &head["result"]["Ok"]["recording"];
        assert_eq!(
            (&recording["histogram"], &recording["intervals"]),
            (&json!(""), &json!([]))
        );
        assert_eq!(head["load"], record()["load"]);
        let failed = json!({ "place": 0, "result": { "Err": { "reason": "r" } } });
        let packed = pack(failed.clone()).expect("short");
        assert!(packed.series.is_empty());
        assert_eq!(unpack(&packed.head, &packed.series).expect("own bytes"), failed);
    }

    #[test]
    fn what_could_not_be_read_again_is_not_packed() {
        let error = pack(json!({ "log": "x".repeat(LONGEST) }))
            .expect_err("too long")
            .to_string();
        assert!(error.contains("256 MiB"), "{error}");
        let packed = pack(record()).expect("short");
        assert_eq!(packed.length, length(&packed.head) + length(&packed.series));
    }

    #[test]
    fn damaged_bytes_are_told() {
        let packed = pack(record()).expect("short");
        let mut flipped = packed.clone();
        let middle = flipped.series.len() / 2;
        flipped.series[middle] ^= 1;
        assert!(
            unpack(&flipped.head, &flipped.series).is_err(),
            "the checksum differs"
        );
        for length in 0..packed.head.len() {
            assert!(head(&packed.head[..length]).is_err(), "{length}");
        }
        for length in 1..packed.series.len() {
            let cut = unpack(&packed.head, &packed.series[..length]);
            assert!(cut.is_err(), "{length}");
        }
        let mut other = packed.head;
        other[0] = 4;
        let told = head(&other).expect_err("another form").to_string();
        assert!(told.contains("format is 4"), "{told}");
    }
}
