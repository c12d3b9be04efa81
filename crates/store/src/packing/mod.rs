//! Packs trials into few bytes: a head, which statistics need, and a series, which only charts need.
//!
//! A trial is JSON. Its tables (intervals, samples) are written by column, with numbers as differences; each part is
//! compressed with a dictionary of the words that every trial contains. Packing is lossless. Each part starts with
//! [`FORMAT`], which distinguishes it from later formats. `research/trial-format.md` compares the format with zstd.

mod columns;
mod histogram;
mod lzma;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Format of both parts. Format 1 was never released.
const FORMAT: u8 = 2;
/// Keys of tables that only charts need.
const SERIES: [&str; 3] = ["intervals", "samples", "warm_up_samples"];
/// Key of a histogram in text form.
const HISTOGRAM: &str = "histogram";

/// A trial as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackedTrial {
    /// Everything but the series; a valid trial by itself.
    pub(crate) head: Vec<u8>,
    /// Intervals, samples and histograms.
    pub(crate) series: Vec<u8>,
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

/// A series before compression, in the format of [postcard](https://postcard.jamesmunns.com/wire-format).
#[derive(Serialize, Deserialize)]
struct Series<'a> {
    /// JSON: tables by their path in the record, and the index of each histogram.
    tables: &'a str,
    #[serde(borrow)]
    histograms: Vec<&'a [u8]>,
}

/// Takes about 3 ms and 2 MB of memory, mostly to find repetitions.
pub(crate) fn pack(mut record: Value) -> PackedTrial {
    let mut taken = ExtractedSeries::default();
    taken.take(&mut record, &mut String::new());
    let series = if taken.tables.is_empty() {
        Vec::new()
    } else {
        let series = Series {
            tables: &Value::Object(taken.tables).to_string(),
            histograms: taken.histograms.iter().map(Vec::as_slice).collect(),
        };
        part(&postcard::to_allocvec(&series).expect("invariant: a series is plain data"))
    };
    let head = part(columns::to_columns(record).to_string().as_bytes());
    PackedTrial { head, series }
}

fn part(bytes: &[u8]) -> Vec<u8> {
    [&[FORMAT], &lzma::compress(bytes)[..]].concat()
}

/// The trial without its series: tables are empty lists, histograms are empty strings.
pub(crate) fn head(bytes: &[u8]) -> Result<Value, UnpackError> {
    let value: Value = serde_json::from_slice(&decompress_part(bytes)?).map_err(UnpackError::new)?;
    columns::to_rows(value)
}

/// The trial with its series.
pub(crate) fn unpack(bytes: &[u8], series: &[u8]) -> Result<Value, UnpackError> {
    let mut record = head(bytes)?;
    if series.is_empty() {
        return Ok(record);
    }
    let series = decompress_part(series)?;
    let series: Series<'_> = postcard::from_bytes(&series).map_err(UnpackError::new)?;
    let tables: Map<String, Value> = serde_json::from_str(series.tables).map_err(UnpackError::new)?;
    let histograms = series.histograms.into_iter().map(histogram::to_text);
    let histograms: Vec<String> = histograms.collect::<Result<_, _>>()?;
    for (place, table) in tables {
        let whole = match table.as_u64() {
            // A number is the index of a histogram.
            Some(index) => {
                let text = histograms.get(index as usize).cloned();
                Value::String(text.ok_or_else(|| UnpackError::new("a histogram is missing"))?)
            }
            None => columns::to_rows(table)?,
        };
        *record
            .pointer_mut(&place)
            .ok_or_else(|| UnpackError::new(format!("it has no {place}")))? = whole;
    }
    Ok(record)
}

fn decompress_part(part: &[u8]) -> Result<Vec<u8>, UnpackError> {
    match part.split_first() {
        Some((&FORMAT, rest)) => lzma::decompress(rest),
        Some((other, _)) => Err(UnpackError::new(format!(
            "its format is {other}, this prony supports {FORMAT}"
        ))),
        None => Err(UnpackError::new("it is empty")),
    }
}

/// The parts that were taken out of a record, by their path.
#[derive(Default)]
struct ExtractedSeries {
    tables: Map<String, Value>,
    /// Each histogram once: with a single operation, its histogram equals that of the whole.
    histograms: Vec<Vec<u8>>,
    texts: Vec<String>,
}

impl ExtractedSeries {
    fn take(&mut self, value: &mut Value, place: &mut String) {
        match value {
            Value::Object(map) => {
                for (key, inner) in map {
                    let before = place.len();
                    place.push('/');
                    place.push_str(&key.replace('~', "~0").replace('/', "~1"));
                    self.take_one(key, inner, place);
                    place.truncate(before);
                }
            }
            Value::Array(list) => {
                for (index, inner) in list.iter_mut().enumerate() {
                    let before = place.len();
                    place.push('/');
                    place.push_str(&index.to_string());
                    self.take(inner, place);
                    place.truncate(before);
                }
            }
            _ => {}
        }
    }

    fn take_one(&mut self, key: &str, value: &mut Value, place: &mut String) {
        match value {
            Value::Array(rows) if SERIES.contains(&key) && !rows.is_empty() => {
                let table = columns::to_columns(Value::Array(std::mem::take(rows)));
                self.tables.insert(place.clone(), table);
            }
            Value::String(text) if key == HISTOGRAM => {
                let index = self.texts.iter().position(|known| known == text).or_else(|| {
                    self.histograms.push(histogram::to_bytes(text)?);
                    self.texts.push(text.clone());
                    Some(self.texts.len() - 1)
                });
                if let Some(index) = index {
                    text.clear();
                    self.tables.insert(place.clone(), index.into());
                }
            }
            _ => self.take(value, place),
        }
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
        let packed = pack(record());
        let read = unpack(&packed.head, &packed.series).expect("own bytes");
        assert_eq!(read, record());
        let json = record().to_string().len();
        let all = packed.head.len() + packed.series.len();
        assert!(4 * all < json, "{json} bytes of JSON became {all}");
    }

    #[test]
    fn the_head_is_a_record_without_its_series() {
        let head = head(&pack(record()).head).expect("own bytes");
        let recording = &head["result"]["Ok"]["recording"];
        assert_eq!(
            (&recording["histogram"], &recording["intervals"]),
            (&json!(""), &json!([]))
        );
        assert_eq!(recording["operations"][1]["histogram"], "no histogram");
        assert_eq!(head["load"], record()["load"]);
        let failed = json!({ "place": 0, "result": { "Err": { "reason": "r" } } });
        let packed = pack(failed.clone());
        assert!(packed.series.is_empty());
        assert_eq!(unpack(&packed.head, &packed.series).expect("own bytes"), failed);
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        let packed = pack(record());
        for length in 0..packed.head.len() {
            assert!(head(&packed.head[..length]).is_err(), "{length}");
        }
        for length in 1..packed.series.len() {
            let cut = unpack(&packed.head, &packed.series[..length]);
            assert!(cut.is_err(), "{length}");
        }
        let mut other = packed.head;
        other[0] = 3;
        let told = head(&other).expect_err("another form").to_string();
        assert!(told.contains("format is 3"), "{told}");
    }
}
