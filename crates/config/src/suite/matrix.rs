//! Keys of a group that take one value or a list: a table with lists is a group for each combination.

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
    Workload(String),
    Rate(Rate),
    Connections(u32),
}

impl fmt::Display for Factor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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
    let rates = |rates: &Spanned<OneOrMore<Rate>>| {
        let each = OneOrMore::each(rates).into_iter();
        each.map(|(rate, several)| {
            let factor = several.then(|| Factor::Rate(*rate.get_ref()));
            (rate, factor)
        })
        .collect::<Vec<_>>()
    };
    let numbers = |connections: &Spanned<OneOrMore<NonZeroU32>>| {
        let each = OneOrMore::each(connections).into_iter();
        each.map(|(connections, several)| {
            let factor = several.then(|| Factor::Connections(connections.get_ref().get()));
            (connections, factor)
        })
        .collect::<Vec<_>>()
    };
    match written {
        LoadToml::Closed {
            connections,
            in_flight,
            room_size,
        } => numbers(connections)
            .into_iter()
            .map(|(connections, factor)| {
                let load = LoadToml::Closed {
                    connections,
                    in_flight: *in_flight,
                    room_size: room_size.clone(),
                };
                (load, factor.into_iter().collect())
            })
            .collect(),
        LoadToml::Open {
            rate,
            ramp,
            steps,
            spacing,
            connections,
            in_flight,
            backlog,
            room_size,
        } => rates(rate)
            .into_iter()
            .flat_map(|rate| numbers(connections).into_iter().map(move |number| (rate.clone(), number)))
            .map(|((rate, first), (connections, second))| {
                let load = LoadToml::Open {
                    rate,
                    ramp: *ramp,
                    steps: steps.clone(),
                    spacing: *spacing,
                    connections,
                    in_flight: *in_flight,
                    backlog: *backlog,
                    room_size: room_size.clone(),
                };
                (load, first.into_iter().chain(second).collect())
            })
            .collect(),
        LoadToml::Users {
            rate,
            ramp,
            spacing,
            requests_per_user,
            think,
            max_users,
        } => rates(rate)
            .into_iter()
            .map(|(rate, factor)| {
                let load = LoadToml::Users {
                    rate,
                    ramp: *ramp,
                    spacing: *spacing,
                    requests_per_user: *requests_per_user,
                    think: *think,
                    max_users: *max_users,
                };
                (load, factor.into_iter().collect())
            })
            .collect(),
    }
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
