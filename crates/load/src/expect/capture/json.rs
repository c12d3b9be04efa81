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
pub(super) fn take(body: &[u8], path: &[String], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let found = At { path, out }.deserialize(&mut deserializer);
    match found.map_err(|_| "not JSON")? {
        Found::Value => Ok(()),
        Found::Null => Err("null"),
        Found::Nothing => Err("no such member"),
    }
}

/// A name, borrowed where it has no escape.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Writes the value at a path.
struct At<'a> {
    path: &'a [String],
    out: &'a mut Vec<u8>,
}

#[derive(Clone, Copy)]
enum Found {
    Nothing,
    Null,
    Value,
}

impl At<'_> {
    /// Handles a scalar, which is the value if the path ends here.
    fn end(self, value: impl fmt::Display) -> Found {
        if !self.path.is_empty() {
            return Found::Nothing;
        }
        write!(self.out, "{value}").expect("writing to memory does not fail");
        Found::Value
    }
}

impl<'de> DeserializeSeed<'de> for At<'_> {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Found, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for At<'_> {
    type Value = Found;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let Some((wanted, path)) = self.path.split_first() else {
            let value = Value::deserialize(MapAccessDeserializer::new(map))?;
            return Ok(self.end(&value));
        };
        let mut found = Found::Nothing;
        while let Some(Name(key)) = map.next_key()? {
            // Of duplicate names, only the first counts.
            if key == wanted.as_str() && matches!(found, Found::Nothing) {
                found = map.next_value_seed(At {
                    path,
                    out: &mut *self.out,
                })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Found, A::Error> {
        let Some((wanted, path)) = self.path.split_first() else {
            let value = Value::deserialize(SeqAccessDeserializer::new(list))?;
            return Ok(self.end(&value));
        };
        let wanted: Option<usize> = wanted.parse().ok();
        let (mut place, mut found) = (0, Found::Nothing);
        loop {
            if Some(place) == wanted {
                match list.next_element_seed(At {
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

    fn visit_bool<E>(self, value: bool) -> Result<Found, E> {
        Ok(self.end(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Found, E> {
        Ok(self.end(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Found, E> {
        Ok(self.end(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Found, E> {
        Ok(self.end(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Found, E> {
        Ok(self.end(value))
    }

    fn visit_unit<E>(self) -> Result<Found, E> {
        Ok(if self.path.is_empty() {
            Found::Null
        } else {
            Found::Nothing
        })
    }
}
