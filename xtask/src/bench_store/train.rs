//! Trains the dictionary with which the store compresses trials.
//!
//! It should contain what all trials have in common, and nothing of the machine and the runs that it was trained from. So it is
//! trained from many copies with different numbers, and with random letters instead of names, versions and histograms.

use super::{KEPT, read_export};
use anyhow::{Context as _, Result};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Map, Value};
use std::fs;
use std::path::Path;

const DICTIONARY: &str = "crates/store/src/packing/dictionary-3.bin";
const DICTIONARY_BYTES: usize = 32 << 10;
/// Trials that the tests keep.
const FIXTURE: &str = "crates/store/tests/fixtures/export-1.jsonl";
const COPIES: usize = 1000;
/// Longer texts belong to one machine or run, and with digits even shorter ones do.
const LONGEST_WORD: usize = 24;
const LONGEST_NUMBERED: usize = 8;
/// Keys of sentences that prony writes.
const SENTENCES: [&str; 2] = ["advice", "sentence"];
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Keys that the store moves from the head of a trial to its series.
const SERIES: [&str; 4] = ["histogram", "intervals", "samples", "warm_up_samples"];

pub(super) fn run(root: &Path, mut trials: Vec<Value>) -> Result<()> {
    trials.extend(read_export(&root.join(FIXTURE), 0)?.1);
    let mut random = StdRng::seed_from_u64(1);
    let mut samples = Vec::new();
    for trial in trials.iter().cycle().take(COPIES) {
        let mut trial = trial.clone();
        let factor = random.random_range(0.5..2.0);
        disguise(&mut trial, factor, &mut random);
        let mut series = Map::new();
        take_series(&mut trial, "", &mut series);
        samples.push(trial.to_string());
        samples.push(Value::Object(series).to_string());
    }
    let dictionary = zstd::dict::from_samples(&samples, DICTIONARY_BYTES).context("cannot train")?;
    fs::write(root.join(DICTIONARY), &dictionary)?;
    println!(
        "{DICTIONARY}: {} bytes, from {COPIES} copies of {} trials",
        dictionary.len(),
        trials.len()
    );
    Ok(())
}

fn disguise(value: &mut Value, factor: f64, random: &mut StdRng) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let key = key.as_str();
                if key == "histogram" || !(KEPT.contains(&key) || SENTENCES.contains(&key)) {
                    disguise(field, factor, random);
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                disguise(value, factor, random);
            }
        }
        Value::Number(number) => {
            let factor = factor * random.random_range(0.99..1.01);
            if let Some(whole) = number.as_u64() {
                if whole > 20 {
                    *value = ((whole as f64 * factor) as u64).into();
                }
            } else if let Some(real) = number.as_f64() {
                *value = (real * factor).into();
            }
        }
        Value::String(text) if is_particular(text) => {
            let letter = |letter: char| {
                if letter.is_ascii_alphanumeric() || "+/".contains(letter) {
                    char::from(LETTERS[random.random_range(0..LETTERS.len())])
                } else {
                    letter
                }
            };
            *text = text.chars().map(letter).collect();
        }
        _ => {}
    }
}

fn is_particular(text: &str) -> bool {
    text.len() > LONGEST_WORD
        || text.len() > LONGEST_NUMBERED && text.contains(|letter: char| letter.is_ascii_digit())
}

fn take_series(value: &mut Value, path: &str, series: &mut Map<String, Value>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let path = format!("{path}/{key}");
                if SERIES.contains(&key.as_str()) {
                    let empty = if field.is_array() {
                        Value::Array(Vec::new())
                    } else {
                        "".into()
                    };
                    series.insert(path, std::mem::replace(field, empty));
                } else {
                    take_series(field, &path, series);
                }
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter_mut().enumerate() {
                take_series(value, &format!("{path}/{index}"), series);
            }
        }
        _ => {}
    }
}
