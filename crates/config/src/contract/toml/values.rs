//! Values with more than one notation.

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A header's text, several texts for a repeated header, or `false` for an absent one.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) enum HeaderText {
    Absent,
    Texts(Vec<String>),
}

impl<'de> Deserialize<'de> for HeaderText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = HeaderText;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text, a list of texts, or false for an absent header")
            }

            fn visit_bool<E: de::Error>(self, there: bool) -> Result<HeaderText, E> {
                if there {
                    Err(E::invalid_value(de::Unexpected::Bool(true), &self))
                } else {
                    Ok(HeaderText::Absent)
                }
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<HeaderText, E> {
                Ok(HeaderText::Texts(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<HeaderText, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(HeaderText::Texts)
            }
        }
        deserializer.deserialize_any(Texts)
    }
}

/// One value, or a list of them.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct OneOrMany<T>(pub(crate) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Values<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Values<T> {
            type Value = OneOrMany<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value or a list of values")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                Ok(OneOrMany(vec![T::deserialize(number.into_deserializer())?]))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(OneOrMany(vec![T::deserialize(text.into_deserializer())?]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(OneOrMany)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Ok(OneOrMany(vec![T::deserialize(MapAccessDeserializer::new(map))?]))
            }
        }
        deserializer.deserialize_any(Values(PhantomData))
    }
}
