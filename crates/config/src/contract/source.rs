//! The sources of placeholder values in a contract.

use prony_load::{Pick, Source};
use rand::{RngExt as _, rngs::SmallRng};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer as _, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// A source of values: `35`, `"abc"`, `["1", "2"]`, `{ range = [1, 100] }`, `{ random = [0, 500] }`, `{ hex = 16 }`,
/// `{ counter = 1 }`, `{ row = "order", column = "id" }`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) enum SourceToml {
    One(String),
    List(Vec<String>),
    Range(u64, u64),
    Random(u64, u64),
    Hex(u8),
    Counter(u64),
    Row { row: String, column: String },
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Rule {
    Range(u64, u64),
    Random(u64, u64),
    Hex(u8),
    Counter(u64),
}

/// `{ row = "order", column = "id" }`
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RowReference {
    row: String,
    column: String,
}

/// A text, or a whole number read as text.
#[derive(Clone)]
struct Text(String);

impl<'de> Deserialize<'de> for SourceToml {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SourceVisitor)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match SourceToml::deserialize(deserializer)? {
            SourceToml::One(text) => Ok(Self(text)),
            _ => Err(de::Error::custom(
                "a list of values may only contain texts and whole numbers",
            )),
        }
    }
}

struct SourceVisitor;

impl<'de> Visitor<'de> for SourceVisitor {
    type Value = SourceToml;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            "a value, a list of values, or one of { range = [1, 100] }, { random = [0, 500] }, { hex = 16 }, { counter = 1 }, { row = \"order\", column = \"id\" }",
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<SourceToml, E> {
        Ok(SourceToml::One(text.to_owned()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<SourceToml, E> {
        Ok(SourceToml::One(number.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<SourceToml, A::Error> {
        let texts: Vec<Text> = Vec::deserialize(SeqAccessDeserializer::new(list))?;
        if texts.is_empty() {
            return Err(de::Error::custom("an empty list: add at least one value"));
        }
        Ok(SourceToml::List(
            texts.into_iter().map(|Text(text)| text).collect(),
        ))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SourceToml, A::Error> {
        let mut map = map;
        let Some(key) = map.next_key::<String>()? else {
            return Err(de::Error::invalid_length(0, &self));
        };
        let members = FirstKeyMap {
            key: Some(key.clone()),
            rest: map,
        };
        if matches!(key.as_str(), "row" | "column") {
            let RowReference { row, column } =
                RowReference::deserialize(MapAccessDeserializer::new(members))?;
            return Ok(SourceToml::Row { row, column });
        }
        match Rule::deserialize(MapAccessDeserializer::new(members))? {
            Rule::Range(low, high) | Rule::Random(low, high) if low > high => Err(de::Error::custom(
                format!("[{low}, {high}]: the first number must not be the larger one"),
            )),
            Rule::Range(low, high) => Ok(SourceToml::Range(low, high)),
            Rule::Random(low, high) => Ok(SourceToml::Random(low, high)),
            Rule::Hex(digits @ 1..=64) => Ok(SourceToml::Hex(digits)),
            Rule::Hex(digits) => Err(de::Error::custom(format!("hex = {digits}: give 1 to 64 digits"))),
            Rule::Counter(start) => Ok(SourceToml::Counter(start)),
        }
    }
}

/// A map whose first key has been read already.
struct FirstKeyMap<A> {
    key: Option<String>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for FirstKeyMap<A> {
    type Error = A::Error;

    fn next_key_seed<K: de::DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.key.take() {
            Some(key) => seed.deserialize(key.into_deserializer()).map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: de::DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.rest.next_value_seed(seed)
    }
}

/// Rows that were read from a backing service.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowTable {
    pub columns: Vec<String>,
    /// The rows, each with a text for each column.
    pub rows: Vec<Vec<String>>,
}

impl RowTable {
    /// The index of a column.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|known| known == name)
    }
}

/// Draws values of placeholders.
pub(crate) struct ValueGenerator<'a> {
    random: &'a mut SmallRng,
    tables: &'a BTreeMap<String, RowTable>,
    /// The row that was drawn from each table: placeholders with the same table get values of the same row.
    rows: BTreeMap<String, usize>,
}

/// The value of rows that have not been read yet: it is valid as a number, a path and JSON.
const STAND_IN: &str = "1";

impl<'a> ValueGenerator<'a> {
    pub(crate) const fn new(random: &'a mut SmallRng, tables: &'a BTreeMap<String, RowTable>) -> Self {
        Self {
            random,
            tables,
            rows: BTreeMap::new(),
        }
    }

    fn of_row(&mut self, name: &str, column: &str) -> String {
        let Some(table) = self.tables.get(name) else {
            return STAND_IN.to_owned();
        };
        let row = match self.rows.get(name) {
            Some(row) => *row,
            None => self.random.random_range(0..table.rows.len()),
        };
        self.rows.insert(name.to_owned(), row);
        let column = table.column(column);
        column.map_or_else(|| STAND_IN.to_owned(), |column| table.rows[row][column].clone())
    }
}

impl SourceToml {
    /// The source from which the generator draws; `None` if the value is constant.
    pub(crate) fn parameter(&self, tables: &BTreeMap<String, RowTable>) -> Option<Source> {
        Some(match self {
            Self::One(_) => return None,
            Self::Row { row, column } => {
                let table = tables.get(row);
                let found = table.and_then(|table| Some((table, table.column(column)?)));
                Source::Column {
                    values: found.map_or_else(
                        || vec![STAND_IN.to_owned()],
                        |(table, column)| table.rows.iter().map(|row| row[column].clone()).collect(),
                    ),
                    pick: Pick::Each,
                }
            }
            Self::List(lines) => Source::Lines(lines.clone()),
            Self::Range(low, high) => Source::Range {
                low: *low,
                high: *high,
            },
            Self::Random(low, high) => Source::Random {
                low: *low,
                high: *high,
            },
            Self::Hex(digits) => Source::Hex { digits: *digits },
            Self::Counter(start) => Source::Counter { start: *start },
        })
    }

    /// The values that a case sends: all of a list or range, or one draw from a random source.
    pub(crate) fn values(&self, draw: &mut ValueGenerator<'_>) -> Vec<String> {
        match self {
            Self::One(text) => vec![text.clone()],
            Self::List(texts) => texts.clone(),
            Self::Range(low, high) => (*low..=*high).map(|number| number.to_string()).collect(),
            _ => vec![self.draw(draw)],
        }
    }

    pub(crate) fn draw(&self, draw: &mut ValueGenerator<'_>) -> String {
        let random = &mut *draw.random;
        match self {
            Self::Row { row, column } => draw.of_row(row, column),
            Self::One(text) => text.clone(),
            Self::List(texts) => texts[random.random_range(0..texts.len())].clone(),
            Self::Range(low, high) | Self::Random(low, high) => random.random_range(*low..=*high).to_string(),
            Self::Hex(digits) => (0..*digits).fold(String::new(), |mut text, _| {
                let _ = write!(text, "{:x}", random.random_range(0..16_u8));
                text
            }),
            Self::Counter(start) => (start + u64::from(random.random::<u32>())).to_string(),
        }
    }
}

/// The length of every value of a source, bytes; `None` if lengths differ.
pub(crate) fn fixed_length(source: &Source) -> Option<usize> {
    match source {
        Source::Counter { .. } | Source::Messages(_) | Source::Taken(_) => None,
        Source::Range { low, high } | Source::Random { low, high } => {
            let length = low.to_string().len();
            (length == high.to_string().len()).then_some(length)
        }
        Source::Hex { digits } => Some(usize::from(*digits)),
        Source::Lines(lines) | Source::Column { values: lines, .. } => {
            let length = lines.first()?.len();
            lines.iter().all(|line| line.len() == length).then_some(length)
        }
    }
}
