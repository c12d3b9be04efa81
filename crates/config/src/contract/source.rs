//! The sources of placeholder values in a contract.

use crate::format::template::{Form, FormulaText, Piece, Reference, parse};
use crate::format::{SpannedValue, TomlValue};
use prony_load::{Pick, Source};
use rand::{RngExt as _, rngs::SmallRng};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The most requests of a case: values and repetitions are written in few letters.
pub(crate) const MOST_REQUESTS: usize = 20_000;

/// A source of values: `35`, `"abc"`, `["1", "2"]`, `{ range = [1, 100] }`, `{ random = [0, 500] }`, `{ random_hex = 16 }`,
/// `{ counter = 1 }`. Values keep their types: a number is a number in JSON.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub(crate) enum SourceToml {
    One(Value),
    List(Vec<Value>),
    Range(u64, u64),
    Random(u64, u64),
    RandomHex(u8),
    Counter(u64),
    /// `"{order.id}"`: a column of rows, or a constant.
    Reference(String),
}

impl<'de> Deserialize<'de> for SourceToml {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of(&TomlValue::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl SourceToml {
    /// The source that a value describes; its shape was verified by the schema.
    fn of(value: &TomlValue) -> Result<Self, String> {
        let number = |value: &TomlValue| match value {
            TomlValue::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        let pair = |value: &TomlValue| match value {
            TomlValue::List(ends) => match ends.as_slice() {
                [low, high] => number(low.get_ref()).zip(number(high.get_ref())),
                _ => None,
            },
            _ => None,
        };
        Ok(match value {
            TomlValue::Text(text) => match parse(text).map_err(|error| error.message)?.as_slice() {
                [Piece::Reference(reference)] if reference.form == Form::Typed => {
                    match reference.name.plain() {
                        Some(name) => Self::Reference(name.to_owned()),
                        None => return Err(format!("`{text}` is not the name of a value")),
                    }
                }
                _ => Self::One(literal(text)?.into()),
            },
            TomlValue::List(items) => {
                let item = |item: &SpannedValue| match item.get_ref() {
                    TomlValue::Text(text) => literal(text).map(Value::from),
                    other => Ok(other.to_json()),
                };
                Self::List(items.iter().map(item).collect::<Result<_, _>>()?)
            }
            TomlValue::Table(members) => {
                let [(name, value)] = members.as_slice() else {
                    return Err("a source of values has one key: give only one".to_owned());
                };
                let (name, value) = (name.get_ref().as_str(), value.get_ref());
                let wrong = || format!("`{name}` of a source of values is malformed");
                match name {
                    "range" | "random" => match pair(value).ok_or_else(wrong)? {
                        (low, high) if low > high => {
                            return Err(format!(
                                "`{name}` is [{low}, {high}], which is empty: write [{high}, {low}]"
                            ));
                        }
                        (low, high) if name == "range" => Self::Range(low, high),
                        (low, high) => Self::Random(low, high),
                    },
                    "random_hex" => {
                        let digits = number(value).and_then(|digits| u8::try_from(digits).ok());
                        Self::RandomHex(digits.ok_or_else(wrong)?)
                    }
                    "counter" => Self::Counter(number(value).ok_or_else(wrong)?),
                    _ => return Err(wrong()),
                }
            }
            scalar => Self::One(scalar.to_json()),
        })
    }
}

impl JsonSchema for SourceToml {
    fn schema_name() -> Cow<'static, str> {
        "Source".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let ends = json_schema!({ "x-give": "two whole numbers, such as [1, 100]", "type": "array", "items": { "type": "integer", "minimum": 0 }, "minItems": 2, "maxItems": 2 });
        let rule = |name: &str, description: &str, schema: Schema| {
            let mut schema = schema;
            schema.insert("description".to_owned(), description.into());
            json_schema!({
                "type": "object",
                "properties": { name: schema },
                "required": [name],
                "additionalProperties": false
            })
        };
        let mut hex = rule(
            "random_hex",
            "Random hexadecimal digits: their number.",
            json_schema!({ "type": "integer", "minimum": 1, "maximum": 64 }),
        );
        if let Some(key) = hex
            .pointer_mut("/properties/random_hex")
            .and_then(Value::as_object_mut)
        {
            key.insert("x-aliases".to_owned(), serde_json::json!(["hex"]));
        }
        json_schema!({
            "description": "Where the values of a placeholder come from.",
            "x-give": "a value, a list of values, or one of { range = [1, 100] }, { random = [0, 500] }, { random_hex = 16 } and { counter = 1 }",
            "anyOf": [
                { "type": ["string", "integer", "number", "boolean"] },
                { "type": "array", "items": { "type": ["string", "integer", "number", "boolean"] }, "minItems": 1 },
                rule("range", "The whole numbers from the first to the last, one after the other.", ends.clone()),
                rule("random", "A random whole number from the first to the last.", ends),
                hex,
                rule("counter", "A number that grows by one for each request, from this one.", json_schema!({ "type": "integer", "minimum": 0 })),
            ]
        })
    }
}

/// A text without placeholders, in which `{{name}}` is `{name}`.
fn literal(text: &str) -> Result<String, String> {
    let mut out = String::new();
    for piece in parse(text).map_err(|error| error.message)? {
        match piece {
            Piece::Text(text) => out.push_str(&text),
            Piece::Reference(Reference { range, .. }) | Piece::Formula(FormulaText { range, .. }) => {
                let place = &text[range];
                return Err(format!(
                    "a value cannot contain `{place}`: write `{{{place}}}` for the text `{place}`"
                ));
            }
        }
    }
    Ok(out)
}

/// A value as text: a text itself, and any other value as JSON.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Rows that were read from a backing service.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowTable {
    pub columns: Vec<String>,
    /// The rows, each with a value for each column.
    pub rows: Vec<Vec<Value>>,
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
    /// The row that was drawn from each table: placeholders of the same table get values of the same row.
    rows: BTreeMap<String, usize>,
}

/// The value of rows that have not been read yet: it is valid as a number, a path and JSON.
pub(crate) fn stand_in() -> Value {
    Value::from(1)
}

impl<'a> ValueGenerator<'a> {
    pub(crate) const fn new(random: &'a mut SmallRng, tables: &'a BTreeMap<String, RowTable>) -> Self {
        Self {
            random,
            tables,
            rows: BTreeMap::new(),
        }
    }

