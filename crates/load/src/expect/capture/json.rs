//! Resolves a JSON pointer in a body.

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::io::Write as _;

/// Appends the value at a pointer. Only the path to it is parsed, and nothing is allocated for names and strings
/// without escapes.
pub(super) fn take(body: &[u8], path: &[String], out: &mut Vec<u8>) -> Result<PathMatch, &'static str> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let found = JsonPathCursor { path, out }.deserialize(&mut deserializer);
    found.map_err(|_| "not JSON")
}

/// A name, borrowed where it has no escape.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Writes the value at a path.
struct JsonPathCursor<'a> {
    path: &'a [String],
    out: &'a mut Vec<u8>,
}

/// What is at a path.
#[derive(Clone, Copy)]
pub(super) enum PathMatch {
    Nothing,
    Null,
    /// A string; its text was appended.
    Text,
    /// Any other value, which was appended as JSON.
    Value,
}

impl JsonPathCursor<'_> {
    /// Handles a scalar, which is the value if the path ends here.
    fn end(self, value: impl fmt::Display) -> PathMatch {
        if !self.path.is_empty() {
            return PathMatch::Nothing;
        }
        write!(self.out, "{value}").expect("writing to memory does not fail");
        PathMatch::Value
    }
}

impl<'de> DeserializeSeed<'de> for JsonPathCursor<'_> {
    type Value = PathMatch;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<PathMatch, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonPathCursor<'_> {
    type Value = PathMatch;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PathMatch, A::Error> {
        let Some((wanted, path)) = self.path.split_first() else {
            let value = Value::deserialize(MapAccessDeserializer::new(map))?;
            return Ok(self.end(&value));
        };
        let mut found = PathMatch::Nothing;
        while let Some(Name(key)) = map.next_key()? {
            // Of duplicate names, only the first counts.
            if key == wanted.as_str() && matches!(found, PathMatch::Nothing) {
                found = map.next_value_seed(JsonPathCursor {
                    path,
                    out: &mut *self.out,
                })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PathMatch, A::Error> {
        let Some((wanted, path)) = self.path.split_first() else {
            let value = Value::deserialize(SeqAccessDeserializer::new(list))?;
            return Ok(self.end(&value));
        };
        let wanted: Option<usize> = wanted.parse().ok();
        let (mut place, mut found) = (0, PathMatch::Nothing);
        loop {
            if Some(place) == wanted {
                match list.next_element_seed(JsonPathCursor {
                    path,
                    out: &mut *self.out,
                })? {
                    Some(value) => found = value,
                    None => return Ok(found),
                }
            } else if list.next_element::<IgnoredAny>()?.is_none() {
                return Ok(found);
            }
            place += 1;
        }
    }

    fn visit_bool<E>(self, value: bool) -> Result<PathMatch, E> {
        Ok(self.end(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<PathMatch, E> {
        Ok(self.end(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<PathMatch, E> {
        Ok(self.end(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<PathMatch, E> {
        Ok(self.end(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<PathMatch, E> {
        if !self.path.is_empty() {
            return Ok(PathMatch::Nothing);
        }
        self.out.extend_from_slice(value.as_bytes());
        Ok(PathMatch::Text)
    }

    fn visit_unit<E>(self) -> Result<PathMatch, E> {
        Ok(match self.end("null") {
            PathMatch::Value => PathMatch::Null,
            other => other,
        })
    }
}
