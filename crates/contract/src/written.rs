//! The contract file as it is written, key by key.

use crate::source::WrittenSource;
use prony_load::{Pick, WrittenDuration, WrittenLoad};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use toml::Spanned;

#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenContract {
    pub(crate) name: Spanned<String>,
    pub(crate) title: String,
    pub(crate) summary: String,
    pub(crate) document: Option<String>,
    pub(crate) proto: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) without: Vec<Spanned<String>>,
    pub(crate) backend: Option<WrittenBackend>,
    #[serde(default)]
    pub(crate) data: BTreeMap<String, toml::Value>,
    /// Tokens that requests carry, by the name of their place.
    #[serde(default)]
    pub(crate) jwt: BTreeMap<String, Spanned<WrittenJwt>>,
    #[serde(default)]
    pub(crate) operation: BTreeMap<String, Spanned<WrittenOperation>>,
    #[serde(default)]
    pub(crate) case: Vec<Spanned<WrittenCase>>,
    #[serde(default)]
    pub(crate) workload: BTreeMap<String, Spanned<WrittenWorkload>>,
}

impl WrittenContract {
    /// Operations and workloads that no contract file holds.
    pub(crate) fn of(
        jwt: BTreeMap<String, Spanned<WrittenJwt>>,
        operation: BTreeMap<String, Spanned<WrittenOperation>>,
        workload: BTreeMap<String, Spanned<WrittenWorkload>>,
    ) -> Self {
        Self {
            name: Spanned::new(0..0, String::new()),
            title: String::new(),
            summary: String::new(),
            document: None,
            proto: None,
            without: Vec::new(),
            backend: None,
            data: BTreeMap::new(),
            jwt,
            operation,
            case: Vec::new(),
            workload,
        }
    }
}

#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenBackend {
    pub(crate) delay: WrittenDuration,
}

/// `{ alg = "HS256", key = "…", claims = { sub = "{user}", exp = "1h" } }`
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenJwt {
    pub(crate) alg: Algorithm,
    pub(crate) key: WrittenKey,
    /// Texts may have places for the columns of the workload's table.
    #[serde(default)]
    pub(crate) claims: serde_json::Map<String, serde_json::Value>,
    /// Further members of the header, like `kid`.
    #[serde(default)]
    pub(crate) header: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Clone, Copy, serde::Deserialize)]
pub(crate) enum Algorithm {
    #[serde(rename = "HS256")]
    Hs256,
    #[serde(rename = "ES256")]
    Es256,
}

/// The key itself, a file of the folder that holds it, or the environment variable that does.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(
    untagged,
    expecting = "a text, { file = \"key.pem\" } or { variable = \"JWT_KEY\" }"
)]
pub(crate) enum WrittenKey {
    Text(String),
    File { file: String },
    Variable { variable: String },
}

/// One kind of call.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenOperation {
    pub(crate) summary: String,
    pub(crate) http: Option<Spanned<String>>,
    pub(crate) grpc: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) with: BTreeMap<String, Spanned<WrittenSource>>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Spanned<HeaderText>>,
    pub(crate) json: Option<Spanned<toml::Value>>,
    pub(crate) text: Option<Spanned<String>>,
    pub(crate) file: Option<Spanned<String>>,
    pub(crate) message: Option<Spanned<toml::Value>>,
    pub(crate) expect: Option<Spanned<WrittenExpect>>,
}

/// An operation called in a case, with what differs from it; or a request of its own.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenCall {
    pub(crate) operation: Option<Spanned<String>>,
    pub(crate) http: Option<Spanned<String>>,
    pub(crate) grpc: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) with: BTreeMap<String, Spanned<WrittenSource>>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Spanned<HeaderText>>,
    pub(crate) json: Option<Spanned<toml::Value>>,
    pub(crate) text: Option<Spanned<String>>,
    pub(crate) file: Option<Spanned<String>>,
    pub(crate) message: Option<Spanned<toml::Value>>,
    pub(crate) expect: Option<Spanned<WrittenExpect>>,
    pub(crate) within: Option<WrittenDuration>,
    pub(crate) until: Option<WrittenDuration>,
}