    /// A column of the row that was drawn from a table.
    pub(crate) fn of_row(&mut self, name: &str, column: &str) -> Value {
        let Some(table) = self.tables.get(name) else {
            return stand_in();
        };
        let row = match self.rows.get(name) {
            Some(row) => *row,
            None => self.random.random_range(0..table.rows.len()),
        };
        self.rows.insert(name.to_owned(), row);
        let column = table.column(column);
        column.map_or_else(stand_in, |column| table.rows[row][column].clone())
    }
}

/// A source of values that differ between the requests of a load.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DrawnSource {
    /// Digits, which need no escaping; `is_number`: of a number, otherwise of a text.
    Digits { source: Source, is_number: bool },
    /// One of these values; `pick`: the row of a user or request, otherwise one after the other.
    Values { values: Vec<Value>, pick: Option<Pick> },
}

impl SourceToml {
    /// The source from which the generator draws; `None` if the value is constant.
    pub(crate) fn drawn(&self) -> Option<DrawnSource> {
        let number = |source| DrawnSource::Digits {
            source,
            is_number: true,
        };
        Some(match self {
            Self::One(_) | Self::Reference(_) => return None,
            Self::List(values) => DrawnSource::Values {
                values: values.clone(),
                pick: None,
            },
            Self::Range(low, high) => number(Source::Range {
                low: *low,
                high: *high,
            }),
            Self::Random(low, high) => number(Source::Random {
                low: *low,
                high: *high,
            }),
            Self::RandomHex(digits) => DrawnSource::Digits {
                source: Source::Hex { digits: *digits },
                is_number: false,
            },
            Self::Counter(start) => number(Source::Counter { start: *start }),
        })
    }

    /// The number of values that a case sends.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::List(values) => values.len() as u64,
            Self::Range(low, high) => (high - low).saturating_add(1),
            _ => 1,
        }
    }

    /// The values that a case sends: all of a list or range, or one draw from a random source.
    pub(crate) fn values(&self, draw: &mut ValueGenerator<'_>) -> Vec<Value> {
        match self {
            Self::One(value) => vec![value.clone()],
            Self::List(values) => values.clone(),
            Self::Range(low, high) => (*low..=*high).map(Value::from).collect(),
            _ => vec![self.draw(draw)],
        }
    }

    pub(crate) fn draw(&self, draw: &mut ValueGenerator<'_>) -> Value {
        let random = &mut *draw.random;
        match self {
            Self::One(value) => value.clone(),
            Self::List(values) => values[random.random_range(0..values.len())].clone(),
            Self::Range(low, high) | Self::Random(low, high) => {
                Value::from(random.random_range(*low..=*high))
            }
            Self::RandomHex(digits) => (0..*digits)
                .fold(String::new(), |mut text, _| {
                    let _ = write!(text, "{:x}", random.random_range(0..16_u8));
                    text
                })
                .into(),
            Self::Counter(start) => Value::from(start + u64::from(random.random::<u32>())),
            Self::Reference(name) => Value::from(format!("{{{name}}}")),
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
