//! Parses JSON of records that may come from anyone, with bounds on its length and on the memory that it takes.

use serde::de::{DeserializeOwned, Error as _};

/// Upper limit for a record, bytes of JSON: a line of an export, a part of a stored trial, a report.
pub const LONGEST: usize = 1 << 28;
/// Upper limit for the memory of a parsed record, bytes. Records of trials take a tenth of it.
pub const MOST_MEMORY: u64 = 1 << 31;
/// Memory of a value, bytes.
pub const VALUE: u64 = 32;
/// Memory of an object with its first keys, bytes.
pub const OBJECT: u64 = 700;

/// Parses a record. One that is too long, or whose values would take too much memory, is refused before it is parsed.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    if bytes.len() > LONGEST {
        return Err(serde_json::Error::custom("it is longer than 256 MiB"));
    }
    if memory(bytes) > MOST_MEMORY {
        let reason = "its values would take more than 2 GiB of memory";
        return Err(serde_json::Error::custom(reason));
    }
    serde_json::from_slice(bytes)
}

/// Upper limit of the memory that the values take. A few bytes of text can become a value of many bytes.
fn memory(bytes: &[u8]) -> u64 {
    let (mut values, mut objects) = (0_u64, 0_u64);
    for &byte in bytes {
        values += u64::from(matches!(byte, b',' | b'[' | b':'));
        objects += u64::from(byte == b'{');
    }
    bytes.len() as u64 + VALUE * values + OBJECT * objects
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn many_small_values_are_refused_before_they_take_memory() {
        let objects = format!("[{}0]", "{},".repeat(4 << 20));
        let lists = format!("[{}0]", "[],".repeat(34 << 20));
        for text in [objects, lists] {
            let Err(error) = parse::<Value>(text.as_bytes()) else {
                panic!("it was parsed");
            };
            let error = error.to_string();
            assert!(error.contains("2 GiB of memory"), "{error}");
        }
        let text = format!("\"{}\"", "{[".repeat(1 << 10));
        assert!(parse::<Value>(text.as_bytes()).is_ok());
    }

    #[test]
    fn a_record_that_is_too_long_is_refused() {
        let error = parse::<Value>(&vec![b' '; LONGEST + 1])
            .expect_err("too long")
            .to_string();
        assert!(error.contains("256 MiB"), "{error}");
    }
}