/// A case: calls, one after the other, and how they are delivered.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenCase {
    pub(crate) name: Spanned<String>,
    pub(crate) call: Option<Spanned<WrittenCall>>,
    #[serde(default)]
    pub(crate) calls: Vec<Spanned<WrittenCall>>,
    #[serde(default)]
    pub(crate) deliver: Deliver,
    #[serde(default)]
    pub(crate) alone: bool,
    #[serde(default)]
    pub(crate) thorough: bool,
    pub(crate) times: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Deliver {
    #[default]
    Whole,
    SingleBytes,
    OnePacket,
    Chunked,
    ManyConnections,
}

/// What must come back.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenExpect {
    pub(crate) status: Option<OneOrMany<u16>>,
    pub(crate) grpc: Option<Spanned<String>>,
    #[serde(rename = "type")]
    pub(crate) media_type: Option<String>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Spanned<HeaderText>>,
    pub(crate) text: Option<Spanned<String>>,
    pub(crate) file: Option<Spanned<String>>,
    pub(crate) json: Option<Spanned<toml::Value>>,
    pub(crate) message: Option<Spanned<toml::Value>>,
    pub(crate) json_schema: Option<Spanned<toml::Value>>,
    pub(crate) matches: Option<Spanned<OneOrMany<String>>>,
    pub(crate) contains: Option<Spanned<OneOrMany<String>>>,
    pub(crate) html_lines: Option<Spanned<OneOrMany<String>>>,
    pub(crate) header_lines: Option<Spanned<String>>,
    pub(crate) integers: Option<Spanned<String>>,
    pub(crate) fibonacci: Option<Spanned<String>>,
    pub(crate) received: Option<Received>,
    /// What later steps of a sequence take from the reply, by name: `json:/id`.
    #[serde(default)]
    pub(crate) take: BTreeMap<String, Spanned<String>>,
}

/// How the backend's reply tells what the backend received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Received {
    /// By the digest header.
    Digest,
    /// By the description in the body, of `/received`.
    Description,
}

#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenWorkload {
    pub(crate) summary: String,
    #[serde(default)]
    pub(crate) mix: Vec<Spanned<WrittenStep>>,
    #[serde(default)]
    pub(crate) sequence: Vec<Spanned<WrittenStep>>,
    /// A table with a row for each user.
    pub(crate) data: Option<Spanned<WrittenTable>>,
    /// Whether users send back the cookies that they are given.
    #[serde(default)]
    pub(crate) cookies: bool,
    pub(crate) load: Spanned<WrittenLoad>,
}

/// `"users.csv"`, or `{ file = "users.csv", pick = "random" }`.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(from = "EitherTable")]
pub(crate) struct WrittenTable {
    pub(crate) file: String,
    pub(crate) pick: Pick,
}

#[derive(serde::Deserialize)]
#[serde(
    untagged,
    expecting = "the name of a file, or { file = \"users.csv\", pick = \"in_turn\", \"random\" or \"once\" }"
)]
enum EitherTable {
    File(String),
    Whole {
        file: String,
        #[serde(default)]
        pick: Pick,
    },
}

impl From<EitherTable> for WrittenTable {
    fn from(either: EitherTable) -> Self {
        match either {
            EitherTable::File(file) => Self {
                file,
                pick: Pick::default(),
            },
            EitherTable::Whole { file, pick } => Self { file, pick },
        }
    }
}

#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenStep {
    pub(crate) operation: Spanned<String>,
    #[serde(default)]
    pub(crate) with: BTreeMap<String, Spanned<WrittenSource>>,
    #[serde(default = "one")]
    pub(crate) weight: u32,
}

const fn one() -> u32 {
    1
}

/// A header's text, several texts for a header that is there several times, or `false` for one that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
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
                formatter.write_str("a text, a list of texts, or false for a header that is not there")
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
#[derive(Debug, Clone, PartialEq, Eq)]
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

impl From<&WrittenOperation> for WrittenCall {
    fn from(operation: &WrittenOperation) -> Self {
        Self {
            operation: None,
            http: operation.http.clone(),
            grpc: operation.grpc.clone(),
            with: operation.with.clone(),
            headers: operation.headers.clone(),
            json: operation.json.clone(),
            text: operation.text.clone(),
            file: operation.file.clone(),
            message: operation.message.clone(),
            expect: operation.expect.clone(),
            within: None,
            until: None,
        }
    }
}
