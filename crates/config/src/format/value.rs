//! Values of any shape, each part with its position.

use super::Spanned;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// A value with its position.
pub(crate) type SpannedValue = Spanned<TomlValue>;

/// A value of any shape: JSON, messages, data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TomlValue {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    List(Vec<SpannedValue>),
    /// The members in the order of the file.
    Table(Vec<(Spanned<String>, SpannedValue)>),
}

impl TomlValue {
    /// The value as JSON.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => Value::from(text.as_str()),
            Self::Integer(number) => Value::from(*number),
            Self::Float(number) => Value::from(*number),
            Self::Boolean(truth) => Value::from(*truth),
            Self::List(items) => items.iter().map(|item| item.get_ref().to_json()).collect(),
            Self::Table(members) => members
                .iter()
                .map(|(name, member)| (name.get_ref().clone(), member.get_ref().to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }

    /// Calls `each` with every text of the value, and its position.
    pub(crate) fn texts<'a>(value: &'a SpannedValue, each: &mut impl FnMut(&'a str, std::ops::Range<usize>)) {
        match value.get_ref() {
            Self::Text(text) => each(text, value.span()),
            Self::List(items) => items.iter().for_each(|item| Self::texts(item, each)),
            Self::Table(members) => {
                for (name, member) in members {
                    each(name.get_ref(), name.span());
                    Self::texts(member, each);
                }
            }
            Self::Integer(_) | Self::Float(_) | Self::Boolean(_) => {}
        }
    }
}

/// As JSON.
impl Serialize for TomlValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TomlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyValue;
        impl<'de> Visitor<'de> for AnyValue {
            type Value = TomlValue;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value")
            }

            fn visit_bool<E>(self, truth: bool) -> Result<TomlValue, E> {
                Ok(TomlValue::Boolean(truth))
            }

            fn visit_i64<E>(self, number: i64) -> Result<TomlValue, E> {
                Ok(TomlValue::Integer(number))
            }

            fn visit_f64<E>(self, number: f64) -> Result<TomlValue, E> {
                Ok(TomlValue::Float(number))
            }

            fn visit_str<E>(self, text: &str) -> Result<TomlValue, E> {
                Ok(TomlValue::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<TomlValue, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                Ok(TomlValue::List(items))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TomlValue, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(TomlValue::Table(members))
            }
        }
        deserializer.deserialize_any(AnyValue)
    }
}

impl JsonSchema for TomlValue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer", "number", "boolean", "array", "object"] })
    }
}
