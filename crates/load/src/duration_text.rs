//! Durations as people write them: `250ms`, `30s`, `1m 30s`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// A duration written as `250ms`, `30s`, `2m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct DurationText(pub Duration);

/// A text that is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// A number without a unit.
    #[error("`{text}` has no unit: write {text}s")]
    Unit {
        /// The text as written.
        text: String,
    },
    /// A unit in other words, or a space before it.
    #[error("`{text}` is not a duration: write {instead}")]
    Form {
        /// The text as written.
        text: String,
        /// The same duration as it must be written.
        instead: String,
    },
    /// Any other text.
    #[error(
        "`{text}` is not a duration: write a number with ns, us, ms, s, m, h or d, as in 250ms, 30s or 2m"
    )]
    Text {
        /// The text as written.
        text: String,
    },
    /// A duration that is too long or too precise.
    #[error("`{text}` is not a duration of whole nanoseconds below 584 years")]
    Size {
        /// The text as written.
        text: String,
    },
}

/// Units with their length in ns, from the longest to the shortest.
const UNITS: [(&str, u128); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl DurationText {
    /// Whole nanoseconds; a duration above 584 years is capped there.
    pub fn as_ns(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for DurationText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_nanos();
        if rest == 0 {
            return formatter.write_str("0s");
        }
        let mut between = "";
        for (unit, length) in UNITS {
            if rest >= length {
                write!(formatter, "{between}{}{unit}", rest / length)?;
                rest %= length;
                between = " ";
            }
        }
        Ok(())
    }
}

impl std::str::FromStr for DurationText {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let owned = || text.to_owned();
        let terms = terms(text).ok_or_else(|| DurationError::Text { text: owned() })?;
        if let [(_, "")] = terms.as_slice() {
            return Err(DurationError::Unit { text: owned() });
        }
        let units: Option<Vec<&str>> = terms.iter().map(|(_, unit)| canonical_unit(unit)).collect();
        let units = units.ok_or_else(|| DurationError::Text { text: owned() })?;
        let numbers = terms.iter().map(|(number, _)| number);
        let canonical: Vec<String> = numbers
            .zip(units)
            .map(|(number, unit)| format!("{number}{unit}"))
            .collect();
        if text != canonical.join(" ") && text != canonical.concat() {
            return Err(DurationError::Form {
                text: owned(),
                instead: canonical.join(" "),
            });
        }
        let parsed = humantime::parse_duration(text);
        parsed
            .map(Self)
            .map_err(|_| DurationError::Size { text: owned() })
    }
}

/// Splits a text into numbers and the words after them; a number at its end has the word `""`.
fn terms(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut terms = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let number = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let (number, after) = rest.split_at(number.unwrap_or(rest.len()));
        if !is_number(number) {
            return None;
        }
        let after = after.trim_start();
        let word = after.find(|letter: char| letter.is_ascii_digit() || letter.is_whitespace());
        let (word, after) = after.split_at(word.unwrap_or(after.len()));
        terms.push((number, word));
        rest = after.trim_start();
    }
    (!terms.is_empty()).then_some(terms)
}

/// Whether it consists of digits, with a fraction if it has a point.
fn is_number(text: &str) -> bool {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once('.') {
        None => is_digits(text),
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction),
    }
}

/// The unit that a word means.
fn canonical_unit(word: &str) -> Option<&'static str> {
    Some(match word.to_lowercase().as_str() {
        "ns" | "nsec" | "nsecs" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => "ns",
        "us" | "µs" | "μs" | "usec" | "usecs" | "micro" | "micros" | "microsecond" | "microseconds" => "us",
        "ms" | "msec" | "msecs" | "milli" | "millis" | "millisecond" | "milliseconds" => "ms",
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "m" | "min" | "mins" | "minute" | "minutes" => "m",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        "d" | "day" | "days" => "d",
        _ => return None,
    })
}

impl<'de> Deserialize<'de> for DurationText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl Serialize for DurationText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for DurationText {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "duration",
            "description": "A duration: 250ms, 30s, 2m.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_with_units_are_durations() {
        for (text, ns) in [
            ("0s", 0),
            ("7ns", 7),
            ("250us", 250_000),
            ("250ms", 250_000_000),
            ("1.5s", 1_500_000_000),
            ("1m30s", 90_000_000_000),
            ("1m 30s", 90_000_000_000),
            ("2h", 7_200_000_000_000),
            ("2d", 172_800_000_000_000),
        ] {
            let duration: DurationText = text.parse().expect(text);
            assert_eq!(duration.as_ns(), ns, "{text}");
        }
    }

    #[test]
    fn other_texts_are_reported_with_what_to_write() {
        for (text, told) in [
            ("5", "`5` has no unit: write 5s"),
            ("2 sec", "`2 sec` is not a duration: write 2s"),
            ("2 s", "`2 s` is not a duration: write 2s"),
            ("1min", "`1min` is not a duration: write 1m"),
            ("3 hr", "`3 hr` is not a duration: write 3h"),
            ("1 day", "`1 day` is not a duration: write 1d"),
            ("20msec", "`20msec` is not a duration: write 20ms"),
            ("20 millis", "`20 millis` is not a duration: write 20ms"),
            ("7µs", "`7µs` is not a duration: write 7us"),
            ("2S", "`2S` is not a duration: write 2s"),
            (
                "1 minute 30 seconds",
                "`1 minute 30 seconds` is not a duration: write 1m 30s",
            ),
            (" 2s", "` 2s` is not a duration: write 2s"),
            ("3 months", "`3 months` is not a duration: write a number with"),
            ("1m 30", "`1m 30` is not a duration: write a number with"),
            ("-1s", "`-1s` is not a duration: write a number with"),
            ("1.s", "`1.s` is not a duration: write a number with"),
            ("soon", "`soon` is not a duration: write a number with"),
            ("", "`` is not a duration: write a number with"),
            ("99999999999999999999d", "below 584 years"),
        ] {
            let error = text.parse::<DurationText>().expect_err(text).to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn the_schema_is_that_of_a_text() {
        let schema = schemars::schema_for!(DurationText);
        assert_eq!(
            schema.get("format").and_then(|format| format.as_str()),
            Some("duration")
        );
    }

    proptest! {
        #[test]
        fn a_displayed_duration_is_read_again(ns in any::<u64>()) {
            let duration = DurationText(Duration::from_nanos(ns));
            prop_assert_eq!(duration.to_string().parse(), Ok(duration));
        }
    }
}
