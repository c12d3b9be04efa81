//! Keys of a group that take one value or a list: a table with lists is a group for each combination.

use crate::Channel;
use crate::format::Spanned;
use crate::load_table::LoadToml;
use prony_load::Rate;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU32;

/// A load whose rate and number of connections may be lists.
pub(super) type LoadsToml = LoadToml<OneOrMore<NonZeroU32>, OneOrMore<Rate>>;

/// One value, or a list of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OneOrMore<T> {
    One(T),
    More(Vec<Spanned<T>>),
}

/// What distinguishes a group from the others of the same `[[group]]` table.
#[derive(Debug, Clone, PartialEq)]
pub enum Factor {
    Channel(Channel),
    Workload(String),
    Rate(Rate),
    Connections(u32),
}

impl fmt::Display for Factor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channel(channel) => formatter.write_str(channel.word()),
            Self::Workload(name) => write!(formatter, "workload `{name}`"),
            Self::Rate(rate) => rate.fmt(formatter),
            Self::Connections(1) => formatter.write_str("1 connection"),
            Self::Connections(count) => write!(formatter, "{count} connections"),
        }
    }
}

impl<T: Clone> OneOrMore<T> {
    /// Each value with its position, and whether it is one of several.
    pub(super) fn each(written: &Spanned<Self>) -> Vec<(Spanned<T>, bool)> {
        match written.get_ref() {
            Self::One(value) => vec![(Spanned::new(written.span(), value.clone()), false)],
            Self::More(values) => values
                .iter()
                .map(|value| (value.clone(), values.len() > 1))
                .collect(),
        }
    }
}

/// The loads of a table in the order of its lists, rates outermost, and what distinguishes each.
pub(super) fn loads(written: &LoadsToml) -> Vec<(LoadToml, Vec<Factor>)> {
    let rates = levels(written.rate(), |rate| Factor::Rate(*rate));
    let connections = levels(written.connections(), |connections| {
        Factor::Connections(connections.get())
    });
    let mut loads = Vec::new();
    for (rate, first) in &rates {
        for (number, second) in &connections {
            let load = written.with(rate.clone(), number.clone());
            loads.push((load, first.iter().chain(second).cloned().collect()));
        }
    }
    loads
}

/// The values of a key, and what each distinguishes; a single `None` for a key that the table does not have.
fn levels<T: Clone>(
    written: Option<&Spanned<OneOrMore<T>>>,
    factor: impl Fn(&T) -> Factor,
) -> Vec<(Option<Spanned<T>>, Option<Factor>)> {
    let Some(written) = written else {
        return vec![(None, None)];
    };
    let each = OneOrMore::each(written).into_iter();
    each.map(|(value, several)| {
        let factor = several.then(|| factor(value.get_ref()));
        (Some(value), factor)
    })
    .collect()
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Values<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Values<T> {
            type Value = OneOrMore<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value or a list of values")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                T::deserialize(number.into_deserializer()).map(OneOrMore::One)
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
                T::deserialize(number.into_deserializer()).map(OneOrMore::One)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                T::deserialize(text.into_deserializer()).map(OneOrMore::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(OneOrMore::More)
            }
        }
        deserializer.deserialize_any(Values(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMore<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMore_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({
            "anyOf": [one, { "type": "array", "items": one, "minItems": 1, "uniqueItems": true }]
        })
    }
}
